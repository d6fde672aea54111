"""Schemas of fields and base documents, with the additions of targets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from speccompile.compiler.documents.target_checks import (
    FIELDS_FILE,
    TargetFindings,
    read_target_fields,
    taken_field,
    target_names,
)
from speccompile.compiler.documents.targets import targets_of
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.identity_cache import by_identity
from speccompile.schema.library import Library, Schema

_ENVELOPES = ("run", "profile", "kubernetes", "entity")
"""Schemas whose keys fields must not use."""
_POD_IN_SPEC = 2
"""Length of a path to a pod directly below `spec`."""


def extended(name: str, library: Library) -> Schema:
    """The schema of this name, with the additions of targets."""
    if name == "fields":
        return _with_fields(library)[0]
    core = library.core.schemas[name]
    return _with_bases(core, library) if name == "base" else core


def target_findings(library: Library) -> TargetFindings:
    """The errors of custom targets, which the library's targets leave out."""
    if not library.has_custom_templates:
        return ()
    return (*_with_fields(library)[1], *targets_of(library).findings())


@by_identity(64)
def _with_fields(library: Library) -> tuple[Schema, TargetFindings]:
    """The schema of the common fields and of each target's fields, marked with their targets."""
    core = library.core.schemas["fields"]
    properties: dict[str, Any] = dict(core["properties"])
    findings: list[Diagnostic] = []
    reserved: Mapping[str, Mapping[str, Any]] = {
        key: {} for noun in _ENVELOPES for key in library.core.schemas[noun].get("properties", ())
    }
    # Bundled targets come first, so that a name clash is reported in the custom one.
    names = target_names(library.templates)
    for name in sorted(names, key=lambda name: (library.is_custom(f"{name}/{FIELDS_FILE}"), name)):
        fields, errors = _fields_of_target(name, library)
        findings += errors
        for field, schema in fields.items():
            known = properties.get(field) if field not in reserved else reserved[field]
            if known is None:
                properties[field] = {**schema, "x-targets": [name]}
            elif "x-targets" in known and {**schema, "x-targets": known["x-targets"]} == known:
                properties[field] = {**known, "x-targets": [*known["x-targets"], name]}
            else:
                findings.append(taken_field(name, field, known, library))
    return {**core, "properties": properties}, tuple(findings)


def _fields_of_target(name: str, library: Library) -> tuple[Mapping[str, Any], TargetFindings]:
    path = f"{name}/{FIELDS_FILE}"
    if path not in library.templates:
        return {}, ()
    if library.is_custom(path):
        tree, errors = read_target_fields(path, library)
        if tree is None or errors:
            return {}, errors
        return _with_unique_keys(_without_nulls(tree.plain())["properties"]), ()
    properties: Mapping[str, Any] = json.loads(library.templates[path])["properties"]
    return properties, ()


def _with_unique_keys(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Require unique keys in lists that merge by a key."""
    return {
        name: {"x-unique": [schema["x-key"]], **schema} if schema.get("x-merge") == "keyed" else schema
        for name, schema in fields.items()
    }


def _without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nulls(child) for key, child in value.items() if child is not None}
    return [_without_nulls(item) for item in value if item is not None] if isinstance(value, list) else value


def _with_bases(core: Schema, library: Library) -> Schema:
    """The schema of base documents, with the kinds that targets produce."""
    versions: dict[str, dict[str, None]] = {kind: {} for kind in core["properties"]["kind"]["enum"]}
    spec: dict[str, Any] = dict(core["properties"]["spec"]["properties"])
    for target in targets_of(library).values():
        for kind, known_versions in target.bases.items():
            versions.setdefault(kind, {}).update(dict.fromkeys(sorted(known_versions)))
        for path in target.pods.values():
            if path[0] == "spec" and len(path) == _POD_IN_SPEC and str(path[1]) not in spec:
                spec[str(path[1])] = {"$ref": "base.schema.json#/$defs/pod"}
    conditions = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"apiVersion": {"enum": [*known]}}}}
        for kind, known in versions.items()
    ]
    properties = {
        **core["properties"],
        "kind": {**core["properties"]["kind"], "enum": [*versions]},
        "spec": {**core["properties"]["spec"], "properties": spec},
    }
    return {**core, "properties": properties, "allOf": conditions}
