"""Values of exported entities, as DigitalHub reads them."""

from __future__ import annotations

import re
from collections.abc import Mapping

from speccompile.model.key_spelling import spelled
from speccompile.model.node import Node
from speccompile.model.source_text import as_written
from speccompile.schema.library import Library, Schema

_WHOLE_NUMBER = "-?[0-9]{1,18}"
_UNREAD = frozenset({"x-opaque", "x-ignored", "x-missing"})
_CONSTRAINTS = frozenset({"enum", "format", "minLength", "pattern"})
"""Keywords of strings that cannot be empty."""


def read_values(fields: Mapping[str, Node], schemas: Mapping[str, Schema], library: Library) -> dict[str, Node]:
    """The fields with each scalar in the type that its schema expects, if that is clear, and without blank strings."""
    read: dict[str, Node] = {}
    for written, node in fields.items():
        schema = library.resolve(schemas.get(spelled(written, schemas), {}))
        if not _is_unset(node, schema):
            read[written] = _read(node, schema, library)
    return read


def _is_unset(node: Node, schema: Schema) -> bool:
    is_blank = isinstance(node.value, str) and not node.value.strip()
    return is_blank and not _CONSTRAINTS.isdisjoint(schema) and "" not in schema.get("enum", ())


def _read(node: Node, schema: Schema, library: Library) -> Node:
    if not _UNREAD.isdisjoint(schema):
        return node
    if node.fields:
        # Of an item of a list, nothing is unset: a variable may be empty.
        return node.with_fields(read_values(node.fields, schema.get("properties", {}), library))
    if node.items:
        items = library.resolve(schema.get("items", {}))
        return node.mapped(lambda item: _read_item(item, items, library))
    if schema.get("type") == "integer":
        is_number = isinstance(node.value, str) and re.fullmatch(_WHOLE_NUMBER, node.value)
        return node.but(value=int(str(node.value))) if is_number else node
    text = _text_of(node) if _is_text(schema) else None
    return node if text is None else node.but(value=text)


def _read_item(item: Node, schema: Schema, library: Library) -> Node:
    properties: Mapping[str, Schema] = schema.get("properties", {})

    def child_schema(key: str) -> Schema:
        return library.resolve(properties.get(spelled(key, properties), {}))

    if item.fields:
        return item.with_fields({key: _read(child, child_schema(key), library) for key, child in item.fields.items()})
    return _read(item, schema, library)


def _is_text(schema: Schema) -> bool:
    types = schema.get("type", ())
    types = {types} if isinstance(types, str) else {*types}
    return "string" in types and types.isdisjoint({"boolean", "integer", "number"})


def _text_of(node: Node) -> str | None:
    """A number or boolean as text; None for other values, and for numbers that would be written in another way."""
    if isinstance(node.value, bool):
        return str(node.value).lower()
    if not isinstance(node.value, int | float) or node.unsure:
        return None
    text = str(node.value)
    return text if as_written(node.span) in (None, text) else None
