"""Combine two affinities so that both apply."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product

from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.findings import CompileError
from speccompile.model.node import Node, Scalar

MAX_TERMS = 128
"""Node selector terms that two layers may multiply to."""
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_TERM_KEYS = ("matchExpressions", "matchFields")


def merge_affinities(weaker: Node, stronger: Node) -> Node:
    """An affinity that a node or pod satisfies if and only if it satisfies both; preferences add up."""
    sections = dict(weaker.fields)
    for name, section in stronger.fields.items():
        known = sections.get(name)
        sections[name] = _both_sections(known, section) if known else section
    return stronger.with_fields(sections)


def _both_sections(weaker: Node, stronger: Node) -> Node:
    fields = dict(weaker.fields)
    for name, told in stronger.fields.items():
        known = fields.get(name)
        if known is None:
            fields[name] = told
        elif isinstance(told.value, Mapping):
            fields[name] = _both_terms(known, told)
        else:
            # Required pod terms mean "all" already, and preferences are weighed one by one.
            fields[name] = unite(known, told)
    return stronger.with_fields(fields)


def _both_terms(weaker: Node, stronger: Node) -> Node:
    """Node selector terms are alternatives, so only their product keeps what each side excluded."""
    ours, theirs = weaker.fields["nodeSelectorTerms"], stronger.fields["nodeSelectorTerms"]
    if {_identity(term) for term in ours.items} == {_identity(term) for term in theirs.items}:
        return stronger
    if len(ours.items) * len(theirs.items) > MAX_TERMS:
        raise CompileError(
            [
                Diagnostic(
                    code="merge/affinity-too-large",
                    message=f"{len(ours.items)} × {len(theirs.items)} node selector terms are more than {MAX_TERMS}",
                    span=ours.place,
                    path=("affinity", "nodeAffinity", _REQUIRED),
                    notes=(Note("the others stand here", theirs.place),),
                    help="require less, or say it in `node_selector`",
                )
            ]
        )
    terms = [_both_expressions(one, other) for one, other in product(ours.items, theirs.items)]
    return stronger.with_fields({"nodeSelectorTerms": theirs.but(value=tuple(_shortest(terms)))})


def _both_expressions(one: Node, other: Node) -> Node:
    fields = {
        key: unite(one.fields[key], other.fields[key])
        if key in one.fields and key in other.fields
        else (one if key in one.fields else other).fields[key]
        for key in _TERM_KEYS
        if key in one.fields or key in other.fields
    }
    return other.with_fields(fields)


def _shortest(terms: list[Node]) -> list[Node]:
    """The terms without those that say more than another: of alternatives, the weaker condition decides."""
    sets = [_expressions(term) for term in terms]
    return [
        term
        for index, (term, said) in enumerate(zip(terms, sets, strict=True))
        if not any(other < said or (other == said and before < index) for before, other in enumerate(sets))
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
    """The weaker list and then what the stronger adds: nothing that, with defaults filled in, is there already."""
    filled = {key: Node(value, stronger.span) for key, value in (defaults or {}).items()}

    def identity(item: Node) -> str:
        return _identity(item.with_fields({**filled, **item.fields}) if item.fields or filled else item)

    added: dict[str, Node] = {}
    for item in stronger.items:
        added.setdefault(identity(item), item)
    kept = [added.pop(identity(item), item) for item in weaker.items]
    return stronger.but(value=(*kept, *added.values()))
