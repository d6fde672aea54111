"""Takes the texts of schemas and templates, gives them as one frozen value that every stage can ask."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

    from speccompile.compiler.documents.targets import Targets
    from speccompile.model.diagnostic import Diagnostic

Schema: TypeAlias = Mapping[str, Any]
_SUFFIX = ".schema.json"
_TEMPLATES = "templates/"


class Schemas(Mapping[str, Schema]):
    """Schemas by noun, each read from its text when first asked for."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts: Final = texts
        self._read: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        if name not in self._read:
            self._read[name] = read_schema(name, self.texts[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


class Grown(Mapping[str, Schema]):
    """The schemas of a library, in which those of fields and base documents know what its targets add."""

    def __init__(self, core: Mapping[str, Schema], library: Library) -> None:
        self.core: Final = core
        self._library: Final = library
        self._grown: dict[str, Schema] = {}
        self.faults: tuple[Diagnostic, ...] = ()

    def __getitem__(self, name: str) -> Schema:
        if name not in _GROWING or name not in self.core:
            return self.core[name]
        if name not in self._grown:
            from speccompile.compiler.documents.target_fields import with_bases, with_fields  # they know libraries, too

            if name == "fields":
                self._grown[name], self.faults = with_fields(self.core[name], self._library)
            else:
                self._grown[name] = with_bases(self.core[name], self._library)
        return self._grown[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.core)

    def __len__(self) -> int:
        return len(self.core)


_GROWING = ("fields", "base")


class Template(NamedTuple):
    """A file of a target that an admin wrote: its path in a library, the name people know it by, and its text."""

    path: str
    name: str
    text: str


class Library:
    """Schemas by noun (`run`, `fields`, …), files of targets by path (templates above all), preset platforms by name.

    Nothing of it changes, so two libraries are equal only if they are one.
    """

    def __init__(
        self,
        schemas: Mapping[str, Schema],
        templates: Mapping[str, str],
        presets: Mapping[str, str] | None = None,
        prepared: str = "",
        called: Mapping[str, str] | None = None,
    ) -> None:
        """What is prepared is text that `prepared.py` wrote, or nothing; what templates are called, see `name_of`."""
        self.schemas: Final = Grown(schemas.core if isinstance(schemas, Grown) else schemas, self)
        self.templates: Final = templates
        self.presets: Final[Mapping[str, str]] = {} if presets is None else presets
        self._prepared = prepared
        self._called: Final[Mapping[str, str]] = {} if called is None else called
        self._resolved: dict[int, Schema] = {}
        self._validators: dict[str, Any] = {}

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digits that are other ones if any text of it is another."""
        from hashlib import sha256  # wanted by those who keep what a library gave, only

        told = sha256()
        core = self.schemas.core
        schemas = core.texts if isinstance(core, Schemas) else _written(core)
        for kind, texts in (("schemas", schemas), ("templates", self.templates), ("presets", self.presets)):
            for name in sorted(texts):
                for part in (kind, name, texts[name]):
                    encoded = part.encode("utf-8", "surrogatepass")
                    # Its length in front keeps what stands at the end of one part from opening the next.
                    told.update(b"%d:%b" % (len(encoded), encoded))
        return told.hexdigest()

    def name_of(self, template: str) -> str:
        """What people know the template by: the path of their own file, or where the bundled one stands."""
        return self._called.get(template, f"{_TEMPLATES}{template}")

    @cached_property
    def core(self) -> Library:
        """The library without targets, to read these by."""
        return Library(self.schemas.core, {})

    @cached_property
    def targets(self) -> Targets:
        from speccompile.compiler.documents.targets import Targets  # they know libraries, too

        return Targets(self)

    @cached_property
    def faults(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the targets that admins wrote; those are not there."""
        if not self._called:
            return ()
        # Whoever asks for the fields makes them, and finds out.
        assert self.fields
        return (*self.schemas.faults, *self.targets.faults())

    def is_own(self, template: str) -> bool:
        """Whether an admin wrote it."""
        return template in self._called

    @property
    def has_own_templates(self) -> bool:
        """Whether an admin wrote some of its templates."""
        return bool(self._called)

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The templates by what people know them by."""
        return {self.name_of(template): template for template in self.templates}

    def lend(self, prepared: str) -> None:
        """Takes skeletons that another call made, as text: they change nothing but how long it takes."""
        self._prepared = prepared
        self.__dict__.pop("prepared", None)

    @cached_property
    def prepared(self) -> Mapping[str, str]:
        """Skeletons of templates that were made ahead, as text, by template."""
        if not self._prepared:
            return {}
        from speccompile.compiler.rendering.prebuilt_skeletons import fitting  # it knows libraries, too

        return fitting(self._prepared, self)

    def resolve(self, schema: Schema) -> Schema:
        """The schema with its `$ref` followed; what stands beside the reference is stronger."""
        if "$ref" not in schema:
            return schema
        known = self._resolved.get(id(schema))
        if known is None:
            target = self.resolve(self.target(schema["$ref"]))
            properties = {**target.get("properties", {}), **schema.get("properties", {})}
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            known = {**target, **beside, **({"properties": properties} if properties else {})}
            self._resolved[id(schema)] = known
        return known

    def target(self, reference: str) -> Schema:
        """The schema that a reference names."""
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
        properties = self.resolve(self.fields[field].get("items", {})).get("properties", {})
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

        from speccompile.schema.formats.by_name import FORMATS

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


def with_templates(library: Library, own: Iterable[Template]) -> Library:
    """The library with templates of an admin, which replace those of the same path."""
    told = tuple(own)
    return Library(
        library.schemas,
        {**library.templates, **{template.path: template.text for template in told}},
        library.presets,
        called={template.path: template.name for template in told},
    )


def _defaults(library: Library, schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in schema.get("properties", {}).items():
        resolved = library.resolve(child)
        if "default" in resolved:
            yield (*path, name), resolved["default"]
        yield from _defaults(library, resolved, (*path, name))


def read_schema(name: str, text: str) -> Schema:
    """The schema with `#/…` references naming their own file, so that any piece of it can be followed alone."""
    import json  # a library made of schemas needs none

    def absolute(piece: dict[str, Any]) -> dict[str, Any]:
        reference = piece.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            piece["$ref"] = f"{name}{_SUFFIX}{reference}"
        return piece

    schema: Schema = json.loads(text, object_hook=absolute)
    return schema


def _written(schemas: Mapping[str, Schema]) -> Mapping[str, str]:
    import json  # a bundled library has texts

    return {name: json.dumps({**schema}) for name, schema in schemas.items()}
