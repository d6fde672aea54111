"""Merge a Server over its ServerConfig as Seldon's operator does.

The operator merges values of Go types, not documents: lists are appended whatever their items, maps are united, zero
values do not count, and containers alone meet by name. Wrong types never raise: no API server lets them in.
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
    strings_at,
    text,
)


class _MergeRule(Enum):
    MAP = auto()
    """A map of people's own keys, where a zero counts as well."""
    PORT = auto()
    """A number or a name, of which the operator takes a number for nothing said about the name."""
    NAMED = auto()
    """The one list whose items meet by name."""


MERGE_RULES: Mapping[str, _MergeRule] = {
    "containers": _MergeRule.NAMED,
    "limits": _MergeRule.MAP,
    "nodeSelector": _MergeRule.MAP,
    "overhead": _MergeRule.MAP,
    "port": _MergeRule.PORT,
    "requests": _MergeRule.MAP,
}
"""How the two values of a key meet, where their shape does not tell; no key means two things in a pod outside lists."""


class Effect(StrEnum):
    """What the merge made of two values, where it is hardly what somebody meant."""

    ZERO_IGNORED = "zero-lost"
    """A zero, false or empty text of the Server gave way."""
    NUMBER_IGNORED = "port-kept"
    """A number of the Server gave way to the name of a port."""
    TERMS_ADDED = "terms-added"
    """Required node terms of both became alternatives."""
    TWICE = "twice"
    """A list came to hold two items that the API tells apart by this very value, and refuses."""
    VARIABLE_TWICE = "variable-twice"
    """A variable stands twice; the Server's counts, being the last."""
    APPENDED = "appended"
    """The words of a command follow those of the ServerConfig."""
    HANDLERS = "handlers"
    """A probe or hook came to have two handlers, which the API refuses."""


class MergeRemark(NamedTuple):
    """Something odd that the merge did."""

    effect: Effect
    path: KeyPath
    """In the pod that came of it, but for items of lists, which have no number: the list's."""
    base: Node
    """What the ServerConfig says."""
    override: Node
    """What the Server says."""


class MergedPod(NamedTuple):
    """The pod of a Server, and all that is odd about how it came about."""

    pod: Node
    remarks: tuple[MergeRemark, ...] = ()


_TERMS = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution", "nodeSelectorTerms")
_TWICE: Mapping[str, tuple[tuple[str, ...], Effect]] = {
    "env": (("name",), Effect.VARIABLE_TWICE),
    "initContainers": (("name",), Effect.TWICE),
    "ports": (("name",), Effect.TWICE),
    "topologySpreadConstraints": (("topologyKey", "whenUnsatisfiable"), Effect.TWICE),
    "volumeDevices": (("devicePath",), Effect.TWICE),
    "volumeMounts": (("mountPath",), Effect.TWICE),
    "volumes": (("name",), Effect.TWICE),
}
"""The values of an item that may stand only once in its list."""
_COMMANDS = ("args", "command")
_HANDLED = ("livenessProbe", "readinessProbe", "startupProbe", "postStart", "preStop")
_HANDLERS = ("exec", "grpc", "httpGet", "sleep", "tcpSocket")


def merge_server(server: Node, config: Node | None) -> MergedPod:
    """The pod of the Server over that of its ServerConfig, with all that is odd about it.

    It is that of the Server alone where the ServerConfig is not known.
    """
    base, override = (
        _without_nulls(pod) if pod else None for pod in (mapping_at(config, POD_SPEC), mapping_at(server, POD_SPEC))
    )
    remarks: list[MergeRemark] = []
    if base is not None and override is not None:
        pod = _mappings(base, override, (), remarks)
    else:
        pod = base or override or Node({}, server.span)
    return MergedPod(_with_capabilities(pod, server), tuple(remarks))


def _without_nulls(node: Node) -> Node:
    if isinstance(node.value, dict):
        return node.with_fields({key: _without_nulls(child) for key, child in node.fields.items() if _is_said(child)})
    return node.mapped(_without_nulls)


def _is_said(node: Node) -> bool:
    return node.value is not None


