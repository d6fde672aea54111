"""The schema that accepts what two schemas accept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from speccompile.editor_schema.convert import EditorSchema


def meet(one: EditorSchema, other: EditorSchema) -> EditorSchema:
    """The schema of what both accept, keyword by keyword where that can be said, so that editors complete from it.

    The first may have other spellings of its keys, which refer to it and so need no meeting.
    """
    made = dict(one)
    for keyword, value in other.items():
        if keyword == "properties":
            made[keyword] = _properties(made, value)
        elif keyword not in made:
            made[keyword] = value
        elif keyword in _MEETINGS:
            made[keyword] = _MEETINGS[keyword](made[keyword], value)
        elif keyword not in _MESSAGES and made[keyword] != value:
            beside = {word: other[word] for word in _MESSAGES if word in other}
            made["allOf"] = [*made.get("allOf", ()), {keyword: value, **beside}]
    return made


_MESSAGES = ("errorMessage", "patternErrorMessage")


def _properties(schema: EditorSchema, more: EditorSchema) -> EditorSchema:
    known = dict(schema.get("properties", {}))
    others = schema.get("additionalProperties", {})
    for key, made in more.items():
        if key not in known:
            known[key] = meet(others, made) if isinstance(others, dict) else {"not": {}}
        elif "doNotSuggest" not in known[key]:
            known[key] = meet(known[key], made)
    return known


def _patterns(one: EditorSchema, other: EditorSchema) -> EditorSchema:
    return {**one, **{pattern: meet(one.get(pattern, {}), made) for pattern, made in other.items()}}


def _values(one: list[Any], other: list[Any]) -> list[Any]:
    """The values of both; `1` is not `true`, whatever Python says."""
    return [value for value in one if any(value == same and type(value) is type(same) for same in other)]


_MEETINGS: Mapping[str, Callable[[Any, Any], Any]] = {
    "additionalProperties": lambda one, other: one and meet(one, other),
    "allOf": lambda one, other: [*one, *other],
    "description": lambda one, other: one if other in one else f"{one} {other[0].upper()}{other[1:]}.",
    "enum": _values,
    "items": meet,
    "maxLength": min,
    "maximum": min,
    "minimum": max,
    "patternProperties": _patterns,
    "type": lambda one, other: [name for name in one if name in other],
}
"""How a keyword of both schemas is said once. Types are lists wherever a value need not be there."""
