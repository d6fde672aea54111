"""The smallest single change that makes a workload fit a node.

Every suggestion is tried: the change is applied to the PodSpec, and the filters evaluate the result.
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
from speccompile.placement.scheduler_filters import Filter, NodeRejection, rejection_reasons, taint_text, unmet_reasons

_NOT_FOR_PODS = (
    *("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node-role.kubernetes.io/"),
    *("ToBeDeletedByClusterAutoscaler", "DeletionCandidateOfClusterAutoscaler"),
)
"""Prefixes of taints for unhealthy, reserved or terminating nodes; tolerating them is never suggested."""
_HOSTNAME = "kubernetes.io/hostname"
"""The label of a single node; selecting by it is never suggested."""
_BASIC_RESOURCES = frozenset({CPU, "memory", "ephemeral-storage"})
"""Resources that every pod uses; requesting none of them is never suggested."""
_MAX_TRIED = 20
"""Changes of equal cost that are tried on all nodes."""
_REQUIRED: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
_MEBI = 2**20
_COST_OTHER_VALUE, _COST_REMOVED, _COST_AFFINITY_REMOVED = 1.0, 2.0, 3.0


class PodEdit(NamedTuple):
    """A value to set at a path of a PodSpec; None removes it."""

    path: KeyPath
    value: Json


class PodChange(NamedTuple):
    """One change to a PodSpec."""

    what: str
    edits: tuple[PodEdit, ...]
    at: KeyPath
    """The path of the value to change; empty if one is added."""
    cost: float
    """How much the user gives up: the fraction of an amount, more for another value, most for removing one."""


class Suggestion(NamedTuple):
    """A change, and the nodes that the workload would then fit."""

    change: PodChange
    machines: tuple[Machine, ...]


class _Proposal(NamedTuple):
    """A change, and the nodes that it was derived from."""

    change: PodChange
    machines: list[Machine]


class ClosestNode(NamedTuple):
    """The node with the fewest reasons against a workload."""

    machine: Machine
    reasons: tuple[NodeRejection, ...]


def suggest_change(fit: WorkloadFit, cluster: Cluster) -> Suggestion | None:
    """The best change, or None if none of the changes that are tried makes it fit.

    Changes are ranked by the reasons that they resolve, fewest first, then by cost, then by the nodes that would fit.
    """
    pod = fit.subject.workload.pod
    ranked: dict[tuple[int, float], dict[str, _Proposal]] = {}
    for group in fit.others:
        for machine, reasons in zip(group.machines, group.reasons, strict=True):
            for change in _fixes(fit, machine, reasons):
                proposals = ranked.setdefault((len(reasons), change.cost), {})
                proposals.setdefault(repr(change.edits), _Proposal(change, [])).machines.append(machine)
    for rank in sorted(ranked):
        # A change that does not help the node it was derived from helps none. Trying a thousand changes on all nodes
        # would take minutes, and the change that helps the most nodes was derived from the most.
        helping = [one for one in ranked[rank].values() if _fitting_nodes(pod, one.change, one.machines[:1], cluster)]
        first = sorted(helping, key=lambda one: (-len(one.machines), one.change.what))[:_MAX_TRIED]
        good = [Suggestion(one.change, _fitting_nodes(pod, one.change, cluster.machines, cluster)) for one in first]
        if good:
            return min(good, key=lambda suggestion: (-len(suggestion.machines), suggestion.change.what))
    return None


def closest_node(fit: WorkloadFit) -> ClosestNode | None:
    """The node with the fewest reasons against it, then the smallest shortfall; None without nodes."""
    all_nodes = [
        ClosestNode(machine, reasons)
        for group in fit.others
        for machine, reasons in zip(group.machines, group.reasons, strict=True)
    ]
    return min(
        all_nodes, key=lambda one: (len(one.reasons), _total_shortfall(one.reasons), one.machine.name), default=None
    )


def _total_shortfall(reasons: Sequence[NodeRejection]) -> float:
    return sum(
        (shortfall.required - shortfall.free) / shortfall.required
        for reason in reasons
        if (shortfall := reason.shortfall) is not None
    )


def _fitting_nodes(pod: Node, change: PodChange, machines: Sequence[Machine], cluster: Cluster) -> tuple[Machine, ...]:
    """The nodes that the changed PodSpec fits."""
    needs = needs_of(apply_change(pod, change))
    return tuple(machine for machine in machines if not rejection_reasons(needs, machine, cluster.usage(machine)))


def apply_change(pod: Node, change: PodChange) -> Node:
    """Apply the change; new values get the span of their parent."""
    for edit in change.edits:
        pod = _set_value(pod, edit.path, edit.value)
    return pod


def _set_value(node: Node, path: KeyPath, value: Json) -> Node:
    step, *rest = path
    inner = node.at((step,))
    new = _wrap(value, node.span) if not rest else _set_value(inner or Node({}, node.span), tuple(rest), value)
    if isinstance(step, str):
        fields = {key: child for key, child in node.fields.items() if key != step}
        return node.with_fields(fields if new.value is None else {**fields, step: new})
    items = [*node.items[:step], *([] if new.value is None else [new]), *node.items[step + 1 :]]
    return node.with_value(tuple(items))


def _wrap(value: Any, span: Span) -> Node:
    if isinstance(value, Mapping):
        return Node({key: _wrap(child, span) for key, child in value.items()}, span)
    return Node(tuple(_wrap(child, span) for child in value) if isinstance(value, list) else value, span)


# Changes per filter


def _fixes(fit: WorkloadFit, machine: Machine, reasons: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    """Changes that may each resolve all reasons."""
    filters = {reason.filter for reason in reasons}
    if len(filters) == 1:
        yield from _FIXES.get(filters.pop(), _none)(fit, machine, reasons)


def _none(_: WorkloadFit, __: Machine, ___: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    return iter(())


def _add_toleration(fit: WorkloadFit, _: Machine, reasons: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    taints = [reason.taint for reason in reasons if reason.taint]
    first = taints[0]
    if len({taint.key for taint in taints}) > 1 or first.key.startswith(_NOT_FOR_PODS):
        return
    tolerations = fit.subject.workload.pod.fields.get("tolerations")
    end = len(tolerations.items) if tolerations is not None else 0
    toleration = _toleration_for(taints)
    what = quote(taint_text(first), 100) if len(taints) == 1 else f"{quote(first.key, 100)} with any value and effect"
    edits = (PodEdit(("tolerations", end), toleration),)
    if end == 0:
        edits = (PodEdit(("tolerations",), [toleration]),)
    yield PodChange(f"add a toleration for {what}", edits, (), _COST_OTHER_VALUE)


def _toleration_for(taints: Sequence[Taint]) -> dict[str, Json]:
    """A toleration for the one taint, or for all with its key."""
    first, *others = taints
    if others:
        return {"key": first.key, "operator": "Exists"}
    value: dict[str, Json] = {"operator": "Equal", "value": first.value} if first.value else {"operator": "Exists"}
    return {"key": first.key, **value, "effect": first.effect}


def _change_labels(fit: WorkloadFit, machine: Machine, reasons: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    pod, single = fit.subject.workload.pod, reasons if len(reasons) == 1 else ()
    # One term that matches is enough.
    alternatives = fit.needs.constraints.terms or () if single and single[0].requirement is None else ()
    for missing in (single, *(unmet_reasons(term, machine) for term in alternatives)):
        if len(missing) == 1 and missing[0].requirement is not None:
            yield from _relax_requirement(pod, machine, missing[0].requirement)
    if all(reason.paths[0][0] == _REQUIRED[0] for reason in reasons):
        yield PodChange(
            "remove the required node affinity", (PodEdit(_REQUIRED, None),), _REQUIRED, _COST_AFFINITY_REMOVED
        )


def _relax_requirement(pod: Node, machine: Machine, requirement: Requirement) -> Iterator[PodChange]:
    value = machine.labels.get(requirement.key) if requirement.key != _HOSTNAME else None
    label, path = quote(requirement.key, 100), requirement.path
    if path[0] == "nodeSelector":
        if value is not None:
            yield PodChange(
                f"set {label} to {quote(value)} in the node selector", (PodEdit(path, value),), path, _COST_OTHER_VALUE
            )
        yield PodChange(f"remove {label} from the node selector", (PodEdit(path, None),), path, _COST_REMOVED)
        return
    if requirement.operator == "In" and value is not None:
        edit = PodEdit((*path, "values", len(requirement.values)), value)
        yield PodChange(f"also accept {quote(value)} for label {label}", (edit,), path, _COST_OTHER_VALUE)
        return
    removed = _path_to_remove(pod, path)
    if removed is not None:
        yield PodChange(f"remove the requirement on label {label}", (PodEdit(removed, None),), path, _COST_REMOVED)


def _path_to_remove(pod: Node, path: KeyPath) -> KeyPath | None:
    """The path to remove with the requirement: its list if it is the last item, the affinity if it is the last term.

    None for the last requirement of one of several terms: an empty term matches no node.
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


