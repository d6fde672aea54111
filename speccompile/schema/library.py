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
"""Returns a schema of a library by name, extended by the targets among its templates."""
_SUFFIX = ".schema.json"
_TEMPLATES = "templates/"


class Schemas(Mapping[str, Schema]):
    """Schemas by noun, each parsed on first use."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts: Final = texts
        self._parsed: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        if name not in self._parsed:
            self._parsed[name] = read_schema(name, self.texts[name])
        return self._parsed[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.texts)

    def __len__(self) -> int:
        return len(self.texts)


class _Extended(Mapping[str, Schema]):
    """The schemas of a library as its targets extend them, each computed on first use."""

    def __init__(self, core: Mapping[str, Schema], extend: Extend, library: Library) -> None:
        self._core, self._extend, self._library = core, extend, library
        self._extended: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        if name not in self._extended:
            self._extended[name] = self._extend(name, self._library)
        return self._extended[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._core)

    def __len__(self) -> int:
        return len(self._core)


class Library:
    """Schemas by noun (`run`, `fields`, …), files of targets by path (mostly templates), preset platforms by name.

    A library is immutable and compares by identity.
    """

    def __init__(  # noqa: PLR0913, PLR0917  the parts of a library
        self,
        schemas: Mapping[str, Schema],
        templates: Mapping[str, str],
        presets: Mapping[str, str] | None = None,
        prebuilt: str = "",
        called: Mapping[str, str] | None = None,
        extend: Extend | None = None,
    ) -> None:
        """`prebuilt` is JSON for `prebuilt_skeletons.py`; `called` maps custom templates to their files, see `name_of`.

        `extend` is the compiler's, which implements targets.
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
        """A copy with other templates."""
        return Library(self._core, templates, self.presets, prebuilt, called, self._extend)

    @cached_property
    def digest(self) -> str:
        """A hash of all texts, in hexadecimal digits."""
        from hashlib import sha256  # only caches need it

        hasher = sha256()
        core = self._core
        schemas = core.texts if isinstance(core, Schemas) else {name: json.dumps({**one}) for name, one in core.items()}
        for kind, texts in (("schemas", schemas), ("templates", self.templates), ("presets", self.presets)):
            for name in sorted(texts):
                for part in (kind, name, texts[name]):
                    encoded = part.encode("utf-8", "surrogatepass")
                    # The length separates a part from the next one.
                    hasher.update(b"%d:%b" % (len(encoded), encoded))
        return hasher.hexdigest()

    def name_of(self, template: str) -> str:
        """The template's name in messages: the path of an admin's file, or of the bundled one in the package."""
        return self._called.get(template, f"{_TEMPLATES}{template}")

    @cached_property
    def core(self) -> Library:
        """The library without targets, with which target files are read."""
        return Library(self._core, {})

    def is_custom(self, template: str) -> bool:
        """Whether the template is an admin's."""
        return template in self._called

    @property
    def has_custom_templates(self) -> bool:
        """Whether any template is an admin's."""
        return bool(self._called)

    @cached_property
    def paths(self) -> Mapping[str, str]:
        """The templates by their names in messages."""
        return {self.name_of(template): template for template in self.templates}

    def resolve(self, schema: Schema) -> Schema:
        """The schema with its `$ref` resolved; keywords beside the reference override those of its target."""
        if "$ref" not in schema:
            return schema
        resolved = self._resolved.get(id(schema))
        if resolved is None:
            target = self.resolve(self.target(schema["$ref"]))
            properties = {**target.get("properties", {}), **schema.get("properties", {})}
            beside = {key: value for key, value in schema.items() if key != "$ref"}
            resolved = {**target, **beside, **({"properties": properties} if properties else {})}
            self._resolved[id(schema)] = resolved
        return resolved

    def target(self, reference: str) -> Schema:
        """The schema at a reference."""
        file, _, pointer = reference.partition("#")
        node: Any = self.schemas[file.removesuffix(_SUFFIX)]
        for step in pointer.split("/")[1:]:
            node = node[step]
        schema: Schema = node
        return schema

    @cached_property
    def fields(self) -> Mapping[str, Schema]:
        """The fields that runs and profiles share, by canonical name."""
        return {name: self.resolve(schema) for name, schema in self.schemas["fields"]["properties"].items()}

    @cached_property
    def volume_types(self) -> Mapping[str, VolumeType]:
        """The volume types by name."""
        return volume_types(self.schemas["fields"])

    def item_defaults(self, field: str) -> Mapping[str, Any]:
        """The defaults of the keys of a list's items."""
        properties = self.resolve(self.fields[field].get("items", {})).get("properties", {})
        return {key: schema["default"] for key, schema in properties.items() if "default" in schema}

    def defaults(self, name: str) -> Iterator[tuple[tuple[str, ...], Any]]:
        """Every default of a schema's nested properties, with its path."""
        yield from _defaults(self, self.schemas[name], ())

    def validator(self, name: str) -> Validator:
        """The schema's validator, which resolves every `$ref` in this library; made once."""
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
    """The schema in which `#/…` references name their file, so that they resolve from any part of it.

    Raises ValueError for a volume type that does not declare what it mounts.
    """

    def make_absolute(part: dict[str, Any]) -> dict[str, Any]:
        reference = part.get("$ref")
        if isinstance(reference, str) and reference.startswith("#"):
            part["$ref"] = f"{name}{_SUFFIX}{reference}"
        return part

    schema: Schema = json.loads(text, object_hook=make_absolute)
    return with_volume_types(schema) if "volume_types" in schema.get("$defs", ()) else schema


@cache
def schema_library() -> Library:
    """The bundled schemas without targets, for documents that have no fields, such as the project file."""
    return Library(Schemas(read_bundle().schemas), {})
