"""Lint rules about node affinity and selectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.context import (
    LintContext,
    LintRule,
    LintWording,
    finding_at,
    location_note,
    scalar_text,
)
from speccompile.placement.lint.contradictions import PREDICATES, LocatedRequirement, find_conflict, value_faults
from speccompile.placement.lint.pod_facts import (
    OLD_CONTROL_PLANE,
    PREFERRED_AFFINITY,
    REQUIRED_AFFINITY,
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


def _requirements_are_well_formed(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for node, fault, fix in faults_of_affinity(workload.pod):
            told = LintWording("placement/bad-requirement", fault, fix, Severity.ERROR)
            yield finding_at(context, told, workload.owner, node)


def faults_of_affinity(pod: Node) -> Iterator[tuple[Node, str, str]]:
    """What is wrong with a node affinity: the place, the fault, the cure."""
    required = pod.at(REQUIRED_AFFINITY)
    terms = list_items(required, "nodeSelectorTerms")
    if required is not None and required.value is not None and not terms:
        yield required, "a required node affinity without terms, which Kubernetes refuses", "add a term, or take it out"
    for term in terms:
        if not list_items(term, _LABELS) and not list_items(term, _FIELDS):
            yield term, "this term is empty, and matches no node", "say in it what nodes are meant, or take it out"
    preferred = pod.at(PREFERRED_AFFINITY)
    softly = (item.fields.get("preference") for item in (preferred.items if preferred else ()))
    for term in (*terms, *(one for one in softly if one)):
        for section in (_LABELS, _FIELDS):
            for item in list_items(term, section):
                yield from ((item, *told) for told in _faults_of(section, item))


def _faults_of(section: str, item: Node) -> Iterator[tuple[str, str]]:
    key, operator = (_text(item.fields.get(name)) for name in ("key", "operator"))
    values = tuple(_text(child) for child in list_items(item, "values"))
    if operator not in PREDICATES:
        yield f"there is no operator {quote(operator)}", f"write one of {', '.join(PREDICATES)}"
    elif section == _FIELDS and (key != _NAME or operator not in ("In", "NotIn") or len(values) != 1):
        yield (
            "`matchFields` can ask for the name of one node, and for nothing else",
            f"write `key: {_NAME}`, `operator: In` and one value",
        )
    else:
        for fault in value_faults(Requirement(key, operator, values)):
            yield f"Kubernetes cannot use this requirement of operator `{operator}`: {fault}", "mend its `values`"


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _some_node_can_fit(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        told = _clashes(workload.pod)
        dead = [asks for asks in told if asks]
        if dead and len(dead) == len(told):
            others = [Note(f"nor is there another way: {_reason(asks)}", asks[-1].node.place) for asks in dead[1:]]
            yield _told_clash(context, workload, dead[0], _NO_NODE, *others)
        else:
            yield from (_told_clash(context, workload, asks, _NO_WAY) for asks in dead)


def is_impossible(pod: Node) -> bool:
    """Whether what the pod asks of nodes excludes itself."""
    told = _clashes(pod)
    return bool(told) and all(told)


def _clashes(pod: Node) -> list[tuple[LocatedRequirement, ...]]:
    """What excludes itself of each term; nothing is told of what a cluster would refuse."""
    pin = pod_needs(pod).constraints
    if not pin.terms or pin.faults or any(faults_of_affinity(pod)):
        return []
    return [find_conflict(way) for way in requirement_sets(pod)]


_NO_NODE = LintWording("placement/contradiction", "no node can ever fit", "change one of the two", Severity.ERROR)
_NO_WAY = LintWording(
    "placement/dead-term",
    "one of the alternatives fits no node",
    "change one of the two, or take the alternative out",
    Severity.NOTICE,
)


def _told_clash(
    context: LintContext, workload: PodWorkload, asks: tuple[LocatedRequirement, ...], told: LintWording, *more: Note
) -> Diagnostic:
    *others, last = asks
    notes = [note for ask in others for note in location_note(f"that it must {ask.predicate}", ask.node)]
    message = f"{told.message}: {_reason(asks)}"
    return finding_at(context, told._replace(message=message), workload.owner, last.node, *notes, *more)


def _reason(asks: tuple[LocatedRequirement, ...]) -> str:
    return f"{asks[0].what} would have to {' and '.join(dict.fromkeys(ask.predicate for ask in asks))}"


def _nodes_are_not_named(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        node = workload.pod.fields.get("nodeName")
        # A pod out of a cluster has been put on its node by the scheduler.
        if node is None or not _text(node) or "status" in workload.owner.fields:
            continue
        told = LintWording(
            "placement/node-name",
            f"`nodeName` puts the pods on {quote(node.value)} past the scheduler, whether there is room or not",
            "select the node by its label `kubernetes.io/hostname`",
        )
        many = [Note(f"all {workload.replicas} pods are put on this one node")] if workload.replicas > 1 else []
        yield finding_at(context, told, workload.owner, node, *many)


def _texts_are_texts(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for what, node in _said_as_text(workload.pod):
            if not node.is_scalar or node.value is None or isinstance(node.value, str):
                continue
            word = scalar_text(node)
            # A variable may hold a password.
            said, fix = ("this", "quote it") if what == _VARIABLE else (word, f'quote it: "{word[1:-1]}"')
            message = f"{what} must be a string, and Kubernetes reads {said} as none"
            yield finding_at(
                context, LintWording("placement/not-text", message, fix, Severity.ERROR), workload.owner, node
            )


_VARIABLE = "the value of a variable"


def _said_as_text(pod: Node) -> Iterator[tuple[str, Node]]:
    selector = pod.fields.get("nodeSelector")
    yield from (("the value of a label", child) for child in (selector.fields.values() if selector else ()))
    for item in list_items(pod, "tolerations"):
        yield from (("the value of a taint", item.fields[key]) for key in ("key", "value") if key in item.fields)
    for term in list_items(pod.at(REQUIRED_AFFINITY), "nodeSelectorTerms"):
        for item in list_items(term, _LABELS):
            yield from (("the value of a label", child) for child in list_items(item, "values"))
    for container in pod_containers(pod):
        variables = (item.fields.get("value") for item in list_items(container, "env"))
        yield from ((_VARIABLE, child) for child in variables if child)


def _names_are_alive(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for name, node in _names(workload):
            if name in _GONE:
                fault, instead = _GONE[name]
                told = LintWording("placement/gone", f"{quote(name)} {fault}", f"write {instead}")
                yield finding_at(context, told, workload.owner, node)


_NO_MASTER = "is no label or taint of any node since Kubernetes 1.25"
_OLD_NAME = "is an old name of a label, which new nodes need not have"
_UNREAD = "is an annotation that no Kubernetes reads any more"
_GONE: Mapping[str, tuple[str, str]] = {
    OLD_CONTROL_PLANE: (_NO_MASTER, "`node-role.kubernetes.io/control-plane`"),
    "failure-domain.beta.kubernetes.io/zone": (_OLD_NAME, "`topology.kubernetes.io/zone`"),
    "failure-domain.beta.kubernetes.io/region": (_OLD_NAME, "`topology.kubernetes.io/region`"),
    "scheduler.alpha.kubernetes.io/affinity": (_UNREAD, "`affinity` into the pod's spec"),
    "scheduler.alpha.kubernetes.io/tolerations": (_UNREAD, "`tolerations` into the pod's spec"),
    "scheduler.alpha.kubernetes.io/critical-pod": (_UNREAD, "`priorityClassName` into the pod's spec"),
}
"""What had an effect once: what is true of it now, and what to write instead."""


def _names(workload: PodWorkload) -> Iterator[tuple[str, Node]]:
    yield from ((ask.requirement.key, ask.node) for way in requirement_sets(workload.pod) for ask in way)
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
    _requirements_are_well_formed,
    _some_node_can_fit,
    _nodes_are_not_named,
    _texts_are_texts,
    _names_are_alive,
)
