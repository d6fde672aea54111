"""Intersection of two schemas."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from speccompile.editor_schema.convert import EditorSchema


def intersect(one: EditorSchema, other: EditorSchema) -> EditorSchema:
    """The schema of what both accept, combined keyword by keyword where possible, which helps completion in editors.

    Other spellings of a key refer to it, so they are left as they are.
    """
    result = dict(one)
    for keyword, value in other.items():
        if keyword == "properties":
            result[keyword] = _properties(result, value)
        elif keyword not in result:
            result[keyword] = value
        elif keyword in _COMBINATIONS:
            result[keyword] = _COMBINATIONS[keyword](result[keyword], value)
        elif keyword not in _MESSAGES and result[keyword] != value:
            beside = {word: other[word] for word in _MESSAGES if word in other}
            result["allOf"] = [*result.get("allOf", ()), {keyword: value, **beside}]
    return result


_MESSAGES = ("errorMessage", "patternErrorMessage")


def _properties(schema: EditorSchema, more: EditorSchema) -> EditorSchema:
    properties = dict(schema.get("properties", {}))
    others = schema.get("additionalProperties", {})
    for key, constraint in more.items():
        if key not in properties:
            properties[key] = intersect(others, constraint) if isinstance(others, dict) else {"not": {}}
        elif "doNotSuggest" not in properties[key]:
            properties[key] = intersect(properties[key], constraint)
    return properties


def _patterns(one: EditorSchema, other: EditorSchema) -> EditorSchema:
    return {**one, **{pattern: intersect(one.get(pattern, {}), schema) for pattern, schema in other.items()}}


def _values(one: list[Any], other: list[Any]) -> list[Any]:
    """The values in both lists; to Python `1` equals `true`, to JSON it does not."""
    return [value for value in one if any(value == same and type(value) is type(same) for same in other)]


_COMBINATIONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "additionalProperties": lambda one, other: one and intersect(one, other),
    "allOf": lambda one, other: [*one, *other],
    "description": lambda one, other: one if other in one else f"{one} {other[0].upper()}{other[1:]}.",
    "enum": _values,
    "items": intersect,
    "maxLength": min,
    "maximum": min,
    "minimum": max,
    "patternProperties": _patterns,
    "type": lambda one, other: [name for name in one if name in other],
}
"""How to combine a keyword of both schemas. Types are lists wherever a value is optional."""
