"""Merge a Server over its ServerConfig as Seldon's operator does.

The operator merges Go values, not documents: lists are appended, maps are united, zero values are ignored, and only
containers are merged by name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import Enum, StrEnum, auto

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.seldon.objects import (
    CAPABILITIES,
    POD_SPEC,
    app_containers,
    items_at,
    mapping_at,
    string_at,
    strings_at,
)


class _MergeRule(Enum):
    MAP = auto()
    """A map with arbitrary keys, where zero values apply as well."""
    PORT = auto()
    """A number or a name; the operator ignores a number over a name."""
    NAMED = auto()
    """The list whose items are merged by name."""


MERGE_RULES: Mapping[str, _MergeRule] = {
    "containers": _MergeRule.NAMED,
    "limits": _MergeRule.MAP,
    "nodeSelector": _MergeRule.MAP,
    "overhead": _MergeRule.MAP,
    "port": _MergeRule.PORT,
    "requests": _MergeRule.MAP,
}
"""How the values of a key are merged, if their type does not decide; outside lists, each key of a pod is unique."""


class Effect(StrEnum):
    """A result of the merge that is likely a mistake."""

    ZERO_IGNORED = "zero-ignored"
    """A zero, false or empty string of the Server is ignored."""
    NUMBER_IGNORED = "number-ignored"
    """A port number of the Server is ignored in favour of a port name."""
    TERMS_ADDED = "terms-added"
    """Required node terms of both become alternatives."""
    TWICE = "twice"
    """A list has two items with the same key, which the API server rejects."""
    VARIABLE_TWICE = "variable-twice"
    """A variable is set twice; the one of the Server is last and applies."""
    APPENDED = "appended"
    """A command is appended to that of the ServerConfig."""
    HANDLERS = "handlers"
    """A probe or hook has two handlers, which the API server rejects."""


class MergeRemark(NamedTuple):
    """A likely mistake in a merge."""

    effect: Effect
    path: KeyPath
    """The path in the merged pod; for a list item, that of the list."""
    base: Node
    """The value of the ServerConfig."""
    override: Node
    """The value of the Server."""


class MergedPod(NamedTuple):
    """The merged pod of a Server, and likely mistakes in the merge."""

    pod: Node
    remarks: tuple[MergeRemark, ...] = ()


_TERMS = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_UNIQUE_KEYS: Mapping[str, tuple[tuple[str, ...], Effect]] = {
    "env": (("name",), Effect.VARIABLE_TWICE),
    "initContainers": (("name",), Effect.TWICE),
    "ports": (("name",), Effect.TWICE),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"), Effect.TWICE),
    "volumeDevices": (("devicePath",), Effect.TWICE),
    "volumeMounts": (("mountPath",), Effect.TWICE),
    "volumes": (("name",), Effect.TWICE),
}
"""The keys that identify an item of a list."""
_COMMANDS = ("args", "command")
_HANDLER_OWNERS = ("livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop")
_HANDLERS = ("exec", "grpc", "httpGet", "sleep", "tcpSocket")


def merge_server(server: Node, config: Node | None) -> MergedPod:
    """Merge the pod of a Server over that of its ServerConfig, if that is known."""
    base, override = (
        _without_nulls(pod) if pod else None for pod in (mapping_at(config, POD_SPEC), mapping_at(server, POD_SPEC))
    )
    remarks: list[MergeRemark] = []
    if base is not None and override is not None:
        pod = _merge_mappings(base, override, (), remarks)
    else:
        pod = base or override or Node({}, server.span)
    return MergedPod(_with_capabilities(pod, server), tuple(remarks))


def _without_nulls(node: Node) -> Node:
    if isinstance(node.value, dict):
        return node.with_fields(
            {key: _without_nulls(child) for key, child in node.fields.items() if child.value is not None}
        )
    return node.mapped(_without_nulls)


def _merge(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    rule = MERGE_RULES.get(str(path[-1]))
    if isinstance(base.value, dict) and isinstance(override.value, dict):
        return _merge_maps(base, override) if rule is _MergeRule.MAP else _merge_mappings(base, override, path, remarks)
    if isinstance(base.value, tuple) and isinstance(override.value, tuple):
        if rule is _MergeRule.NAMED:
            return _merge_by_name(base, override, path, remarks)
        remarks.extend(_list_remarks(base, override, path))
        return override.with_value((*base.items, *override.items))
    if base.is_scalar and override.is_scalar:
        return _merge_scalars(base, override, path, remarks)
    return override


def _merge_maps(base: Node, override: Node) -> Node:
    base_fields = base.fields
    overriding = {
        key: child.overriding(base_fields[key]) if key in base_fields else child
        for key, child in override.fields.items()
    }
    return override.with_fields({**base_fields, **overriding})


def _merge_mappings(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    base_fields = base.fields
    merged = {
        key: _merge(base_fields[key], child, (*path, key), remarks) if key in base_fields else child
        for key, child in override.fields.items()
    }
    if path and path[-1] in _HANDLER_OWNERS:
        remarks.extend(_handler_remarks(base, override, path))
    return override.with_fields({**base_fields, **merged})


def _merge_scalars(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    if not override.value:
        if base.value:
            remarks.append(MergeRemark(Effect.ZERO_IGNORED, path, base, override))
        return base.over(override) if base.value else override
    names_a_port = MERGE_RULES.get(str(path[-1])) is _MergeRule.PORT and isinstance(base.value, str) and base.value
    if names_a_port and not isinstance(override.value, str):
        remarks.append(MergeRemark(Effect.NUMBER_IGNORED, path, base, override))
        return base.over(override)
    return override.overriding(base)


def _merge_by_name(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    """Containers of the override first, each merged over its namesake, then the others of the base."""
    merged: list[Node] = []
    for container in override.items:
        name = string_at(container, ("name",))
        same = [one for one in base.items if string_at(one, ("name",)) == name]
        merged += [_merge_mappings(one, container, (*path, name), remarks) for one in same] or [container]
    names = {string_at(container, ("name",)) for container in override.items}
    merged += [one for one in base.items if string_at(one, ("name",)) not in names]
    return override.with_value(tuple(merged))


def _list_remarks(base: Node, override: Node, path: KeyPath) -> Iterator[MergeRemark]:
    key = str(path[-1])
    if not base.items or not override.items:
        return
    if path == _TERMS:
        yield MergeRemark(Effect.TERMS_ADDED, path, base, override)
    if key in _COMMANDS:
        yield MergeRemark(Effect.APPENDED, path, base, override)
    if key in _UNIQUE_KEYS:
        keys, effect = _UNIQUE_KEYS[key]
        existing = {identity: item for item in base.items if (identity := _identity(item, keys))}
        for item in override.items:
            identity = _identity(item, keys)
            if identity in existing:
                yield MergeRemark(effect, path, existing[identity], item)


def _identity(item: Node, keys: tuple[str, ...]) -> tuple[str, ...]:
    values = tuple(string_at(item, (key,)) for key in keys)
    return values if all(values) else ()


def _handler_remarks(base: Node, override: Node, path: KeyPath) -> Iterator[MergeRemark]:
    added = [key for key in _HANDLERS if key in override.fields and key not in base.fields]
    existing = [key for key in _HANDLERS if key in base.fields and key not in override.fields]
    if added and existing:
        yield MergeRemark(Effect.HANDLERS, path, base.fields[existing[0]], override.fields[added[0]])


def _with_capabilities(pod: Node, server: Node) -> Node:
    """Set the capabilities of the Server in the variable of the agent, if the pod has one."""
    replaced, extra = (strings_at(server, ("spec", key)) for key in ("capabilities", "extraCapabilities"))
    if not replaced and not extra:
        return pod

    def variable(entry: Node) -> Node:
        if string_at(entry, ("name",)) != CAPABILITIES:
            return entry
        values = [str(item.value) for item in replaced or extra]
        inherited = [] if replaced else [string_at(entry, ("value",))]
        derived_from = (*(replaced or extra), *(() if replaced else (entry,)))
        joined = ",".join([*inherited, *values])
        value = Node(
            joined,
            derived_from[0].span,
            derived_from[0].key,
            derived="joined from the capabilities",
            derived_from=derived_from,
        )
        return entry.with_fields({"name": entry.fields["name"], "value": value})

    def container(one: Node) -> Node:
        if not items_at(one, ("env",)):
            return one
        return one.with_fields({**one.fields, "env": one.fields["env"].mapped(variable)})

    if not app_containers(pod):
        return pod
    return pod.with_fields({**pod.fields, "containers": pod.fields["containers"].mapped(container)})
