"""Schemas that find a field in a run, whatever its shape there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from speccompile.editor_schema.convert import EditorSchema, said, spellings
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.library import Library, Schema

Leaf: TypeAlias = Callable[[Schema], EditorSchema]
"""What must hold of a value, given the schema that the library has for it."""
Steps: TypeAlias = Sequence[str | int]
_INSIDE: Schema = {"x-opaque": True}
"""Any place inside of what nobody reads."""


def placed(schema: Schema, steps: Steps, leaf: Leaf, library: Library) -> EditorSchema:
    """What must hold of a value, so that whatever stands at the steps below it is as the leaf says."""
    schema = library.resolve(schema)
    if not steps:
        return leaf(schema)
    step, *rest = steps
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if step in properties:
        below = placed(properties[str(step)], rest, leaf, library)
        return {"properties": dict.fromkeys(spellings(str(step), properties[str(step)]), below)}
    items = library.resolve(schema.get("items", {}))
    if "x-key" in schema:
        made = _item(schema, step, placed(items, rest, leaf, library), library)
        if "additionalProperties" in schema:
            made["properties"] = {str(step): leaf(schema["additionalProperties"])}
        return made
    below = placed(schema.get("additionalProperties", _INSIDE), rest, leaf, library)
    return {**_item(schema, step, {"properties": {"value": below}}, library), "properties": {str(step): below}}


def _item(schema: Schema, step: str | int, then: EditorSchema, library: Library) -> EditorSchema:
    """What must hold of a list, so that its item of that key is as it should be; nothing of what is never a list."""
    found = _with_key(schema, step, library)
    return {"items": {"allOf": [{"if": found, "then": then}]}} if found else {}


def _with_key(schema: Schema, step: str | int, library: Library) -> EditorSchema | None:
    """What holds of the item of that key; None where there can be none."""
    items = library.resolve(schema.get("items", {})).get("properties", {})
    key = schema.get("x-key") or next((name for name in items if name != "value"), None)
    if key is None:
        return None
    if library.resolve(items[key]).get("type") != "integer":
        return said(key, const=step)
    return said(key, const=int(step)) if str(step).isdecimal() and str(int(step)) == step else None


def holds(schema: Schema, steps: Steps, library: Library) -> EditorSchema:
    """What holds of a value that says something at the steps below it."""
    schema = library.resolve(schema)
    if not steps:
        return _SAYING_INSIDE if schema is _INSIDE else _SAYING_OPAQUE if "x-opaque" in schema else _SAYING
    step, *rest = steps
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if step in properties:
        below = holds(properties[str(step)], rest, library)
        return either(with_key(name, below) for name in spellings(str(step), properties[str(step)]))
    is_keyed = "x-key" in schema
    ways = [
        with_key(str(step), _SAYING if is_keyed else holds(schema.get("additionalProperties", _INSIDE), rest, library))
    ]
    if found := _with_key(schema, step, library):
        more = [holds(schema["items"], rest, library)] if is_keyed and rest else []
        ways.append({"type": "array", "contains": {"allOf": [found, *more]}})
    return either(ways)


_SAYING: EditorSchema = {
    # No null is an object, and editors tell the reason for a type, though not that for a `not`.
    "if": {"type": "null"},
    "then": {"type": "object", "errorMessage": "the profile or the platform wants a value here"},
    "not": {
        "anyOf": [
            {"type": "array", "maxItems": 0},
            {"type": "object", "additionalProperties": {"type": "null"}},
        ]
    },
}
"""What holds of a value that says anything: an empty list or map says nothing."""
_SAYING_OPAQUE: EditorSchema = {"not": {"enum": [None, {}]}}
_SAYING_INSIDE: EditorSchema = {"not": {"enum": [{}, []]}}
"""The same of what nobody reads, in which null is something, and of any place inside."""


def with_key(key: str, schema: EditorSchema) -> EditorSchema:
    return {"type": "object", "properties": {key: schema}, "required": [key]}


def either(schemas: Iterable[EditorSchema]) -> EditorSchema:
    """What holds where one of the schemas does: nothing, if there is none."""
    ways = list(schemas)
    if not ways:
        return {"not": {}}
    return ways[0] if len(ways) == 1 else {"anyOf": ways}


def is_inside(schema: Schema) -> bool:
    """Whether a leaf is inside of what nobody reads, where null is something said."""
    return schema is _INSIDE


# Where a value is written that the canonical spec has elsewhere

_FILLED = ("size", "storage_class", "access_mode", "size_limit")
"""What the platform fills in where a volume does not say it."""
CLAIMED: EditorSchema = {"anyOf": [said("spec", name) for name in ("claim_name", "claimName")]}
"""What holds of a volume that names a claim."""
_UNTARGETED: EditorSchema = {"properties": {name: {"type": "null"} for name in ("target_port", "targetPort")}}


class Implied(NamedTuple):
    """What a key of an item is if something holds of the item, whatever is written there."""

    condition: EditorSchema
    value: str | int


def implied(path: KeyPath) -> Implied | None:
    """How the value at the path follows from others; None if it is as written."""
    match path:
        case ("volumes", _, "volume_type"):
            return Implied(CLAIMED, "shared_volume")
        case ("service_ports", str(port), "target_port") if port.isdecimal():
            return Implied(_UNTARGETED, int(port))
        case _:
            return None


def places(path: KeyPath) -> Sequence[KeyPath]:
    """Where runs write what the canonical spec has at the path."""
    match path:
        case ("volumes", key, "sub_path"):
            return path, ("volumes", key, "spec", "sub_path")
        case ("volumes", _, "spec", "sub_path"):
            return ()
        case _:
            return (path,)


def sources(path: KeyPath) -> Sequence[KeyPath]:
    """Where runs write something, so that the canonical spec has something at the path, or may have."""
    match path:
        case ("service_ports", _, "target_port") | ("volumes", _, "spec"):
            return (path[:2],)
        case ("volumes", _, "spec", str(key)) if key in _FILLED:
            return (path[:2],)
        case _:
            return places(path)


# The ways to write a value


def ways_to_write(value: Any, schema: Schema) -> list[Any]:
    """The ways to write a canonical value that is no mapping."""
    if schema.get("format") == "user-id":
        return [value, str(value)]
    if schema.get("format") in QUANTITIES:
        is_number = value.isdecimal() and value == parse_quantity(int(value)).text
        return [value, int(value)] if is_number else [value]
    if isinstance(value, list) and len(value) == 1 and "string" in schema.get("type", ()):
        return [value, *value]
    return [value]


def same_as(value: Mapping[str, Any], schema: Schema, library: Library) -> EditorSchema:
    """What holds of whatever comes to the canonical mapping."""
    known: Mapping[str, Schema] = schema.get("properties", {})
    properties: EditorSchema = {}
    demands: list[EditorSchema] = []
    for key in {**known, **value}:
        child = library.resolve(known.get(key, {}))
        names = spellings(key, child)
        told: EditorSchema = {"enum": [None]}
        if key in value:
            inner = value[key]
            told = same_as(inner, child, library) if isinstance(inner, dict) else {"enum": ways_to_write(inner, child)}
            demands.append({"anyOf": [{"required": [name]} for name in names]})
        properties |= dict.fromkeys(names, told)
    made = {"type": "object", "properties": properties, "additionalProperties": {"type": "null"}}
    return {**made, "allOf": demands} if demands else made


def same_port(item: Mapping[str, Any]) -> EditorSchema:
    """What holds of an item of `service_ports` that comes to the canonical one, if it has the same port."""
    names = ("target_port", "targetPort")
    if item["target_port"] == item["port"]:
        return {"properties": {name: {"enum": [item["port"], None]} for name in names}}
    target = {"enum": [item["target_port"]]}
    return {"properties": dict.fromkeys(names, target), "anyOf": [{"required": [name]} for name in names]}


def same_volume(item: Mapping[str, Any], library: Library) -> EditorSchema:
    """What holds of an item of `volumes` that comes to the canonical one, if it has the same name.

    A sub-path can stand in two places, and a claim that exists has two types.
    """
    schema = library.resolve(library.fields["volumes"]["items"])
    spec, sub_path = item["spec"], item.get("sub_path")
    made = same_as({key: item[key] for key in item if key not in ("spec", "sub_path")}, schema, library)
    inner = same_as(spec, schema["properties"]["spec"], library)
    paths = {name: {"enum": [sub_path, None]} for name in ("sub_path", "subPath")}
    inner["properties"] |= paths
    made["properties"] |= {**paths, "spec": inner if spec else {"anyOf": [{"type": "null"}, inner]}}
    if spec:
        made["required"] = ["spec"]
    if "claim_name" in spec:
        types = {"enum": ["shared_volume", "persistent_volume_claim"]}
        made["properties"] |= dict.fromkeys(("volume_type", "volumeType"), types)
    if sub_path is not None:
        made["anyOf"] = [*map(said, paths), *(said("spec", name) for name in paths)]
    return made
