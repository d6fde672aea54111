"""Takes the texts of schemas and templates, gives them as one frozen value that every stage can ask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.formats import FORMATS

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Schema: TypeAlias = Mapping[str, Any]
_SUFFIX = ".schema.json"


@dataclass(frozen=True, eq=False)
class Library:
    """Schemas by noun (`run`, `fields`, …), template sources by path, preset platforms by name."""

    schemas: Mapping[str, Schema]
    templates: Mapping[str, str]
    presets: Mapping[str, str] = field(default_factory=dict)
    _resolved: dict[int, Schema] = field(default_factory=dict, init=False, repr=False)
    _validators: dict[str, Any] = field(default_factory=dict, init=False, repr=False)

    def resolve(self, schema: Schema) -> Schema:
        """The schema with its `$ref` followed; what stands beside the reference is stronger."""
        if "$ref" not in schema:
            return schema
        known = self._resolved.get(id(schema))
        if known is None:
            target = self.resolve(self._target(schema["$ref"]))
            properties = {**target.get("properties", {}), **schema.get("properties", {})}
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            known = {**target, **beside, **({"properties": properties} if properties else {})}
            self._resolved[id(schema)] = known
        return known

    def _target(self, reference: str) -> Schema:
        file, _, pointer = reference.partition("#")
        schema: Any = self.schemas[file.removesuffix(_SUFFIX)]
        for step in pointer.split("/")[1:]:
            schema = schema[step]
        found: Schema = schema
        return found

    @cached_property
    def fields(self) -> Mapping[str, Schema]:
        """The fields that runs and profiles share, by canonical name."""
        return {name: self.resolve(schema) for name, schema in self.schemas["fields"]["properties"].items()}

    def item_defaults(self, field: str) -> Mapping[str, Any]:
        """What the items of a list mean where they say nothing."""
        properties = self.resolve(self.fields[field]["items"]).get("properties", {})
        return {key: schema["default"] for key, schema in properties.items() if "default" in schema}

    def defaults(self, name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Every default below a schema of objects, with its path."""
        yield from _defaults(self, self.schemas[name], ())

    def validator(self, name: str) -> Validator:
        """The schema's validator, made once; every `$ref` is answered from this library alone."""
        if name not in self._validators:
            self._validators[name] = self._make_validator(name)
        validator: Validator = self._validators[name]
        return validator

    def _make_validator(self, name: str) -> Validator:
        from jsonschema import Draft202012Validator, FormatChecker, validators  # slow to import
        from referencing import Registry
        from referencing.jsonschema import DRAFT202012

        checker = FormatChecker(formats=())
        for format_name, check in FORMATS.items():
            # Bound as a default, because a closure would see the loop's last function only.
            checker.checks(format_name)(lambda value, check=check: check(value) is None)
        # jsonschema would go on with its stock validator behind a reference to a schema that names its dialect.
        unnamed = {
            noun: {key: value for key, value in schema.items() if key != "$schema"}
            for noun, schema in self.schemas.items()
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


def _defaults(library: Library, schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in schema.get("properties", {}).items():
        resolved = library.resolve(child)
        if "default" in resolved:
            yield (*path, name), resolved["default"]
        yield from _defaults(library, resolved, (*path, name))


def with_absolute_references(name: str, schema: Any) -> Any:
    """The schema with `#/…` references naming their own file, so that any piece of it can be followed alone."""
    if isinstance(schema, dict):
        return {
            key: f"{name}{_SUFFIX}{value}"
            if key == "$ref" and isinstance(value, str) and value.startswith("#")
            else with_absolute_references(name, value)
            for key, value in schema.items()
        }
    if isinstance(schema, list):
        return [with_absolute_references(name, item) for item in schema]
    return schema
