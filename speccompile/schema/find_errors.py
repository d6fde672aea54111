"""The errors of a value by the keywords of its schema, as jsonschema reports them.

jsonschema takes longer to import than everything else that a run with a mistake needs. A keyword that is not supported
raises UnknownKeywordError, and jsonschema decides instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.formats.safe_regex import matches_part
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate_fast_containers import evaluated_keys
from speccompile.schema.validate_fast_keywords import BASES, python_types, require_support

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


class SchemaError(NamedTuple):
    """The attributes of jsonschema's ValidationError from which findings are made."""

    validator: str
    """The keyword."""
    validator_value: Any
    """Its argument."""
    instance: Any
    schema: Schema
    absolute_path: KeyPath
    relative_schema_path: KeyPath


AnyError: TypeAlias = "SchemaError | ValidationError"


def find_errors(
    value: Any, schema: Schema, library: Library, path: KeyPath = (), schema_path: KeyPath = ()
) -> Iterator[SchemaError]:
    """The errors of plain data. Raises UnknownKeywordError."""
    require_support(schema, library)
    kind = _kind_of(value)
    for keyword, argument in schema.items():
        keyword_path = schema_path if keyword in _UNNAMED else (*schema_path, keyword)
        count_errors = _ASSERTIONS.get((kind, keyword)) or _ASSERTIONS.get((object, keyword))
        if count_errors:
            for _ in range(count_errors(argument, value, schema, library)):
                yield SchemaError(keyword, argument, value, schema, path, keyword_path)
        apply = _APPLICATORS.get((kind, keyword)) or _APPLICATORS.get((object, keyword))
        if apply:
            for inner, inner_schema, steps, schema_steps in apply(argument, value, schema, library):
                yield from find_errors(inner, inner_schema, library, (*path, *steps), (*keyword_path, *schema_steps))


_UNNAMED = frozenset({"if", "$ref"})
"""Keywords that jsonschema leaves out of paths."""


def _kind_of(value: Any) -> type:
    """The type of a node with this value, in which a list is a tuple."""
    return tuple if isinstance(value, list) else next(base for base in BASES if isinstance(value, base))


def _is_valid(value: Any, schema: Schema, library: Library) -> bool:
    return next(find_errors(value, schema, library), None) is None


def _extras(value: Mapping[str, Any], schema: Schema) -> list[str]:
    """The keys for which the schema has neither a property nor a pattern."""
    patterns = schema.get("patternProperties", ())
    known = schema.get("properties", ())
    return [key for key in value if key not in known and not any(re.search(pattern, key) for pattern in patterns)]


_CountErrors: TypeAlias = Callable[[Any, Any, Schema, Library], int]
"""Takes the keyword's argument, the value, its schema and the library."""
_BOUNDS: Mapping[tuple[type, str], _CountErrors] = {
    **{
        (kind, f"{side}{noun}"): check
        for kind, noun in ((str, "Length"), (tuple, "Items"), (dict, "Properties"))
        for side, check in (
            ("min", lambda bound, value, *_: len(value) < bound),
            ("max", lambda bound, value, *_: len(value) > bound),
        )
    },
    **{(kind, "minimum"): lambda bound, value, *_: value < bound for kind in (int, float)},
    **{(kind, "maximum"): lambda bound, value, *_: value > bound for kind in (int, float)},
}


def _count_missing_companions(companions: Any, value: Any, *_: object) -> int:
    return sum(other not in value for key, others in companions.items() if key in value for other in others)


def _has_wrong_type(names: Any, value: Any, *_: object) -> bool:
    return _kind_of(value) not in python_types(names)


def _has_unevaluated(_: Any, value: Any, schema: Schema, library: Library) -> bool:
    return not value.keys() <= set(evaluated_keys(schema, library))


_ASSERTIONS: Mapping[tuple[type, str], _CountErrors] = {
    **_BOUNDS,
    (object, "type"): _has_wrong_type,
    (object, "enum"): lambda options, value, *_: value not in options,
    (object, "const"): lambda option, value, *_: value != option,
    (object, "format"): lambda name, value, *_: FORMAT_CHECKS[name](value) is not None,
    (object, "not"): lambda inner, value, _, library: _is_valid(value, inner, library),
    (str, "pattern"): lambda pattern, text, *_: not matches_part(pattern, text),
    (dict, "required"): lambda names, value, *_: sum(name not in value for name in names),
    (dict, "dependentRequired"): _count_missing_companions,
    (dict, "additionalProperties"): lambda others, value, schema, _: others is False and bool(_extras(value, schema)),
    (dict, "unevaluatedProperties"): _has_unevaluated,
}
"""How many errors a keyword reports for a value, by type and keyword; `object` is every type."""

_Applied: TypeAlias = Iterator[tuple[Any, Schema, KeyPath, KeyPath]]
"""Values with the schemas that apply to them, and the steps to both."""


def _apply_properties(properties: Any, value: Any, *_: object) -> _Applied:
    return ((value[key], schema, (key,), (key,)) for key, schema in properties.items() if key in value)


def _apply_patterns(patterns: Any, value: Any, *_: object) -> _Applied:
    for pattern, schema in patterns.items():
        yield from ((child, schema, (key,), (pattern,)) for key, child in value.items() if re.search(pattern, key))


def _apply_to_others(others: Any, value: Any, schema: Schema, _: Library) -> _Applied:
    keys = _extras(value, schema) if isinstance(others, Mapping) else ()
    return ((value[key], others, (key,), ()) for key in keys)


def _apply_if(condition: Any, value: Any, schema: Schema, library: Library) -> _Applied:
    outcome = "then" if _is_valid(value, condition, library) else "else"
    if outcome in schema:
        yield value, schema[outcome], (), (outcome,)


_APPLICATORS: Mapping[tuple[type, str], Callable[[Any, Any, Schema, Library], _Applied]] = {
    (object, "$ref"): lambda reference, value, _, library: iter([(value, library.target(reference), (), ())]),
    (object, "allOf"): lambda parts, value, *_: ((value, part, (), (index,)) for index, part in enumerate(parts)),
    (object, "if"): _apply_if,
    (tuple, "items"): lambda schema, value, *_: ((item, schema, (index,), ()) for index, item in enumerate(value)),
    (dict, "properties"): _apply_properties,
    (dict, "patternProperties"): _apply_patterns,
    (dict, "additionalProperties"): _apply_to_others,
    (dict, "propertyNames"): lambda schema, value, *_: ((key, schema, (), ()) for key in value),
    (dict, "dependentSchemas"): lambda schemas, value, *_: (
        (value, schema, (), (key,)) for key, schema in schemas.items() if key in value
    ),
}
"""The schemas that a keyword applies, and to which values, by type and keyword."""
