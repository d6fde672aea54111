"""kube-scheduler's filters: every reason a node does not take a pod.

As its default filters decide, of which each is a row in `FILTERS`; only that the scheduler stops at the first reason,
and this does not. What it looks at beside them is in `not_modelled.py`.
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
"""What a pod must tolerate to go on a node that is cordoned."""
REJECTING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects of taints that count; the third only makes a node less liked."""
POD_RESOURCE = "pods"
_TOLERATIONS: tuple[KeyPath, ...] = (("tolerations",),)
_NAME = "metadata.name"
_INTEGER = re.compile(r"[-+]?[0-9]{1,64}", re.ASCII)
_LEAST, _MOST = -(2**63), 2**63 - 1
_MAX_LISTED = 3


class Filter(StrEnum):
    """The filters of kube-scheduler, by its own names for them, and what comes before it."""

    API = "API"
    """The API server would take no such pod."""
    NODE_NAME = "NodeName"
    UNSCHEDULABLE = "NodeUnschedulable"
    TAINTS = "TaintToleration"
    AFFINITY = "NodeAffinity"
    RESOURCES = "NodeResourcesFit"
    PORTS = "NodePorts"


class Shortfall(NamedTuple):
    """How much of a resource a node would need to have free, and has."""

    asked: int
    free: int


class NodeRejection(NamedTuple):
    """Why a pod does not go on a node.

    Reasons of two nodes are alike if they differ in what was found there alone.
    """

    filter: Filter
    subject: str
    """The taint, label, field, resource or port in question."""
    asked: str
    """What the pod says, in words."""
    paths: tuple[KeyPath, ...] = ()
    """Where in the PodSpec it says so; nowhere, if something is missing there."""
    found: str | None = None
    """What the node has: the value of the label, or the name; None if it has none."""
    shortfall: Shortfall | None = None
    taint: Taint | None = None
    requirement: Requirement | None = None

    @property
    def kind(self) -> tuple[object, ...]:
        """All that is the same in reasons that are alike."""
        return (self.filter, self.subject, self.asked, self.paths)


def reasons(needs: Needs, machine: Machine, usage: Usage) -> tuple[NodeRejection, ...]:
    """Every reason why the pod does not fit the node as it is; none if it does."""
    return (*static_reasons(needs.constraints, machine), *usage_reasons(needs, machine, usage))


def static_reasons(pin: NodeConstraints, machine: Machine) -> tuple[NodeRejection, ...]:
    """The reasons that hold whatever runs on the node."""
    return tuple(reason for look in FILTERS for reason in look(pin, machine))


def usage_reasons(needs: Needs, machine: Machine, usage: Usage) -> tuple[NodeRejection, ...]:
    """The reasons that hang on what runs on the node."""
    found: list[NodeRejection] = []
    allowed = machine.allocatable.get(POD_RESOURCE, 0)
    if usage.pods + 1 > allowed:
        found.append(
            NodeRejection(Filter.RESOURCES, POD_RESOURCE, "one more pod", shortfall=Shortfall(1, allowed - usage.pods))
        )
    for resource, amount, paths in needs.requests:
        free = machine.allocatable.get(resource, 0) - usage.amounts.get(resource, 0)
        if amount > free:
            found.append(NodeRejection(Filter.RESOURCES, resource, "", paths, shortfall=Shortfall(amount, free)))
    found += (
        NodeRejection(
            Filter.PORTS, f"{port.number}/{port.protocol}", f"port {port.number}/{port.protocol}", (port.path,)
        )
        for port in needs.ports
        if any(ports_conflict(port, other) for other in usage.ports)
    )
    return tuple(found)


def _refused(pin: NodeConstraints, _: Machine) -> Iterator[NodeRejection]:
    for fault in pin.faults:
        yield NodeRejection(Filter.API, "", fault.what, (fault.path,))


