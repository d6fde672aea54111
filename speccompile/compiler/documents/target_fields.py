"""Schemas of fields and base documents, extended with what targets add."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from speccompile.compiler.documents.target_checks import FIELDS, Findings, checked_fields, names_in, taken
from speccompile.compiler.documents.targets import targets_of
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.identity_cache import by_identity
from speccompile.schema.library import Library, Schema

_ENVELOPES = ("run", "profile", "kubernetes", "entity")
"""Schemas beside whose keys fields stand, or could be taken to stand."""


def extended(name: str, library: Library) -> Schema:
    """The schema of this name with what targets add to it."""
    if name == "fields":
        return _with_fields(library)[0]
    core = library.core.schemas[name]
    return _with_bases(core, library) if name == "base" else core


def target_faults(library: Library) -> Findings:
    """What is wrong with the targets that admins wrote; those are left out of the library's targets."""
    if not library.has_custom_templates:
        return ()
    return (*_with_fields(library)[1], *targets_of(library).faults())


@by_identity(64)
def _with_fields(library: Library) -> tuple[Schema, Findings]:
    """The schema of all fields: those of all targets, and each target's own, marked with whose they are."""
    core = library.core.schemas["fields"]
    properties: dict[str, Any] = dict(core["properties"])
    findings: list[Diagnostic] = []
    reserved: Mapping[str, Mapping[str, Any]] = {
        key: {} for noun in _ENVELOPES for key in library.core.schemas[noun].get("properties", ())
    }
    # The bundled ones have their names first.
    for name in sorted(names_in(library.templates), key=lambda name: (library.is_custom(f"{name}/{FIELDS}"), name)):
        own, found = _own_fields(name, library)
        findings += found
        for field, schema in own.items():
            known = properties.get(field) if field not in reserved else reserved[field]
            if known is None:
                properties[field] = {**schema, "x-targets": [name]}
            elif "x-targets" in known and {**schema, "x-targets": known["x-targets"]} == known:
                properties[field] = {**known, "x-targets": [*known["x-targets"], name]}
            else:
                findings.append(taken(name, field, known, library))
    return {**core, "properties": properties}, tuple(findings)


def _own_fields(name: str, library: Library) -> tuple[Mapping[str, Any], Findings]:
    path = f"{name}/{FIELDS}"
    if path not in library.templates:
        return {}, ()
    if library.is_custom(path):
        tree, found = checked_fields(path, library)
        return (_unique(_said(tree.plain())["properties"]), ()) if tree and not found else ({}, found)
    properties: Mapping[str, Any] = json.loads(library.templates[path])["properties"]
    return properties, ()


def _unique(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields, where no two items of a list that merges by a key may share it."""
    return {
        name: {"x-unique": [schema["x-key"]], **schema} if schema.get("x-merge") == "keyed" else schema
        for name, schema in fields.items()
    }


def _said(value: Any) -> Any:
    """The data without nulls, which say nothing."""
    if isinstance(value, dict):
        return {key: _said(child) for key, child in value.items() if child is not None}
    return [_said(item) for item in value if item is not None] if isinstance(value, list) else value


def _with_bases(core: Schema, library: Library) -> Schema:
    """The schema of base documents, with the kinds that targets make."""
    versions: dict[str, dict[str, None]] = {kind: {} for kind in core["properties"]["kind"]["enum"]}
    spec: dict[str, Any] = dict(core["properties"]["spec"]["properties"])
    for target in targets_of(library).values():
        for kind, version in target.bases.items():
            versions.setdefault(kind, {})[version] = None
        for path in target.pods.values():
            if path[0] == "spec" and len(path) == _BESIDE and str(path[1]) not in spec:
                spec[str(path[1])] = {"$ref": "base.schema.json#/$defs/pod"}
    told = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"apiVersion": {"enum": [*known]}}}}
        for kind, known in versions.items()
    ]
    properties = {
        **core["properties"],
        "kind": {**core["properties"]["kind"], "enum": [*versions]},
        "spec": {**core["properties"]["spec"], "properties": spec},
    }
    return {**core, "properties": properties, "allOf": told}


_BESIDE = 2
"""Steps to a pod that stands in the spec itself."""
