"""jsonschema validators with the project's formats, patterns in linear time, and Kubernetes' integers."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, FormatChecker, validators
from jsonschema.exceptions import ValidationError
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.formats.safe_regex import matches_part

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

_SUFFIX = ".schema.json"


def make_validator(name: str, schemas: Mapping[str, Mapping[str, Any]]) -> Validator:
    """Make the validator of one schema; every `$ref` is resolved among these schemas."""
    checker = FormatChecker(formats=())
    for format_name, check in FORMAT_CHECKS.items():
        # Bound as a default: a closure would see the last function of the loop.
        checker.checks(format_name)(lambda value, check=check: check(value) is None)
    # With `$schema`, jsonschema would validate a referenced schema with its stock validator.
    undeclared = {
        noun: {key: value for key, value in schemas[noun].items() if key != "$schema"}
        for noun in _referenced(name, schemas)
    }
    registry: Any = Registry().with_resources(
        (str(schema["$id"]), DRAFT202012.create_resource(schema)) for schema in undeclared.values()
    )
    types = Draft202012Validator.TYPE_CHECKER.redefine(
        # To JSON Schema 1.0 is an integer; Kubernetes' decoder rejects it.
        "integer",
        lambda _, value: isinstance(value, int) and not isinstance(value, bool),
    )
    strict: Any = validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, {"pattern": _check_pattern}, type_checker=types
    )
    validator: Validator = strict(undeclared[name], registry=registry, format_checker=checker)
    return validator


def _referenced(name: str, schemas: Mapping[str, Mapping[str, Any]]) -> Collection[str]:
    """The names of a schema and of all that it refers to; to read the others takes longer than to validate."""
    names = {name: None}
    parts: list[Any] = [schemas[name]]
    for part in parts:
        if isinstance(part, list):
            parts += part
        elif isinstance(part, Mapping):
            parts += part.values()
            reference = part.get("$ref")
            other = reference.partition(_SUFFIX)[0] if isinstance(reference, str) else name
            if other not in names:
                names[other] = None
                parts.append(schemas[other])
    return names


def _check_pattern(_: Validator, pattern: str, value: Any, __: Mapping[str, Any]) -> Iterator[ValidationError]:
    if isinstance(value, str) and not matches_part(pattern, value):
        yield ValidationError(f"{value!r} does not match {pattern!r}")
