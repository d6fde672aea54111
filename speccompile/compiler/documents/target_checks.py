"""Checks of custom targets beyond their schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.key_path import format_path, parse_path
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.field_path import is_prefix, locate_field
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.formats.safe_regex import pattern_fault
from speccompile.schema.formats.text_format import ValueFault
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import near
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse, several_documents

TARGET_FILE = "target.yaml"
FIELDS_FILE = "fields.schema.json"
TargetFindings: TypeAlias = tuple[Diagnostic, ...]
TargetCheck: TypeAlias = Callable[[Node, str, Library], Iterator[Diagnostic]]
_SECTIONS = ("workloads", "manifests", "reject")
_LISTS = ("with", "without", "requires", "run_sets", "above", "not_in", "run_not_in", "instead_of")
_MAPS = ("where", "unless", "matches")
# Patterns are compiled when a custom target first needs them: every call imports this module.
_TEMPLATE_NAME = r"""["']([A-Za-z0-9_./-]+\.j2)["']"""
_SPEC_FIELD = r"\bspec\.([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)"
_CODE = r"(?s)\{\{(.*?)\}\}|\{%(.*?)%\}"
_WHOLE_SPEC = r"(?<![.A-Za-z0-9_])spec\b(?!\s*\.)"
"""A use of the whole spec, which may use any field."""
_IDENTITY = {
    "kind": r"(?m)^kind: *([^\s{]+) *$",
    "api_version": r"(?m)^apiVersion: *([^\s{]+) *$",
}
_OTHER_NAMES: Mapping[str, str] = {
    "labels": "labels",
    "annotations": "annotations",
    "inputs": "workload_annotations",
    "parameters": "workload_annotations",
    "service_ports": "container_ports",
    "service_name": "names.alias",
}
"""Fields that templates use under another name."""


def target_names(files: Iterable[str]) -> tuple[str, ...]:
    """The targets among the files of a library: folders with a `target.yaml`."""
    return tuple(sorted(path.removesuffix(f"/{TARGET_FILE}") for path in files if path.endswith(f"/{TARGET_FILE}")))


def template_path(file: Node, target: str) -> str:
    """The path of a template in the library; without a folder, it is in the target's folder."""
    return str(file.value) if "/" in str(file.value) else f"{target}/{file.value}"


def check_target(tree: Node, target: str, library: Library) -> Iterator[Diagnostic]:
    """Report fields, templates, workloads, settings and values that do not exist."""
    for check in TARGET_CHECKS:
        yield from check(tree, target, library)


def _error(message: str, span: Span, help_text: str | None, *notes: Note) -> Diagnostic:
    return Diagnostic(code="target/fault", message=message, span=span, notes=notes, help=help_text)


def _did_you_mean(name: str, known: Iterable[str], otherwise: str) -> str:
    nearest = near(name, known)
    return f"did you mean `{nearest}`?" if nearest else otherwise


def _rows(tree: Node, *sections: str) -> Iterator[Node]:
    for section in sections:
        yield from tree.fields[section].items if section in tree.fields else ()


def _check_paths(tree: Node, target: str, library: Library) -> Iterator[Diagnostic]:
    # If the schema of its fields has errors, no path to them can be checked.
    has_fields = any(target in schema.get("x-targets", ()) for schema in library.fields.values())
    if not has_fields and f"{target}/{FIELDS_FILE}" in library.templates:
        return
    for node in _field_paths(tree):
        place = locate_field(str(node.value), library)
        if isinstance(place, ValueFault):
            yield _error(f"invalid field path {quote(node.value)}: {place.message}", node.span, place.help)
        elif "x-key" in library.fields[str(place.path[0])] and len(place.path) > 1:
            yield _error(
                f"{quote(node.value)} is an item of a list, which conditions cannot use",
                node.span,
                f"use `{place.path[0]}` as a whole",
            )
        elif is_prefix(place.path):
            yield _error(
                f"{quote(node.value)} is a prefix, which conditions cannot use",
                node.span,
                "write a whole key, such as `labels.team`",
            )
        elif format_path(place.path) != format_path(parse_path(str(node.value))):
            yield _error(
                f"{quote(node.value)} is a short form, which a merged spec does not contain",
                node.span,
                f"write `{format_path(place.path)}`",
            )


def _field_paths(tree: Node) -> Iterator[Node]:
    """Every field path in the file; for a path that is a key, a node with the key as its value."""
    for key in ("fields", "container"):
        yield from tree.fields[key].items if key in tree.fields else ()
    for row in _rows(tree, *_SECTIONS):
        yield from _paths_in(row)


def _paths_in(row: Node, without: tuple[str, ...] = ()) -> Iterator[Node]:
    for key in (key for key in _LISTS if key not in without):
        yield from row.fields[key].items if key in row.fields else ()
    for key in _MAPS:
        conditions = row.fields[key].fields if key in row.fields else {}
        yield from (Node(path, child.key or child.span) for path, child in conditions.items())
    if "each" in row.fields:
        yield row.fields["each"].fields["field"]


def _check_conditions(tree: Node, _: str, library: Library) -> Iterator[Diagnostic]:
    for row in _rows(tree, *_SECTIONS):
        for key in ("where", "unless"):
            for path, values in row.fields[key].fields.items() if key in row.fields else ():
                schema = _schema_at(path, library)
                for value in values.items if isinstance(values.value, tuple) else (values,):
                    yield from _check_value(path, value, schema)
        for pattern in row.fields["matches"].fields.values() if "matches" in row.fields else ():
            if fault := pattern_fault(str(pattern.value)):
                yield _error(f"{quote(pattern.value)} {fault.message}", pattern.span, fault.help)
        for node in row.fields["above"].items if "above" in row.fields else ():
            schema = _schema_at(str(node.value), library)
            if schema and schema.get("format") not in QUANTITIES and not _types(schema) <= {"integer", "number"}:
                yield _error(
                    f"{quote(node.value)} is neither a number nor a quantity", node.span, "use `where` or `not_in`"
                )


def _schema_at(path: str, library: Library) -> Schema | None:
    """The schema of the field, or of its items if it is a list; None for an unknown field."""
    place = locate_field(path, library)
    if isinstance(place, ValueFault):
        return None
    schema = library.resolve(place.schema)
    return library.resolve(schema["items"]) if "items" in schema and "array" in _types(schema) else schema


def _types(schema: Schema) -> set[str]:
    types: Any = schema.get("type", ())
    return {types} if isinstance(types, str) else set(types)


_PYTHON_TYPES: Mapping[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    str: frozenset({"string"}),
}


def _check_value(path: str, value: Node, schema: Schema | None) -> Iterator[Diagnostic]:
    """Report a value that the field can never have."""
    if schema is None:
        return
    types, choices = _types(schema), [str(choice) for choice in schema.get("enum", ())]
    message = f"`{path}` is never {quote(value.value)}"
    if choices and str(value.value) not in choices:
        yield _error(message, value.span, _did_you_mean(str(value.value), choices, f"use one of {', '.join(choices)}"))
    elif types and type(value.value) in _PYTHON_TYPES and not types & _PYTHON_TYPES[type(value.value)]:
        yield _error(message, value.span, f"use a value of type {' or '.join(sorted(types))}")


def _check_settings_and_bases(tree: Node, _: str, library: Library) -> Iterator[Diagnostic]:
    settings = library.core.schemas["platform"]["properties"]
    kinds = [str(row.fields["kind"].value) for row in _rows(tree, "manifests") if "api_version" in row.fields]
    for row in _rows(tree, *_SECTIONS):
        for path, node in row.fields["settings"].fields.items() if "settings" in row.fields else ():
            if not _exists(path.split("."), settings, library.core):
                help_text = _did_you_mean(path.partition(".")[0], settings, "use a setting of the platform file")
                yield _error(f"unknown setting {quote(path)}", node.key or node.span, help_text)
        for node in (item for key in ("bases", "no_bases") if key in row.fields for item in row.fields[key].items):
            kind = str(node.value).partition(".")[0]
            if kind not in kinds:
                help_text = _did_you_mean(kind, kinds, "give the manifest of this kind an `api_version`")
                yield _error(f"the target has no base documents of kind {quote(kind)}", node.span, help_text)
    for node in tree.fields["container"].items if "container" in tree.fields else ():
        schema = _schema_at(str(node.value), library)
        if schema is not None and _types(schema) != {"string"}:
            yield _error(
                f"{quote(node.value)} is not a string, so it cannot name a container",
                node.span,
                "use a field of type string",
            )


def _exists(steps: list[str], properties: Mapping[str, Schema], library: Library) -> bool:
    first, *rest = steps
    if first not in properties:
        return False
    inner = library.resolve(properties[first]).get("properties")
    return not rest or not inner or _exists(rest, inner, library)


def _check_workloads(tree: Node, _: str, __: Library) -> Iterator[Diagnostic]:
    names = [str(row.fields["name"].value) for row in tree.fields["workloads"].items]
    for row in _rows(tree, "manifests", "reject"):
        for item in row.fields["workloads"].items if "workloads" in row.fields else ():
            if item.value not in names:
                help_text = _did_you_mean(str(item.value), names, f"use one of {', '.join(names)}")
                yield _error(f"unknown workload {quote(item.value)}", item.span, help_text)


def _check_templates(tree: Node, target: str, library: Library) -> Iterator[Diagnostic]:
    for row in _rows(tree, "manifests"):
        file = row.fields["template"]
        path = template_path(file, target)
        if path not in library.templates:
            templates = (name for name in library.templates if name.endswith(".j2"))
            help_text = _did_you_mean(path, templates, "add the template to the directory of this file")
            yield _error(f"template {quote(path)} not found", file.span, help_text)
            continue
        for key, pattern in _IDENTITY.items():
            match = re.search(pattern, library.templates[path])
            declared = row.fields.get(key)
            if match and declared and match[1].strip("\"'") != declared.value:
                yield _error(
                    f"the template has {key} {match[1]}, not {quote(declared.value)}",
                    declared.span,
                    "use the same value in both, because base documents are matched by it",
                    Note("the template", _span(path, match.start(1), len(match[1]), library)),
                )


def _span(path: str, start: int, length: int, library: Library) -> Span:
    text = library.templates[path]
    line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
    return Span(Source(library.name_of(path), text, Layer.TEMPLATE), line, column, line, column + length)


def _check_use_of_fields(tree: Node, target: str, library: Library) -> Iterator[Diagnostic]:
    """Report fields that no template uses, and misspelt ones in templates: both would be dropped silently."""
    rows = tree.fields["manifests"].items
    templates = _with_included((template_path(row.fields["template"], target) for row in rows), library)
    target_fields = {field: schema for field, schema in library.fields.items() if target in schema.get("x-targets", ())}
    for path in templates:
        if library.is_custom(path):
            yield from _check_template_fields(path, target_fields, library)
    texts = (library.templates[path] for path in templates)
    code = "\n".join(match[1] or match[2] or "" for text in texts for match in re.finditer(_CODE, text))
    if re.search(_WHOLE_SPEC, code):
        return
    words = set(re.findall(r"[a-z_.]+", code))
    # Fields that select manifests, or name the container, are used too.
    selecting = [node for row in _rows(tree, "workloads", "manifests") for node in _paths_in(row, ("requires",))]
    naming = tree.fields["container"].items if "container" in tree.fields else ()
    used = {match[1] for match in re.finditer(_SPEC_FIELD, code)}
    used |= {str(node.value) for node in (*selecting, *naming)}
    for item in tree.fields["fields"].items if "fields" in tree.fields else ():
        field = str(item.value)
        if field in library.fields and not _is_used((field,), used) and _OTHER_NAMES.get(field) not in words:
            message = f"no template uses {quote(field)}, so it would be dropped"
            yield _error(message, item.span, "remove it, or use it in a template")
    for field_path in (path for field, schema in target_fields.items() for path in _leaves((field,), schema)):
        if not _is_used(field_path, used):
            yield _unused_field(field_path, target, library)


def _with_included(paths: Iterable[str], library: Library) -> list[str]:
    """The templates, and all that they include or import."""
    pending, reached = [path for path in paths if path in library.templates], dict[str, None]()
    while pending:
        path = pending.pop()
        if path not in reached:
            reached[path] = None
            names = re.findall(_TEMPLATE_NAME, library.templates[path])
            pending += [name for name in names if name in library.templates]
    return list(reached)


def _check_template_fields(path: str, fields: Mapping[str, Schema], library: Library) -> Iterator[Diagnostic]:
    text = library.templates[path]
    # Comments are skipped.
    code = [match.span() for match in re.finditer(_CODE, text)]
    for match in (one for start, end in code for one in re.compile(_SPEC_FIELD).finditer(text, start, end)):
        first, *steps = match[1].split(".")
        schema, parent = fields.get(first), [first]
        for step in steps:
            properties = schema.get("properties") if schema else None
            if not properties or schema is None or schema.get("additionalProperties") is not False:
                break
            if step not in properties:
                yield _error(
                    f"`{'.'.join(parent)}` has no field {quote(step)}, so the value would always be empty",
                    _span(path, match.start(), len(match[0]), library),
                    _did_you_mean(step, properties, f"use one of {', '.join(properties)}"),
                )
                break
            parent.append(step)
            schema = properties[step]


def _leaves(path: tuple[str, ...], schema: Schema) -> Iterator[tuple[str, ...]]:
    """The paths of a field's values, in maps with known keys, without those that are ignored on purpose."""
    properties = schema.get("properties")
    if schema.get("x-ignored") or "x-missing" in schema:
        return
    if not properties:
        yield path
        return
    for key, child in properties.items():
        yield from _leaves((*path, key), child)


def _is_used(path: tuple[str, ...], used: Iterable[str]) -> bool:
    """Whether the field, a field that contains it, or a part of it is used."""
    paths = [one.split(".") for one in used]
    return any(one[: len(path)] == [*path] or [*path[: len(one)]] == one for one in paths)


def _unused_field(path: tuple[str, ...], target: str, library: Library) -> Diagnostic:
    file = f"{target}/{FIELDS_FILE}"
    key, start = f'"{path[-1]}"', 0
    for step in path:
        start = max(library.templates[file].find(f'"{step}"', start), start)
    return _error(
        f"no template uses {quote('.'.join(path))}, so it would be dropped",
        _span(file, start, len(key), library),
        f"use `{{{{ spec.{'.'.join(path)} }}}}` in a template, or remove the field",
    )


# The schema of its fields


def read_target_fields(path: str, library: Library) -> tuple[Node | None, TargetFindings]:
    """Read `fields.schema.json` of a custom target."""
    source = Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)
    parsed = parse(source)
    if parsed.findings or not parsed.documents:
        return None, parsed.findings
    tree, errors = validate(parsed.documents[0].root, "targetfields", library.core)
    findings = [
        _error(f"{quote(node.value)} {fault.message}", node.span, fault.help)
        for key_path, node in tree.walk()
        if key_path[-1:] == ("pattern",) and isinstance(node.value, str)
        if (fault := pattern_fault(node.value, is_searched=True))
    ]
    findings += [several_documents(document, "schema") for document in parsed.documents[1:]]
    # The tree as written, because the order of keys is that of the output.
    return parsed.documents[0].root, (*errors, *findings, *(() if errors else _check_merging(tree)))


