"""Changes of manifests in words."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum, auto
from typing import Any, Final, TypeAlias

from speccompile.diff.list_keys import KEYED
from speccompile.model.credentials import credentials_in
from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Json
from speccompile.model.quantity import QuantityError, parse_quantity
from speccompile.model.redaction import MASK

_MAX_NAME = 320
"""Characters of names, keys and paths, enough to show them whole: the longest label key has 317."""
_MAX_VALUE = 40
_MAX_ITEM = 120
_CONTEXT = 20
"""Characters shown before the first difference of two long values."""
_RUN = "<run>"


class _Absent(Enum):
    ABSENT = auto()


ABSENT: Final = _Absent.ABSENT
"""The value at a path that does not exist, as opposed to null."""
ManifestValue: TypeAlias = Json | _Absent


class Aspect(Enum):
    """What differs at a path."""

    VALUE = auto()
    MEMBER = auto()
    """Presence of a list item with a key, which is the last step of the path."""
    ELEMENT = auto()
    """An item without a key, in an unordered list. The path is that of the list."""
    ORDER = auto()
    """The order of items with keys; the values are the keys. The path is that of the list."""


class Difference(NamedTuple):
    """A path at which two manifests differ; its steps into keyed lists are keys."""

    path: KeyPath
    before: ManifestValue
    after: ManifestValue
    aspect: Aspect = Aspect.VALUE


class ObjectNames(NamedTuple):
    """The name of a run and of its objects, replaced by `<run>` so that the same change of many runs reads the same."""

    run: str = ""
    objects: frozenset[str] = frozenset()

    def with_placeholder(self, text: str) -> str:
        if not self.run or text not in self.objects:
            return text
        name = re.sub(rf"(?<![a-z0-9]){re.escape(self.run)}(?![a-z0-9])", _RUN, text, count=1)
        # Two dashes follow the name of a run that contains a dash.
        return name.replace(f"{_RUN}--", f"{_RUN}-")


class _FieldName(NamedTuple):
    """The name of a field, with `{}` for the step matched by a star; pairs are written `key=value`."""

    text: str
    is_pair: bool = False


# Paths within the container, the pod or the spec, whichever is innermost; a star matches any step.
FIELD_NAMES: Mapping[tuple[str, ...], _FieldName] = {
    ("metadata", "annotations", "*"): _FieldName("annotation {}", is_pair=True),
    ("metadata", "labels", "*"): _FieldName("label {}", is_pair=True),
    ("metadata", "namespace"): _FieldName("namespace"),
    ("data", "*"): _FieldName("file {}"),
    ("accessModes",): _FieldName("access mode"),
    ("activeDeadlineSeconds",): _FieldName("`activeDeadlineSeconds`"),
    ("args",): _FieldName("args"),
    ("backoffLimit",): _FieldName("backoff limit"),
    ("command",): _FieldName("command"),
    ("completions",): _FieldName("completions"),
    ("env", "*", "value"): _FieldName("env {}", is_pair=True),
    ("image",): _FieldName("image"),
    ("imagePullPolicy",): _FieldName("image pull policy"),
    ("nodeSelector", "*"): _FieldName("node selector {}", is_pair=True),
    ("parallelism",): _FieldName("parallelism"),
    ("priorityClassName",): _FieldName("priority class"),
    ("replicas",): _FieldName("replicas"),
    ("resources", "limits", "*"): _FieldName("{} limit"),
    ("resources", "requests", "*"): _FieldName("{} request"),
    ("restartPolicy",): _FieldName("restart policy"),
    ("runtimeClassName",): _FieldName("runtime class"),
    ("schedule",): _FieldName("schedule"),
    ("schedulerName",): _FieldName("scheduler"),
    ("securityContext", "*"): _FieldName("security context {}"),
    ("securityContext", "capabilities", "add"): _FieldName("added capability"),
    ("securityContext", "capabilities", "drop"): _FieldName("dropped capability"),
    ("securityContext", "seccompProfile", "type"): _FieldName("seccomp profile"),
    ("serviceAccountName",): _FieldName("service account"),
    ("storageClassName",): _FieldName("storage class"),
    ("suspend",): _FieldName("suspend"),
    ("ttlSecondsAfterFinished",): _FieldName("`ttlSecondsAfterFinished`"),
    ("type",): _FieldName("type"),
}

# Names for an item of a list, by the key of the list and, if that is ambiguous, the key before it.
ITEM_NAMES: Mapping[KeyPath, str] = {
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

# Paths of pod templates in workloads, outermost first.
_TEMPLATE_PATHS: tuple[KeyPath, ...] = (("spec", "jobTemplate"), ("spec", "template"), ("spec", "podSpec"))
_MAIN = "container main"
_SHARED_METADATA = ("namespace", "labels", "annotations")
"""Metadata that is the same on every object of a run."""


def has_pod_template(data: Mapping[str, Any]) -> bool:
    """Whether the object is the workload of the run, which summaries do not name."""
    spec = data.get("spec")
    return isinstance(spec, Mapping) and any(last in spec for _, last in _TEMPLATE_PATHS)


def is_shared_metadata(path: KeyPath) -> bool:
    """Whether the path is metadata that all objects of a run share."""
    return path[:1] == ("metadata",) and path[1:2] != () and path[1] in _SHARED_METADATA


def describe(difference: Difference, names: ObjectNames) -> str:
    """The difference on one line, by the name of the field if it has one, or else by its path."""
    owners, rest = _owners(_innermost(difference.path))
    field = _field_name(difference.aspect, rest)
    # A relative path needs its container in front.
    prefixes = owners[1:] if owners[:1] == (_MAIN,) and (field or owners[1:]) else owners
    field = field or _FieldName(quote(format_path(rest if owners else difference.path), _MAX_NAME))
    return "".join(f"{prefix}: " for prefix in prefixes) + _change_text(difference, field, names)


def _innermost(path: KeyPath) -> KeyPath:
    """The path within the pod template, or within the spec of an object without one."""
    for prefix in _TEMPLATE_PATHS:
        if path[: len(prefix)] == prefix:
            path = path[len(prefix) :]
    return path[1:] if path[:1] == ("spec",) else path


def _owners(path: KeyPath) -> tuple[tuple[str, ...], KeyPath]:
    """The list items on the path, by name, and the rest of the path."""
    owners: list[str] = []
    while path[2:] and path[:1] in ITEM_NAMES and _field_name(Aspect.VALUE, path) is None:
        owners.append(f"{ITEM_NAMES[path[:1]]} {_name(path[1])}")
        path = path[2:]
    return tuple(owners), path


def _field_name(aspect: Aspect, path: KeyPath) -> _FieldName | None:
    if aspect is Aspect.ORDER:
        return _FieldName(f"order of `{path[-1]}`") if path else None
    if aspect is Aspect.MEMBER:
        item = _item_name(path[:-1])
        return _FieldName(f"{item} {_name(path[-1])}", is_pair=item == "env") if item else None
    item = _item_name(path) if aspect is Aspect.ELEMENT else None
    return _FieldName(item) if item else _named_field(path)


def _item_name(path: KeyPath) -> str | None:
    return ITEM_NAMES.get(path[-2:]) or ITEM_NAMES.get(path[-1:])


def _named_field(path: KeyPath) -> _FieldName | None:
    for pattern, field in FIELD_NAMES.items():
        if len(pattern) == len(path) and all(one in ("*", step) for one, step in zip(pattern, path, strict=True)):
            star = path[pattern.index("*")] if "*" in pattern else ""
            return field._replace(text=field.text.format(_name(star)))
    return None


def _change_text(difference: Difference, field: _FieldName, names: ObjectNames) -> str:
    as_text = _TEXTS[difference.aspect]
    if difference.before is ABSENT or difference.after is ABSENT:
        verb, value = ("added", difference.after) if difference.before is ABSENT else ("removed", difference.before)
        text = as_text(difference, value, names)
        if difference.aspect is Aspect.VALUE and not field.is_pair:
            return f"{field.text} set to {text}" if verb == "added" else f"{field.text} removed (was {text})"
        joint = "" if not text or text.startswith(" ") else "=" if field.is_pair else " "
        return f"{field.text}{joint}{text} {verb}"
    if difference.aspect is Aspect.ELEMENT:
        return f"{field.text} {as_text(difference, difference.after, names)} is written differently"
    before, after = _side_by_side(difference, names)
    if field.is_pair:
        return f"{field.text} changed from {before} to {after}"
    return f"{field.text} {before} → {after}{' (same amount)' if _is_same_amount(difference) else ''}"


def _side_by_side(difference: Difference, names: ObjectNames) -> tuple[str, str]:
    """Both values, truncated so that the difference is visible."""
    before, after = _flow(difference.before, names), _flow(difference.after, names)
    if before == after:
        # The types differ, such as a number and a string.
        before, after = json.dumps(difference.before), json.dumps(difference.after)
    if max(len(before), len(after)) <= _MAX_VALUE:
        return _cut(before), _cut(after)
    equal = next((at for at, (one, two) in enumerate(zip(before, after, strict=False)) if one != two), 0)
    start = max(0, equal - _CONTEXT)
    return _cut(before, start), _cut(after, start)


def _cut(text: str, start: int = 0, longest: int = _MAX_VALUE) -> str:
    return quote(f"{'…' if start else ''}{text[start:]}", longest)[1:-1]


def _name(step: object) -> str:
    return _cut(str(step), longest=_MAX_NAME)


def _is_same_amount(difference: Difference) -> bool:
    if "resources" not in difference.path and difference.path[-1:] != ("sizeLimit",):
        return False
    try:
        return parse_quantity(difference.before) == parse_quantity(difference.after)  # type: ignore[arg-type]
    except (QuantityError, TypeError):
        return False


def _flow(value: Any, names: ObjectNames) -> str:
    """A value on one line, without quotes and braces."""
    if isinstance(value, str):
        return MASK if any(credentials_in(value)) else names.with_placeholder(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_flow(item, names) for item in value)}]"
    if isinstance(value, Mapping):
        return ", ".join(_leaves(value, (), names)) or "{}"
    return json.dumps(value)


def _leaves(value: Mapping[str, Any], path: KeyPath, names: ObjectNames) -> Iterator[str]:
    for key, child in value.items():
        here = (*path, key)
        if isinstance(child, Mapping) and child:
            yield from _leaves(child, here, names)
        else:
            yield format_path(here) if child == {} else f"{format_path(here)}={_flow(child, names)}"


def _value_text(_: Difference, value: Any, names: ObjectNames) -> str:
    return _cut(_flow(value, names))


def _member_text(difference: Difference, value: Any, names: ObjectNames) -> str:
    """The fields of an item apart from its key: ` (image=envoy:1.30)`."""
    if not isinstance(value, Mapping):
        return ""
    keys = KEYED[str(difference.path[-2])].fields
    fields = {key: child for key, child in value.items() if key not in keys}
    if set(fields) == {"value"}:
        return _cut(_flow(fields["value"], names))
    detail = _flow(fields, names) if fields else ""
    return f" ({_cut(detail, longest=_MAX_ITEM)})" if detail else ""


def element_text(path: KeyPath, value: Any, names: ObjectNames = ObjectNames()) -> str:  # noqa: B008  it is frozen
    """An item without a key, in the usual notation."""
    return _cut(_ELEMENTS.get(path[-1], _flow)(value, names), longest=_MAX_ITEM)


def _toleration(value: Any, names: ObjectNames) -> str:
    """A toleration as in `kubectl describe`: `nvidia.com/gpu=a100:NoSchedule`."""
    if not isinstance(value, Mapping):
        return _flow(value, names)
    text = str(value.get("key", "everything"))
    if value.get("operator", "Equal") == "Equal":
        text += f"={value.get('value', '')}"
    text += f":{value['effect']}" if "effect" in value else ""
    return text + (f" for {value['tolerationSeconds']} s" if "tolerationSeconds" in value else "")


_OPERATORS = {
    "In": "{} in ({})",
    "NotIn": "{} not in ({})",
    "Exists": "{}",
    "DoesNotExist": "no {}",
    "Gt": "{} > {}",
    "Lt": "{} < {}",
}


def _node_term(value: Any, names: ObjectNames) -> str:
    """A node selector term in the notation of label selectors: `zone in (a, b), no spot`."""
    expressions = [_requirement(one) for key in ("matchExpressions", "matchFields") for one in _list_at(value, key)]
    # Terms with an unknown structure must stay distinguishable.
    return ", ".join(filter(None, expressions)) if expressions and all(expressions) else _flow(value, names)


def _requirement(value: Any) -> str | None:
    pattern = _OPERATORS.get(str(value.get("operator"))) if isinstance(value, Mapping) else None
    return pattern and pattern.format(value.get("key"), ", ".join(map(str, _list_at(value, "values"))))


def _list_at(value: Any, key: str) -> list[Any]:
    items = value.get(key) if isinstance(value, Mapping) else None
    return items if isinstance(items, list) else []


def _preferred(value: Any, names: ObjectNames) -> str:
    if isinstance(value, Mapping) and "preference" in value:
        return f"{_node_term(value['preference'], names)} (weight {value.get('weight')})"
    return _flow(value, names)


_ELEMENTS: Mapping[object, Callable[[Any, ObjectNames], str]] = {
    "nodeSelectorTerms": _node_term,
    "preferredDuringSchedulingIgnoredDuringExecution": _preferred,
    "tolerations": _toleration,
}
_TEXTS: Mapping[Aspect, Callable[[Difference, Any, ObjectNames], str]] = {
    Aspect.VALUE: _value_text,
    Aspect.MEMBER: _member_text,
    Aspect.ELEMENT: lambda difference, value, names: element_text(difference.path, value, names),
    Aspect.ORDER: _value_text,
}
