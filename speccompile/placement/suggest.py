"""The smallest single change that makes a workload fit a node.

Whatever is suggested was tried: the change is made to the PodSpec, and the filters look at it again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Json, Node
from speccompile.model.source import Span
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.fit import WorkloadFit
from speccompile.placement.machine import Machine, Taint
from speccompile.placement.pod_requirements import CPU, Requirement, amount_of, amount_text, needs_of
from speccompile.placement.scheduler_filters import Filter, NodeRejection, reasons, taint_text, unmet_reasons

_NOT_FOR_PODS = (
    *("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node-role.kubernetes.io/"),
    *("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"),
)
"""Taints of nodes in trouble, not for everybody, or soon gone: nobody should tolerate them to find a place."""
_HOSTNAME = "kubernetes.io/hostname"
"""The label that pins a pod to one node, which nobody should do to find a place."""
_MEANT = frozenset({CPU, "memory", "ephemeral-storage"})
"""What every pod takes: asking for none of it is no way to have it."""
_MOST_TRIED = 20
"""Changes that are tried on all nodes, of those that give up as much."""
_REQUIRED: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_MEBI = 2**20
_OTHER, _GONE, _ALL_GONE = 1.0, 2.0, 3.0


class PodEdit(NamedTuple):
    """A value to be written at a path of a PodSpec; None takes away what is there."""

    path: KeyPath
    value: Json


class PodChange(NamedTuple):
    """One thing that somebody could say otherwise."""

    what: str
    edits: tuple[PodEdit, ...]
    at: KeyPath
    """Where it stands in the PodSpec now; nowhere, if it is to be added."""
    cost: float
    """How much is given up: the part of an amount; more for what is said otherwise, or not said at all."""


class Suggestion(NamedTuple):
    """A change, and the nodes that the workload would fit then."""

    change: PodChange
    machines: tuple[Machine, ...]


class _Proposal(NamedTuple):
    """A change, and the nodes that it might do for."""

    change: PodChange
    machines: list[Machine]


class ClosestNode(NamedTuple):
    """The node that has least against a workload."""

    machine: Machine
    reasons: tuple[NodeRejection, ...]


def suggestion(verdict: WorkloadFit, cluster: Cluster) -> Suggestion | None:
    """The best change; None if no single one will do, of those that are known here.

    Of those that mend least, the one that gives up least, and of those the one that opens most nodes.
    """
    pod = verdict.subject.workload.pod
    ranked: dict[tuple[int, float], dict[str, _Proposal]] = {}
    for group in verdict.others:
        for machine, found in zip(group.machines, group.reasons, strict=True):
            for change in _cures(verdict, machine, found):
                proposals = ranked.setdefault((len(found), change.cost), {})
                proposals.setdefault(repr(change.edits), _Proposal(change, [])).machines.append(machine)
    for rank in sorted(ranked):
        # A change that does not even help the node that it was made for helps none; of a thousand that do, a thousand
        # tries on all nodes would take minutes, and what helps most nodes was proposed by most.
        helping = [one for one in ranked[rank].values() if _helped(pod, one.change, one.machines[:1], cluster)]
        first = sorted(helping, key=lambda one: (-len(one.machines), one.change.what))[:_MOST_TRIED]
        good = [Suggestion(one.change, _helped(pod, one.change, cluster.machines, cluster)) for one in first]
        if good:
            return min(good, key=lambda made: (-len(made.machines), made.change.what))
    return None


def closest_node(verdict: WorkloadFit) -> ClosestNode | None:
    """The node with fewest reasons against it, and of several the one that lacks least; None if there are no nodes."""
    all_nodes = [
        ClosestNode(machine, found)
        for group in verdict.others
        for machine, found in zip(group.machines, group.reasons, strict=True)
    ]
    return min(all_nodes, key=lambda one: (len(one.reasons), _lacking(one.reasons), one.machine.name), default=None)


def _lacking(found: Sequence[NodeRejection]) -> float:
    return sum((lack.asked - lack.free) / lack.asked for reason in found if (lack := reason.shortfall) is not None)


def _helped(pod: Node, change: PodChange, machines: Sequence[Machine], cluster: Cluster) -> tuple[Machine, ...]:
    """Those of the nodes that the PodSpec fits with the change made."""
    needs = needs_of(apply_change(pod, change))
    return tuple(machine for machine in machines if not reasons(needs, machine, cluster.usage(machine)))


def apply_change(pod: Node, change: PodChange) -> Node:
    """The PodSpec with the change made; whatever is new in it stands where the whole does."""
    for edit in change.edits:
        pod = _edited(pod, edit.path, edit.value)
    return pod


def _edited(node: Node, path: KeyPath, value: Json) -> Node:
    step, *rest = path
    inner = node.at((step,))
    new = _made(value, node.span) if not rest else _edited(inner or Node({}, node.span), tuple(rest), value)
    if isinstance(step, str):
        fields = {key: child for key, child in node.fields.items() if key != step}
        return node.with_fields(fields if new.value is None else {**fields, step: new})
    items = [*node.items[:step], *([] if new.value is None else [new]), *node.items[step + 1 :]]
    return node.with_value(tuple(items))


def _made(value: Any, span: Span) -> Node:
    if isinstance(value, Mapping):
        return Node({key: _made(child, span) for key, child in value.items()}, span)
    return Node(tuple(_made(child, span) for child in value) if isinstance(value, list) else value, span)


# What would cure which reasons


def _cures(verdict: WorkloadFit, machine: Machine, found: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    """Changes of which each might do away with all reasons at once."""
    filters = {reason.filter for reason in found}
    if len(filters) == 1:
        yield from _CURES.get(filters.pop(), _none)(verdict, machine, found)


def _none(_: WorkloadFit, __: Machine, ___: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    return iter(())


def _tolerate(verdict: WorkloadFit, _: Machine, found: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    taints = [reason.taint for reason in found if reason.taint]
    first = taints[0]
    if len({taint.key for taint in taints}) > 1 or first.key.startswith(_NOT_FOR_PODS):
        return
    tolerations = verdict.subject.workload.pod.fields.get("tolerations")
    end = len(tolerations.items) if tolerations is not None else 0
    toleration = _tolerating(taints)
    what = quote(taint_text(first), 100) if len(taints) == 1 else f"{quote(first.key, 100)} with any value and effect"
    edits = (PodEdit(("tolerations", end), toleration),)
    if end == 0:
        edits = (PodEdit(("tolerations",), [toleration]),)
    yield PodChange(f"add a toleration for {what}", edits, (), _OTHER)


def _tolerating(taints: Sequence[Taint]) -> dict[str, Json]:
    """The toleration of the one taint, or of all with its key."""
    first, *others = taints
    if others:
        return {"key": first.key, "operator": "Exists"}
    value: dict[str, Json] = {"operator": "Equal", "value": first.value} if first.value else {"operator": "Exists"}
    return {"key": first.key, **value, "effect": first.effect}


def _relabel(verdict: WorkloadFit, machine: Machine, found: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    pod, alone = verdict.subject.workload.pod, found if len(found) == 1 else ()
    # Of alternatives, it is enough that one is met.
    alternatives = verdict.needs.constraints.terms or () if alone and alone[0].requirement is None else ()
    for missing in (alone, *(unmet_reasons(term, machine) for term in alternatives)):
        if len(missing) == 1 and missing[0].requirement is not None:
            yield from _relax(pod, machine, missing[0].requirement)
    if all(reason.paths[0][0] == _REQUIRED[0] for reason in found):
        yield PodChange("remove the required node affinity", (PodEdit(_REQUIRED, None),), _REQUIRED, _ALL_GONE)


def _relax(pod: Node, machine: Machine, asked: Requirement) -> Iterator[PodChange]:
    value = machine.labels.get(asked.key) if asked.key != _HOSTNAME else None
    label, path = quote(asked.key, 100), asked.path
    if path[0] == "nodeSelector":
        if value is not None:
            yield PodChange(
                f"set {label} to {quote(value)} in the node selector", (PodEdit(path, value),), path, _OTHER
            )
        yield PodChange(f"remove {label} from the node selector", (PodEdit(path, None),), path, _GONE)
        return
    if asked.operator == "In" and value is not None:
        edit = PodEdit((*path, "values", len(asked.values)), value)
        yield PodChange(f"also accept {quote(value)} for label {label}", (edit,), path, _OTHER)
        return
    gone = _without(pod, path)
    if gone is not None:
        yield PodChange(f"remove the requirement on label {label}", (PodEdit(gone, None),), path, _GONE)


def _without(pod: Node, path: KeyPath) -> KeyPath | None:
    """What has to go with the condition at the path: a list with its last item, and all with the last term.

    None for the last condition of a term that has alternatives: a term that asks nothing matches no node.
    """
    terms, term, side = path[:-3], path[:-2], path[:-1]
    if _count(pod, side) > 1:
        return path
    if sum(_count(pod, (*term, key)) for key in ("matchExpressions", "matchFields")) > 1:
        return side
    return None if _count(pod, terms) > 1 else _REQUIRED


def _count(pod: Node, path: KeyPath) -> int:
    node = pod.at(path)
    return 0 if node is None else len(node.items)


def _unname(_: WorkloadFit, __: Machine, ___: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    yield PodChange("remove `nodeName`", (PodEdit(("nodeName",), None),), ("nodeName",), _GONE)


def _lower(verdict: WorkloadFit, _: Machine, found: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    reason = found[0]
    if len(found) > 1 or reason.shortfall is None or not reason.paths:
        return
    pod, (asked, free) = verdict.subject.workload.pod, reason.shortfall
    amounts = {path: amount_of(node, reason.subject) or 0 for path in reason.paths if (node := pod.at(path))}
    # One value can be changed at a time, and the largest has most to give.
    path = max(amounts, key=lambda path: amounts[path])
    new = _rounded(reason.subject, amounts[path] - (asked - free))
    sides = sorted({path, *_other_side(pod, path, reason.subject)}, key=str)
    if new > 0:
        text = _spelled(reason.subject, new)
        what = f"request {text} of {reason.subject} instead of {amount_text(reason.subject, amounts[path], up=True)}"
        edits = tuple(PodEdit(side, text) for side in sides)
        yield PodChange(what, edits, path, (amounts[path] - new) / amounts[path])
    elif reason.subject not in _MEANT:
        yield PodChange(f"request no {reason.subject}", tuple(PodEdit(side, None) for side in sides), path, _GONE)


def _other_side(pod: Node, path: KeyPath, resource: str) -> Iterator[KeyPath]:
    """Where the limit stands of what must be requested as it is limited."""
    limit = (*path[:-2], "limits", resource)
    if resource not in _MEANT and path[-2] == "requests" and pod.at(limit) is not None:
        yield limit


def _rounded(resource: str, amount: int) -> int:
    """The amount as people would say it, never more: whole mebibytes of what is counted in bytes."""
    is_bytes = resource in ("memory", "ephemeral-storage")
    return amount // _MEBI * _MEBI if is_bytes and amount >= _MEBI else amount


def _spelled(resource: str, amount: int) -> str:
    if resource == CPU:
        return amount_text(resource, amount)
    return f"{amount // _MEBI}Mi" if resource in ("memory", "ephemeral-storage") and amount >= _MEBI else str(amount)


def _unport(verdict: WorkloadFit, _: Machine, found: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    pod, path = verdict.subject.workload.pod, (*found[0].paths[0], "hostPort")
    if len(found) == 1 and pod.at(path) is not None:
        yield PodChange(f"remove host port {found[0].subject}", (PodEdit(path, None),), path, _GONE)
    # On the network of the node, every port is one of the node.
    if pod.at(_NETWORK) is not None:
        yield PodChange("remove `hostNetwork`", (PodEdit(_NETWORK, None),), _NETWORK, _GONE)


_NETWORK: KeyPath = ("hostNetwork",)

_CURES: Mapping[Filter, Callable[[WorkloadFit, Machine, tuple[NodeRejection, ...]], Iterator[PodChange]]] = {
    Filter.NODE_NAME: _unname,
    Filter.TAINTS: _tolerate,
    Filter.AFFINITY: _relabel,
    Filter.RESOURCES: _lower,
    Filter.PORTS: _unport,
}