def _check_merging(tree: Node) -> Iterator[Diagnostic]:
    """Report fields whose type does not fit their `x-merge`."""
    for name, field in tree.fields["properties"].fields.items():
        merge, schema = field.fields.get("x-merge"), field.plain()
        if merge is None or merge.value == "replace":
            continue
        kind = "object" if merge.value == "map" else "array"
        if schema["type"] != kind:
            yield _error(
                f"{quote(name)} merges as {quote(merge.value)}, so its type must be {quote(kind)}", merge.span, None
            )
        elif merge.value == "keyed" and not _has_key(schema):
            help_text = "name a key in `x-key`, and list it in `required` of `items`"
            yield _error(f"the items of {quote(name)} merge by a key that they may lack", merge.span, help_text)


def _has_key(field: Mapping[str, Any]) -> bool:
    """Whether every item has the key, and the key is a string or a whole number."""
    items, key = field.get("items", {}), field.get("x-key")
    kind = items.get("properties", {}).get(key, {}).get("type")
    return key in items.get("required", ()) and kind in ("string", "integer")


def taken_field(target: str, field: str, schema: Mapping[str, Any], library: Library) -> Diagnostic:
    """Report a field whose name is in use, with another schema."""
    path = f"{target}/{FIELDS_FILE}"
    source = Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)
    owners = " and ".join(f"target `{other}`" for other in schema.get("x-targets", ())) or "all targets"
    lines = source.text.split("\n")
    number = next((number for number, line in enumerate(lines, 1) if f'"{field}"' in line), 1)
    column = max(lines[number - 1].find(f'"{field}"') + 1, 1)
    return _error(
        f"the field {quote(field)} exists with another schema: it belongs to {owners}",
        Span(source, number, column, number, column + len(field) + 2),
        "rename the field, for example with the target's name as a prefix",
    )


TARGET_CHECKS: tuple[TargetCheck, ...] = (
    _check_paths,
    _check_conditions,
    _check_settings_and_bases,
    _check_workloads,
    _check_templates,
    _check_use_of_fields,
)
