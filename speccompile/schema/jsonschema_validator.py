"""jsonschema validators for our schemas, with our formats and Kubernetes' idea of an integer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator, FormatChecker, validators
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from speccompile.schema.formats.by_name import FORMATS

if TYPE_CHECKING:
    from jsonschema.protocols import Validator


def make_validator(name: str, schemas: Mapping[str, Mapping[str, Any]]) -> Validator:
    """Make the validator of one schema; every `$ref` is answered from these schemas alone."""
    checker = FormatChecker(formats=())
    for format_name, check in FORMATS.items():
        # Bound as a default, because a closure would see the loop's last function only.
        checker.checks(format_name)(lambda value, check=check: check(value) is None)
    # jsonschema would go on with its stock validator behind a reference to a schema that names its dialect.
    unnamed = {
        noun: {key: value for key, value in schema.items() if key != "$schema"} for noun, schema in schemas.items()
    }
    registry: Any = Registry().with_resources(
        (str(schema["$id"]), DRAFT202012.create_resource(schema)) for schema in unnamed.values()
    )
    types = Draft202012Validator.TYPE_CHECKER.redefine(
        # JSON Schema counts 1.0 as an integer; Kubernetes' decoder does not.
        "integer",
        lambda _, value: isinstance(value, int) and not isinstance(value, bool),
    )
    strict: Any = validators.extend(  # type: ignore[no-untyped-call]
        Draft202012Validator, type_checker=types
    )
    validator: Validator = strict(unnamed[name], registry=registry.crawl(), format_checker=checker)
    return validator
