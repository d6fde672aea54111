"""Validate trees that nothing is wrong with: the tree in canonical spelling, or None.

It answers yes or no; `validate.py` has the exact way, which explains a no. Each schema becomes functions, made when a
value first needs them: one pass both spells and checks what jsonschema would check.
"""

from __future__ import annotations

from functools import lru_cache

from speccompile.model.node import Node
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate_fast_containers import CHILD_KEYWORDS, accept_list, accept_mapping, children_check
from speccompile.schema.validate_fast_keywords import (
    BASES,
    Accept,
    Acceptors,
    UnknownKeywordError,
    checked,
    checks_of,
    parts_of,
    refuse,
    scalar_checks,
    types_named,
)

_SCALARS = (str, int, float, bool)
_MOST_KEPT = 64
"""Schemas of libraries whose functions are cached; a process has one library, and tests have many."""


def accept(root: Node, name: str, library: Library) -> Node | None:
    """The tree that `validate` gives, if it has no findings; None if it has any, or if the schema is beyond us."""
    try:
        return accepting(name, library)(root)
    except UnknownKeywordError:
        return None


@lru_cache(maxsize=_MOST_KEPT)
def accepting(name: str, library: Library) -> Accept:
    """What accepts trees of a schema; it raises at what it does not know, when a value is first met that needs it."""
    schema = library.schemas[name]
    return _acceptors(library).of(schema, (schema,))


@lru_cache(maxsize=_MOST_KEPT)
def _acceptors(library: Library) -> Acceptors:
    return Acceptors(library, _make, {})


def _make(acceptors: Acceptors, form: Schema | None, schemas: tuple[Schema, ...]) -> Accept:
    parts = tuple(parts_of(schemas, acceptors.library))
    told = None if form is None else acceptors.library.resolve(form)
    if told is not None and told.get("x-unread"):
        return acceptors.of(None, schemas)
    if told is not None and told.get("x-opaque"):
        return _opaque(acceptors.of(None, schemas))
    branches: dict[type, Accept] = {}

    def accepts(node: Node) -> Node | None:
        kind = type(node.value)
        branch = branches.get(kind)
        if branch is None:
            branch = branches[kind] = _branch(acceptors, told, parts, kind)
        return branch(node)

    return _directly(accepts, acceptors, parts)


def _directly(accepts: Accept, acceptors: Acceptors, parts: tuple[Schema, ...]) -> Accept:
    """The same, at once for values of the one type that is allowed, if it is but one: as most are."""
    kinds = frozenset(BASES).intersection(*(types_named(part["type"]) for part in parts if "type" in part))
    (kind, *others) = kinds or (object,)
    if others or kind not in _SCALARS or any(checks_of(acceptors, parts, kind)):
        return accepts
    holds = tuple(scalar_checks(parts, kind))

    def accepts_directly(node: Node) -> Node | None:
        value = node.value
        if type(value) is not kind or node.unsure:
            return accepts(node)
        for hold in holds:
            if not hold(value):
                return None
        return node

    return accepts_directly


def _opaque(accepts: Accept) -> Accept:
    """What is not read is no place for a scalar that has two meanings either."""
    return lambda node: None if any(inner.unsure for _, inner in node.walk()) else accepts(node)


def _branch(acceptors: Acceptors, told: Schema | None, parts: tuple[Schema, ...], kind: type) -> Accept:
    """What accepts values of one type."""
    base = next(one for one in BASES if issubclass(kind, one))
    if any("type" in part and base not in types_named(part["type"]) for part in parts):
        return refuse
    if base is not tuple and base is not dict:
        return _scalar(acceptors, told, parts, base)
    if any("enum" in part or "const" in part for part in parts):
        return refuse
    checks = tuple(checks_of(acceptors, parts, base))
    if base is tuple:
        return accept_list(acceptors, told, parts, checks)
    if told is None:
        return checked(
            (*(children_check(acceptors, part) for part in parts if not CHILD_KEYWORDS.isdisjoint(part)), *checks)
        )
    return accept_mapping(acceptors, told, parts, checks)


def _scalar(acceptors: Acceptors, told: Schema | None, parts: tuple[Schema, ...], kind: type) -> Accept:
    is_strict = told is not None and told.get("format") not in QUANTITIES
    holds = tuple(scalar_checks(parts, kind))
    checks = tuple(checks_of(acceptors, parts, kind))

    def accepts(node: Node) -> Node | None:
        if is_strict and node.unsure:
            return None
        value = node.value
        for hold in holds:
            if not hold(value):
                return None
        return node

    if not checks:
        return accepts
    others = checked(checks)
    return lambda node: None if accepts(node) is None else others(node)
