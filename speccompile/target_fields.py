"""Takes the schemas of all fields and base documents, gives them with what targets add."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from speccompile.diagnostics import Diagnostic, shown
from speccompile.model import Layer, Node, Source, Span
from speccompile.target_faults import fault
from speccompile.targets import Findings, names_in

if TYPE_CHECKING:
    from speccompile.library import Library, Schema

FIELDS = "fields.schema.json"


def with_fields(core: Schema, library: Library) -> tuple[Schema, Findings]:
    """The schema of all fields: those of all targets, and each target's own, marked with whose they are."""
    properties: dict[str, Any] = dict(core["properties"])
    findings: list[Diagnostic] = []
    # The bundled ones have their names first.
    for name in sorted(names_in(library.templates), key=lambda name: (library.is_own(f"{name}/{FIELDS}"), name)):
        own, found = _own_fields(name, library)
        findings += found
        for field, schema in own.items():
            known = properties.get(field)
            if known is None:
                properties[field] = {**schema, "x-targets": [name]}
            elif "x-targets" in known and {**schema, "x-targets": known["x-targets"]} == known:
                properties[field] = {**known, "x-targets": [*known["x-targets"], name]}
            else:
                findings.append(_taken(name, field, known, library))
    return {**core, "properties": properties}, tuple(findings)


def _own_fields(name: str, library: Library) -> tuple[Mapping[str, Any], Findings]:
    path = f"{name}/{FIELDS}"
    if path not in library.templates:
        return {}, ()
    if library.is_own(path):
        tree, found = _checked_fields(path, library)
        return (_said(tree.plain())["properties"], ()) if tree and not found else ({}, found)
    import json

    properties: Mapping[str, Any] = json.loads(library.templates[path])["properties"]
    return properties, ()


def _checked_fields(path: str, library: Library) -> tuple[Node | None, Findings]:
    from speccompile.parse import parse
    from speccompile.patterns import pattern_fault
    from speccompile.validate import validate

    source = Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)
    parsed = parse(source)
    if parsed.findings or not parsed.documents:
        return None, parsed.findings
    tree, found = validate(parsed.documents[0].root, "targetfields", library.core)
    faults = [
        fault(f"{shown(node.value)} {wrong.message}", node.span, wrong.help)
        for path_to, node in tree.walk()
        if path_to[-1:] == ("pattern",) and isinstance(node.value, str) and (wrong := pattern_fault(node.value))
    ]
    # As it is written, since the order of keys is that of the output.
    return parsed.documents[0].root, (*found, *faults, *(() if found else _unmergeable(tree)))


def _said(value: Any) -> Any:
    """The data without nulls, which say nothing."""
    if isinstance(value, dict):
        return {key: _said(child) for key, child in value.items() if child is not None}
    return [_said(item) for item in value if item is not None] if isinstance(value, list) else value


def _unmergeable(tree: Node) -> Iterator[Diagnostic]:
    """Fields that say how layers meet, and have not the shape for it."""
    for name, field in tree.fields["properties"].fields.items():
        merge, told = field.fields.get("x-merge"), field.plain()
        if merge is None or merge.value == "replace":
            continue
        kind = "object" if merge.value == "map" else "array"
        if told["type"] != kind:
            yield fault(f"{shown(name)} merges as {shown(merge.value)}, so its type is {shown(kind)}", merge.span, None)
        elif merge.value == "keyed" and told.get("x-key") not in told.get("items", {}).get("required", ()):
            cure = "name a key in `x-key`, and among those that `items` have as `required`"
            yield fault(f"the items of {shown(name)} merge by a key, and need not have it", merge.span, cure)


def _taken(name: str, field: str, known: Mapping[str, Any], library: Library) -> Diagnostic:
    path = f"{name}/{FIELDS}"
    source = Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)
    others = " and ".join(f"target `{other}`" for other in known.get("x-targets", ())) or "every target"
    text = source.text.split("\n")
    line = next((at for at, one in enumerate(text, 1) if f'"{field}"' in one), 1)
    column = text[line - 1].find(f'"{field}"') + 1
    return fault(
        f"the field {shown(field)} is there already, with another schema: it belongs to {others}",
        Span(source, line, max(column, 1), line, max(column, 1) + len(field) + 2),
        "give the field another name, such as one that begins with the target's",
    )


def with_bases(core: Schema, library: Library) -> Schema:
    """The schema of base documents, with the kinds that targets make."""
    kinds: list[str] = list(core["properties"]["kind"]["enum"])
    versions: dict[str, list[str]] = {}
    spec: dict[str, Any] = dict(core["properties"]["spec"]["properties"])
    for target in library.targets.values():
        for kind, version in target.bases.items():
            if kind not in core["properties"]["kind"]["enum"]:
                versions.setdefault(kind, []).append(version)
        for path in target.pods.values():
            if path[0] == "spec" and len(path) == _BESIDE and str(path[1]) not in spec:
                spec[str(path[1])] = {"$ref": "base.schema.json#/$defs/pod"}
    told = [
        {"if": {"properties": {"kind": {"const": kind}}}, "then": {"properties": {"apiVersion": {"enum": known}}}}
        for kind, known in versions.items()
    ]
    properties = {
        **core["properties"],
        "kind": {**core["properties"]["kind"], "enum": [*kinds, *versions]},
        "spec": {**core["properties"]["spec"], "properties": spec},
    }
    return {**core, "properties": properties, "allOf": [*core["allOf"], *told]}


_BESIDE = 2
"""Steps to a pod that stands in the spec itself."""
