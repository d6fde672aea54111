"""Yes or no from a Kubernetes schema, several times as fast as jsonschema."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from speccompile.schema.library import Schema
from speccompile.verify.server_checks import KEYWORDS

_REQUIRED = "x-required"
Accepts: TypeAlias = Callable[[Any], bool]

_CLASSES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_ALL = frozenset(one for classes in _CLASSES.values() for one in classes)


def fast_check(schema: Schema) -> Accepts:
    """What jsonschema would say of a value, several times as fast, in the keywords that `kubernetes_api.py` writes."""
    return _made(schema, {})


def _made(schema: Any, known: dict[int, Accepts]) -> Accepts:
    if isinstance(schema, bool):
        return lambda _: schema
    if id(schema) not in known:

        def finished(value: Any) -> bool:
            return known[id(schema)](value)

        # Entered before it is made, as some schemas hold themselves.
        known[id(schema)] = finished
        known[id(schema)] = _joined(schema, known)
    return known[id(schema)]


def _joined(schema: Schema, known: dict[int, Accepts]) -> Accepts:
    kinds = schema.get("type", ())
    names = (kinds,) if isinstance(kinds, str) else kinds
    classes = frozenset(one for name in names for one in _CLASSES[name]) or _ALL
    floats = "integer" in names and float not in classes
    scalar = tuple(_scalar_checks(schema))
    mapping = _mapping_check(schema, known)
    item = _made(schema["items"], known) if "items" in schema else None

    def accepts(value: Any) -> bool:
        kind = type(value)
        if kind not in classes and not (floats and kind is float and value.is_integer()):
            return False
        if kind is dict and not mapping(value):
            return False
        if kind is list and item is not None and not all(map(item, value)):
            return False
        return not scalar or all(check(value) for check in scalar)

    return accepts


def _mapping_check(schema: Schema, known: dict[int, Accepts]) -> Accepts:
    properties = {key: _made(child, known) for key, child in schema.get("properties", {}).items()}
    required = tuple(schema.get(_REQUIRED, ()))
    others = _made(schema.get("additionalProperties", True), known)

    def accepts(value: dict[str, Any]) -> bool:
        return all(value.get(name) is not None for name in required) and all(
            properties.get(key, others)(child) for key, child in value.items()
        )

    return accepts


def _scalar_checks(schema: Schema) -> Iterator[Accepts]:
    if "enum" in schema:
        options = schema["enum"]
        yield lambda value: value in options
    if "minimum" in schema:
        low, high = schema["minimum"], schema["maximum"]
        yield lambda value: type(value) not in (int, float) or low <= value <= high
    for keyword in KEYWORDS.keys() & schema.keys() - {_REQUIRED}:
        check, told = KEYWORDS[keyword], schema[keyword]
        # Bound as defaults, because a closure would see the loop's last keyword only.
        yield lambda value, check=check, told=told: next(check(told, value), None) is None  # type: ignore[misc]
