"""Fast validation of valid documents: the tree in canonical spelling, or None.

It does not explain a rejection; `validate.py` does. Each schema becomes functions, built when a value first needs them,
that spell and check a tree in one pass and agree with jsonschema.
"""

from __future__ import annotations

from functools import lru_cache

from speccompile.model.node import Node
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate_fast_containers import CHILD_KEYWORDS, accept_list, accept_mapping, children_check
from speccompile.schema.validate_fast_keywords import (
    BASES,
    Acceptor,
    AcceptorCache,
    UnknownKeywordError,
    accept_if,
    applicable_schemas,
    node_checks,
    python_types,
    reject,
    scalar_checks,
)

_SCALARS = (str, int, float, bool)
_CACHE_SIZE = 64
"""Schemas and libraries whose acceptors are cached; a process has one library, tests have many."""


def accept(root: Node, name: str, library: Library) -> Node | None:
    """The tree as `validate` returns it if it has no findings; None if it has any, or the schema is not supported."""
    try:
        return acceptor_for(name, library)(root)
    except UnknownKeywordError:
        return None


@lru_cache(maxsize=_CACHE_SIZE)
def acceptor_for(name: str, library: Library) -> Acceptor:
    """The acceptor for a schema; it raises UnknownKeywordError when a value first needs an unsupported keyword."""
    schema = library.schemas[name]
    return _cache_for(library).get(schema, (schema,))


@lru_cache(maxsize=_CACHE_SIZE)
def _cache_for(library: Library) -> AcceptorCache:
    return AcceptorCache(library, _build, {})


def _build(cache: AcceptorCache, form: Schema | None, schemas: tuple[Schema, ...]) -> Acceptor:
    parts = tuple(applicable_schemas(schemas, cache.library))
    resolved = None if form is None else cache.library.resolve(form)
    if resolved is not None and resolved.get("x-unread"):
        return cache.get(None, schemas)
    if resolved is not None and resolved.get("x-opaque"):
        # Ambiguous scalars are rejected also in a value that is not interpreted.
        accepts_any = cache.get(None, schemas)
        return lambda node: None if any(inner.unsure for _, inner in node.walk()) else accepts_any(node)
    branches: dict[type, Acceptor] = {}

    def accepts(node: Node) -> Node | None:
        kind = type(node.value)
        branch = branches.get(kind)
        if branch is None:
            branch = branches[kind] = _accept_type(cache, resolved, parts, kind)
        return branch(node)

    return _with_shortcut(accepts, cache, parts)


def _with_shortcut(accepts: Acceptor, cache: AcceptorCache, parts: tuple[Schema, ...]) -> Acceptor:
    """The acceptor, with a shortcut for schemas that allow one type of scalar, as most do."""
    kinds = frozenset(BASES).intersection(*(python_types(part["type"]) for part in parts if "type" in part))
    (kind, *others) = kinds or (object,)
    if others or kind not in _SCALARS or any(node_checks(cache, parts, kind)):
        return accepts
    checks = tuple(scalar_checks(parts, kind))

    def accepts_scalar(node: Node) -> Node | None:
        value = node.value
        if type(value) is not kind or node.unsure:
            return accepts(node)
        for check in checks:
            if not check(value):
                return None
        return node

    return accepts_scalar


def _accept_type(cache: AcceptorCache, form: Schema | None, parts: tuple[Schema, ...], kind: type) -> Acceptor:
    """The acceptor for values of one type."""
    base = next(one for one in BASES if issubclass(kind, one))
    if any("type" in part and base not in python_types(part["type"]) for part in parts):
        return reject
    if base is not tuple and base is not dict:
        return _accept_scalar(cache, form, parts, base)
    if any("enum" in part or "const" in part for part in parts):
        return reject
    checks = tuple(node_checks(cache, parts, base))
    if base is tuple:
        return accept_list(cache, form, parts, checks)
    if form is None:
        return accept_if(
            (*(children_check(cache, part) for part in parts if not CHILD_KEYWORDS.isdisjoint(part)), *checks)
        )
    return accept_mapping(cache, form, parts, checks)


def _accept_scalar(cache: AcceptorCache, form: Schema | None, parts: tuple[Schema, ...], kind: type) -> Acceptor:
    is_strict = form is not None and form.get("format") not in QUANTITIES
    value_checks = tuple(scalar_checks(parts, kind))
    checks = tuple(node_checks(cache, parts, kind))

    def accepts(node: Node) -> Node | None:
        if is_strict and node.unsure:
            return None
        value = node.value
        for check in value_checks:
            if not check(value):
                return None
        return node

    if not checks:
        return accepts
    others = accept_if(checks)
    return lambda node: None if accepts(node) is None else others(node)
