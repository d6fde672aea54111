"""All laws, in the order in which the documentation lists them."""

from __future__ import annotations

from collections.abc import Callable

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.admin import Admin, Data
from speccompile.testing.laws.ceilings import ceilings_hold
from speccompile.testing.laws.fixed_values import sidecars_stay_alone, what_is_fixed_stays
from speccompile.testing.laws.mounts import blocked_volumes_stay_out, foreign_secrets_stay_out
from speccompile.testing.laws.node_selection import excluded_nodes_stay_excluded
from speccompile.testing.laws.object_names import objects_are_its_own
from speccompile.testing.laws.pod_security import nobody_runs_as_root
from speccompile.testing.laws.profile_algebra import (
    nothing_is_kept_between_runs,
    order_of_files_changes_nothing,
    parents_can_be_written_out,
    twice_is_once,
)
from speccompile.testing.laws.rules import forbidden_fields_stay_out, rules_hold


class Law(NamedTuple):
    """A law, the fields that runs may break it with (none means all), and what an admin must have said for that."""

    holds: Callable[[Data, Admin], None]
    about: tuple[str, ...] = ()
    wants: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.holds.__name__

    @property
    def sentence(self) -> str:
        return str(self.holds.__doc__)


_PLACING = ("node_selector", "affinity", "tolerations")
_MOUNTING = ("volumes", "secrets", "envs")
LAWS: tuple[Law, ...] = (
    Law(what_is_fixed_stays, (), ("own_envs",)),
    Law(sidecars_stay_alone, (*_MOUNTING, "run_as_user"), ("bases",)),
    Law(excluded_nodes_stay_excluded, _PLACING, ("bases",)),
    Law(ceilings_hold, ("resources", "volumes"), ("ceilings",)),
    Law(blocked_volumes_stay_out, ("volumes", "resources")),
    Law(foreign_secrets_stay_out, _MOUNTING),
    Law(nobody_runs_as_root, ("run_as_user", "run_as_group", "fs_group", "annotations", "volumes"), ("bases",)),
    Law(objects_are_its_own, ("volumes", "service_name", "schedule", "service_ports"), ("names",)),
    Law(rules_hold, ("resources", "envs", "labels", "image", "run_as_user", "node_selector", "replicas"), ("rules",)),
    Law(forbidden_fields_stay_out, ("resources", "envs", "labels", "command", "args", *_PLACING), ("forbid",)),
    Law(twice_is_once),
    Law(parents_can_be_written_out),
    Law(order_of_files_changes_nothing, ("envs", "volumes", "affinity", "resources")),
    Law(nothing_is_kept_between_runs, (*_MOUNTING, *_PLACING)),
)