def _remove_node_name(_: WorkloadFit, __: Machine, ___: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    yield PodChange("remove `nodeName`", (PodEdit(("nodeName",), None),), ("nodeName",), _COST_REMOVED)


def _lower_request(fit: WorkloadFit, _: Machine, reasons: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    reason = reasons[0]
    if len(reasons) > 1 or reason.shortfall is None or not reason.paths:
        return
    pod, (requirement, free) = fit.subject.workload.pod, reason.shortfall
    amounts = {path: amount_of(node, reason.subject) or 0 for path in reason.paths if (node := pod.at(path))}
    # Only one value is changed, so lower the largest.
    path = max(amounts, key=lambda path: amounts[path])
    new = _round_down(reason.subject, amounts[path] - (requirement - free))
    sides = sorted({path, *_other_side(pod, path, reason.subject)}, key=str)
    if new > 0:
        text = _quantity_text(reason.subject, new)
        what = f"request {text} of {reason.subject} instead of {amount_text(reason.subject, amounts[path], up=True)}"
        edits = tuple(PodEdit(side, text) for side in sides)
        yield PodChange(what, edits, path, (amounts[path] - new) / amounts[path])
    elif reason.subject not in _BASIC_RESOURCES:
        yield PodChange(
            f"request no {reason.subject}", tuple(PodEdit(side, None) for side in sides), path, _COST_REMOVED
        )


def _other_side(pod: Node, path: KeyPath, resource: str) -> Iterator[KeyPath]:
    """The path of the limit of a resource whose request and limit must be equal."""
    limit = (*path[:-2], "limits", resource)
    if resource not in _BASIC_RESOURCES and path[-2] == "requests" and pod.at(limit) is not None:
        yield limit


def _round_down(resource: str, amount: int) -> int:
    """The amount rounded down to mebibytes, for resources counted in bytes."""
    is_bytes = resource in ("memory", "ephemeral-storage")
    return amount // _MEBI * _MEBI if is_bytes and amount >= _MEBI else amount


def _quantity_text(resource: str, amount: int) -> str:
    if resource == CPU:
        return amount_text(resource, amount)
    return f"{amount // _MEBI}Mi" if resource in ("memory", "ephemeral-storage") and amount >= _MEBI else str(amount)


def _remove_host_port(fit: WorkloadFit, _: Machine, reasons: tuple[NodeRejection, ...]) -> Iterator[PodChange]:
    pod, path = fit.subject.workload.pod, (*reasons[0].paths[0], "hostPort")
    if len(reasons) == 1 and pod.at(path) is not None:
        yield PodChange(f"remove host port {reasons[0].subject}", (PodEdit(path, None),), path, _COST_REMOVED)
    # With `hostNetwork`, every container port is a host port.
    if pod.at(_NETWORK) is not None:
        yield PodChange("remove `hostNetwork`", (PodEdit(_NETWORK, None),), _NETWORK, _COST_REMOVED)


_NETWORK: KeyPath = ("hostNetwork",)

_FIXES: Mapping[Filter, Callable[[WorkloadFit, Machine, tuple[NodeRejection, ...]], Iterator[PodChange]]] = {
    Filter.NODE_NAME: _remove_node_name,
    Filter.TAINTS: _add_toleration,
    Filter.AFFINITY: _change_labels,
    Filter.RESOURCES: _lower_request,
    Filter.PORTS: _remove_host_port,
}
