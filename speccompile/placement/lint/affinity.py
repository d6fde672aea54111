"""Lint rules about node affinity and selectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.placement.lint.contradictions import SAYS, Ask, clash, faults_of
from speccompile.placement.lint.pod_questions import (
    OLD_CONTROL_PLANE,
    PREFERRED,
    REQUIRED,
    alternatives,
    containers,
    items_of,
    needs,
    tolerations,
)
from speccompile.placement.lint.scene import Rule, Scene, Told, finding_at, shown_scalar, stands
from speccompile.placement.pod_requirements import Requirement
from speccompile.placement.workloads import Workload

_LABELS, _FIELDS = "matchExpressions", "matchFields"
_NAME = "metadata.name"


def _requirements_are_well_formed(scene: Scene) -> Iterator[Diagnostic]:
    for workload in scene.own_workloads:
        for node, fault, cure in faults_of_affinity(workload.pod):
            told = Told("placement/bad-requirement", fault, cure, Severity.ERROR)
            yield finding_at(scene, told, workload.owner, node)


def faults_of_affinity(pod: Node) -> Iterator[tuple[Node, str, str]]:
    """What is wrong with a node affinity: the place, the fault, the cure."""
    required = pod.at(REQUIRED)
    terms = items_of(required, "nodeSelectorTerms")
    if required is not None and required.value is not None and not terms:
        yield required, "a required node affinity without terms, which Kubernetes refuses", "add a term, or take it out"
    for term in terms:
        if not items_of(term, _LABELS) and not items_of(term, _FIELDS):
            yield term, "this term is empty, and matches no node", "say in it what nodes are meant, or take it out"
    preferred = pod.at(PREFERRED)
    softly = (item.fields.get("preference") for item in (preferred.items if preferred else ()))
    for term in (*terms, *(one for one in softly if one)):
        for section in (_LABELS, _FIELDS):
            for item in items_of(term, section):
                yield from ((item, *told) for told in _faults_of(section, item))


def _faults_of(section: str, item: Node) -> Iterator[tuple[str, str]]:
    key, operator = (_text(item.fields.get(name)) for name in ("key", "operator"))
    values = tuple(_text(child) for child in items_of(item, "values"))
    if operator not in SAYS:
        yield f"there is no operator {quote(operator)}", f"write one of {', '.join(SAYS)}"
    elif section == _FIELDS and (key != _NAME or operator not in ("In", "NotIn") or len(values) != 1):
        yield (
            "`matchFields` can ask for the name of one node, and for nothing else",
            f"write `key: {_NAME}`, `operator: In` and one value",
        )
    else:
        for fault in faults_of(Requirement(key, operator, values)):
            yield f"Kubernetes cannot use this requirement of operator `{operator}`: {fault}", "mend its `values`"


def _text(node: Node | None) -> str:
    return node.value if node is not None and isinstance(node.value, str) else ""


def _some_node_can_fit(scene: Scene) -> Iterator[Diagnostic]:
    for workload in scene.own_workloads:
        told = _clashes(workload.pod)
        dead = [asks for asks in told if asks]
        if dead and len(dead) == len(told):
            others = [Note(f"nor is there another way: {_reason(asks)}", asks[-1].node.place) for asks in dead[1:]]
            yield _told_clash(scene, workload, dead[0], _NO_NODE, *others)
        else:
            yield from (_told_clash(scene, workload, asks, _NO_WAY) for asks in dead)


def is_impossible(pod: Node) -> bool:
    """Whether what the pod asks of nodes excludes itself."""
    told = _clashes(pod)
    return bool(told) and all(told)


def _clashes(pod: Node) -> list[tuple[Ask, ...]]:
    """What excludes itself of each term; nothing is told of what a cluster would refuse."""
    pin = needs(pod).pin
    if not pin.terms or pin.faults or any(faults_of_affinity(pod)):
        return []
    return [clash(way) for way in alternatives(pod)]


_NO_NODE = Told("placement/contradiction", "no node can ever fit", "change one of the two", Severity.ERROR)
_NO_WAY = Told(
    "placement/dead-term",
    "one of the alternatives fits no node",
    "change one of the two, or take the alternative out",
    Severity.NOTICE,
)


def _told_clash(scene: Scene, workload: Workload, asks: tuple[Ask, ...], told: Told, *more: Note) -> Diagnostic:
    *others, last = asks
    notes = [note for ask in others for note in stands(f"that it must {ask.says}", ask.node)]
    message = f"{told.message}: {_reason(asks)}"
    return finding_at(scene, told._replace(message=message), workload.owner, last.node, *notes, *more)


def _reason(asks: tuple[Ask, ...]) -> str:
    return f"{asks[0].what} would have to {' and '.join(dict.fromkeys(ask.says for ask in asks))}"


def _nodes_are_not_named(scene: Scene) -> Iterator[Diagnostic]:
    for workload in scene.own_workloads:
        node = workload.pod.fields.get("nodeName")
        # A pod out of a cluster has been put on its node by the scheduler.
        if node is None or not _text(node) or "status" in workload.owner.fields:
            continue
        told = Told(
            "placement/node-name",
            f"`nodeName` puts the pods on {quote(node.value)} past the scheduler, whether there is room or not",
            "select the node by its label `kubernetes.io/hostname`",
        )
        many = [Note(f"all {workload.replicas} pods are put on this one node")] if workload.replicas > 1 else []
        yield finding_at(scene, told, workload.owner, node, *many)


def _texts_are_texts(scene: Scene) -> Iterator[Diagnostic]:
    for workload in scene.own_workloads:
        for what, node in _said_as_text(workload.pod):
            if not node.is_scalar or node.value is None or isinstance(node.value, str):
                continue
            word = shown_scalar(node)
            # A variable may hold a password.
            said, cure = ("this", "quote it") if what == _VARIABLE else (word, f'quote it: "{word[1:-1]}"')
            message = f"{what} must be a string, and Kubernetes reads {said} as none"
            yield finding_at(scene, Told("placement/not-text", message, cure, Severity.ERROR), workload.owner, node)


_VARIABLE = "the value of a variable"


def _said_as_text(pod: Node) -> Iterator[tuple[str, Node]]:
    selector = pod.fields.get("nodeSelector")
    yield from (("the value of a label", child) for child in (selector.fields.values() if selector else ()))
    for item in items_of(pod, "tolerations"):
        yield from (("the value of a taint", item.fields[key]) for key in ("key", "value") if key in item.fields)
    for term in items_of(pod.at(REQUIRED), "nodeSelectorTerms"):
        for item in items_of(term, _LABELS):
            yield from (("the value of a label", child) for child in items_of(item, "values"))
    for container in containers(pod):
        variables = (item.fields.get("value") for item in items_of(container, "env"))
        yield from ((_VARIABLE, child) for child in variables if child)


def _names_are_alive(scene: Scene) -> Iterator[Diagnostic]:
    for workload in scene.own_workloads:
        for name, node in _names(workload):
            if name in _GONE:
                fault, instead = _GONE[name]
                told = Told("placement/gone", f"{quote(name)} {fault}", f"write {instead}")
                yield finding_at(scene, told, workload.owner, node)


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


def _names(workload: Workload) -> Iterator[tuple[str, Node]]:
    yield from ((ask.requirement.key, ask.node) for way in alternatives(workload.pod) for ask in way)
    yield from ((allowed.toleration.key, allowed.node) for allowed in tolerations(workload.pod))
    for path in _ANNOTATIONS:
        annotations = workload.owner.at(path)
        yield from (annotations.fields if annotations else {}).items()


_ANNOTATIONS: tuple[KeyPath, ...] = (
    ("metadata", "annotations"),
    ("spec", "template", "metadata", "annotations"),
    ("spec", "jobTemplate", "spec", "template", "metadata", "annotations"),
)

AFFINITY: tuple[Rule, ...] = (
    _requirements_are_well_formed,
    _some_node_can_fit,
    _nodes_are_not_named,
    _texts_are_texts,
    _names_are_alive,
)
