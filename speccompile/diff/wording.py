"""One change of a manifest as a sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from speccompile.diff.list_keys import KEYED
from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Json
from speccompile.model.quantity import QuantityError, parse_quantity

_LONGEST_NAME = 320
"""Characters of names, keys and paths, which are shown whole: Kubernetes' longest label key has 317."""
_LONGEST_VALUE = 40
_LONGEST_ITEM = 120
_BEFORE_THE_DIFFERENCE = 20
_RUN = "<run>"
_SPELLED = " (the same amount, spelled differently)"


class _Absent(Enum):
    ABSENT = auto()


ABSENT: Final = _Absent.ABSENT
"""What stands where nothing does; null is a value."""
Value: TypeAlias = Json | _Absent


class Aspect(Enum):
    """What it is that two manifests differ in at a path."""

    VALUE = auto()
    MEMBER = auto()
    """An item with a key: there or not. The last step of the path is the key."""
    ELEMENT = auto()
    """An item without a key, of a list whose order means nothing. The path is the list's."""
    ORDER = auto()
    """The order of items with keys; the values are the keys. The path is the list's."""


class Found(NamedTuple):
    """A place where two manifests differ; an item with a key is a step by that key, not by its number."""

    path: KeyPath
    before: Value
    after: Value
    aspect: Aspect = Aspect.VALUE


class Names(NamedTuple):
    """The names of a run's own objects; they are shown with `<run>` in the place of its own name, if that is given.

    What happens to many runs then reads the same for all of them.
    """

    own: str = ""
    objects: frozenset[str] = frozenset()

    def told(self, text: str) -> str:
        if not self.own or text not in self.objects:
            return text
        named = re.sub(rf"(?<![a-z0-9]){re.escape(self.own)}(?![a-z0-9])", _RUN, text, count=1)
        # Two dashes stand behind the name of a run that has a dash itself.
        return named.replace(f"{_RUN}--", f"{_RUN}-")


class _Words(NamedTuple):
    """What people call a place, a `{}` for the step of its pattern's star; pairs are written `key=value`."""

    text: str
    is_pair: bool = False


# Paths within the container, the pod or the spec, whichever is innermost; a star is any step.
NAMED: Mapping[tuple[str, ...], _Words] = {
    ("metadata", "annotations", "*"): _Words("annotation {}", is_pair=True),
    ("metadata", "labels", "*"): _Words("label {}", is_pair=True),
    ("metadata", "namespace"): _Words("namespace"),
    ("data", "*"): _Words("file {}"),
    ("accessModes",): _Words("access mode"),
    ("activeDeadlineSeconds",): _Words("deadline in seconds"),
    ("args",): _Words("args"),
    ("backoffLimit",): _Words("backoff limit"),
    ("command",): _Words("command"),
    ("completions",): _Words("completions"),
    ("env", "*", "value"): _Words("env {}", is_pair=True),
    ("image",): _Words("image"),
    ("imagePullPolicy",): _Words("image pull policy"),
    ("nodeSelector", "*"): _Words("node selector {}", is_pair=True),
    ("parallelism",): _Words("parallelism"),
    ("priorityClassName",): _Words("priority class"),
    ("replicas",): _Words("replicas"),
    ("resources", "limits", "*"): _Words("{} limit"),
    ("resources", "requests", "*"): _Words("{} request"),
    ("restartPolicy",): _Words("restart policy"),
    ("runtimeClassName",): _Words("runtime class"),
    ("schedule",): _Words("schedule"),
    ("schedulerName",): _Words("scheduler"),
    ("securityContext", "*"): _Words("security context {}"),
    ("securityContext", "capabilities", "add"): _Words("added capability"),
    ("securityContext", "capabilities", "drop"): _Words("dropped capability"),
    ("securityContext", "seccompProfile", "type"): _Words("seccomp profile"),
    ("serviceAccountName",): _Words("service account"),
    ("storageClassName",): _Words("storage class"),
    ("suspend",): _Words("suspend"),
    ("ttlSecondsAfterFinished",): _Words("seconds to live after the end"),
    ("type",): _Words("type"),
}

# What people call one item of a list, by the list's key and, where that says too little, the key before it.
ITEMS: Mapping[KeyPath, str] = {
    ("containers",): "container",
    ("env",): "env",
    ("imagePullSecrets",): "image pull secret",
    ("initContainers",): "init container",
    ("nodeSelectorTerms",): "required node affinity",
    ("ports",): "port",
    ("tolerations",): "toleration",
    ("volumeMounts",): "mount",
    ("volumes",): "volume",
    **{
        (kind, f"{strength}DuringSchedulingIgnoredDuringExecution"): f"{strength} {words}"
        for strength in ("required", "preferred")
        for kind, words in (
            ("nodeAffinity", "node affinity"),
            ("podAffinity", "pod affinity"),
            ("podAntiAffinity", "pod anti-affinity"),
        )
    },
}

