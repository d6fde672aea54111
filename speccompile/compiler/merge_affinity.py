"""Combine two affinities so that both apply."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.findings import CompileError
from speccompile.model.node import Node, Scalar

MAX_TERMS = 128
"""Node selector terms that the product of two layers may have."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_TERM_KEYS = ("matchExpressions", "matchFields")


def merge_affinities(weaker: Node, stronger: Node) -> Node:
    """Merge two affinities: required terms of both must match, preferences are combined."""
    sections = dict(weaker.fields)
    for name, section in stronger.fields.items():
        other = sections.get(name)
        sections[name] = _merge_sections(other, section) if other else section
    return stronger.with_fields(sections)


def _merge_sections(weaker: Node, stronger: Node) -> Node:
    fields = dict(weaker.fields)
    for name, terms in stronger.fields.items():
        other = fields.get(name)
        if other is None:
            fields[name] = terms
        elif isinstance(terms.value, Mapping):
            fields[name] = _merge_terms(other, terms)
        else:
            # All required pod terms must match anyway, and preferences are weighed one by one.
            fields[name] = unite(other, terms)
    return stronger.with_fields(fields)


def _merge_terms(weaker: Node, stronger: Node) -> Node:
    """The product of the node selector terms: they are alternatives, so a list of both would match too much."""
    weaker_terms, stronger_terms = weaker.fields["nodeSelectorTerms"], stronger.fields["nodeSelectorTerms"]
    if {_identity(term) for term in weaker_terms.items} == {_identity(term) for term in stronger_terms.items}:
        return stronger
    sizes = len(weaker_terms.items), len(stronger_terms.items)
    if sizes[0] * sizes[1] > MAX_TERMS:
        raise CompileError(
            [
                Diagnostic(
                    code="merge/affinity-too-large",
                    message=f"{sizes[0]} × {sizes[1]} node selector terms are more than {MAX_TERMS}",
                    span=weaker_terms.place,
                    path=("affinity", "nodeAffinity", _REQUIRED),
                    notes=(Note("other terms defined here", stronger_terms.place),),
                    help="use fewer terms, or `node_selector`",
                )
            ]
        )
    terms = [_merge_expressions(one, other) for one, other in product(weaker_terms.items, stronger_terms.items)]
    return stronger.with_fields({"nodeSelectorTerms": stronger_terms.but(value=tuple(_weakest(terms)))})


def _merge_expressions(one: Node, other: Node) -> Node:
    fields = {
        key: unite(one.fields[key], other.fields[key])
        if key in one.fields and key in other.fields
        else (one if key in one.fields else other).fields[key]
        for key in _TERM_KEYS
        if key in one.fields or key in other.fields
    }
    return other.with_fields(fields)


def _weakest(terms: list[Node]) -> list[Node]:
    """The terms without those that imply another one: they match nothing more."""
    sets = [_expressions(term) for term in terms]
    return [
        term
        for index, (term, conditions) in enumerate(zip(terms, sets, strict=True))
        if not any(other < conditions or (other == conditions and before < index) for before, other in enumerate(sets))
    ]


def _expressions(term: Node) -> frozenset[tuple[str, str]]:
    return frozenset(
        (key, _identity(item)) for key in _TERM_KEYS if key in term.fields for item in term.fields[key].items
    )


def _identity(node: Node) -> str:
    return repr(_sorted(node.plain()))


def _sorted(value: object) -> object:
    if isinstance(value, dict):
        return sorted((key, _sorted(child)) for key, child in value.items())
    return [_sorted(item) for item in value] if isinstance(value, list) else value


def unite(weaker: Node, stronger: Node, defaults: Mapping[str, Scalar] | None = None) -> Node:
    """The items of the weaker list, then those of the stronger; items equal but for defaults appear once."""
    implied = {key: Node(value, stronger.span) for key, value in (defaults or {}).items()}

    def identity(item: Node) -> str:
        return _identity(item.with_fields({**implied, **item.fields}) if item.fields or implied else item)

    added: dict[str, Node] = {}
    for item in stronger.items:
        added.setdefault(identity(item), item)
    first = [added.pop(identity(item), item) for item in weaker.items]
    return stronger.but(value=(*first, *added.values()))
