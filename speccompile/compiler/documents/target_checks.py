"""Checks of custom targets beyond their schemas."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.key_path import format_path, parse_path
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.field_path import locate_field
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.formats.safe_regex import pattern_fault
from speccompile.schema.formats.text_format import ValueFault
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import near
from speccompile.schema.validate import validate
from speccompile.yaml_text.parse import parse, several_documents

ABOUT = "target.yaml"
FIELDS = "fields.schema.json"
Findings: TypeAlias = tuple[Diagnostic, ...]
Check: TypeAlias = Callable[[Node, str, Library], Iterator[Diagnostic]]
_SECTIONS = ("workloads", "manifests", "refuse")
_LISTS = ("with", "without", "needs", "says", "above", "not_in", "not_own")
_MAPS = ("where", "unless", "matches")
# Patterns are compiled when a custom target first needs them: every call imports this module.
_NAMED = r"""["']([A-Za-z0-9_./-]+\.j2)["']"""
_USED = r"\bspec\.([A-Za-z0-9_]+(?:\.[A-Za-z0-9_]+)*)"
_CODE = r"(?s)\{\{(.*?)\}\}|\{%(.*?)%\}"
_OPEN = r"(?<![.A-Za-z0-9_])spec\b(?!\s*\.)"
"""A use of the whole spec, of which nobody can tell what it is after."""
_IDENTITY = {
    "kind": r"(?m)^kind: *([^\s{]+) *$",
    "api_version": r"(?m)^apiVersion: *([^\s{]+) *$",
}
_OTHERWISE: Mapping[str, str] = {
    "labels": "labels",
    "annotations": "annotations",
    "inputs": "workload_annotations",
    "parameters": "workload_annotations",
    "service_ports": "container_ports",
    "service_name": "names.alias",
}
"""Fields that templates come by under another name."""


def names_in(files: Iterable[str]) -> tuple[str, ...]:
    """The targets among the files of a library: the folders that have a `target.yaml`."""
    return tuple(sorted(path.removesuffix(f"/{ABOUT}") for path in files if path.endswith(f"/{ABOUT}")))


def template_of(file: Node, name: str) -> str:
    """The path of a template in the library; one without a folder is beside the target's file."""
    return str(file.value) if "/" in str(file.value) else f"{name}/{file.value}"


def faults_of(tree: Node, name: str, library: Library) -> Iterator[Diagnostic]:
    """What it says of fields, templates and workloads that are not there, or are not so."""
    for check in CHECKS:
        yield from check(tree, name, library)


def fault(message: str, span: Span, cure: str | None, *notes: Note) -> Diagnostic:
    return Diagnostic(code="target/fault", message=message, span=span, notes=notes, help=cure)


def _rows(tree: Node, *sections: str) -> Iterator[Node]:
    for section in sections:
        yield from tree.fields[section].items if section in tree.fields else ()


def _paths_lead_to_fields(tree: Node, name: str, library: Library) -> Iterator[Diagnostic]:
    # Where its fields cannot be read, no path to them leads anywhere.
    has_own = any(name in schema.get("x-targets", ()) for schema in library.fields.values())
    if not has_own and f"{name}/fields.schema.json" in library.templates:
        return
    for node in _field_paths(tree):
        place = locate_field(str(node.value), library)
        if isinstance(place, ValueFault):
            yield fault(f"no field stands at {quote(node.value)}: {place.message}", node.span, place.help)
        elif "x-key" in library.fields[str(place.path[0])] and len(place.path) > 1:
            yield fault(
                f"{quote(node.value)} is one item of a list, which nothing here can ask about",
                node.span,
                f"ask about `{place.path[0]}` as a whole",
            )
        elif format_path(place.path) != format_path(parse_path(str(node.value))):
            cure = f"write `{format_path(place.path)}`"
            yield fault(f"{quote(node.value)} is a short form, and the spec has it elsewhere", node.span, cure)


def _field_paths(tree: Node) -> Iterator[Node]:
    """Every field path that the file writes; keys of maps stand for themselves."""
    for key in ("fields", "container"):
        yield from tree.fields[key].items if key in tree.fields else ()
    for row in _rows(tree, *_SECTIONS):
        yield from _paths_in(row)


def _paths_in(row: Node, without: tuple[str, ...] = ()) -> Iterator[Node]:
    for key in (key for key in _LISTS if key not in without):
        yield from row.fields[key].items if key in row.fields else ()
    for key in _MAPS:
        told = row.fields[key].fields if key in row.fields else {}
        yield from (Node(path, child.key or child.span) for path, child in told.items())
    if "each" in row.fields:
        yield row.fields["each"].fields["field"]


def _conditions_can_hold(tree: Node, _: str, library: Library) -> Iterator[Diagnostic]:
    for row in _rows(tree, *_SECTIONS):
        for key in ("where", "unless"):
            for path, told in row.fields[key].fields.items() if key in row.fields else ():
                schema = _schema_at(path, library)
                for value in told.items if isinstance(told.value, tuple) else (told,):
                    yield from _impossible(path, value, schema)
        for told in row.fields["matches"].fields.values() if "matches" in row.fields else ():
            if wrong := pattern_fault(str(told.value)):
                yield fault(f"{quote(told.value)} {wrong.message}", told.span, wrong.help)
        for node in row.fields["above"].items if "above" in row.fields else ():
            schema = _schema_at(str(node.value), library)
            if schema and schema.get("format") not in QUANTITIES and not _types(schema) <= {"integer", "number"}:
                yield fault(
                    f"{quote(node.value)} has no size, so nothing is above it", node.span, "use `where` or `not_in`"
                )


def _schema_at(path: str, library: Library) -> Schema | None:
    """The schema of the field, or of its items; None if there is no such field."""
    place = locate_field(path, library)
    if isinstance(place, ValueFault):
        return None
    schema = library.resolve(place.schema)
    return library.resolve(schema["items"]) if "items" in schema and "array" in _types(schema) else schema


def _types(schema: Schema) -> set[str]:
    told: Any = schema.get("type", ())
    return {told} if isinstance(told, str) else set(told)


_PYTHON: Mapping[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    str: frozenset({"string"}),
}


def _impossible(path: str, value: Node, schema: Schema | None) -> Iterator[Diagnostic]:
    if schema is None:
        return
    types, choices = _types(schema), [str(choice) for choice in schema.get("enum", ())]
    if choices and str(value.value) not in choices:
        meant = near(str(value.value), choices)
        cure = f"did you mean `{meant}`?" if meant else f"it is one of {', '.join(choices)}"
        yield fault(f"`{path}` is never {quote(value.value)}", value.span, cure)
    elif types and type(value.value) in _PYTHON and not types & _PYTHON[type(value.value)]:
        yield fault(
            f"`{path}` is never {quote(value.value)}", value.span, f"it is of type {' or '.join(sorted(types))}"
        )


def _settings_and_bases_are_there(tree: Node, _: str, library: Library) -> Iterator[Diagnostic]:
    settings = library.core.schemas["platform"]["properties"]
    made = [str(row.fields["kind"].value) for row in _rows(tree, "manifests") if "api_version" in row.fields]
    for row in _rows(tree, *_SECTIONS):
        for path, told in row.fields["settings"].fields.items() if "settings" in row.fields else ():
            if not _leads(path.split("."), settings, library.core):
                meant = near(path.partition(".")[0], settings)
                cure = f"did you mean `{meant}`?" if meant else "see the settings of the platform"
                yield fault(f"the platform has no setting {quote(path)}", told.key or told.span, cure)
        for node in (item for key in ("bases", "no_bases") if key in row.fields for item in row.fields[key].items):
            kind = str(node.value).partition(".")[0]
            if kind not in made:
                meant = near(kind, made)
                cure = f"did you mean `{meant}`?" if meant else "give its manifest an `api_version`"
                yield fault(f"base documents can be of no kind {quote(kind)} here", node.span, cure)
    for node in tree.fields["container"].items if "container" in tree.fields else ():
        schema = _schema_at(str(node.value), library)
        if schema is not None and _types(schema) != {"string"}:
            yield fault(
                f"{quote(node.value)} is no text, and names no container", node.span, "name a field of type string"
            )


def _leads(steps: list[str], properties: Mapping[str, Schema], library: Library) -> bool:
    first, *rest = steps
    if first not in properties:
        return False
    inner = library.resolve(properties[first]).get("properties")
    return not rest or not inner or _leads(rest, inner, library)


def _workloads_are_there(tree: Node, _: str, __: Library) -> Iterator[Diagnostic]:
    called = [str(row.fields["called"].value) for row in tree.fields["workloads"].items]
    for row in _rows(tree, "manifests", "refuse"):
        for item in row.fields["workloads"].items if "workloads" in row.fields else ():
            if item.value not in called:
                meant = near(str(item.value), called)
                cure = f"did you mean `{meant}`?" if meant else f"the workloads are {', '.join(called)}"
                yield fault(f"no workload is called {quote(item.value)}", item.span, cure)


def _templates_are_there(tree: Node, name: str, library: Library) -> Iterator[Diagnostic]:
    for row in _rows(tree, "manifests"):
        file = row.fields["template"]
        path = template_of(file, name)
        if path not in library.templates:
            meant = near(path, (known for known in library.templates if known.endswith(".j2")))
            cure = f"did you mean `{meant}`?" if meant else "write the template, beside this file"
            yield fault(f"there is no template {quote(path)}", file.span, cure)
            continue
        for key, pattern in _IDENTITY.items():
            found = re.search(pattern, library.templates[path])
            said = row.fields.get(key)
            if found and said and found[1].strip("\"'") != said.value:
                yield fault(
                    f"the template gives {found[1]}, and this says {quote(said.value)}",
                    said.span,
                    "let both say the same: base documents go by it",
                    Note("the template", _span(path, found.start(1), len(found[1]), library)),
                )


def _span(path: str, at: int, length: int, library: Library) -> Span:
    text = library.templates[path]
    line, column = text.count("\n", 0, at) + 1, at - text.rfind("\n", 0, at)
    return Span(Source(library.name_of(path), text, Layer.TEMPLATE), line, column, line, column + length)


def _templates_use_the_fields(tree: Node, name: str, library: Library) -> Iterator[Diagnostic]:
    """A field that no template uses would be dropped in silence, and so would one that is misspelled there."""
    rows = tree.fields["manifests"].items
    templates = _reached((template_of(row.fields["template"], name) for row in rows), library)
    own = {field: schema for field, schema in library.fields.items() if name in schema.get("x-targets", ())}
    for path in templates:
        if library.is_custom(path):
            yield from _misspelled(path, own, library)
    texts = (library.templates[path] for path in templates)
    code = "\n".join(found[1] or found[2] for text in texts for found in re.finditer(_CODE, text))
    if re.search(_OPEN, code):
        return
    used = {found[1] for found in re.finditer(_USED, code)}
    words = set(re.findall(r"[a-z_.]+", code))
    # What chooses manifests, or names the container, has its effect.
    choosing = [node for row in _rows(tree, "workloads", "manifests") for node in _paths_in(row, ("needs",))]
    named = tree.fields["container"].items if "container" in tree.fields else ()
    asked = {str(node.value) for node in (*choosing, *named)}
    for item in tree.fields["fields"].items if "fields" in tree.fields else ():
        field = str(item.value)
        is_used = _is_used((field,), used | asked) or _OTHERWISE.get(field) in words
        if field in library.fields and not is_used:
            yield fault(
                f"no template uses {quote(field)}, so it would be dropped", item.span, "leave it out, or place it"
            )
    for field_path in (path for field, schema in own.items() for path in _leaves((field,), schema)):
        if not _is_used(field_path, used | asked):
            yield _unused(field_path, name, library)


def _reached(paths: Iterable[str], library: Library) -> list[str]:
    """The templates, and all that these bring in."""
    pending, known = [path for path in paths if path in library.templates], dict[str, None]()
    while pending:
        path = pending.pop()
        if path not in known:
            known[path] = None
            pending += [found for found in re.findall(_NAMED, library.templates[path]) if found in library.templates]
    return list(known)


def _misspelled(path: str, own: Mapping[str, Schema], library: Library) -> Iterator[Diagnostic]:
    text = library.templates[path]
    # What stands in comments is no use.
    code = [found.span() for found in re.finditer(_CODE, text)]
    for found in (one for start, end in code for one in re.compile(_USED).finditer(text, start, end)):
        first, *steps = found[1].split(".")
        schema, here = own.get(first), [first]
        for step in steps:
            properties = schema.get("properties") if schema else None
            if not properties or schema is None or schema.get("additionalProperties") is not False:
                break
            if step not in properties:
                meant = near(step, properties)
                yield fault(
                    f"`{'.'.join(here)}` has no {quote(step)}, so nothing would stand here",
                    _span(path, found.start(), len(found[0]), library),
                    f"did you mean `{meant}`?" if meant else f"it has {', '.join(properties)}",
                )
                break
            here.append(step)
            schema = properties[step]


def _leaves(path: tuple[str, ...], schema: Schema) -> Iterator[tuple[str, ...]]:
    """The fields below that hold values, in maps whose keys are known."""
    properties = schema.get("properties")
    if not properties:
        yield path
        return
    for key, child in properties.items():
        yield from _leaves((*path, key), child)


def _is_used(path: tuple[str, ...], used: Iterable[str]) -> bool:
    """Whether it is placed itself, as part of what it stands in, or by parts of its own."""
    told = [one.split(".") for one in used]
    return any(one[: len(path)] == [*path] or [*path[: len(one)]] == one for one in told)


def _unused(path: tuple[str, ...], name: str, library: Library) -> Diagnostic:
    file = f"{name}/fields.schema.json"
    key, at = f'"{path[-1]}"', 0
    for step in path:
        at = max(library.templates[file].find(f'"{step}"', at), at)
    return fault(
        f"no template uses {quote('.'.join(path))}, so it would be dropped",
        _span(file, at, len(key), library),
        f"place it, as `{{{{ spec.{'.'.join(path)} }}}}`, or take it out",
    )


# The schema of its fields


def checked_fields(path: str, library: Library) -> tuple[Node | None, Findings]:
    source = Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)
    parsed = parse(source)
    if parsed.findings or not parsed.documents:
        return None, parsed.findings
    tree, found = validate(parsed.documents[0].root, "targetfields", library.core)
    faults = [
        fault(f"{quote(node.value)} {wrong.message}", node.span, wrong.help)
        for path_to, node in tree.walk()
        if path_to[-1:] == ("pattern",) and isinstance(node.value, str) and (wrong := pattern_fault(node.value))
    ]
    # As it is written, since the order of keys is that of the output.
    faults += [several_documents(document, "schema") for document in parsed.documents[1:]]
    return parsed.documents[0].root, (*found, *faults, *(() if found else _unmergeable(tree)))


