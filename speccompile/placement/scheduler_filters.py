"""kube-scheduler's default filters, with every reason why a node rejects a pod.

The scheduler stops at the first reason; this module reports all of them. `not_modelled.py` lists what is not evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TypeAlias

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.placement.machine import Machine, Taint, Usage
from speccompile.placement.pod_requirements import (
    ANY_ADDRESS,
    Needs,
    NodeConstraints,
    Port,
    Requirement,
    Term,
    Toleration,
)

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", "", "NoSchedule")
"""The taint that a pod must tolerate to run on a cordoned node."""
REJECTING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects that reject a pod; `PreferNoSchedule` only lowers the score of a node."""
POD_RESOURCE = "pods"
_TOLERATIONS: tuple[KeyPath, ...] = (("tolerations",),)
_NAME = "metadata.name"
_INTEGER = re.compile(r"[-+]?[0-9]{1,64}", re.ASCII)
_LEAST, _MOST = -(2**63), 2**63 - 1
_MAX_LISTED = 3


class Filter(StrEnum):
    """The filters by their kube-scheduler names, and `API` for pods that the API server rejects."""

    API = "API"
    NODE_NAME = "NodeName"
    UNSCHEDULABLE = "NodeUnschedulable"
    TAINTS = "TaintToleration"
    AFFINITY = "NodeAffinity"
    RESOURCES = "NodeResourcesFit"
    PORTS = "NodePorts"


class Shortfall(NamedTuple):
    """The amount of a resource that a pod requires, and the amount that is free."""

    required: int
    free: int


class NodeRejection(NamedTuple):
    """A reason why a node rejects a pod.

    Reasons of two nodes are alike if only `actual`, or the free amount, differs.
    """

    filter: Filter
    subject: str
    """The taint, label, field, resource or port."""
    required: str
    """What the pod requires, in words."""
    paths: tuple[KeyPath, ...] = ()
    """The paths in the PodSpec that require it; empty if something is missing there."""
    actual: str | None = None
    """The label or name of the node; None if it has none."""
    shortfall: Shortfall | None = None
    taint: Taint | None = None
    requirement: Requirement | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """The key under which alike reasons are grouped."""
        return (self.filter, self.subject, self.required, self.paths)


def rejection_reasons(needs: Needs, machine: Machine, usage: Usage) -> tuple[NodeRejection, ...]:
    """Every reason why the node rejects the pod; empty if it fits."""
    return (*static_reasons(needs.constraints, machine), *usage_reasons(needs, machine, usage))


def static_reasons(constraints: NodeConstraints, machine: Machine) -> tuple[NodeRejection, ...]:
    """The reasons that do not depend on what runs on the node."""
    return tuple(reason for static_filter in STATIC_FILTERS for reason in static_filter(constraints, machine))


def usage_reasons(needs: Needs, machine: Machine, usage: Usage) -> tuple[NodeRejection, ...]:
    """The reasons that depend on what runs on the node."""
    reasons: list[NodeRejection] = []
    allowed = machine.allocatable.get(POD_RESOURCE, 0)
    if usage.pods + 1 > allowed:
        reasons.append(
            NodeRejection(Filter.RESOURCES, POD_RESOURCE, "one more pod", shortfall=Shortfall(1, allowed - usage.pods))
        )
    for resource, amount, paths in needs.requests:
        free = machine.allocatable.get(resource, 0) - usage.amounts.get(resource, 0)
        if amount > free:
            reasons.append(NodeRejection(Filter.RESOURCES, resource, "", paths, shortfall=Shortfall(amount, free)))
    reasons += (
        NodeRejection(
            Filter.PORTS, f"{port.number}/{port.protocol}", f"port {port.number}/{port.protocol}", (port.path,)
        )
        for port in needs.ports
        if any(ports_conflict(port, other) for other in usage.ports)
    )
    return tuple(reasons)


