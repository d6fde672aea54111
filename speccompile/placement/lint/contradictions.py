"""Requirements on node labels that no node can satisfy together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.pod_requirements import NodeConstraints, Requirement, Term
from speccompile.placement.scheduler_filters import parse_int64, satisfies

_LEAST, _MOST = -(2**63), 2**63 - 1
_LISTED = 4


class LocatedRequirement(NamedTuple):
    """One thing that is asked of a node: of a label of its, or of its name."""

    requirement: Requirement
    is_node_name: bool
    node: Node
    """Where it is written."""

    @property
    def what(self) -> str:
        return "its name" if self.is_node_name else f"label {quote(self.requirement.key)}"

    @property
    def predicate(self) -> str:
        """What would have to be true of it: "be `a100`"."""
        return PREDICATES[self.requirement.operator].format(_either(self.requirement.values))


PREDICATES: Mapping[str, str] = {
    "In": "be {}",
    "NotIn": "not be {}",
    "Exists": "be there",
    "DoesNotExist": "be absent",
    "Gt": "be above {}",
    "Lt": "be below {}",
}
"""The operators."""
_ABSENT = frozenset({"NotIn", "DoesNotExist"})
"""Those that hold where the label is not there."""


def _either(values: Sequence[str]) -> str:
    words = [*map(quote, values[:_LISTED]), *(["…"] if len(values) > _LISTED else [])]
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def selector_requirements(pod: Node, pin: NodeConstraints) -> tuple[LocatedRequirement, ...]:
    """What the `nodeSelector` of a pod asks."""
    told = (Requirement(key, "In", (value,), ("nodeSelector", key)) for key, value in pin.selector)
    return tuple(_ask(pod, one, is_node_name=False) for one in told)


def term_requirements(pod: Node, term: Term) -> tuple[LocatedRequirement, ...]:
    """What a term of the required node affinity asks."""
    labels = (_ask(pod, one, is_node_name=False) for one in term.expressions)
    return (*labels, *(_ask(pod, one, is_node_name=True) for one in term.fields))


def _ask(pod: Node, requirement: Requirement, *, is_node_name: bool) -> LocatedRequirement:
    node = pod.at(requirement.path)
    return LocatedRequirement(requirement, is_node_name, pod if node is None else node)


def restricts_nodes(ask: LocatedRequirement) -> bool:
    """Whether it holds of certain nodes alone, and not of whatever has no labels."""
    return ask.is_node_name or ask.requirement.operator not in _ABSENT


def value_faults(requirement: Requirement) -> Iterator[str]:
    """What a cluster has against the values of something asked by a known operator."""
    operator, values = requirement.operator, requirement.values
    if operator in ("In", "NotIn") and not values:
        yield "it needs `values`"
    if operator in ("Exists", "DoesNotExist") and values:
        yield "it takes no `values`"
    if operator in ("Gt", "Lt") and (len(values) != 1 or parse_int64(values[0]) is None):
        yield "it needs one whole number, quoted, as its `values`"


def find_conflict(asks: Sequence[LocatedRequirement]) -> tuple[LocatedRequirement, ...]:
    """The fewest of the things asked that no node can satisfy together; none if some node could satisfy all.

    Nodes are free to have any labels here, so what clashes fits no node of any cluster. All must be well formed.
    """
    by_key: dict[tuple[bool, str], list[LocatedRequirement]] = {}
    for ask in asks:
        by_key.setdefault((ask.is_node_name, ask.requirement.key), []).append(ask)
    for group in by_key.values():
        if not _is_possible(group):
            pairs = (pair for pair in combinations(group, 2) if not _is_possible(pair))
            return next(pairs, tuple(group))
    return ()


def _is_possible(asks: Sequence[LocatedRequirement]) -> bool:
    """Whether one value of one label, or its absence, satisfies all that is asked of it."""
    told = [ask.requirement for ask in asks]
    operators = {one.operator for one in told}
    if operators <= _ABSENT:
        return True
    if "DoesNotExist" in operators:
        return False
    named = next((one.values for one in told if one.operator == "In"), None)
    if named is not None:
        return any(all(satisfies(one, {one.key: value}) for one in told) for value in named)
    # Numbers have many spellings, so no list of values to keep away from leaves a range empty.
    lowest = max((_bound(one) + 1 for one in told if one.operator == "Gt"), default=_LEAST)
    highest = min((_bound(one) - 1 for one in told if one.operator == "Lt"), default=_MOST)
    return lowest <= highest


def _bound(requirement: Requirement) -> int:
    found = parse_int64(requirement.values[0])
    assert found is not None
    return found
