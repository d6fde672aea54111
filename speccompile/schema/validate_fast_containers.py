"""Functions that accept lists and mappings: items and children by their schemas, keys in canonical spelling."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.key_spelling import spelled
from speccompile.model.node import Node
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate_fast_keywords import Accept, Acceptors, Check, UnknownKeywordError, checked, refuse

_ANY: Schema = {}


def accept_list(
    acceptors: Acceptors, told: Schema | None, parts: tuple[Schema, ...], checks: tuple[Check, ...]
) -> Accept:
    """What accepts lists."""
    schemas = tuple(part["items"] for part in parts if "items" in part)
    if told is None and not schemas:
        return checked(checks)
    item = acceptors.of(None if told is None else told.get("items", _ANY), schemas)
    is_once = None if told is None else _once(told.get("x-unique", ()))

    def accepts(node: Node) -> Node | None:
        items: Any = node.value
        made: list[Node] = []
        is_same = True
        for one in items:
            done = item(one)
            if done is None:
                return None
            if done is not one:
                is_same = False
            made.append(done)
        if is_once is not None and not is_once(made):
            return None
        tree = node if is_same else node.with_value(tuple(made))
        for check in checks:
            if not check(tree):
                return None
        return tree

    return accepts


def _once(unique: Any) -> Callable[[list[Node]], bool] | None:
    """Whether no two items say the same where they must not."""
    keys = ("",) if unique is True else tuple(unique)
    if not keys:
        return None

    def is_once(items: list[Node]) -> bool:
        for key in keys:
            told = [item.fields.get(key) if key else item for item in items] if len(items) > 1 else ()
            values = [(type(one.value), one.value) for one in told if one is not None and one.is_scalar]
            if len(set(values)) < len(values):
                return False
        return True

    return is_once


# Mappings

CHILD_KEYWORDS = frozenset({"properties", "patternProperties", "additionalProperties", "unevaluatedProperties"})
_Way: TypeAlias = tuple[str, int, bool, Accept]
"""The canonical key, its place in the output, whether a null says nothing there, and what accepts the value."""


def accept_mapping(acceptors: Acceptors, told: Schema, parts: tuple[Schema, ...], checks: tuple[Check, ...]) -> Accept:
    """What accepts mappings."""
    properties: Mapping[str, Schema] = told.get("properties", {})
    way_to = _ways(acceptors, told, parts)
    ways: dict[str, _Way] = {}
    """Of keys that the schema knows, in all their spellings."""

    def accepts(node: Node) -> Node | None:
        told_fields: Any = node.value
        fields: dict[str, Node] = {}
        is_same = is_ordered = True
        last, before = -1, ""
        for written, child in told_fields.items():
            way = ways.get(written)
            if way is None:
                way = way_to(written)
                if way[0] in properties:
                    ways[written] = way
            key, place, may_be_null, accept_child = way
            if may_be_null and child.value is None:
                is_same = False
                continue
            made = accept_child(child)
            if made is None or key in fields:
                return None
            fields[key] = made
            if made is not child or key != written:
                is_same = False
            if place < last or (place == last and key < before):
                is_ordered = False
            last, before = place, key
        if not is_ordered:
            known = [key for key in properties if key in fields]
            fields = {key: fields[key] for key in (*known, *sorted(fields.keys() - properties.keys()))}
        tree = node if is_same and is_ordered else node.with_value(fields)
        for check in checks:
            if not check(tree):
                return None
        return tree

    return accepts


def _ways(acceptors: Acceptors, told: Schema, parts: tuple[Schema, ...]) -> Callable[[str], _Way]:
    """What becomes of a key."""
    properties: Mapping[str, Schema] = told.get("properties", {})
    places = {key: place for place, key in enumerate(properties)}
    others = told.get("additionalProperties", {})
    form_of_others: Schema = others if isinstance(others, Mapping) else _ANY
    is_closed = False in (others, told.get("unevaluatedProperties"))
    children = tuple(_children(acceptors, part) for part in parts)

    def way_to(written: str) -> _Way:
        key = spelled(written, properties)
        schemas: list[Schema] = []
        for child in children:
            found = child(key)
            if found is None:
                return key, len(places), key in properties or not is_closed, refuse
            schemas += found
        accepts = acceptors.of(properties.get(key) or form_of_others, tuple(schemas))
        return key, places.get(key, len(places)), key in properties or not is_closed, accepts

    if properties or any("properties" in part or "patternProperties" in part for part in parts):
        return way_to
    # All keys are alike.
    _, place, may_be_null, accepts = way_to("")
    return lambda written: (written, place, may_be_null, accepts)


def _children(acceptors: Acceptors, part: Schema) -> Callable[[str], tuple[Schema, ...] | None]:
    """The schemas that one part has for the value of a key; None if there may be no such key."""
    properties: Mapping[str, Schema] = part.get("properties", {})
    patterns = [(re.compile(pattern), schema) for pattern, schema in part.get("patternProperties", {}).items()]
    others = part.get("additionalProperties", True)
    rest = (others,) if isinstance(others, Mapping) else () if others else None
    evaluated = frozenset(_evaluated(part, acceptors.library)) if "unevaluatedProperties" in part else None

    def schemas_of(key: str) -> tuple[Schema, ...] | None:
        if evaluated is not None and key not in evaluated:
            return None
        found = (properties[key],) if key in properties else ()
        if patterns:
            found += tuple(schema for pattern, schema in patterns if pattern.search(key))
        return found or rest

    return schemas_of


def _evaluated(part: Schema, library: Library) -> Iterator[str]:
    """The keys that a part knows, itself or by reference."""
    if not _EVALUATING.isdisjoint(part):
        raise UnknownKeywordError("unevaluatedProperties")
    yield from part.get("properties", ())
    if "$ref" in part:
        yield from _evaluated(library.target(part["$ref"]), library)


_EVALUATING = frozenset({"patternProperties", "additionalProperties", "allOf", "dependentSchemas", "if"})
"""Keywords that make other keys known too, which is not looked at here."""


def children_check(acceptors: Acceptors, part: Schema) -> Check:
    """Whether all values of a mapping are as one part says, left as they are."""
    if CHILD_KEYWORDS.isdisjoint(part.keys() - {"properties"}):
        known = tuple((key, acceptors.of(None, (schema,))) for key, schema in part["properties"].items())
        return lambda node: not any(key in node.value and accepts(node.value[key]) is None for key, accepts in known)
    schemas_of = _children(acceptors, part)

    def all_hold(node: Any) -> bool:
        for key, child in node.value.items():
            schemas = schemas_of(key)
            if schemas is None or (schemas and acceptors.of(None, schemas)(child) is None):
                return False
        return True

    return all_hold
