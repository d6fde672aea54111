"""Export of editor schemas: a draft-07 schema for each kind of file, as JSON text."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from speccompile.compiler.documents.targets import DEFAULT_TARGET, targets_of
from speccompile.editor_schema.convert import (
    EditorSchema,
    export_schema,
    field_definitions,
    has_value,
    must_be_unset,
    nested,
    spellings,
)
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.library import Library

_DIALECT = "http://json-schema.org/draft-07/schema#"
_ADDRESS = "https://speccompile.dev/schemas/editor"
_HEAD = ("name", "project", "action", "profile")


def schema_text(noun: str, library: Library) -> str:
    """The self-contained schema of a noun of NOUNS as JSON text, with the same bytes everywhere."""
    return schema_json(schema_of(noun, library))


def schema_json(schema: EditorSchema) -> str:
    """The schema as compact JSON with a line for each property, so that diffs are small."""
    return _lines(schema, _LEVELS) + "\n"


_LEVELS = 4
"""The depth of the properties of a definition."""


def _lines(value: Any, levels: int) -> str:
    if not levels or not value or not isinstance(value, dict):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    entries = (f"{json.dumps(key, ensure_ascii=False)}: {_lines(child, levels - 1)}" for key, child in value.items())
    return "{\n" + ",\n".join(entries) + "\n}"


def schema_of(noun: str, library: Library) -> EditorSchema:
    """The schema of a noun of NOUNS."""
    return {**_opening(noun), **_MAKERS[noun](library)}


class Narrowed(NamedTuple):
    """The parts of a run's schema that a profile narrows: see `narrow.py`."""

    fields: Mapping[str, EditorSchema] = {}
    """Narrowed definitions of fields."""
    head: Mapping[str, EditorSchema] = {}
    """Narrowed schemas of `project` and `profile`."""
    required: Sequence[str] = ()
    """Which of these two are required."""
    namespace: Mapping[str, Any] = {}
    """The schema of `metadata.namespace` in the Kubernetes style."""
    needs: Mapping[str, Sequence[tuple[str, EditorSchema]]] = {}
    """By action, the required fields, each with a schema for the mapping of fields."""


_NOT_NARROWED = Narrowed()


def run_editor_schema(library: Library, narrowed: Narrowed = _NOT_NARROWED) -> EditorSchema:
    """The schema of a run in any form; editors suggest the flat one first."""
    run = export_schema(library.schemas["run"], "#/definitions/flat", library)
    for name in _entity_fields(library):
        # Exported runs have the keys of these fields, and other runs do not use them.
        del run["properties"][name]
    properties = {**{key: run["properties"].pop(key) for key in _HEAD}, **run["properties"], **narrowed.head}
    properties["action"] = {**properties["action"], "enum": [*run_actions(library)]}
    return {
        **_opening("run"),
        "title": run["title"],
        "description": run["description"],
        "if": {"anyOf": [has_value("apiVersion"), has_value("kind", const="Run")]},
        "then": _ref("kubernetes"),
        "else": {"if": has_value("kind"), "then": _ref("entity"), "else": _ref("flat")},
        "definitions": {
            **field_definitions(library),
            **narrowed.fields,
            **{_fields_of(action): _exclude_fields(action, library) for action in run_actions(library)},
            "flat": _flat({**run, "properties": properties}, narrowed, library),
            "kubernetes": _kubernetes(properties, narrowed, library),
            "entity": _entity(properties, narrowed, library),
        },
    }


def _opening(noun: str) -> EditorSchema:
    return {"$schema": _DIALECT, "$id": f"{_ADDRESS}/{noun}.schema.json"}


def _ref(name: str) -> EditorSchema:
    return {"$ref": f"#/definitions/{name}"}


def _fields_of(action: str) -> str:
    return f"fields of {action}"


def run_actions(library: Library) -> Sequence[str]:
    """The actions of all targets, those of the default target first."""
    targets = targets_of(library)
    names = (DEFAULT_TARGET, *(name for name in targets if name != DEFAULT_TARGET))
    actions = (action for name in names for workload in targets[name].workloads for action in sorted(workload.actions))
    return tuple(dict.fromkeys(actions))


def _exclude_fields(action: str, library: Library) -> EditorSchema:
    """The schema that excludes fields which do not apply to the action."""
    return {
        "properties": {
            spelling: must_be_unset(f"`{name}` does not apply to action `{action}`")
            for name, schema in library.fields.items()
            if action not in schema.get("x-actions", (action,)) and name not in _entity_fields(library)
            for spelling in spellings(name, schema)
        }
    }


def _by_action(
    has_action: Callable[[str], EditorSchema], then: Callable[[str], list[EditorSchema]], library: Library
) -> Iterator[EditorSchema]:
    """The conditional schemas of all actions; `has_action` returns the schema of files with an action."""
    for action in run_actions(library):
        parts = then(action)
        yield {"if": has_action(action), "then": parts[0] if len(parts) == 1 else {"allOf": parts}}


def _flat(run: EditorSchema, narrowed: Narrowed, library: Library) -> EditorSchema:
    envelope = {
        "apiVersion": {"description": "Only for runs in Kubernetes style.", "default": "speccompile.dev/v1alpha1"},
        "kind": {"description": "Only for runs in Kubernetes style and exported entities.", "default": "Run"},
    }

    def then(action: str) -> list[EditorSchema]:
        return [_ref(_fields_of(action)), *(need for _, need in narrowed.needs.get(action, ()))]

    by_action = _by_action(lambda action: has_value("action", const=action), then, library)
    return {
        **run,
        "properties": {**run["properties"], **envelope},
        "required": [*run["required"], *narrowed.required],
        "allOf": [*run.get("allOf", ()), *by_action],
    }