# Where pods are described inside the objects that make them; the outermost first.
_INSIDE: tuple[KeyPath, ...] = (("spec", "jobTemplate"), ("spec", "template"), ("spec", "podSpec"))
_MAIN = "container main"
_OF_ALL = ("namespace", "labels", "annotations")
"""Metadata that says the same on every object of a run."""


def holds_pods(data: Mapping[str, Any]) -> bool:
    """Whether the object makes pods: then it is the run's workload, and needs no name of its own in a phrase."""
    spec = data.get("spec")
    return isinstance(spec, Mapping) and any(last in spec for _, last in _INSIDE)


def is_of_all(path: KeyPath) -> bool:
    """Whether a change here is one of the run as a whole, whichever of its objects shows it."""
    return path[:1] == ("metadata",) and path[1:2] != () and path[1] in _OF_ALL


def phrase(found: Found, names: Names) -> str:
    """The change in one line, in words where there are some, else by its path."""
    owners, rest = _owners(_innermost(found.path))
    words = _words(found.aspect, rest)
    # A path alone is not enough to see that it is in a container.
    named = owners[1:] if owners[:1] == (_MAIN,) and (words or owners[1:]) else owners
    words = words or _Words(quote(format_path(rest if owners else found.path), _LONGEST_NAME))
    return "".join(f"{owner}: " for owner in named) + _said(found, words, names)


def _innermost(path: KeyPath) -> KeyPath:
    """The path within the pod, or within the spec of an object that makes none."""
    for inside in _INSIDE:
        if path[: len(inside)] == inside:
            path = path[len(inside) :]
    return path[1:] if path[:1] == ("spec",) else path


def _owners(path: KeyPath) -> tuple[tuple[str, ...], KeyPath]:
    """The items that a path leads through, in words, and the rest of it."""
    owners: list[str] = []
    while path[2:] and path[:1] in ITEMS and _words(Aspect.VALUE, path) is None:
        owners.append(f"{ITEMS[path[:1]]} {_name(path[1])}")
        path = path[2:]
    return tuple(owners), path


def _words(aspect: Aspect, path: KeyPath) -> _Words | None:
    if aspect is Aspect.ORDER:
        return _Words(f"order of `{path[-1]}`") if path else None
    if aspect is Aspect.MEMBER:
        noun = _noun(path[:-1])
        return _Words(f"{noun} {_name(path[-1])}", is_pair=noun == "env") if noun else None
    noun = _noun(path) if aspect is Aspect.ELEMENT else None
    return _Words(noun) if noun else _named(path)


def _noun(path: KeyPath) -> str | None:
    return ITEMS.get(path[-2:]) or ITEMS.get(path[-1:])


def _named(path: KeyPath) -> _Words | None:
    for pattern, words in NAMED.items():
        if len(pattern) == len(path) and all(one in ("*", step) for one, step in zip(pattern, path, strict=True)):
            star = path[pattern.index("*")] if "*" in pattern else ""
            return words._replace(text=words.text.format(_name(star)))
    return None


def _said(found: Found, words: _Words, names: Names) -> str:
    joint = "=" if words.is_pair else " "
    text = _TEXTS[found.aspect]
    if found.before is ABSENT or found.after is ABSENT:
        verb, value = ("gains", found.after) if found.before is ABSENT else ("loses", found.before)
        told = text(found, value, names)
        return f"{verb} {words.text}{joint if told and told[0] != ' ' else ''}{told}"
    if found.aspect is Aspect.ELEMENT:
        return f"{words.text} {text(found, found.after, names)} is written differently"
    before, after = _side_by_side(found, names)
    if words.is_pair:
        return f"{words.text} changes from {before} to {after}"
    return f"{words.text} {before} → {after}{_SPELLED if _is_same_amount(found) else ''}"


def _side_by_side(found: Found, names: Names) -> tuple[str, str]:
    """Both values, cut so that the difference shows."""
    before, after = _flow(found.before, names), _flow(found.after, names)
    if before == after:
        # The same letters, and yet not the same: a number and a string, perhaps.
        before, after = json.dumps(found.before), json.dumps(found.after)
    if max(len(before), len(after)) <= _LONGEST_VALUE:
        return _cut(before), _cut(after)
    equal = next((at for at, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), 0)
    start = max(0, equal - _BEFORE_THE_DIFFERENCE)
    return _cut(before, start), _cut(after, start)


