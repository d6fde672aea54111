"""Takes a noun and the library, gives the one JSON Schema that editors need for files of that noun.

Editors read draft 7, know neither our formats nor `x-…`, and see a file before spelling and nulls are put right. So
references are followed, every spelling of a key is a property, and null stands wherever nothing need be said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from speccompile.editor_schema.format_patterns import EXPRESSIONS
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.library import Library, Schema

Made: TypeAlias = dict[str, Any]
"""A schema as an editor gets it."""

_DIALECT = "http://json-schema.org/draft-07/schema#"
_ADDRESS = "https://speccompile.dev/schemas/editor"
_SAID: Schema = {"not": {"type": "null"}}
_KEPT = (
    "title",
    "description",
    "type",
    "enum",
    "const",
    "default",
    "examples",
    "minimum",
    "maximum",
    "minLength",
    "maxLength",
    "minItems",
    "maxItems",
    "minProperties",
    "pattern",
    "format",
)
"""Keywords that mean the same to an editor."""
_NUMBERS: Mapping[str, Schema] = {
    "positive-quantity": {"exclusiveMinimum": 0},
    "quantity": {"minimum": 0},
    "user-id": {"minimum": 1, "maximum": 2**31 - 1},
    "whole-number": {"minimum": 0, "multipleOf": 1},
}
"""What formats ask of numbers; expressions are about texts."""
_CONDITIONS = ("if", "then", "else", "not")
_HEAD = ("name", "project", "action", "profile")


def schema_text(noun: str, library: Library) -> str:
    """The schema of a noun of NOUNS as JSON text, the same bytes everywhere; nothing in it points outside."""
    return as_text(schema_of(noun, library))


def as_text(schema: Made) -> str:
    """The schema as JSON that is short, and in which a change of one property is a change of one line."""
    return _lines(schema, _LEVELS) + "\n"


_LEVELS = 4
"""As deep as the properties of a definition."""


def _lines(value: Any, levels: int) -> str:
    if not levels or not value or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    entries = (f"{json.dumps(key, ensure_ascii=False)}: {_lines(child, levels - 1)}" for key, child in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def schema_of(noun: str, library: Library) -> Made:
    """The schema of a noun of NOUNS."""
    return {**_opening(noun), **_MAKERS[noun](library)}


def spellings(key: str, schema: Schema) -> tuple[str, ...]:
    """Every key that means this one, itself first; a key in half of one spelling and half of another is left out."""
    return tuple(dict.fromkeys((key, camel_case(key), snake_case(key), *schema.get("x-aliases", ()))))


def said(*path: str, **what: Any) -> Made:
    """What holds where something stands at the path, and is as it should be."""
    if not path:
        return dict(what or _SAID)
    return {"properties": {path[0]: said(*path[1:], **what)}, "required": [path[0]]}


def at(path: Sequence[str], schema: Made) -> Made:
    """What holds where nothing stands at the path, or what the schema accepts."""
    return {"properties": {path[0]: at(path[1:], schema)}} if path else schema


def unsaid(reason: str) -> Made:
    """What holds where nothing is said; editors show the reason."""
    return {"type": "null", "errorMessage": reason, "doNotSuggest": True}


# From our schemas to those of editors


def exported(schema: Schema, where: str, library: Library, *, may_be_null: bool = False) -> Made:
    """The schema with all that it refers to; `where` is the address it will have, for its other spellings."""
    told = library.resolve(schema)
    return _exported(told, told, where, library, may_be_null=may_be_null)


def _exported(schema: Schema, about: Schema, where: str, library: Library, *, may_be_null: bool = False) -> Made:
    """The schema, of which `about` declares the keys: conditions speak of keys that others declare."""
    name = schema.get("$ref", "").removeprefix(_TO_A_PART)
    schema, written = library.resolve(schema), schema
    if name in _parts_in(library) and about is schema:
        return _beside(f"#/definitions/{name}", written) | ({} if may_be_null else {"type": schema["type"]})
    made = {keyword: schema[keyword] for keyword in _KEPT if keyword in schema}
    if may_be_null:
        made |= {"type": [*_listed(made["type"]), "null"]} if "type" in made else {}
        made |= {"enum": [*made["enum"], None]} if "enum" in made else {}
    if expression := EXPRESSIONS.get(made.get("format", "")):
        made |= {"pattern": expression.pattern, "patternErrorMessage": expression.rule}
        made |= _NUMBERS.get(made["format"], {})
    if "items" in schema:
        made["items"] = _exported(schema["items"], library.resolve(about.get("items", {})), f"{where}/items", library)
    if schema.get("x-unique") is True:
        made["uniqueItems"] = True
    made |= _mapping(schema, about, where, library)
    for keyword in _CONDITIONS:
        if keyword in schema:
            made[keyword] = _exported(schema[keyword], about, f"{where}/{keyword}", library)
    demands: list[Made] = list(_demands(schema, about))
    for child in _parts(schema):
        demands.append(_exported(child, about, f"{where}/allOf/{len(demands)}", library))
    return {**made, "allOf": demands} if demands else made


def _listed(types: str | list[str]) -> list[str]:
    return [types] if isinstance(types, str) else types


def _mapping(schema: Schema, about: Schema, where: str, library: Library) -> Made:
    """What the schema says of a mapping."""
    made: Made = {}
    properties = _properties(schema, about, where, library)
    names = schema.get("propertyNames", {})
    if "enum" in names:
        # A key that is not meant here may still be null.
        allowed: Made = {one: {} for key in names["enum"] for one in spellings(key, _known(key, about))}
        properties = {**allowed, **properties}
        made["additionalProperties"] = {"type": "null"}
    elif names:
        made["propertyNames"] = exported(names, where, library)
    if properties:
        made["properties"] = properties
    if "patternProperties" in schema:
        made["patternProperties"] = {
            pattern: exported(child, where, library, may_be_null=True)
            for pattern, child in schema["patternProperties"].items()
        }
    others = schema.get("additionalProperties", schema.get("unevaluatedProperties"))
    if others is not None:
        below = f"{where}/additionalProperties"
        made["additionalProperties"] = others and exported(others, below, library, may_be_null=True)
    if alone := [key for key in schema.get("required", ()) if len(spellings(key, _known(key, about))) == 1]:
        made["required"] = alone
    return made


def _properties(schema: Schema, about: Schema, where: str, library: Library) -> Made:
    """A property for each key; its other spellings refer to it, and editors do not propose them."""
    required = schema.get("required", ())
    properties: Made = {}
    for key, child in schema.get("properties", {}).items():
        below = f"{where}/properties/{key}"
        if field := _field(key, child, library):
            below = f"#/definitions/{field}"
            properties[key] = {"$ref": below} if child is _fields_in(library).get(key) else _beside(below, child)
        else:
            inner = library.resolve(child if schema is about else _known(key, about))
            may_be_null = schema is about and key not in required
            properties[key] = _exported(child, inner, below, library, may_be_null=may_be_null)
        for spelling in spellings(key, _known(key, about))[1:]:
            properties[spelling] = _beside(below, {"doNotSuggest": True})
    for key in required:
        if properties.get(key, {}).keys().isdisjoint(_TYPED):
            names = spellings(key, _known(key, about))
            properties |= {name: {**properties.get(name, {}), **_SAID} for name in names}
    return properties


_TYPED = frozenset({"type", "enum", "const"})


def _beside(address: str, schema: Schema) -> Made:
    """A reference with what only editors read; to draft 7, nothing counts that stands beside one."""
    return {"allOf": [{"$ref": address}], **{word: schema[word] for word in _FOR_EDITORS if word in schema}}


_TO_A_PART = "placement.schema.json#/$defs/"


def _parts_in(library: Library) -> Mapping[str, Schema]:
    """The parts of affinities that stand in several places."""
    parts: Mapping[str, Schema] = library.schemas["placement"]["$defs"]
    return {name: part for name, part in parts.items() if "properties" in part and name not in _WHOLE}


_WHOLE = ("affinity", "toleration")
_FOR_EDITORS = ("description", "default", "doNotSuggest")
_TO_A_FIELD = "fields.schema.json#/properties/"


def _fields_in(library: Library) -> Mapping[str, Schema]:
    fields: Mapping[str, Schema] = library.schemas["fields"]["properties"]
    return fields


def _field(key: str, schema: Schema, library: Library) -> str | None:
    """The field that the schema is, or refers to, whose definition serves for both."""
    if _fields_in(library).get(key) is schema:
        return key
    name = schema.get("$ref", "").removeprefix(_TO_A_FIELD)
    return name if name in library.fields else None


def _known(key: str, about: Schema) -> Schema:
    known: Schema = about.get("properties", {}).get(key, {})
    return known


def _demands(schema: Schema, about: Schema) -> Iterator[Made]:
    """What takes a schema of its own to say, once keys have several spellings and may be null."""
    for key in schema.get("required", ()):
        names = spellings(key, _known(key, about))
        if len(names) > 1:
            yield {"anyOf": [{"required": [name]} for name in names]}
    if "minProperties" in schema:
        yield {"not": {"additionalProperties": {"type": "null"}}}


def _parts(schema: Schema) -> Iterator[Schema]:
    """The schemas that hold beside this one, those among them that draft 7 has no keyword for."""
    for key, others in schema.get("dependentRequired", {}).items():
        yield {"if": {"required": [key]}, "then": {"required": others}}
    for key, child in schema.get("dependentSchemas", {}).items():
        yield {"if": {"required": [key]}, "then": child}
    yield from schema.get("allOf", ())


def field_definitions(library: Library) -> Made:
    """A definition for each field, which everything refers to that has fields, and for each part of several."""
    return {
        name: exported(child, f"#/definitions/{name}", library, may_be_null=True)
        for name, child in {**_fields_in(library), **_parts_in(library)}.items()
    }


# The nouns


class Narrowed(NamedTuple):
    """What is left of a run under a profile: see `narrowing.py`."""

    fields: Mapping[str, Made] = {}
    """Definitions of fields, in the place of what everybody may write."""
    head: Mapping[str, Made] = {}
    """The same for `project` and `profile`."""
    required: Sequence[str] = ()
    """Which of these two must be there."""
    namespace: Mapping[str, Any] = {}
    """What `metadata` of the Kubernetes style may name as the namespace."""
    needs: Mapping[str, Sequence[tuple[str, Made]]] = {}
    """By action, fields that must be there, and what must then hold of the mapping that has them."""


_WIDE = Narrowed()


def run_schema(library: Library, narrowed: Narrowed = _WIDE) -> Made:
    """A run in any of its forms; what editors propose first is the flat one."""
    run = exported(library.schemas["run"], "#/definitions/flat", library)
    properties = {**{key: run["properties"].pop(key) for key in _HEAD}, **run["properties"], **narrowed.head}
    return {
        **_opening("run"),
        "title": run["title"],
        "description": run["description"],
        "if": {"anyOf": [said("apiVersion"), said("kind", const="Run")]},
        "then": _ref("kubernetes"),
        "else": {"if": said("kind"), "then": _ref("entity"), "else": _ref("flat")},
        "definitions": {
            **field_definitions(library),
            **narrowed.fields,
            **{_of(action): _foreign(action, library) for action in actions_of(library)},
            "flat": _flat({**run, "properties": properties}, narrowed, library),
            "kubernetes": _kubernetes(properties, narrowed, library),
            "entity": _entity(properties, narrowed, library),
        },
    }


def _opening(noun: str) -> Made:
    return {"$schema": _DIALECT, "$id": f"{_ADDRESS}/{noun}.schema.json"}


def _ref(name: str) -> Made:
    return {"$ref": f"#/definitions/{name}"}


def _of(action: str) -> str:
    return f"fields of {action}"


def actions_of(library: Library) -> Sequence[str]:
    actions: Sequence[str] = library.schemas["run"]["properties"]["action"]["enum"]
    return actions


def _foreign(action: str, library: Library) -> Made:
    """What keeps fields away that are foreign to the action."""
    return {
        "properties": {
            spelling: unsaid(f"`{name}` does not apply to action `{action}`")
            for name, schema in library.fields.items()
            if action not in schema.get("x-actions", (action,))
            for spelling in spellings(name, schema)
        }
    }


def _by_action(told: Callable[[str], Made], then: Callable[[str], list[Made]], library: Library) -> Iterator[Made]:
    """What holds under each action, where `told` says how a file tells its action."""
    for action in actions_of(library):
        parts = then(action)
        yield {"if": told(action), "then": parts[0] if len(parts) == 1 else {"allOf": parts}}


def _flat(run: Made, narrowed: Narrowed, library: Library) -> Made:
    envelope = {
        "apiVersion": {"description": "For the Kubernetes style only.", "default": "speccompile.dev/v1alpha1"},
        "kind": {"description": "For the Kubernetes style, and for an exported entity, only.", "default": "Run"},
    }

    def then(action: str) -> list[Made]:
        return [_ref(_of(action)), *(need for _, need in narrowed.needs.get(action, ()))]

    told = _by_action(lambda action: said("action", const=action), then, library)
    return {
        **run,
        "properties": {**run["properties"], **envelope},
        "required": [*run["required"], *narrowed.required],
        "allOf": [*run.get("allOf", ()), *told],
    }


def _kubernetes(properties: Made, narrowed: Narrowed, library: Library) -> Made:
    made = exported(library.schemas["kubernetes"], "#/definitions/kubernetes", library)
    metadata = made["properties"]["metadata"]["properties"]
    metadata["name"] = {**properties["name"], **metadata["name"]}
    metadata["namespace"] = {**metadata["namespace"], **narrowed.namespace}
    twice = []
    for key in _MOVED:
        metadata[key] = {**metadata[key], "allOf": [_ref(key)]}
        there = unsaid(f"`{key}` stands under `metadata` already")
        twice.append({"if": said("metadata", key), "then": at(("spec", key), there)})
    made["properties"]["spec"] |= {
        "properties": {**properties, "name": unsaid("the name stands under `metadata`")},
        "required": ["action", *narrowed.required],
        "additionalProperties": False,
    }

    def then(action: str) -> list[Made]:
        needs = [
            {"anyOf": [at(("spec",), need), at(("metadata",), need)]} if field in _MOVED else at(("spec",), need)
            for field, need in narrowed.needs.get(action, ())
        ]
        return [at(("spec",), _ref(_of(action))), *needs]

    told = _by_action(lambda action: said("spec", "action", const=action), then, library)
    return {**made, "allOf": [*made.get("allOf", ()), *twice, *told]}


_MOVED = ("labels", "annotations")
"""Fields that the Kubernetes style may have under `metadata`."""
_NAMES = (("name",), ("metadata", "name"), ("id",), ("spec", "name"))
_PROJECTS = (("project",), ("metadata", "project"), ("spec", "project"))


def _entity(properties: Made, narrowed: Narrowed, library: Library) -> Made:
    made = exported(library.schemas["entity"], "#/definitions/entity", library)
    kind, spec = made["properties"]["kind"], made["properties"]["spec"]
    kind["pattern"] = kind["pattern"].replace("[a-z]+", f"(?:{'|'.join(actions_of(library))})")
    spec |= {
        "properties": {
            **{key: {**value, "doNotSuggest": True} for key, value in spec["properties"].items()},
            **properties,
            "name": {},
            "project": {},
            "action": unsaid("the action stands in `kind`"),
        },
        "required": [key for key in narrowed.required if key != "project"],
        "additionalProperties": False,
    }
    wanted = (_NAMES, *([_PROJECTS] if "project" in narrowed.required else []))
    demands = [
        *({"anyOf": [said(*path) for path in paths]} for paths in wanted),
        _first(_NAMES, properties["name"]),
        _first(_PROJECTS, properties["project"]),
    ]

    def then(action: str) -> list[Made]:
        needs = (at(("spec",), need) for _, need in narrowed.needs.get(action, ()))
        return [at(("spec",), _ref(_of(action))), *needs]

    told = _by_action(lambda action: said("kind", pattern=f"\\+{action}:run$"), then, library)
    return {**made, "allOf": [*made.get("allOf", ()), *demands, *told]}


def _first(paths: Sequence[tuple[str, ...]], schema: Made) -> Made:
    """What holds where the schema accepts what stands at the first path that has anything; the last counts alone."""
    here, *others = paths
    if not others:
        return at(here, {"anyOf": [{"type": "null"}, schema]})
    twice = unsaid(f"`{paths[-1][-1]}` stands outside of `spec` already")
    then = {"allOf": [at(here, schema), at(paths[-1], twice)]}
    return {"if": said(*here), "then": then, "else": _first(others, schema)}


def _profile(library: Library) -> Made:
    """A document of a profile file: the profile, a base document, or a ConfigMap whose values are such files."""
    profile = exported(library.schemas["profile"], "#/definitions/profile", library)
    own = {key: profile["properties"].pop(key) for key in library.schemas["profile"]["properties"]}
    profile["properties"] = {**own, **profile["properties"]}
    return {
        "title": profile["title"],
        "description": profile["description"],
        "if": said("kind"),
        "then": {"if": said("kind", const="ConfigMap"), "then": _ref("config map"), "else": _ref("base document")},
        "else": _ref("profile"),
        "definitions": {
            **field_definitions(library),
            "profile": profile,
            "base document": exported(library.schemas["base"], "#/definitions/base document", library),
            "config map": {
                "title": "ConfigMap of profile files",
                "description": "Each value under `data` is the text of a profile file.",
                "type": "object",
                "properties": {
                    "data": {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}}
                },
                "required": ["data"],
            },
        },
    }


def _platform(library: Library) -> Made:
    return {**exported(library.schemas["platform"], "#", library), "definitions": field_definitions(library)}


def _project(library: Library) -> Made:
    return exported(library.schemas["project"], "#", library)


_MAKERS: Mapping[str, Callable[[Library], Made]] = {
    "run": run_schema,
    "profile": _profile,
    "platform": _platform,
    "project": _project,
}
NOUNS = tuple(_MAKERS)
