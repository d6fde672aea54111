"""Help for findings of a schema: where a key belongs, and how a value is written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source_text import fraction_as_written
from speccompile.schema.foreign_names import translate_value
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import quote_names, unknown_key
from speccompile.schema.value_forms import Field, field_at, is_plain_pair, show_form, show_pair, show_under

if TYPE_CHECKING:
    from speccompile.schema.find_errors import AnyError

_GPU = ("resources", "gpu")
_GPU_SIDES = (("resources", "requests", "gpu"), ("resources", "limits", "gpu"))
_GPU_CODES = ("schema/whole-number", "schema/wrong-type")


class CheckedDocument(NamedTuple):
    """A document that has findings."""

    root: Node
    """As it was written."""
    tree: Node
    """In canonical spelling, without nulls."""
    schema: Schema
    library: Library


def improve(finding: Diagnostic, error: AnyError, document: CheckedDocument) -> Diagnostic | None:
    """The finding with better help where there is any; None if another finding reports the same mistake."""
    schema: Any = error.schema
    if "x-fault" in schema:
        return finding
    path: KeyPath = tuple(error.absolute_path)
    node = document.tree.at(path)
    assert node is not None
    field = field_at(path, document.schema, document.library)
    match finding.code:
        case "schema/unknown-key":
            return _with_home(finding, error, field, document)
        case "schema/missing-key":
            return finding._replace(help=_show_missing(node, field, schema) or finding.help)
        case "schema/wrong-value":
            if not node.is_scalar and "type" in schema:
                # The same value has the wrong type.
                return None
            return finding._replace(help=_translated(node, path, error.validator_value) or finding.help)
        case code if code in _GPU_CODES and (names_model := _gpu_model(path, node, document.tree)):
            return finding._replace(message=names_model[0], help=names_model[1])
        case "schema/resource-name" if finding.path[-3:] in _GPU_SIDES:
            return finding._replace(help="write `gpu` directly under `resources`")
        case "schema/wrong-type":
            written = fraction_as_written(node) if "array" in field.types else None
            return finding._replace(help=show_form(node.but(value=written) if written else node, field) or finding.help)
    return finding


def _translated(node: Node, path: KeyPath, allowed: Any) -> str | None:
    choices = allowed if isinstance(allowed, list) else [allowed]
    return translate_value(path[-1], node.value, choices) if path and isinstance(node.value, str) else None


# Keys


def _with_home(finding: Diagnostic, error: AnyError, field: Field, document: CheckedDocument) -> Diagnostic | None:
    key, container = str(finding.path[-1]), finding.path[:-1]
    node = document.tree.at(container)
    assert node is not None
    if error.validator == "enum":
        # `propertyNames` lists the keys of one volume type.
        allowed: Any = error.validator_value
        return unknown_key(key, finding.span or node.span, finding.path, tuple(allowed), None)
    if is_plain_pair(node.fields, field):
        # Reported as missing keys.
        return None
    elsewhere = _find_home(key, node.fields[key], field, document)
    return unknown_key(key, finding.span or node.span, finding.path, tuple(field.properties), elsewhere)


def _find_home(key: str, child: Node, field: Field, document: CheckedDocument) -> str | None:
    """Where the key belongs, as help: below a sibling, in an item of a sibling, or one level up."""
    mappings, lists_of_mappings = _inner_mappings(field.schema, field.library)
    inside = [name for name, inner in mappings.items() if _has(inner, key)]
    # A field of one target concerns few runs.
    general = [name for name in inside if "x-targets" not in mappings[name]]
    homes = general or inside
    if len(homes) == 1:
        return _show_home(key, child, homes[0], field, document)
    lists = [name for name, inner in lists_of_mappings.items() if _has(inner, key)]
    if 0 < len(homes or lists) <= _MAX_HOMES:
        names = _joined([f"`{name}`" for name in homes or lists])
        return f"`{key}` belongs {'under' if homes else 'in an item of'} {names}"
    top = document.library.resolve(document.schema).get("properties", {})
    if field.path and spelled(key, top) in top:
        return f"`{key}` belongs at the top level: unindent it"
    return None if field.path else _find_file(key, document)


def _find_file(key: str, document: CheckedDocument) -> str | None:
    """The kinds of files that have the key at their top level."""
    names = document.library.schemas
    if not any(document.schema is names.get(name) for name in _FILES):
        return None
    schemas = {label: document.library.resolve(names[name]) for name, label in _FILES.items() if name in names}
    homes = [label for label, schema in schemas.items() if spelled(key, schema["properties"]) in schema["properties"]]
    return f"`{key}` belongs in {_joined(homes)}" if homes else None


_MAX_HOMES = 3
_FILES = {"run": "a run", "profile": "a profile", "platform": "the platform file", "project": "the project file"}


def _joined(words: list[str]) -> str:
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


@by_identity(64)
def _inner_mappings(schema: Schema, library: Library) -> tuple[Mapping[str, Schema], Mapping[str, Schema]]:
    """The schemas of properties that are mappings, and of items of those that are lists of mappings, by name.

    Cached, because a file can have thousands of unknown keys.
    """
    field = Field((), schema, library)
    children = {name: field.child(name) for name in field.properties}
    items = {name: child.item() for name, child in children.items()}
    mappings, lists = (
        {name: one.schema for name, one in some.items() if "object" in one.types} for some in (children, items)
    )
    return mappings, lists


def _has(schema: Schema, key: str) -> bool:
    properties = schema.get("properties", {})
    return spelled(key, properties) in properties


def _show_home(key: str, child: Node, home: str, field: Field, document: CheckedDocument) -> str:
    start = f"`{key}` belongs under `{home}`"
    written = document.root.at(field.path)
    siblings: Mapping[str, Node] = written.fields if written else {}
    above = next((node for name, node in siblings.items() if spelled(name, field.properties) == home), None)
    if above is not None and above.value is None:
        return f"{start}: indent it"
    if above is not None:
        return f"{start}: move it there"
    shown = show_under(key, child, home)
    return f"{start}: write {shown}" if shown else start


def _show_missing(node: Node, field: Field, schema: Any) -> str | None:
    if is_plain_pair(node.fields, field):
        return show_pair(node, field)
    missing = [key for key in schema.get("required", ()) if key not in node.fields]
    if "x-help" in schema:
        return None
    options = {key: field.child(key).schema.get("enum", ()) for key in missing}
    if len(missing) == 1 and len(options[missing[0]]) > 1:
        return f"add `{missing[0]}`, which is one of {quote_names(options[missing[0]])}"
    return f"add {quote_names(f'{key}: {options[key][0]}' if len(options[key]) == 1 else key for key in missing)}"


# GPUs


def _gpu_model(path: KeyPath, node: Node, tree: Node) -> tuple[str, str] | None:
    """Message and help for a GPU model in place of a number of GPUs."""
    gpu = next((path[: end + 1] for end in range(1, len(path)) if path[end - 1 : end + 1] == _GPU), None)
    if gpu is None or re.match(r"\s*[-+.]?[0-9]", str(node.value)):
        return None
    whole = tree.at(gpu)
    assert whole is not None
    numbers = [child.value for child in (whole, *whole.fields.values(), *whole.items)]
    counts = [int(match[0]) for number in numbers if (match := re.search(r"\b[0-9]{1,3}$", str(number)))]
    written = "a list" if node.items else "a mapping" if node.fields else quote(node.value)
    return (
        f"`gpu` is a number of GPUs, found {written}",
        f"write `gpu: {counts[0] if len(counts) == 1 else 1}`, and name a profile that selects the model",
    )
