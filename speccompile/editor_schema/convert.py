"""Convert the project's JSON schemas to draft-07 schemas for editors.

Editors support neither custom formats nor `x-…`, and read a file before its spelling and nulls are normalized. So
references are resolved, every spelling of a key is a property, and null is allowed wherever a value is optional.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from speccompile.editor_schema.format_patterns import FORMAT_PATTERNS
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.schema.library import Library, Schema

EditorSchema: TypeAlias = dict[str, Any]
"""A schema for editors."""

_NOT_NULL: Schema = {"not": {"type": "null"}}
_SHARED_KEYWORDS = (
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
"""Keywords with the same meaning in both dialects."""
_NUMBERS: Mapping[str, Schema] = {
    "positive-quantity": {"exclusiveMinimum": 0},
    "quantity": {"minimum": 0},
    "user-id": {"minimum": 1, "maximum": 2**31 - 1},
    "whole-number": {"minimum": 0, "multipleOf": 1},
}
"""Bounds of formats for numbers; patterns apply to texts only."""
_CONDITIONS = ("if", "then", "else", "not")


def spellings(key: str, schema: Schema) -> tuple[str, ...]:
    """Every spelling of the key, itself first, without those that mix snake_case and camelCase."""
    return tuple(dict.fromkeys((key, camel_case(key), snake_case(key), *schema.get("x-aliases", ()))))


def has_value(*path: str, **keywords: Any) -> EditorSchema:
    """The schema that requires a value at the path, with these keywords."""
    if not path:
        return dict(keywords or _NOT_NULL)
    return {"properties": {path[0]: has_value(*path[1:], **keywords)}, "required": [path[0]]}


def nested(path: Sequence[str], schema: EditorSchema) -> EditorSchema:
    """The schema that applies the given one at the path, if a value is there."""
    return {"properties": {path[0]: nested(path[1:], schema)}} if path else schema


def must_be_unset(reason: str) -> EditorSchema:
    """The schema that accepts only null; editors show the reason."""
    return {"type": "null", "errorMessage": reason, "doNotSuggest": True}


def export_schema(schema: Schema, where: str, library: Library, *, may_be_null: bool = False) -> EditorSchema:
    """The schema with its references resolved; `where` is its address, to which other spellings refer."""
    resolved = library.resolve(schema)
    return _export(resolved, resolved, where, library, may_be_null=may_be_null)


def _export(schema: Schema, about: Schema, where: str, library: Library, *, may_be_null: bool = False) -> EditorSchema:
    """Export a schema whose keys `about` declares: conditions use keys that the schema around them declares."""
    name = schema.get("$ref", "").removeprefix(_TO_A_PART)
    schema, written = library.resolve(schema), schema
    if name in _parts_in(library) and about is schema:
        return _reference(f"#/definitions/{name}", written) | ({} if may_be_null else {"type": schema["type"]})
    converted = {keyword: schema[keyword] for keyword in _SHARED_KEYWORDS if keyword in schema}
    if may_be_null:
        converted |= {"type": [*_type_names(converted["type"]), "null"]} if "type" in converted else {}
        converted |= {"enum": [*converted["enum"], None]} if "enum" in converted else {}
    if pattern := FORMAT_PATTERNS.get(converted.get("format", "")):
        converted |= {"pattern": pattern.pattern, "patternErrorMessage": pattern.rule}
        converted |= _NUMBERS.get(converted["format"], {})
    if "items" in schema:
        converted["items"] = _export(
            schema["items"], library.resolve(about.get("items", {})), f"{where}/items", library
        )
    if schema.get("x-unique") is True:
        converted["uniqueItems"] = True
    converted |= _mapping(schema, about, where, library)
    for keyword in _CONDITIONS:
        if keyword in schema:
            converted[keyword] = _export(schema[keyword], about, f"{where}/{keyword}", library)
    constraints: list[EditorSchema] = list(_constraints(schema, about))
    for child in _conditional_parts(schema):
        constraints.append(_export(child, about, f"{where}/allOf/{len(constraints)}", library))
    return {**converted, "allOf": constraints} if constraints else converted


def _type_names(types: str | list[str]) -> list[str]:
    return [types] if isinstance(types, str) else types


def _mapping(schema: Schema, about: Schema, where: str, library: Library) -> EditorSchema:
    """The keywords of the schema for mappings."""
    converted: EditorSchema = {}
    properties = _properties(schema, about, where, library)
    names = schema.get("propertyNames", {})
    if "enum" in names:
        # A key that does not apply here may still be null.
        allowed: EditorSchema = {one: {} for key in names["enum"] for one in spellings(key, _declared(key, about))}
        properties = {**allowed, **properties}
        converted["additionalProperties"] = {"type": "null"}
    elif names:
        converted["propertyNames"] = export_schema(names, where, library)
    if properties:
        converted["properties"] = properties
    if "patternProperties" in schema:
        converted["patternProperties"] = {
            pattern: export_schema(child, where, library, may_be_null=True)
            for pattern, child in schema["patternProperties"].items()
        }
    others = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    if others is not None:
        below = f"{where}/additionalProperties"
        converted["additionalProperties"] = others and export_schema(others, below, library, may_be_null=True)
    if alone := [key for key in schema.get("required", ()) if len(spellings(key, _declared(key, about))) == 1]:
        converted["required"] = alone
    return converted


def _properties(schema: Schema, about: Schema, where: str, library: Library) -> EditorSchema:
    """A property for each key; its other spellings refer to it and are not suggested by editors."""
    required = schema.get("required", ())
    properties: EditorSchema = {}
    for key, child in schema.get("properties", {}).items():
        below = f"{where}/properties/{key}"
        if field := _field(key, child, library):
            below = f"#/definitions/{field}"
            properties[key] = {"$ref": below} if child is _fields_in(library).get(key) else _reference(below, child)
        else:
            inner = library.resolve(child if schema is about else _declared(key, about))
            may_be_null = schema is about and key not in required
            properties[key] = _export(child, inner, below, library, may_be_null=may_be_null)
        for spelling in spellings(key, _declared(key, about))[1:]:
            properties[spelling] = _reference(below, {"doNotSuggest": True})
    for key in required:
        if properties.get(key, {}).keys().isdisjoint(_TYPE_KEYWORDS):
            names = spellings(key, _declared(key, about))
            properties |= {name: {**properties.get(name, {}), **_NOT_NULL} for name in names}
    return properties


_TYPE_KEYWORDS = frozenset({"type", "enum", "const"})


def _reference(address: str, schema: Schema) -> EditorSchema:
    """A reference with keywords for editors; draft 7 ignores other keywords beside a reference."""
    return {"allOf": [{"$ref": address}], **{word: schema[word] for word in _FOR_EDITORS if word in schema}}


_TO_A_PART = "placement.schema.json#/$defs/"


def _parts_in(library: Library) -> Mapping[str, Schema]:
    """The parts of affinities that are used in several places."""
    parts: Mapping[str, Schema] = library.schemas["placement"]["$defs"]
    return {name: part for name, part in parts.items() if "properties" in part and name not in _NOT_SHARED}


_NOT_SHARED = ("affinity", "toleration")
_FOR_EDITORS = ("description", "default", "doNotSuggest")
_TO_A_FIELD = "fields.schema.json#/properties/"


def _fields_in(library: Library) -> Mapping[str, Schema]:
    fields: Mapping[str, Schema] = library.schemas["fields"]["properties"]
    return fields


def _field(key: str, schema: Schema, library: Library) -> str | None:
    """The field whose schema this is, or refers to."""
    if _fields_in(library).get(key) is schema:
        return key
    name = schema.get("$ref", "").removeprefix(_TO_A_FIELD)
    return name if name in library.fields else None


def _declared(key: str, about: Schema) -> Schema:
    known: Schema = about.get("properties", {}).get(key, {})
    return known


def _constraints(schema: Schema, about: Schema) -> Iterator[EditorSchema]:
    """Constraints that need a separate schema because keys have several spellings and may be null."""
    for key in schema.get("required", ()):
        names = spellings(key, _declared(key, about))
        if len(names) > 1:
            yield {"anyOf": [{"required": [name]} for name in names]}
    if "minProperties" in schema:
        yield {"not": {"additionalProperties": {"type": "null"}}}


def _conditional_parts(schema: Schema) -> Iterator[Schema]:
    """The schemas in `allOf`, and conditions for keywords that draft 7 lacks."""
    for key, others in schema.get("dependentRequired", {}).items():
        yield {"if": {"required": [key]}, "then": {"required": others}}
    for key, child in schema.get("dependentSchemas", {}).items():
        yield {"if": {"required": [key]}, "then": child}
    yield from schema.get("allOf", ())


def field_definitions(library: Library) -> EditorSchema:
    """The definitions of all fields, and of parts that are used in several places."""
    return {
        name: export_schema(child, f"#/definitions/{name}", library, may_be_null=True)
        for name, child in {**_fields_in(library), **_parts_in(library)}.items()
    }
