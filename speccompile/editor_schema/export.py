"""Schemas for editors: one draft-07 schema for each kind of file, as one JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from speccompile.editor_schema.convert import EditorSchema, at, exported, field_definitions, said, spellings, unsaid
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.library import Library

_DIALECT = "http://json-schema.org/draft-07/schema#"
_ADDRESS = "https://speccompile.dev/schemas/editor"
_HEAD = ("name", "project", "action", "profile")


def schema_text(noun: str, library: Library) -> str:
    """The schema of a noun of NOUNS as JSON text, the same bytes everywhere; nothing in it points outside."""
    return as_text(schema_of(noun, library))


def as_text(schema: EditorSchema) -> str:
    """The schema as JSON that is short, and in which a change of one property is a change of one line."""
    return _lines(schema, _LEVELS) + "\n"


_LEVELS = 4
"""As deep as the properties of a definition."""


def _lines(value: Any, levels: int) -> str:
    if not levels or not value or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    entries = (f"{json.dumps(key, ensure_ascii=False)}: {_lines(child, levels - 1)}" for key, child in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def schema_of(noun: str, library: Library) -> EditorSchema:
    """The schema of a noun of NOUNS."""
    return {**_opening(noun), **_MAKERS[noun](library)}


class Narrowed(NamedTuple):
    """What is left of a run under a profile: see `narrow.py`."""

    fields: Mapping[str, EditorSchema] = {}
    """Definitions of fields, in the place of what everybody may write."""
    head: Mapping[str, EditorSchema] = {}
    """The same for `project` and `profile`."""
    required: Sequence[str] = ()
    """Which of these two must be there."""
    namespace: Mapping[str, Any] = {}
    """What `metadata` of the Kubernetes style may name as the namespace."""
    needs: Mapping[str, Sequence[tuple[str, EditorSchema]]] = {}
    """By action, fields that must be there, and what must then hold of the mapping that has them."""


_WIDE = Narrowed()


def run_schema(library: Library, narrowed: Narrowed = _WIDE) -> EditorSchema:
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
            **{_of(action): _foreign(action, library) for action in run_actions(library)},
            "flat": _flat({**run, "properties": properties}, narrowed, library),
            "kubernetes": _kubernetes(properties, narrowed, library),
            "entity": _entity(properties, narrowed, library),
        },
    }


def _opening(noun: str) -> EditorSchema:
    return {"$schema": _DIALECT, "$id": f"{_ADDRESS}/{noun}.schema.json"}


def _ref(name: str) -> EditorSchema:
    return {"$ref": f"#/definitions/{name}"}


def _of(action: str) -> str:
    return f"fields of {action}"


def run_actions(library: Library) -> Sequence[str]:
    actions: Sequence[str] = library.schemas["run"]["properties"]["action"]["enum"]
    return actions


def _foreign(action: str, library: Library) -> EditorSchema:
    """What keeps fields away that are foreign to the action."""
    return {
        "properties": {
            spelling: unsaid(f"`{name}` does not apply to action `{action}`")
            for name, schema in library.fields.items()
            if action not in schema.get("x-actions", (action,))
            for spelling in spellings(name, schema)
        }
    }


def _by_action(
    told: Callable[[str], EditorSchema], then: Callable[[str], list[EditorSchema]], library: Library
) -> Iterator[EditorSchema]:
    """What holds under each action, where `told` says how a file tells its action."""
    for action in run_actions(library):
        parts = then(action)
        yield {"if": told(action), "then": parts[0] if len(parts) == 1 else {"allOf": parts}}


def _flat(run: EditorSchema, narrowed: Narrowed, library: Library) -> EditorSchema:
    envelope = {
        "apiVersion": {"description": "For the Kubernetes style only.", "default": "speccompile.dev/v1alpha1"},
        "kind": {"description": "For the Kubernetes style, and for an exported entity, only.", "default": "Run"},
    }

    def then(action: str) -> list[EditorSchema]:
        return [_ref(_of(action)), *(need for _, need in narrowed.needs.get(action, ()))]

    told = _by_action(lambda action: said("action", const=action), then, library)
    return {
        **run,
        "properties": {**run["properties"], **envelope},
        "required": [*run["required"], *narrowed.required],
        "allOf": [*run.get("allOf", ()), *told],
    }


def _kubernetes(properties: EditorSchema, narrowed: Narrowed, library: Library) -> EditorSchema:
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

    def then(action: str) -> list[EditorSchema]:
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


def _entity(properties: EditorSchema, narrowed: Narrowed, library: Library) -> EditorSchema:
    made = exported(library.schemas["entity"], "#/definitions/entity", library)
    kind, spec = made["properties"]["kind"], made["properties"]["spec"]
    kind["pattern"] = kind["pattern"].replace("[a-z]+", f"(?:{'|'.join(run_actions(library))})")
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

    def then(action: str) -> list[EditorSchema]:
        needs = (at(("spec",), need) for _, need in narrowed.needs.get(action, ()))
        return [at(("spec",), _ref(_of(action))), *needs]

    told = _by_action(lambda action: said("kind", pattern=f"\\+{action}:run$"), then, library)
    return {**made, "allOf": [*made.get("allOf", ()), *demands, *told]}


def _first(paths: Sequence[tuple[str, ...]], schema: EditorSchema) -> EditorSchema:
    """What holds where the schema accepts what stands at the first path that has anything; the last counts alone."""
    here, *others = paths
    if not others:
        return at(here, {"anyOf": [{"type": "null"}, schema]})
    twice = unsaid(f"`{paths[-1][-1]}` stands outside of `spec` already")
    then = {"allOf": [at(here, schema), at(paths[-1], twice)]}
    return {"if": said(*here), "then": then, "else": _first(others, schema)}


def _profile(library: Library) -> EditorSchema:
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


def _platform(library: Library) -> EditorSchema:
    return {**exported(library.schemas["platform"], "#", library), "definitions": field_definitions(library)}


def _project(library: Library) -> EditorSchema:
    return exported(library.schemas["project"], "#", library)


_MAKERS: Mapping[str, Callable[[Library], EditorSchema]] = {
    "run": run_schema,
    "profile": _profile,
    "platform": _platform,
    "project": _project,
}
NOUNS = tuple(_MAKERS)