def _unmergeable(tree: Node) -> Iterator[Diagnostic]:
    """Fields that say how layers meet, and have not the shape for it."""
    for name, field in tree.fields["properties"].fields.items():
        merge, told = field.fields.get("x-merge"), field.plain()
        if merge is None or merge.value == "replace":
            continue
        kind = "object" if merge.value == "map" else "array"
        if told["type"] != kind:
            yield fault(f"{quote(name)} merges as {quote(merge.value)}, so its type is {quote(kind)}", merge.span, None)
        elif merge.value == "keyed" and not _has_key(told):
            cure = "name a key in `x-key`, and among those that `items` have as `required`"
            yield fault(f"the items of {quote(name)} merge by a key, and need not have it", merge.span, cure)


def _has_key(field: Mapping[str, Any]) -> bool:
    """Whether every item has the key, and it is text or a number by which items can be told apart."""
    items, key = field.get("items", {}), field.get("x-key")
    kind = items.get("properties", {}).get(key, {}).get("type")
    return key in items.get("required", ()) and kind in ("string", "integer")


def taken(name: str, field: str, known: Mapping[str, Any], library: Library) -> Diagnostic:
    path = f"{name}/fields.schema.json"
    source = Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)
    others = " and ".join(f"target `{other}`" for other in known.get("x-targets", ())) or "every target"
    text = source.text.split("\n")
    line = next((at for at, one in enumerate(text, 1) if f'"{field}"' in one), 1)
    column = text[line - 1].find(f'"{field}"') + 1
    return fault(
        f"the field {quote(field)} is there already, with another schema: it belongs to {others}",
        Span(source, line, max(column, 1), line, max(column, 1) + len(field) + 2),
        "give the field another name, such as one that begins with the target's",
    )


CHECKS: tuple[Check, ...] = (
    _paths_lead_to_fields,
    _conditions_can_hold,
    _settings_and_bases_are_there,
    _workloads_are_there,
    _templates_are_there,
    _templates_use_the_fields,
)
