"""Keys of Kubernetes lists, by which items are matched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from speccompile.model.light_namedtuple import NamedTuple


class Keys(NamedTuple):
    """The fields that tell the items of a list apart, and whether their order means something."""

    fields: tuple[str, ...]
    is_ordered: bool = False


# Kubernetes' own keys, except for ports, which two protocols may share.
KEYED: Mapping[str, Keys] = {
    # Tools choose the first container, init containers run in turn, and a variable may use those before it.
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
# Lists without keys whose order means nothing.
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


def by_key(role: str, items: Sequence[Any]) -> dict[str, Mapping[str, Any]] | None:
    """The items by their keys, or None where the list has no keys, or items without one or with one twice."""
    keyed = {key: item for item in items if role in KEYED and (key := _key(item, KEYED[role].fields))}
    return keyed if len(keyed) == len(items) else None


def _key(item: Any, fields: tuple[str, ...]) -> str:
    if not isinstance(item, Mapping):
        return ""
    return "/".join(str(item[field]) for field in fields if isinstance(item.get(field), (str, int)))
