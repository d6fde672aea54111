"""All laws, in the order in which the documentation lists them."""

from __future__ import annotations

from collections.abc import Callable

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.admin import Admin, Data
from speccompile.testing.properties.ceilings import ceilings_hold
from speccompile.testing.properties.fixed_values import sidecars_stay_alone, what_is_fixed_stays
from speccompile.testing.properties.mounts import blocked_volumes_stay_out, foreign_secrets_stay_out
from speccompile.testing.properties.node_selection import excluded_nodes_stay_excluded
from speccompile.testing.properties.object_names import objects_are_its_own
from speccompile.testing.properties.pod_security import nobody_runs_as_root
from speccompile.testing.properties.profile_algebra import (
    nothing_is_kept_between_runs,
    order_of_files_changes_nothing,
    parents_can_be_written_out,
    twice_is_once,
)
from speccompile.testing.properties.rules import forbidden_fields_stay_out, rules_hold


class Property(NamedTuple):
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
PROPERTIES: tuple[Property, ...] = (
    Property(what_is_fixed_stays, (), ("own_envs",)),
    Property(sidecars_stay_alone, (*_MOUNTING, "run_as_user"), ("bases",)),
    Property(excluded_nodes_stay_excluded, _PLACING, ("bases",)),
    Property(ceilings_hold, ("resources", "volumes"), ("ceilings",)),
    Property(blocked_volumes_stay_out, ("volumes", "resources")),
    Property(foreign_secrets_stay_out, _MOUNTING),
    Property(nobody_runs_as_root, ("run_as_user", "run_as_group", "fs_group", "annotations", "volumes"), ("bases",)),
    Property(objects_are_its_own, ("volumes", "service_name", "schedule", "service_ports"), ("names",)),
    Property(
        rules_hold, ("resources", "envs", "labels", "image", "run_as_user", "node_selector", "replicas"), ("rules",)
    ),
    Property(forbidden_fields_stay_out, ("resources", "envs", "labels", "command", "args", *_PLACING), ("forbid",)),
    Property(twice_is_once),
    Property(parents_can_be_written_out),
    Property(order_of_files_changes_nothing, ("envs", "volumes", "affinity", "resources")),
    Property(nothing_is_kept_between_runs, (*_MOUNTING, *_PLACING)),
)