def _met(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    how = MERGE_RULES.get(str(path[-1]))
    if isinstance(base.value, dict) and isinstance(override.value, dict):
        return _maps(base, override) if how is _MergeRule.MAP else _mappings(base, override, path, remarks)
    if isinstance(base.value, tuple) and isinstance(override.value, tuple):
        if how is _MergeRule.NAMED:
            return _by_name(base, override, path, remarks)
        remarks.extend(_of_lists(base, override, path))
        return override.with_value((*base.items, *override.items))
    if base.is_scalar and override.is_scalar:
        return _scalars(base, override, path, remarks)
    return override


def _maps(base: Node, override: Node) -> Node:
    known = base.fields
    overriding = {
        key: child.overriding(known[key]) if key in known else child for key, child in override.fields.items()
    }
    return override.with_fields({**known, **overriding})


def _mappings(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    known = base.fields
    met = {
        key: _met(known[key], child, (*path, key), remarks) if key in known else child
        for key, child in override.fields.items()
    }
    if path and path[-1] in _HANDLED:
        remarks.extend(_of_handlers(base, override, path))
    return override.with_fields({**known, **met})


def _scalars(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    if not override.value:
        if base.value:
            remarks.append(MergeRemark(Effect.ZERO_IGNORED, path, base, override))
        return base.over(override) if base.value else override
    names_a_port = MERGE_RULES.get(str(path[-1])) is _MergeRule.PORT and isinstance(base.value, str) and base.value
    if names_a_port and not isinstance(override.value, str):
        remarks.append(MergeRemark(Effect.NUMBER_IGNORED, path, base, override))
        return base.over(override)
    return override.overriding(base)


def _by_name(base: Node, override: Node, path: KeyPath, remarks: list[MergeRemark]) -> Node:
    """The containers of the override first, each over those of its name, and then all others of the base."""
    made: list[Node] = []
    for container in override.items:
        name = text(container, ("name",))
        same = [one for one in base.items if text(one, ("name",)) == name]
        made += [_mappings(one, container, (*path, name), remarks) for one in same] or [container]
    names = {text(container, ("name",)) for container in override.items}
    made += [one for one in base.items if text(one, ("name",)) not in names]
    return override.with_value(tuple(made))


def _of_lists(base: Node, override: Node, path: KeyPath) -> Iterator[MergeRemark]:
    role = str(path[-1])
    if not base.items or not override.items:
        return
    if path == _TERMS:
        yield MergeRemark(Effect.TERMS_ADDED, path, base, override)
    if role in _COMMANDS:
        yield MergeRemark(Effect.APPENDED, path, base, override)
    if role in _TWICE:
        keys, effect = _TWICE[role]
        known = {identity: item for item in base.items if (identity := _identity(item, keys))}
        for item in override.items:
            identity = _identity(item, keys)
            if identity in known:
                yield MergeRemark(effect, path, known[identity], item)


def _identity(item: Node, keys: tuple[str, ...]) -> tuple[str, ...]:
    told = tuple(text(item, (key,)) for key in keys)
    return told if all(told) else ()


def _of_handlers(base: Node, override: Node, path: KeyPath) -> Iterator[MergeRemark]:
    ours = [key for key in _HANDLERS if key in override.fields and key not in base.fields]
    theirs = [key for key in _HANDLERS if key in base.fields and key not in override.fields]
    if ours and theirs:
        yield MergeRemark(Effect.HANDLERS, path, base.fields[theirs[0]], override.fields[ours[0]])


def _with_capabilities(pod: Node, server: Node) -> Node:
    """The pod in which every variable of the capabilities says what the Server asks for; without one, nothing does."""
    own, extra = (strings_at(server, ("spec", key)) for key in ("capabilities", "extraCapabilities"))
    if not own and not extra:
        return pod

    def variable(entry: Node) -> Node:
        if text(entry, ("name",)) != CAPABILITIES:
            return entry
        words = [str(item.value) for item in own or extra]
        before = [] if own else [text(entry, ("value",))]
        derived_from = (*(own or extra), *(() if own else (entry,)))
        joined = ",".join([*before, *words])
        value = Node(
            joined,
            derived_from[0].span,
            derived_from[0].key,
            derived="made of the capabilities",
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
