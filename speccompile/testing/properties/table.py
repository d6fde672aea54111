"""All properties, in the order of the documentation."""

from __future__ import annotations

from collections.abc import Callable

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.ceilings import limits_apply
from speccompile.testing.properties.fixed_values import fixed_values_apply, sidecars_cannot_be_changed
from speccompile.testing.properties.mounts import blocked_volumes_cannot_be_mounted, other_secrets_cannot_be_used
from speccompile.testing.properties.node_selection import excluded_nodes_cannot_be_used
from speccompile.testing.properties.object_names import objects_belong_to_one_run
from speccompile.testing.properties.pod_security import runs_cannot_gain_privileges
from speccompile.testing.properties.profile_algebra import (
    applying_twice_changes_nothing,
    file_order_has_no_effect,
    parents_can_be_merged,
    runs_are_independent,
)
from speccompile.testing.properties.rules import forbidden_fields_cannot_be_set, rules_apply


class Property(NamedTuple):
    """A property, the fields that can violate it (empty means all), and the parts it needs in the admin's documents."""

    check: Callable[[Data, AdminConfig], None]
    fields: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.check.__name__

    @property
    def sentence(self) -> str:
        return str(self.check.__doc__)


_PLACEMENT_FIELDS = ("node_selector", "affinity", "tolerations")
_MOUNT_FIELDS = ("volumes", "secrets", "envs")
PROPERTIES: tuple[Property, ...] = (
    Property(fixed_values_apply, (), ("own_envs",)),
    Property(sidecars_cannot_be_changed, (*_MOUNT_FIELDS, "run_as_user"), ("bases",)),
    Property(excluded_nodes_cannot_be_used, _PLACEMENT_FIELDS, ("bases",)),
    Property(limits_apply, ("resources", "volumes", "deadline_seconds"), ("ceilings",)),
    Property(blocked_volumes_cannot_be_mounted, ("volumes", "resources")),
    Property(other_secrets_cannot_be_used, _MOUNT_FIELDS),
    Property(
        runs_cannot_gain_privileges,
        ("run_as_user", "run_as_group", "fs_group", "labels", "annotations", "volumes"),
        ("bases",),
    ),
    Property(objects_belong_to_one_run, ("volumes", "service_name", "schedule", "service_ports"), ("names",)),
    Property(
        rules_apply, ("resources", "envs", "labels", "image", "run_as_user", "node_selector", "replicas"), ("rules",)
    ),
    Property(
        forbidden_fields_cannot_be_set,
        ("resources", "envs", "labels", "command", "args", *_PLACEMENT_FIELDS),
        ("forbid",),
    ),
    Property(applying_twice_changes_nothing),
    Property(parents_can_be_merged),
    Property(file_order_has_no_effect, ("envs", "volumes", "affinity", "resources")),
    Property(runs_are_independent, (*_MOUNT_FIELDS, *_PLACEMENT_FIELDS)),
)