def _rejected_by_api(constraints: NodeConstraints, _: Machine) -> Iterator[NodeRejection]:
    for fault in constraints.faults:
        yield NodeRejection(Filter.API, "", fault.what, (fault.path,))


def _other_node_name(constraints: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    if constraints.node is not None and constraints.node != machine.name:
        yield NodeRejection(Filter.NODE_NAME, "nodeName", quote(constraints.node), (("nodeName",),), machine.name)


def _is_cordoned(constraints: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    if machine.cordoned and not tolerated(UNSCHEDULABLE, constraints.tolerations):
        yield NodeRejection(Filter.UNSCHEDULABLE, "cordoned", "")


def _untolerated_taints(constraints: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    for taint in machine.taints:
        if taint.effect in REJECTING_EFFECTS and not tolerated(taint, constraints.tolerations):
            # Without tolerations, no line of the PodSpec is about taints.
            yield NodeRejection(
                Filter.TAINTS, taint_text(taint), "", _TOLERATIONS if constraints.tolerations else (), taint=taint
            )


def _node_selector(constraints: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    for key, value in constraints.selector:
        if machine.labels.get(key) != value:
            requirement = Requirement(key, "In", (value,), ("nodeSelector", key))
            yield _unmet_label(requirement, machine.labels)


def _required_affinity(constraints: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    if constraints.terms is None or any(term_matches(term, machine.labels, machine.name) for term in constraints.terms):
        return
    if len(constraints.terms) == 1:
        yield from unmet_reasons(constraints.terms[0], machine)
        return
    unmet_terms = [
        " and ".join(unmet_text(reason) for reason in unmet_reasons(term, machine)) for term in constraints.terms
    ]
    yield NodeRejection(
        Filter.AFFINITY,
        "nodeSelectorTerms",
        f"one of {len(unmet_terms)} terms" if unmet_terms else "a term, and there are none",
        tuple(term.path for term in constraints.terms) or ((*_REQUIRED, "nodeSelectorTerms"),),
        "; ".join(unmet_terms),
    )


_REQUIRED: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")

StaticFilter: TypeAlias = Callable[[NodeConstraints, Machine], Iterator[NodeRejection]]
STATIC_FILTERS: tuple[StaticFilter, ...] = (
    _rejected_by_api,
    _other_node_name,
    _is_cordoned,
    _untolerated_taints,
    _node_selector,
    _required_affinity,
)


# Taints


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the toleration matches the taint; an unset key or effect matches any."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    matches = _OPERATORS.get(toleration.operator)
    return matches is not None and matches(toleration.value, taint.value)


def _is_less(bound: str, text: str) -> bool:
    limit, value = parse_int64(bound), parse_int64(text)
    return limit is not None and value is not None and value < limit


def _is_more(bound: str, text: str) -> bool:
    limit, value = parse_int64(bound), parse_int64(text)
    return limit is not None and value is not None and value > limit


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "": str.__eq__,
    "Equal": str.__eq__,
    "Exists": lambda _, __: True,
    "Lt": _is_less,
    "Gt": _is_more,
}


def taint_text(taint: Taint) -> str:
    """A taint as kubectl prints it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


# Labels


def term_matches(term: Term, labels: Mapping[str, str], name: str) -> bool:
    """Whether the node satisfies the term; an empty term matches no node."""
    if not term.expressions and not term.fields:
        return False
    return all(satisfies(requirement, labels) for requirement in term.expressions) and all(
        _name_satisfies(requirement, name) for requirement in term.fields
    )


def unmet_reasons(term: Term, machine: Machine) -> tuple[NodeRejection, ...]:
    """The requirements of the term that the node does not satisfy."""
    if not term.expressions and not term.fields:
        return (NodeRejection(Filter.AFFINITY, "nodeSelectorTerms", "a term that is not empty", (term.path,)),)
    labels = (
        _unmet_label(requirement, machine.labels)
        for requirement in term.expressions
        if not satisfies(requirement, machine.labels)
    )
    fields = (
        _unmet_label(requirement, {_NAME: machine.name})
        for requirement in term.fields
        if not _name_satisfies(requirement, machine.name)
    )
    return (*labels, *fields)


def satisfies(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether the labels satisfy the requirement; a malformed one is never satisfied."""
    check = _REQUIREMENTS.get(requirement.operator)
    return check is not None and check(labels.get(requirement.key), requirement.values)


def _name_satisfies(requirement: Requirement, name: str) -> bool:
    """Whether the name satisfies a requirement of `matchFields`, which takes one value."""
    return (
        requirement.operator in ("In", "NotIn")
        and len(requirement.values) == 1
        and satisfies(requirement, {_NAME: name})
    )


def _compares(compare: Callable[[str, str], bool]) -> Callable[[str | None, tuple[str, ...]], bool]:
    return lambda value, values: value is not None and len(values) == 1 and compare(values[0], value)


_REQUIREMENTS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda value, values: value is not None and value in values,
    "NotIn": lambda value, values: bool(values) and value not in values,
    "Exists": lambda value, values: not values and value is not None,
    "DoesNotExist": lambda value, values: not values and value is None,
    "Gt": _compares(_is_more),
    "Lt": _compares(_is_less),
}


def _unmet_label(requirement: Requirement, labels: Mapping[str, str]) -> NodeRejection:
    return NodeRejection(
        Filter.AFFINITY,
        requirement.key,
        condition(requirement),
        (requirement.path,),
        labels.get(requirement.key),
        requirement=requirement,
    )


_CONDITIONS: Mapping[str, str] = {
    "In": "{}",
    "NotIn": "not {}",
    "Exists": "any value",
    "DoesNotExist": "no value",
    "Gt": "more than {}",
    "Lt": "less than {}",
}
_REQUIRED_TEXTS: Mapping[str, str] = {
    "NotIn": "must not be {}",
    "Exists": "must be set",
    "DoesNotExist": "must not be set",
}
"""How a condition reads after the name of a label; any other reads "needs …"."""


def condition(requirement: Requirement) -> str:
    """The values that a requirement accepts."""
    if requirement.operator not in _CONDITIONS:
        return f"the unknown operator {quote(requirement.operator)}"
    return _CONDITIONS[requirement.operator].format(_any_of(map(quote, requirement.values)))


def required_text(requirement: Requirement) -> str:
    """A requirement as a predicate: "needs `a100`", "must not be set"."""
    text = _REQUIRED_TEXTS.get(requirement.operator)
    if text is None:
        return f"needs {condition(requirement)}"
    return text.format(_any_of(map(quote, requirement.values)))


def actual_text(values: Collection[str | None]) -> str:
    """The values of a label on several nodes as a predicate: "has `cpu` or `gpu`", "is not set"."""
    distinct = sorted({value for value in values if value is not None})
    names = [*map(quote, distinct[:_MAX_LISTED]), *(["…"] if len(distinct) > _MAX_LISTED else [])]
    texts = [f"has {_any_of(names)}"] if names else []
    return " or ".join([*texts, *(["is not set"] if None in values or not names else [])])


def _any_of(words: Iterable[str]) -> str:
    *others, last = [*words] or ["no value"]
    return f"{', '.join(others)} or {last}" if others else last


def unmet_text(reason: NodeRejection) -> str:
    """A reason about a label in short."""
    if reason.requirement is None:
        return f"needs {reason.required}"
    return f"{quote(reason.subject)} {required_text(reason.requirement)}, {actual_text([reason.actual])}"


def parse_int64(text: str) -> int | None:
    """The text as a 64-bit integer, or None."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and _LEAST <= number <= _MOST else None


# Ports


def ports_conflict(one: Port, two: Port) -> bool:
    """Whether two host ports conflict; a port without an address conflicts on every address."""
    same = (one.protocol, one.number) == (two.protocol, two.number)
    return same and (one.address == two.address or ANY_ADDRESS in (one.address, two.address))