def _kubernetes(properties: EditorSchema, narrowed: Narrowed, library: Library) -> EditorSchema:
    converted = export_schema(library.schemas["kubernetes"], "#/definitions/kubernetes", library)
    metadata = converted["properties"]["metadata"]["properties"]
    metadata["name"] = {**properties["name"], **metadata["name"]}
    metadata["namespace"] = {**metadata["namespace"], **narrowed.namespace}
    twice = []
    for key in _MOVED:
        metadata[key] = {**metadata[key], "allOf": [_ref(key)]}
        unset = must_be_unset(f"`{key}` is already set under `metadata`")
        twice.append({"if": has_value("metadata", key), "then": nested(("spec", key), unset)})
    converted["properties"]["spec"] |= {
        "properties": {**properties, "name": must_be_unset("write the name under `metadata`")},
        "required": ["action", *narrowed.required],
        "additionalProperties": False,
    }

    def then(action: str) -> list[EditorSchema]:
        needs = [
            {"anyOf": [nested(("spec",), need), nested(("metadata",), need)]}
            if field in _MOVED
            else nested(("spec",), need)
            for field, need in narrowed.needs.get(action, ())
        ]
        return [nested(("spec",), _ref(_fields_of(action))), *needs]

    by_action = _by_action(lambda action: has_value("spec", "action", const=action), then, library)
    return {**converted, "allOf": [*converted.get("allOf", ()), *twice, *by_action]}


_MOVED = ("labels", "annotations")
"""Fields that may be under `metadata` in the Kubernetes style."""
_NAMES = (("name",), ("metadata", "name"), ("id",), ("spec", "name"))
_PROJECTS = (("project",), ("metadata", "project"), ("spec", "project"))


def _entity(properties: EditorSchema, narrowed: Narrowed, library: Library) -> EditorSchema:
    converted = export_schema(library.schemas["entity"], "#/definitions/entity", library)
    kind, spec = converted["properties"]["kind"], converted["properties"]["spec"]
    kind["pattern"] = kind["pattern"].replace("[a-z]+", f"(?:{'|'.join(run_actions(library))})")
    spec |= {
        "properties": {
            **{key: {**value, "doNotSuggest": True} for key, value in spec["properties"].items()},
            **{key: {"doNotSuggest": True} for key in _runtime_keys(library)},
            **properties,
            "name": {},
            "project": {},
            "action": must_be_unset("the action is part of `kind`"),
        },
        "additionalProperties": False,
    }
    wanted = (_NAMES, *([_PROJECTS] if "project" in narrowed.required else []))
    constraints = [
        *({"anyOf": [has_value(*path) for path in paths]} for paths in wanted),
        _first(_NAMES, properties["name"]),
        _first(_PROJECTS, properties["project"]),
    ]

    def then(action: str) -> list[EditorSchema]:
        return [nested(("spec",), need) for _, need in narrowed.needs.get(action, ())] or [{}]

    required = {"required": [key for key in narrowed.required if key != "project"]}
    by_action = _by_action(lambda action: has_value("kind", pattern=f"\\+{action}:run$"), then, library)
    # What a run lacks may be set by its function.
    alone = {"if": has_value("spec", "function"), "else": {"allOf": [nested(("spec",), required), *by_action]}}
    return {**converted, "allOf": [*converted.get("allOf", ()), *constraints, alone]}


def _entity_fields(library: Library) -> Sequence[str]:
    """The fields that contain the keys of exported entities."""
    return sorted({target.entity_field for target in targets_of(library).values() if target.entity_field})


def _runtime_keys(library: Library) -> Iterator[str]:
    """The keys of exported entities that only single runtimes have."""
    for name in _entity_fields(library):
        for key, schema in library.fields[name]["properties"].items():
            yield from spellings(key, schema)


def _first(paths: Sequence[tuple[str, ...]], schema: EditorSchema) -> EditorSchema:
    """The schema that applies the given one at the first path with a value; the last path excludes the others."""
    here, *others = paths
    if not others:
        return nested(here, {"anyOf": [{"type": "null"}, schema]})
    twice = must_be_unset(f"`{paths[-1][-1]}` is already set outside of `spec`")
    then = {"allOf": [nested(here, schema), nested(paths[-1], twice)]}
    return {"if": has_value(*here), "then": then, "else": _first(others, schema)}


def _profile(library: Library) -> EditorSchema:
    """A document of a profile file: the profile, a base document, or a ConfigMap with profile files as values."""
    profile = export_schema(library.schemas["profile"], "#/definitions/profile", library)
    # Keys of profiles come before the fields, as editors suggest them in this order.
    first = {key: profile["properties"].pop(key) for key in library.schemas["profile"]["properties"]}
    profile["properties"] = {**first, **profile["properties"]}
    return {
        "title": profile["title"],
        "description": profile["description"],
        "if": has_value("kind"),
        "then": {
            "if": has_value("kind", const="ConfigMap"),
            "then": _ref("config map"),
            "else": _ref("base document"),
        },
        "else": _ref("profile"),
        "definitions": {
            **field_definitions(library),
            "profile": profile,
            "base document": export_schema(library.schemas["base"], "#/definitions/base document", library),
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
    return {**export_schema(library.schemas["platform"], "#", library), "definitions": field_definitions(library)}


def _project(library: Library) -> EditorSchema:
    return export_schema(library.schemas["project"], "#", library)


_MAKERS: Mapping[str, Callable[[Library], EditorSchema]] = {
    "run": run_editor_schema,
    "profile": _profile,
    "platform": _platform,
    "project": _project,
}
NOUNS = tuple(_MAKERS)
