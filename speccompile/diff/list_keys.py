"""Kubernetes lists whose items have a key, and lists whose order has no meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from speccompile.model.light_namedtuple import NamedTuple


class Keys(NamedTuple):
    """The fields that identify an item of a list, and whether the order of the items matters."""

    fields: tuple[str, ...]
    is_ordered: bool = False


# The keys that Kubernetes defines, except for ports, which two protocols may share.
KEYED: Mapping[str, Keys] = {
    # Tools pick the first container, init containers run in order, and a variable may refer to earlier ones.
    "containers": Keys(("name",), is_ordered=True),
    "env": Keys(("name",), is_ordered=True),
    "hostAliases": Keys(("ip",)),
    "imagePullSecrets": Keys(("name",)),
    "initContainers": Keys(("name",), is_ordered=True),
    "ports": Keys(("containerPort", "port", "protocol")),
    "resourceClaims": Keys(("name",)),
    "topologySpreadConstraints": Keys(("topologyKey", "whenUnsatisfiable")),
    "volumeDevices": Keys(("devicePath",)),
    "volumeMounts": Keys(("mountPath",)),
    "volumes": Keys(("name",)),
}
# Lists without keys whose order has no meaning.
SETS = frozenset(
    {
        "accessModes",
        "add",
        "capabilities",
        "drop",
        "extraCapabilities",
        "finalizers",
        "matchExpressions",
        "matchFields",
        "matchLabelKeys",
        "mismatchLabelKeys",
        "namespaces",
        "nodeSelectorTerms",
        "preferredDuringSchedulingIgnoredDuringExecution",
        "requiredDuringSchedulingIgnoredDuringExecution",
        "requirements",
        "supplementalGroups",
        "tolerations",
        "values",
    }
)


def is_unordered(role: str) -> bool:
    return role in SETS or (role in KEYED and not KEYED[role].is_ordered)


def items_by_key(role: str, items: Sequence[Any]) -> dict[str, Mapping[str, Any]] | None:
    """The items by key, or None if the list has no keys, or an item has none or a duplicate one."""
    keyed = {key: item for item in items if role in KEYED and (key := _key(item, KEYED[role].fields))}
    return keyed if len(keyed) == len(items) else None


def _key(item: Any, fields: tuple[str, ...]) -> str:
    if not isinstance(item, Mapping):
        return ""
    return "/".join(str(item[field]) for field in fields if isinstance(item.get(field), (str, int)))
