"""Schemas for a field of a run, in all forms in which a run can write it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from speccompile.editor_schema.convert import EditorSchema, has_value, spellings
from speccompile.editor_schema.format_patterns import literal
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.library import Library, Schema

Leaf: TypeAlias = Callable[[Schema], EditorSchema]
"""Returns the constraint on a value, given the library's schema of it."""
Steps: TypeAlias = Sequence[str | int]
_INSIDE: Schema = {"x-opaque": True}
"""The schema of values inside of an opaque field."""


def constrained(schema: Schema, steps: Steps, leaf: Leaf, library: Library) -> EditorSchema:
    """The schema of a value that applies the leaf's constraint at the steps below it."""
    schema = library.resolve(schema)
    if not steps:
        return leaf(schema)
    step, *rest = steps
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if step in properties:
        below = constrained(properties[str(step)], rest, leaf, library)
        return {"properties": dict.fromkeys(spellings(str(step), properties[str(step)]), below)}
    items = library.resolve(schema.get("items", {}))
    if "x-key" in schema:
        result = _item(schema, step, constrained(items, rest, leaf, library), library)
        if "additionalProperties" in schema:
            result["properties"] = {str(step): leaf(schema["additionalProperties"])}
        return result
    below = constrained(schema.get("additionalProperties", _INSIDE), rest, leaf, library)
    keys = (
        {"patternProperties": {_prefixed(step): below}}
        if _is_prefix(schema, step)
        else {"properties": {str(step): below}}
    )
    return {**_item(schema, step, {"properties": {"value": below}}, library), **keys}


def _is_prefix(schema: Schema, step: str | int) -> bool:
    """Whether the step is a prefix of keys of labels or annotations, which contain no `*`."""
    return str(step).endswith("*") and schema.get("propertyNames", {}).get("format") in ("label-key", "annotation-key")


def _prefixed(step: str | int) -> str:
    return f"^{literal(str(step)[:-1])}"


def _item(schema: Schema, step: str | int, then: EditorSchema, library: Library) -> EditorSchema:
    """The schema of a list that constrains its item of that key; empty if the field is never a list."""
    has_key = _with_key(schema, step, library)
    return {"items": {"allOf": [{"if": has_key, "then": then}]}} if has_key else {}


def _with_key(schema: Schema, step: str | int, library: Library) -> EditorSchema | None:
    """The schema of the item of that key; None if there can be none."""
    items = library.resolve(schema.get("items", {})).get("properties", {})
    key = schema.get("x-key") or next((name for name in items if name != "value"), None)
    if key is None:
        return None
    if _is_prefix(schema, step):
        return has_value(key, pattern=_prefixed(step))
    if library.resolve(items[key]).get("type") != "integer":
        return has_value(key, const=step)
    return has_value(key, const=int(step)) if str(step).isdecimal() and str(int(step)) == step else None


def sets_value(schema: Schema, steps: Steps, library: Library) -> EditorSchema:
    """The schema of a value that sets something at the steps below it."""
    schema = library.resolve(schema)
    if not steps:
        return _SETS_INSIDE if schema is _INSIDE else _SETS_OPAQUE if "x-opaque" in schema else _SETS_ANYTHING
    step, *rest = steps
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if step in properties:
        below = sets_value(properties[str(step)], rest, library)
        return any_of(with_key(name, below) for name in spellings(str(step), properties[str(step)]))
    is_keyed = "x-key" in schema
    ways = [
        {"type": "object", "not": {"patternProperties": {_prefixed(step): {"type": "null"}}}}
        if _is_prefix(schema, step)
        else with_key(
            str(step),
            _SETS_ANYTHING if is_keyed else sets_value(schema.get("additionalProperties", _INSIDE), rest, library),
        )
    ]
    if has_key := _with_key(schema, step, library):
        more = [sets_value(schema["items"], rest, library)] if is_keyed and rest else []
        ways.append({"type": "array", "contains": {"allOf": [has_key, *more]}})
    return any_of(ways)


_SETS_ANYTHING: EditorSchema = {
    # Null is never an object; editors show the message of a `type`, but not that of a `not`.
    "if": {"type": "null"},
    "then": {"type": "object", "errorMessage": "the profile or the platform requires a value"},
    "not": {
        "anyOf": [
            {"type": "array", "maxItems": 0},
            {"type": "object", "additionalProperties": {"type": "null"}},
        ]
    },
}
"""The schema of a value that sets anything: an empty list or map does not."""
_SETS_OPAQUE: EditorSchema = {"not": {"enum": [None, {}]}}
_SETS_INSIDE: EditorSchema = {"not": {"enum": [{}, []]}}
"""The same for opaque fields, and for values inside of them, where null is a value."""


def with_key(key: str, schema: EditorSchema) -> EditorSchema:
    return {"type": "object", "properties": {key: schema}, "required": [key]}


def any_of(schemas: Iterable[EditorSchema]) -> EditorSchema:
    """The schema that accepts what any of the schemas accepts; nothing, if there are none."""
    ways = list(schemas)
    if not ways:
        return {"not": {}}
    return ways[0] if len(ways) == 1 else {"anyOf": ways}


