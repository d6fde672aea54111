"""Lint rules about node affinity and selectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.context import (
    LintRule,
    LintWording,
    PlacementContext,
    finding_at,
    location_note,
    scalar_text,
)
from speccompile.placement.lint.contradictions import PREDICATES, LocatedRequirement, find_conflict, value_faults
from speccompile.placement.lint.pod_facts import (
    OLD_CONTROL_PLANE,
    PREFERRED_AFFINITY_PATH,
    REQUIRED_AFFINITY_PATH,
    list_items,
    pod_containers,
    pod_needs,
    pod_tolerations,
    requirement_sets,
)
from speccompile.placement.pod_requirements import Requirement
from speccompile.placement.workloads import PodWorkload

_LABELS, _FIELDS = "matchExpressions", "matchFields"
_NAME = "metadata.name"


def _check_requirements(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for node, fault, fix in affinity_faults(workload.pod):
            wording = LintWording("placement/bad-requirement", fault, fix, Severity.ERROR)
            yield finding_at(context, wording, workload.owner, node)


def affinity_faults(pod: Node) -> Iterator[tuple[Node, str, str]]:
    """What is wrong with a node affinity: node, message and help."""
    required = pod.at(REQUIRED_AFFINITY_PATH)
    terms = list_items(required, "nodeSelectorTerms")
    if required is not None and required.value is not None and not terms:
        yield required, "Kubernetes rejects a required node affinity without terms", "add a term, or remove it"
    for term in terms:
        if not list_items(term, _LABELS) and not list_items(term, _FIELDS):
            yield term, "this term is empty, so it matches no node", "add a requirement, or remove the term"
    preferred = pod.at(PREFERRED_AFFINITY_PATH)
    preferences = (item.fields.get("preference") for item in (preferred.items if preferred else ()))
    for term in (*terms, *(one for one in preferences if one)):
        for section in (_LABELS, _FIELDS):
            for item in list_items(term, section):
                yield from ((item, *wording) for wording in _requirement_faults(section, item))


def _requirement_faults(section: str, item: Node) -> Iterator[tuple[str, str]]:
    key, operator = (_text(item.fields.get(name)) for name in ("key", "operator"))
    values = tuple(_text(child) for child in list_items(item, "values"))
    if operator not in PREDICATES:
        yield f"unknown operator {quote(operator)}", f"use one of {', '.join(PREDICATES)}"
    elif section == _FIELDS and (key != _NAME or operator not in ("In", "NotIn") or len(values) != 1):
        yield (
            "`matchFields` supports only the name of one node",
            f"use `key: {_NAME}`, `operator: In` and one value",
        )
    else:
        for fault in value_faults(Requirement(key, operator, values)):
            yield f"invalid requirement with operator `{operator}`: {fault}", "change its `values`"


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _check_contradictions(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        conflicts = _conflicts(workload.pod)
        unmatched = [conflict for conflict in conflicts if conflict]
        if unmatched and len(unmatched) == len(conflicts):
            notes = [
                Note(f"the other term cannot match either: {_reason(conflict)}", conflict[-1].node.place)
                for conflict in unmatched[1:]
            ]
            yield _conflict_finding(context, workload, unmatched[0], _NO_NODE, *notes)
        else:
            yield from (_conflict_finding(context, workload, conflict, _NO_WAY) for conflict in unmatched)


def is_impossible(pod: Node) -> bool:
    """Whether the requirements of the pod contradict each other."""
    conflicts = _conflicts(pod)
    return bool(conflicts) and all(conflicts)


def _conflicts(pod: Node) -> list[tuple[LocatedRequirement, ...]]:
    """The conflict in each set of requirements; empty for a pod that the API server would reject."""
    constraints = pod_needs(pod).constraints
    if not constraints.terms or constraints.faults or any(affinity_faults(pod)):
        return []
    return [find_conflict(requirements) for requirements in requirement_sets(pod)]


_NO_NODE = LintWording("placement/contradiction", "no node can match", "change one of the two", Severity.ERROR)
_NO_WAY = LintWording(
    "placement/dead-term",
    "one of the terms matches no node",
    "change one of the two, or remove the term",
    Severity.NOTICE,
)


def _conflict_finding(
    context: PlacementContext,
    workload: PodWorkload,
    conflict: tuple[LocatedRequirement, ...],
    wording: LintWording,
    *more: Note,
) -> Diagnostic:
    *others, last = conflict
    notes = [
        note for located in others for note in location_note(f"the requirement to {located.predicate}", located.node)
    ]
    message = f"{wording.message}: {_reason(conflict)}"
    return finding_at(context, wording._replace(message=message), workload.owner, last.node, *notes, *more)


def _reason(conflict: tuple[LocatedRequirement, ...]) -> str:
    return f"{conflict[0].subject} must {' and '.join(dict.fromkeys(located.predicate for located in conflict))}"


def _check_node_name(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        node = workload.pod.fields.get("nodeName")
        # In a pod from a cluster, the scheduler has set `nodeName`.
        if node is None or not _text(node) or "status" in workload.owner.fields:
            continue
        wording = LintWording(
            "placement/node-name",
            f"`nodeName` bypasses the scheduler and assigns the pods to {quote(node.value)}, even without room",
            "select the node by its label `kubernetes.io/hostname`",
        )
        notes = [Note(f"all {workload.replicas} pods run on this one node")] if workload.replicas > 1 else []
        yield finding_at(context, wording, workload.owner, node, *notes)


def _check_strings(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for what, node in _string_values(workload.pod):
            if not node.is_scalar or node.value is None or isinstance(node.value, str):
                continue
            text = scalar_text(node)
            # A variable may contain a password.
            value, fix = ("this", "quote it") if what == _VARIABLE else (text, f'quote it: "{text[1:-1]}"')
            message = f"{what} must be a string, and {value} is not one"
            yield finding_at(
                context, LintWording("placement/not-text", message, fix, Severity.ERROR), workload.owner, node
            )


_VARIABLE = "the value of a variable"


def _string_values(pod: Node) -> Iterator[tuple[str, Node]]:
    selector = pod.fields.get("nodeSelector")
    yield from (("the value of a label", child) for child in (selector.fields.values() if selector else ()))
    for item in list_items(pod, "tolerations"):
        yield from (("the value of a taint", item.fields[key]) for key in ("key", "value") if key in item.fields)
    for term in list_items(pod.at(REQUIRED_AFFINITY_PATH), "nodeSelectorTerms"):
        for item in list_items(term, _LABELS):
            yield from (("the value of a label", child) for child in list_items(item, "values"))
    for container in pod_containers(pod):
        variables = (item.fields.get("value") for item in list_items(container, "env"))
        yield from ((_VARIABLE, child) for child in variables if child)


def _check_removed_names(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for name, node in _names(workload):
            if name in _REMOVED_NAMES:
                fault, instead = _REMOVED_NAMES[name]
                wording = LintWording("placement/gone", f"{quote(name)} {fault}", f"use {instead}")
                yield finding_at(context, wording, workload.owner, node)


_NO_MASTER = "was removed from all nodes in Kubernetes 1.25"
_OLD_NAME = "is a deprecated label, which new nodes may not have"
_UNREAD = "is an annotation that Kubernetes no longer reads"
_REMOVED_NAMES: Mapping[str, tuple[str, str]] = {
    OLD_CONTROL_PLANE: (_NO_MASTER, "`node-role.kubernetes.io/control-plane`"),
    "failure-domain.beta.kubernetes.io/zone": (_OLD_NAME, "`topology.kubernetes.io/zone`"),
    "failure-domain.beta.kubernetes.io/region": (_OLD_NAME, "`topology.kubernetes.io/region`"),
    "scheduler.alpha.kubernetes.io/affinity": (_UNREAD, "`affinity` in the pod spec"),
    "scheduler.alpha.kubernetes.io/tolerations": (_UNREAD, "`tolerations` in the pod spec"),
    "scheduler.alpha.kubernetes.io/critical-pod": (_UNREAD, "`priorityClassName` in the pod spec"),
}
"""Names without effect: what happened to them, and what to use instead."""


def _names(workload: PodWorkload) -> Iterator[tuple[str, Node]]:
    yield from (
        (located.requirement.key, located.node)
        for requirements in requirement_sets(workload.pod)
        for located in requirements
    )
    yield from ((allowed.toleration.key, allowed.node) for allowed in pod_tolerations(workload.pod))
    for path in _ANNOTATIONS:
        annotations = workload.owner.at(path)
        yield from (annotations.fields if annotations else {}).items()


_ANNOTATIONS: tuple[KeyPath, ...] = (
    ("metadata", "annotations"),
    ("spec", "template", "metadata", "annotations"),
    ("spec", "jobTemplate", "spec", "template", "metadata", "annotations"),
)

AFFINITY_RULES: tuple[LintRule, ...] = (
    _check_requirements,
    _check_contradictions,
    _check_node_name,
    _check_strings,
    _check_removed_names,
)