def _cut(text: str, start: int = 0, longest: int = _LONGEST_VALUE) -> str:
    return quote(f"{'…' if start else ''}{text[start:]}", longest)[1:-1]


def _name(step: object) -> str:
    return _cut(str(step), longest=_LONGEST_NAME)


def _is_same_amount(found: Found) -> bool:
    if "resources" not in found.path and found.path[-1:] != ("sizeLimit",):
        return False
    try:
        return parse_quantity(found.before) == parse_quantity(found.after)  # type: ignore[arg-type]  # others raise
    except (QuantityError, TypeError):
        return False


def _flow(value: Any, names: Names) -> str:
    """Any value on one line, without the quotes and braces that only machines need."""
    if isinstance(value, str):
        return names.told(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_flow(item, names) for item in value)}]"
    if isinstance(value, Mapping):
        return ", ".join(_leaves(value, (), names)) or "{}"
    return json.dumps(value)


def _leaves(value: Mapping[str, Any], path: KeyPath, names: Names) -> Iterator[str]:
    for key, child in value.items():
        here = (*path, key)
        if isinstance(child, Mapping) and child:
            yield from _leaves(child, here, names)
        else:
            yield format_path(here) if child == {} else f"{format_path(here)}={_flow(child, names)}"


def _value_text(_: Found, value: Any, names: Names) -> str:
    return _cut(_flow(value, names))


def _member_text(found: Found, value: Any, names: Names) -> str:
    """What an item says beside its key: ` (image=envoy:1.30)`."""
    if not isinstance(value, Mapping):
        return ""
    keys = KEYED[str(found.path[-2])].fields
    said = {key: child for key, child in value.items() if key not in keys}
    if set(said) == {"value"}:
        return _cut(_flow(said["value"], names))
    detail = _flow(said, names) if said else ""
    return f" ({_cut(detail, longest=_LONGEST_ITEM)})" if detail else ""


def element_text(path: KeyPath, value: Any, names: Names = Names()) -> str:  # noqa: B008  it is frozen
    """An item without a key, as people write it."""
    return _cut(_ELEMENTS.get(path[-1], _flow)(value, names), longest=_LONGEST_ITEM)


def _toleration(value: Any, names: Names) -> str:
    """As `kubectl describe` has it: `nvidia.com/gpu=a100:NoSchedule`."""
    if not isinstance(value, Mapping):
        return _flow(value, names)
    told = str(value.get("key", "everything"))
    if value.get("operator", "Equal") == "Equal":
        told += f"={value.get('value', '')}"
    told += f":{value['effect']}" if "effect" in value else ""
    return told + (f" for {value['tolerationSeconds']} s" if "tolerationSeconds" in value else "")


_OPERATORS = {
    "In": "{} in ({})",
    "NotIn": "{} not in ({})",
    "Exists": "{}",
    "DoesNotExist": "no {}",
    "Gt": "{} > {}",
    "Lt": "{} < {}",
}


def _node_term(value: Any, names: Names) -> str:
    """As a label selector has it: `zone in (a, b), no spot`."""
    expressions = [_requirement(one) for key in ("matchExpressions", "matchFields") for one in _list_at(value, key)]
    # Whatever is shaped otherwise must still be told apart.
    return ", ".join(filter(None, expressions)) if expressions and all(expressions) else _flow(value, names)


def _requirement(value: Any) -> str | None:
    pattern = _OPERATORS.get(str(value.get("operator"))) if isinstance(value, Mapping) else None
    return pattern and pattern.format(value.get("key"), ", ".join(map(str, _list_at(value, "values"))))


def _list_at(value: Any, key: str) -> list[Any]:
    items = value.get(key) if isinstance(value, Mapping) else None
    return items if isinstance(items, list) else []


def _preferred(value: Any, names: Names) -> str:
    if isinstance(value, Mapping) and "preference" in value:
        return f"{_node_term(value['preference'], names)} (weight {value.get('weight')})"
    return _flow(value, names)


_ELEMENTS: Mapping[object, Callable[[Any, Names], str]] = {
    "nodeSelectorTerms": _node_term,
    "preferredDuringSchedulingIgnoredDuringExecution": _preferred,
    "tolerations": _toleration,
}
_TEXTS: Mapping[Aspect, Callable[[Found, Any, Names], str]] = {
    Aspect.VALUE: _value_text,
    Aspect.MEMBER: _member_text,
    Aspect.ELEMENT: lambda found, value, names: element_text(found.path, value, names),
    Aspect.ORDER: _value_text,
}