def _named(pin: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    if pin.node is not None and pin.node != machine.name:
        yield NodeRejection(Filter.NODE_NAME, "nodeName", quote(pin.node), (("nodeName",),), machine.name)


def _cordoned(pin: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    if machine.cordoned and not tolerated(UNSCHEDULABLE, pin.tolerations):
        yield NodeRejection(Filter.UNSCHEDULABLE, "cordoned", "")


def _tainted(pin: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    for taint in machine.taints:
        if taint.effect in REJECTING_EFFECTS and not tolerated(taint, pin.tolerations):
            # What is tolerated stands there; where nothing is, nobody says anything of taints.
            yield NodeRejection(
                Filter.TAINTS, taint_text(taint), "", _TOLERATIONS if pin.tolerations else (), taint=taint
            )


def _selected(pin: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    for key, value in pin.selector:
        if machine.labels.get(key) != value:
            requirement = Requirement(key, "In", (value,), ("nodeSelector", key))
            yield _unmet(requirement, machine.labels)


def _allowed(pin: NodeConstraints, machine: Machine) -> Iterator[NodeRejection]:
    if pin.terms is None or any(term_matches(term, machine.labels, machine.name) for term in pin.terms):
        return
    if len(pin.terms) == 1:
        yield from unmet_reasons(pin.terms[0], machine)
        return
    told = [" and ".join(unmet_text(reason) for reason in unmet_reasons(term, machine)) for term in pin.terms]
    yield NodeRejection(
        Filter.AFFINITY,
        "nodeSelectorTerms",
        f"one of {len(told)} terms" if told else "a term, and there are none",
        tuple(term.path for term in pin.terms) or ((*_REQUIRED, "nodeSelectorTerms"),),
        "; ".join(told),
    )


_REQUIRED: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")

StaticFilter: TypeAlias = Callable[[NodeConstraints, Machine], Iterator[NodeRejection]]
FILTERS: tuple[StaticFilter, ...] = (_refused, _named, _cordoned, _tainted, _selected, _allowed)


# Taints


def tolerated(taint: Taint, tolerations: Sequence[Toleration]) -> bool:
    return any(tolerates(toleration, taint) for toleration in tolerations)


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether the one toleration is enough; what it leaves out, any taint has, but for the operator and the value."""
    if toleration.effect not in ("", taint.effect) or toleration.key not in ("", taint.key):
        return False
    satisfies = _OPERATORS.get(toleration.operator)
    return satisfies is not None and satisfies(toleration.value, taint.value)


def _is_less(asked: str, found: str) -> bool:
    mine, theirs = int64(asked), int64(found)
    return mine is not None and theirs is not None and theirs < mine


def _is_more(asked: str, found: str) -> bool:
    mine, theirs = int64(asked), int64(found)
    return mine is not None and theirs is not None and theirs > mine


_OPERATORS: Mapping[str, Callable[[str, str], bool]] = {
    "": str.__eq__,
    "Equal": str.__eq__,
    "Exists": lambda _, __: True,
    "Lt": _is_less,
    "Gt": _is_more,
}


def taint_text(taint: Taint) -> str:
    """A taint as kubectl writes it."""
    return f"{taint.key}={taint.value}:{taint.effect}" if taint.value else f"{taint.key}:{taint.effect}"


# Labels


def term_matches(term: Term, labels: Mapping[str, str], name: str) -> bool:
    """Whether all that the term asks holds; one that asks nothing matches no node."""
    if not term.expressions and not term.fields:
        return False
    return all(satisfies(asked, labels) for asked in term.expressions) and all(
        _is_so(asked, name) for asked in term.fields
    )


def unmet_reasons(term: Term, machine: Machine) -> tuple[NodeRejection, ...]:
    """What the term asks that does not hold."""
    if not term.expressions and not term.fields:
        return (NodeRejection(Filter.AFFINITY, "nodeSelectorTerms", "a term that is not empty", (term.path,)),)
    labels = (_unmet(asked, machine.labels) for asked in term.expressions if not satisfies(asked, machine.labels))
    fields = (_unmet(asked, {_NAME: machine.name}) for asked in term.fields if not _is_so(asked, machine.name))
    return (*labels, *fields)


def satisfies(asked: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether the labels are as asked; where the requirement is malformed, they never are."""
    rule = _REQUIREMENTS.get(asked.operator)
    return rule is not None and rule(labels.get(asked.key), asked.values)


def _is_so(asked: Requirement, name: str) -> bool:
    """The same for a field, of which there is one, and which is compared with one value."""
    return asked.operator in ("In", "NotIn") and len(asked.values) == 1 and satisfies(asked, {_NAME: name})


def _compares(is_so: Callable[[str, str], bool]) -> Callable[[str | None, tuple[str, ...]], bool]:
    return lambda found, values: found is not None and len(values) == 1 and is_so(values[0], found)


_REQUIREMENTS: Mapping[str, Callable[[str | None, tuple[str, ...]], bool]] = {
    "In": lambda found, values: found is not None and found in values,
    "NotIn": lambda found, values: bool(values) and found not in values,
    "Exists": lambda found, values: not values and found is not None,
    "DoesNotExist": lambda found, values: not values and found is None,
    "Gt": _compares(_is_more),
    "Lt": _compares(_is_less),
}


def _unmet(asked: Requirement, labels: Mapping[str, str]) -> NodeRejection:
    return NodeRejection(
        Filter.AFFINITY,
        asked.key,
        condition(asked),
        (asked.path,),
        labels.get(asked.key),
        requirement=asked,
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
        return f"needs {reason.asked}"
    return f"{quote(reason.subject)} {required_text(reason.requirement)}, {actual_text([reason.found])}"


def int64(text: str) -> int | None:
    """The text as a number of 64 bits, if it is one."""
    number = int(text) if _INTEGER.fullmatch(text) else None
    return number if number is not None and _LEAST <= number <= _MOST else None


# Ports


def ports_conflict(one: Port, two: Port) -> bool:
    """Whether both want one port of one address; without an address, they want it of all."""
    same = (one.protocol, one.number) == (two.protocol, two.number)
    return same and (one.address == two.address or ANY_ADDRESS in (one.address, two.address))
