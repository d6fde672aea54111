"""Acceptors for lists and mappings, which check items and children and spell keys canonically."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.key_spelling import spelled
from speccompile.model.node import Node
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate_fast_keywords import (
    Acceptor,
    AcceptorCache,
    NodeCheck,
    UnknownKeywordError,
    accept_if,
    reject,
)

_ANY: Schema = {}


def accept_list(
    cache: AcceptorCache, form: Schema | None, parts: tuple[Schema, ...], checks: tuple[NodeCheck, ...]
) -> Acceptor:
    """The acceptor for lists."""
    schemas = tuple(part["items"] for part in parts if "items" in part)
    if form is None and not schemas:
        return accept_if(checks)
    accept_item = cache.get(None if form is None else form.get("items", _ANY), schemas)
    are_unique = None if form is None else _uniqueness_check(form.get("x-unique", ()))

    def accepts(node: Node) -> Node | None:
        items: Any = node.value
        accepted: list[Node] = []
        is_same = True
        for item in items:
            spelled_item = accept_item(item)
            if spelled_item is None:
                return None
            if spelled_item is not item:
                is_same = False
            accepted.append(spelled_item)
        if are_unique is not None and not are_unique(accepted):
            return None
        tree = node if is_same else node.with_value(tuple(accepted))
        for check in checks:
            if not check(tree):
                return None
        return tree

    return accepts


def _uniqueness_check(unique: Any) -> Callable[[list[Node]], bool] | None:
    """The check that no two items are equal, or equal in a key, as `x-unique` demands."""
    keys = ("",) if unique is True else tuple(unique)
    if not keys:
        return None

    def are_unique(items: list[Node]) -> bool:
        for key in keys:
            nodes = [item.fields.get(key) if key else item for item in items] if len(items) > 1 else ()
            values = [(type(one.value), one.value) for one in nodes if one is not None and one.is_scalar]
            if len(set(values)) < len(values):
                return False
        return True

    return are_unique


# Mappings

CHILD_KEYWORDS = frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"})
_Entry: TypeAlias = tuple[str, int, bool, Acceptor]
"""The canonical key, its position in the output, whether a null means that it is unset, and the value's acceptor."""


def accept_mapping(
    cache: AcceptorCache, form: Schema, parts: tuple[Schema, ...], checks: tuple[NodeCheck, ...]
) -> Acceptor:
    """The acceptor for mappings."""
    properties: Mapping[str, Schema] = form.get("properties", {})
    make_entry = _entry_maker(cache, form, parts)
    entries: dict[str, _Entry] = {}
    """By key, in all spellings of the properties."""

    def accepts(node: Node) -> Node | None:
        written_fields: Any = node.value
        fields: dict[str, Node] = {}
        is_same = is_ordered = True
        last, before = -1, ""
        for written, child in written_fields.items():
            entry = entries.get(written)
            if entry is None:
                entry = make_entry(written)
                if entry[0] in properties:
                    entries[written] = entry
            key, position, may_be_null, accept_child = entry
            if may_be_null and child.value is None:
                is_same = False
                continue
            accepted = accept_child(child)
            if accepted is None or key in fields:
                return None
            fields[key] = accepted
            if accepted is not child or key != written:
                is_same = False
            if position < last or (position == last and key < before):
                is_ordered = False
            last, before = position, key
        if not is_ordered:
            known = [key for key in properties if key in fields]
            fields = {key: fields[key] for key in (*known, *sorted(fields.keys() - properties.keys()))}
        tree = node if is_same and is_ordered else node.with_value(fields)
        for check in checks:
            if not check(tree):
                return None
        return tree

    return accepts


def _entry_maker(cache: AcceptorCache, form: Schema, parts: tuple[Schema, ...]) -> Callable[[str], _Entry]:
    """The function that makes the entry of a key."""
    properties: Mapping[str, Schema] = form.get("properties", {})
    positions = {key: position for position, key in enumerate(properties)}
    others = form.get("additionalProperties", {})
    form_of_others: Schema = others if isinstance(others, Mapping) else _ANY
    is_closed = False in (others, form.get("unevaluatedProperties"))
    lookups = tuple(_child_schemas(cache, part) for part in parts)

    def make_entry(written: str) -> _Entry:
        key = spelled(written, properties)
        schemas: list[Schema] = []
        for schemas_of in lookups:
            child_schemas = schemas_of(key)
            if child_schemas is None:
                return key, len(positions), key in properties or not is_closed, reject
            schemas += child_schemas
        accepts = cache.get(properties.get(key) or form_of_others, tuple(schemas))
        return key, positions.get(key, len(positions)), key in properties or not is_closed, accepts

    if properties or any("properties" in part or "patternProperties" in part for part in parts):
        return make_entry
    # All keys have the same schemas.
    _, position, may_be_null, accepts = make_entry("")
    return lambda written: (written, position, may_be_null, accepts)


def _child_schemas(cache: AcceptorCache, part: Schema) -> Callable[[str], tuple[Schema, ...] | None]:
    """The function that returns one part's schemas for the value of a key; None if the key is not allowed."""
    properties: Mapping[str, Schema] = part.get("properties", {})
    patterns = [(re.compile(pattern), schema) for pattern, schema in part.get("patternProperties", {}).items()]
    others = part.get("additionalProperties", True)
    rest = (others,) if isinstance(others, Mapping) else () if others else None
    evaluated = frozenset(evaluated_keys(part, cache.library)) if "unevaluatedProperties" in part else None

    def schemas_of(key: str) -> tuple[Schema, ...] | None:
        if evaluated is not None and key not in evaluated:
            return None
        schemas = (properties[key],) if key in properties else ()
        if patterns:
            schemas += tuple(schema for pattern, schema in patterns if pattern.search(key))
        return schemas or rest

    return schemas_of


def evaluated_keys(part: Schema, library: Library) -> Iterator[str]:
    """The properties of a part and of its `$ref`."""
    if not _EVALUATING.isdisjoint(part):
        raise UnknownKeywordError("unevaluatedProperties")
    yield from part.get("properties", ())
    if "$ref" in part:
        yield from evaluated_keys(library.target(part["$ref"]), library)


_EVALUATING = frozenset({"patternProperties", "additionalProperties", "allOf", "dependentSchemas", "if"})
"""Keywords that evaluate further keys, which is not supported here."""


def children_check(cache: AcceptorCache, part: Schema) -> NodeCheck:
    """The check that all values of a mapping match one part; keys are not respelled."""
    if CHILD_KEYWORDS.isdisjoint(part.keys() - {"properties"}):
        acceptors = tuple((key, cache.get(None, (schema,))) for key, schema in part["properties"].items())
        return lambda node: (
            not any(key in node.value and accepts(node.value[key]) is None for key, accepts in acceptors)
        )
    schemas_of = _child_schemas(cache, part)

    def passes(node: Any) -> bool:
        for key, child in node.value.items():
            schemas = schemas_of(key)
            if schemas is None or (schemas and cache.get(None, schemas)(child) is None):
                return False
        return True

    return passes
