"""Schemas, templates and presets as one immutable value that every stage can query."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.schema.bundled import read_bundle
from speccompile.schema.volume_types import VolumeType, volume_types, with_volume_types

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

Schema: TypeAlias = Mapping[str, Any]
Extend: TypeAlias = "Callable[[str, Library], Schema]"
"""Gives a schema of a library by name, with what the targets among its templates add to it."""
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


class _Extended(Mapping[str, Schema]):
    """The schemas of a library with what its targets add, each worked out when first asked for."""

    def __init__(self, core: Mapping[str, Schema], extend: Extend, library: Library) -> None:
        self._core, self._extend, self._library = core, extend, library
        self._known: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        if name not in self._known:
            self._known[name] = self._extend(name, self._library)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._core)

    def __len__(self) -> int:
        return len(self._core)


class Library:
    """Schemas by noun (`run`, `fields`, …), files of targets by path (templates above all), preset platforms by name.

    Nothing of it changes, so two libraries are equal only if they are one.
    """

    def __init__(  # noqa: PLR0913, PLR0917  all that a library is made of
        self,
        schemas: Mapping[str, Schema],
        templates: Mapping[str, str],
        presets: Mapping[str, str] | None = None,
        prebuilt: str = "",
        called: Mapping[str, str] | None = None,
        extend: Extend | None = None,
    ) -> None:
        """`prebuilt` is text of `prebuilt_skeletons.py`; `called` has the names of an admin's files, see `name_of`.

        `extend` comes from the compiler, which alone knows targets.
        """
        self.schemas: Final = _Extended(schemas, extend, self) if extend else schemas
        self.templates: Final = templates
        self.presets: Final[Mapping[str, str]] = {} if presets is None else presets
        self.prebuilt: Final = prebuilt
        self._core: Final = schemas
        self._called: Final[Mapping[str, str]] = {} if called is None else called
        self._extend: Final = extend
        self._resolved: dict[int, Schema] = {}
        self._validators: dict[str, Validator] = {}

    def but(self, templates: Mapping[str, str], prebuilt: str = "", called: Mapping[str, str] | None = None) -> Library:
        """The same library with other templates."""
        return Library(self._core, templates, self.presets, prebuilt, called, self._extend)

    @cached_property
    def digest(self) -> str:
        """Hexadecimal digits that are other ones if any text of it is another."""
        from hashlib import sha256  # wanted by those who keep what a library gave, only

        told = sha256()
        core = self._core
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
        return Library(self._core, {})

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

    @cached_property
    def volume_types(self) -> Mapping[str, VolumeType]:
        """The types of volumes, by name, and what they mount."""
        return volume_types(self.schemas["fields"])

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
            from speccompile.schema.jsonschema_validator import make_validator

            self._validators[name] = make_validator(name, self.schemas)
        return self._validators[name]


def _defaults(library: Library, schema: Schema, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, child in schema.get("properties", {}).items():
        resolved = library.resolve(child)
        if "default" in resolved:
            yield (*path, name), resolved["default"]
        yield from _defaults(library, resolved, (*path, name))


def read_schema(name: str, text: str) -> Schema:
    """The schema with `#/…` references naming their own file, so that any piece of it can be followed alone.

    Raises ValueError for a volume type that does not declare what it mounts.
    """

    def absolute(piece: dict[str, Any]) -> dict[str, Any]:
        reference = piece.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            piece["$ref"] = f"{name}{_SUFFIX}{reference}"
        return piece

    schema: Schema = json.loads(text, object_hook=absolute)
    return with_volume_types(schema) if "volume_types" in schema.get("$defs", ()) else schema


def _written(schemas: Mapping[str, Schema]) -> Mapping[str, str]:
    return {name: json.dumps({**schema}) for name, schema in schemas.items()}


@cache
def schema_library() -> Library:
    """The bundled schemas alone, for documents in which no fields of targets occur, such as the project file."""
    return Library(Schemas(read_bundle().schemas), {})
