"""jsonschema validator with additional keywords, and with regular expressions in linear time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError
from jsonschema.protocols import Validator

from speccompile.schema.library import Schema
from speccompile.verify.go_regex import CompiledPattern, compile_pattern
from speccompile.verify.server_checks import KEYWORDS, NULL_ITEM, UNLESS_NULL


def _keyword(name: str) -> Any:
    def check(_: Validator, argument: Any, value: Any, __: Schema) -> Iterator[ValidationError]:
        if next(KEYWORDS[name](argument, value), None):
            yield ValidationError(name)

    return check


def _unless_null(validator: Any, schema: Schema, value: Any, _: Schema) -> Iterator[ValidationError]:
    if value is not None:
        yield from validator.descend(value, schema)


def _items(validator: Any, schema: Schema, value: Any, owner: Schema) -> Iterator[ValidationError]:
    empty = owner.get(NULL_ITEM)
    for index, item in enumerate(value if isinstance(value, list) else ()):
        yield from validator.descend(empty if item is None and empty is not None else item, schema, path=index)


def _pattern(_: Validator, pattern: str, value: Any, __: Schema) -> Iterator[ValidationError]:
    expression = compile_pattern(pattern)
    if isinstance(value, str) and isinstance(expression, CompiledPattern) and not expression.matches(value):
        yield ValidationError("pattern")


ApiValidator: Any = validators.extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {"items": _items, "pattern": _pattern, UNLESS_NULL: _unless_null, **{name: _keyword(name) for name in KEYWORDS}},
)