def is_inside(schema: Schema) -> bool:
    """Whether a leaf is inside of an opaque field, where null is a value."""
    return schema is _INSIDE


# Values that the canonical spec has elsewhere

_FILLED = ("size", "storage_class", "access_mode", "size_limit")
"""Settings of a volume that the platform has defaults for."""
CLAIMED: EditorSchema = {"anyOf": [has_value("spec", name) for name in ("claim_name", "claimName")]}
"""The schema of a volume that names a claim."""
_UNTARGETED: EditorSchema = {"properties": {name: {"type": "null"} for name in ("target_port", "targetPort")}}


class Implied(NamedTuple):
    """The value that a key of an item has under a condition, whatever is written."""

    condition: EditorSchema
    value: str | int


def implied(path: KeyPath) -> Implied | None:
    """The value that other values imply at the path; None if the written value counts."""
    match path:
        case ("volumes", _, "volume_type"):
            return Implied(CLAIMED, "shared_volume")
        case ("service_ports", str(port), "target_port") if port.isdecimal():
            return Implied(_UNTARGETED, int(port))
        case _:
            return None


def written_paths(path: KeyPath) -> Sequence[KeyPath]:
    """The paths where runs write the value of a canonical path."""
    match path:
        case ("volumes", key, "sub_path"):
            return path, ("volumes", key, "spec", "sub_path")
        case ("volumes", _, "spec", "sub_path"):
            return ()
        case _:
            return (path,)


def source_paths(path: KeyPath) -> Sequence[KeyPath]:
    """The paths of written values that can produce a value at a canonical path."""
    match path:
        case ("service_ports", _, "target_port") | ("volumes", _, "spec"):
            return (path[:2],)
        case ("volumes", _, "spec", str(key)) if key in _FILLED:
            return (path[:2],)
        case _:
            return written_paths(path)


# Equivalent values


def ways_to_write(value: Any, schema: Schema) -> list[Any]:
    """The ways to write a canonical value that is not a mapping."""
    if schema.get("format") == "user-id":
        return [value, str(value)]
    if schema.get("format") in QUANTITIES:
        is_number = value.isdecimal() and value == parse_quantity(int(value)).text
        return [value, int(value)] if is_number else [value]
    if isinstance(value, list) and len(value) == 1 and "string" in schema.get("type", ()):
        return [value, *value]
    return [value]


def same_as(value: Mapping[str, Any], schema: Schema, library: Library) -> EditorSchema:
    """The schema of values that normalize to the canonical mapping."""
    declared: Mapping[str, Schema] = schema.get("properties", {})
    properties: EditorSchema = {}
    constraints: list[EditorSchema] = []
    for key in {**declared, **value}:
        child = library.resolve(declared.get(key, {}))
        names = spellings(key, child)
        same: EditorSchema = {"enum": [None]}
        if key in value:
            inner = value[key]
            same = same_as(inner, child, library) if isinstance(inner, dict) else {"enum": ways_to_write(inner, child)}
            constraints.append({"anyOf": [{"required": [name]} for name in names]})
        properties |= dict.fromkeys(names, same)
    result = {"type": "object", "properties": properties, "additionalProperties": {"type": "null"}}
    return {**result, "allOf": constraints} if constraints else result


def same_port(item: Mapping[str, Any]) -> EditorSchema:
    """The schema of an item of `service_ports` with the port of the canonical one, if it normalizes to that."""
    names = ("target_port", "targetPort")
    if item["target_port"] == item["port"]:
        return {"properties": {name: {"enum": [item["port"], None]} for name in names}}
    target = {"enum": [item["target_port"]]}
    return {"properties": dict.fromkeys(names, target), "anyOf": [{"required": [name]} for name in names]}


def same_volume(item: Mapping[str, Any], library: Library) -> EditorSchema:
    """The schema of an item of `volumes` with the name of the canonical one, if it normalizes to that.

    A sub-path can be written in two places, and an existing claim with two types.
    """
    schema = library.resolve(library.fields["volumes"]["items"])
    spec, sub_path = item["spec"], item.get("sub_path")
    result = same_as({key: item[key] for key in item if key not in ("spec", "sub_path")}, schema, library)
    inner = same_as(spec, schema["properties"]["spec"], library)
    paths = {name: {"enum": [sub_path, None]} for name in ("sub_path", "subPath")}
    inner["properties"] |= paths
    result["properties"] |= {**paths, "spec": inner if spec else {"anyOf": [{"type": "null"}, inner]}}
    if spec:
        result["required"] = ["spec"]
    if "claim_name" in spec:
        types = {"enum": ["shared_volume", "persistent_volume_claim"]}
        result["properties"] |= dict.fromkeys(("volume_type", "volumeType"), types)
    if sub_path is not None:
        result["anyOf"] = [*map(has_value, paths), *(has_value("spec", name) for name in paths)]
    return result
