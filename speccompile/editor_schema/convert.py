"""Convert our JSON schemas to the draft-07 schemas that editors read.

Editors know neither our formats nor `x-…`, and see a file before its spelling and nulls are normalized. So references
are resolved, every spelling of a key is a property, and null is allowed wherever a value is optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from speccompile.editor_schema.format_patterns import EXPRESSIONS
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.schema.library import Library, Schema

EditorSchema: TypeAlias = dict[str, Any]
"""A schema as an editor gets it."""

_SAID: Schema = {"not": {"type": "null"}}
_KEPT = (
    "title",
    "description",
    "type",
    "enum",
    "const",
    "default",
    "examples",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "pattern",
    "format",
)
"""Keywords that mean the same to an editor."""
_NUMBERS: Mapping[str, Schema] = {
    "positive-quantity": {"exclusiveMinimum": 0},
    "quantity": {"minimum": 0},
    "user-id": {"minimum": 1, "maximum": 2**31 - 1},
    "whole-number": {"minimum": 0, "multipleOf": 1},
}
"""What formats ask of numbers; expressions are about texts."""
_CONDITIONS = ("if", "then", "else", "not")


def spellings(key: str, schema: Schema) -> tuple[str, ...]:
    """Every key that means this one, itself first; a key in half of one spelling and half of another is left out."""
    return tuple(dict.fromkeys((key, camel_case(key), snake_case(key), *schema.get("x-aliases", ()))))


def said(*path: str, **what: Any) -> EditorSchema:
    """What holds where something stands at the path, and is as it should be."""
    if not path:
        return dict(what or _SAID)
    return {"properties": {path[0]: said(*path[1:], **what)}, "required": [path[0]]}


def at(path: Sequence[str], schema: EditorSchema) -> EditorSchema:
    """What holds where nothing stands at the path, or what the schema accepts."""
    return {"properties": {path[0]: at(path[1:], schema)}} if path else schema


def unsaid(reason: str) -> EditorSchema:
    """What holds where nothing is said; editors show the reason."""
    return {"type": "null", "errorMessage": reason, "doNotSuggest": True}


def exported(schema: Schema, where: str, library: Library, *, may_be_null: bool = False) -> EditorSchema:
    """The schema with all that it refers to; `where` is the address it will have, for its other spellings."""
    told = library.resolve(schema)
    return _exported(told, told, where, library, may_be_null=may_be_null)


def _exported(
    schema: Schema, about: Schema, where: str, library: Library, *, may_be_null: bool = False
) -> EditorSchema:
    """The schema, of which `about` declares the keys: conditions speak of keys that others declare."""
    name = schema.get("$ref", "").removeprefix(_TO_A_PART)
    schema, written = library.resolve(schema), schema
    if name in _parts_in(library) and about is schema:
        return _beside(f"#/definitions/{name}", written) | ({} if may_be_null else {"type": schema["type"]})
    made = {keyword: schema[keyword] for keyword in _KEPT if keyword in schema}
    if may_be_null:
        made |= {"type": [*_listed(made["type"]), "null"]} if "type" in made else {}
        made |= {"enum": [*made["enum"], None]} if "enum" in made else {}
    if expression := EXPRESSIONS.get(made.get("format", "")):
        made |= {"pattern": expression.pattern, "patternErrorMessage": expression.rule}
        made |= _NUMBERS.get(made["format"], {})
    if "items" in schema:
        made["items"] = _exported(schema["items"], library.resolve(about.get("items", {})), f"{where}/items", library)
    if schema.get("x-unique") is True:
        made["uniqueItems"] = True
    made |= _mapping(schema, about, where, library)
    for keyword in _CONDITIONS:
        if keyword in schema:
            made[keyword] = _exported(schema[keyword], about, f"{where}/{keyword}", library)
    demands: list[EditorSchema] = list(_demands(schema, about))
    for child in _parts(schema):
        demands.append(_exported(child, about, f"{where}/allOf/{len(demands)}", library))
    return {**made, "allOf": demands} if demands else made


def _listed(types: str | list[str]) -> list[str]:
    return [types] if isinstance(types, str) else types


def _mapping(schema: Schema, about: Schema, where: str, library: Library) -> EditorSchema:
    """What the schema says of a mapping."""
    made: EditorSchema = {}
    properties = _properties(schema, about, where, library)
    names = schema.get("propertyNames", {})
    if "enum" in names:
        # A key that is not meant here may still be null.
        allowed: EditorSchema = {one: {} for key in names["enum"] for one in spellings(key, _known(key, about))}
        properties = {**allowed, **properties}
        made["additionalProperties"] = {"type": "null"}
    elif names:
        made["propertyNames"] = exported(names, where, library)
    if properties:
        made["properties"] = properties
    if "patternProperties" in schema:
        made["patternProperties"] = {
            pattern: exported(child, where, library, may_be_null=True)
            for pattern, child in schema["patternProperties"].items()
        }
    others = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    if others is not None:
        below = f"{where}/additionalProperties"
        made["additionalProperties"] = others and exported(others, below, library, may_be_null=True)
    if alone := [key for key in schema.get("required", ()) if len(spellings(key, _known(key, about))) == 1]:
        made["required"] = alone
    return made


def _properties(schema: Schema, about: Schema, where: str, library: Library) -> EditorSchema:
    """A property for each key; its other spellings refer to it, and editors do not propose them."""
    required = schema.get("required", ())
    properties: EditorSchema = {}
    for key, child in schema.get("properties", {}).items():
        below = f"{where}/properties/{key}"
        if field := _field(key, child, library):
            below = f"#/definitions/{field}"
            properties[key] = {"$ref": below} if child is _fields_in(library).get(key) else _beside(below, child)
        else:
            inner = library.resolve(child if schema is about else _known(key, about))
            may_be_null = schema is about and key not in required
            properties[key] = _exported(child, inner, below, library, may_be_null=may_be_null)
        for spelling in spellings(key, _known(key, about))[1:]:
            properties[spelling] = _beside(below, {"doNotSuggest": True})
    for key in required:
        if properties.get(key, {}).keys().isdisjoint(_TYPED):
            names = spellings(key, _known(key, about))
            properties |= {name: {**properties.get(name, {}), **_SAID} for name in names}
    return properties


_TYPED = frozenset({"type", "enum", "const"})


def _beside(address: str, schema: Schema) -> EditorSchema:
    """A reference with what only editors read; to draft 7, nothing counts that stands beside one."""
    return {"allOf": [{"$ref": address}], **{word: schema[word] for word in _FOR_EDITORS if word in schema}}


_TO_A_PART = "placement.schema.json#/$defs/"


def _parts_in(library: Library) -> Mapping[str, Schema]:
    """The parts of affinities that stand in several places."""
    parts: Mapping[str, Schema] = library.schemas["placement"]["$defs"]
    return {name: part for name, part in parts.items() if "properties" in part and name not in _WHOLE}


_WHOLE = ("affinity", "toleration")
_FOR_EDITORS = ("description", "default", "doNotSuggest")
_TO_A_FIELD = "fields.schema.json#/properties/"


def _fields_in(library: Library) -> Mapping[str, Schema]:
    fields: Mapping[str, Schema] = library.schemas["fields"]["properties"]
    return fields


def _field(key: str, schema: Schema, library: Library) -> str | None:
    """The field that the schema is, or refers to, whose definition serves for both."""
    if _fields_in(library).get(key) is schema:
        return key
    name = schema.get("$ref", "").removeprefix(_TO_A_FIELD)
    return name if name in library.fields else None


def _known(key: str, about: Schema) -> Schema:
    known: Schema = about.get("properties", {}).get(key, {})
    return known


def _demands(schema: Schema, about: Schema) -> Iterator[EditorSchema]:
    """What takes a schema of its own to say, once keys have several spellings and may be null."""
    for key in schema.get("required", ()):
        names = spellings(key, _known(key, about))
        if len(names) > 1:
            yield {"anyOf": [{"required": [name]} for name in names]}
    if "minProperties" in schema:
        yield {"not": {"additionalProperties": {"type": "null"}}}


def _parts(schema: Schema) -> Iterator[Schema]:
    """The schemas that hold beside this one, those among them that draft 7 has no keyword for."""
    for key, others in schema.get("dependentRequired", {}).items():
        yield {"if": {"required": [key]}, "then": {"required": others}}
    for key, child in schema.get("dependentSchemas", {}).items():
        yield {"if": {"required": [key]}, "then": child}
    yield from schema.get("allOf", ())


def field_definitions(library: Library) -> EditorSchema:
    """A definition for each field, which everything refers to that has fields, and for each part of several."""
    return {
        name: exported(child, f"#/definitions/{name}", library, may_be_null=True)
        for name, child in {**_fields_in(library), **_parts_in(library)}.items()
    }
