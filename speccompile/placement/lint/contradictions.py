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
_MAX_LISTED = 4


class LocatedRequirement(NamedTuple):
    """A requirement on a label or on the name of a node, and its node in the PodSpec."""

    requirement: Requirement
    is_node_name: bool
    node: Node

    @property
    def subject(self) -> str:
        return "the node name" if self.is_node_name else f"label {quote(self.requirement.key)}"

    @property
    def predicate(self) -> str:
        """The requirement as a predicate: "be `a100`"."""
        return PREDICATES[self.requirement.operator].format(_either(self.requirement.values))


PREDICATES: Mapping[str, str] = {
    "In": "be {}",
    "NotIn": "not be {}",
    "Exists": "be set",
    "DoesNotExist": "be unset",
    "Gt": "be above {}",
    "Lt": "be below {}",
}
"""By operator."""
_ABSENT = frozenset({"NotIn", "DoesNotExist"})
"""Operators that a missing label satisfies."""


def _either(values: Sequence[str]) -> str:
    words = [*map(quote, values[:_MAX_LISTED]), *(["…"] if len(values) > _MAX_LISTED else [])]
    return " or ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else "".join(words)


def selector_requirements(pod: Node, constraints: NodeConstraints) -> tuple[LocatedRequirement, ...]:
    """The requirements of `nodeSelector`."""
    plain = (Requirement(key, "In", (value,), ("nodeSelector", key)) for key, value in constraints.selector)
    return tuple(_locate(pod, one, is_node_name=False) for one in plain)


def term_requirements(pod: Node, term: Term) -> tuple[LocatedRequirement, ...]:
    """The requirements of a term of the required node affinity."""
    labels = (_locate(pod, one, is_node_name=False) for one in term.expressions)
    return (*labels, *(_locate(pod, one, is_node_name=True) for one in term.fields))


def _locate(pod: Node, requirement: Requirement, *, is_node_name: bool) -> LocatedRequirement:
    node = pod.at(requirement.path)
    return LocatedRequirement(requirement, is_node_name, pod if node is None else node)


def restricts_nodes(located: LocatedRequirement) -> bool:
    """Whether a node without labels does not satisfy it."""
    return located.is_node_name or located.requirement.operator not in _ABSENT


def value_faults(requirement: Requirement) -> Iterator[str]:
    """Why the API server rejects the values of a known operator."""
    operator, values = requirement.operator, requirement.values
    if operator in ("In", "NotIn") and not values:
        yield "it needs `values`"
    if operator in ("Exists", "DoesNotExist") and values:
        yield "it takes no `values`"
    if operator in ("Gt", "Lt") and (len(values) != 1 or parse_int64(values[0]) is None):
        yield "it needs one integer, quoted, in `values`"


def find_conflict(requirements: Sequence[LocatedRequirement]) -> tuple[LocatedRequirement, ...]:
    """The fewest requirements that no node can satisfy together; empty if there is no conflict.

    Nodes may have any labels here, so a conflict excludes every node of every cluster. All requirements must be valid.
    """
    by_key: dict[tuple[bool, str], list[LocatedRequirement]] = {}
    for located in requirements:
        by_key.setdefault((located.is_node_name, located.requirement.key), []).append(located)
    for group in by_key.values():
        if not _is_possible(group):
            pairs = (pair for pair in combinations(group, 2) if not _is_possible(pair))
            return next(pairs, tuple(group))
    return ()


def _is_possible(requirements: Sequence[LocatedRequirement]) -> bool:
    """Whether some value of the label, or its absence, satisfies all requirements."""
    plain = [located.requirement for located in requirements]
    operators = {one.operator for one in plain}
    if operators <= _ABSENT:
        return True
    if "DoesNotExist" in operators:
        return False
    allowed = next((one.values for one in plain if one.operator == "In"), None)
    if allowed is not None:
        return any(all(satisfies(one, {one.key: value}) for one in plain) for value in allowed)
    # A number has many spellings, so `NotIn` cannot exclude a whole range.
    lowest = max((_bound(one) + 1 for one in plain if one.operator == "Gt"), default=_LEAST)
    highest = min((_bound(one) - 1 for one in plain if one.operator == "Lt"), default=_MOST)
    return lowest <= highest


def _bound(requirement: Requirement) -> int:
    number = parse_int64(requirement.values[0])
    assert number is not None
    return number
