"""A cluster from saved `kubectl get` output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccompile.compiler.pod_structure import object_span
from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.documents import Document
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.machine import Machine, Taint, Usage
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of
from speccompile.placement.pod_requirements import ResourceAmounts, amount_of, needs_of

_FINISHED_PHASES = frozenset({"Succeeded", "Failed"})
"""Phases of pods that use no resources any more."""
_LISTS = frozenset({"List", "NodeList", "PodList"})
_UNEXPECTED, _MALFORMED, _TWICE, _EMPTY = (
    "snapshot/unexpected-object",
    "snapshot/malformed",
    "snapshot/listed-twice",
    "snapshot/no-nodes",
)
_UNKNOWN_NODE = "snapshot/unknown-node"


class Cluster(NamedTuple):
    """The nodes of a cluster, and what the pods on each node use."""

    machines: tuple[Machine, ...] = ()
    """Sorted by name."""
    used: Mapping[str, Usage] = {}
    """By node name; nodes without pods may be missing."""
    knows_pods: bool = False
    """Whether pod files were read."""

    def usage(self, machine: Machine) -> Usage:
        return self.used.get(machine.name, _UNUSED)


_UNUSED = Usage()


class Snapshot(NamedTuple):
    """A cluster, and the findings about the documents that it was read from."""

    cluster: Cluster
    findings: tuple[Diagnostic, ...]


def snapshot(nodes: Iterable[Document], pods: Iterable[Document] | None = None) -> Snapshot:
    """Read a cluster; without documents of pods, its nodes are empty. Malformed documents are reported, not raised."""
    findings: list[Diagnostic] = []
    documents = tuple(nodes)
    trees = [*_each(_expected(documents, "Node", findings), findings)]
    machines = tuple(sorted((_machine(tree, findings) for tree in trees), key=lambda machine: machine.name))
    if documents and not machines and not findings:
        findings.append(_no_nodes(documents[0]))
    running = () if pods is None else _each(_expected(pods, "Pod", findings), findings)
    used, unknown_node_pods = _used(running, {machine.name for machine in machines})
    findings += _unknown_node_findings(unknown_node_pods)
    return Snapshot(Cluster(machines, used, pods is not None), tuple(findings))


def _expected(documents: Iterable[Document], kind: str, findings: list[Diagnostic]) -> Iterator[Node]:
    """The objects of the kind; anything else is reported."""
    for document in documents:
        for tree in _members(document.root):
            if (group_of(tree), kind_of(tree)) == ("", kind):
                yield tree
            else:
                findings.append(_unexpected(tree, kind))


def _members(root: Node) -> Iterator[Node]:
    """The items of a list; items of a `NodeList` or `PodList` may omit `kind` and `apiVersion`."""
    kind, items = kind_of(root), root.fields.get("items")
    if kind not in _LISTS or items is None or not isinstance(items.value, tuple):
        yield root
        return
    implied = {"kind": kind.removesuffix("List"), "apiVersion": "v1"} if kind != "List" else {}
    for item in items.items:
        missing = {key: Node(value, item.span) for key, value in implied.items() if key not in item.fields}
        yield item.with_fields({**missing, **item.fields}) if missing and isinstance(item.value, dict) else item


def _each(trees: Iterable[Node], findings: list[Diagnostic]) -> Iterator[Node]:
    """The objects that have a name, without duplicates."""
    seen: set[tuple[str, str]] = set()
    for tree in trees:
        identity = (namespace_of(tree), name_of(tree))
        if not identity[1]:
            findings.append(_malformed(tree, ("metadata", "name"), f"a {kind_of(tree)} needs a name"))
        elif identity in seen:
            findings.append(
                Diagnostic(
                    code=_TWICE,
                    message=f"{kind_of(tree)} {quote(identity[1])} is listed twice; the first one is used",
                    span=object_span(tree),
                    severity=Severity.WARNING,
                    help="pass each file once, and save all files at the same time",
                )
            )
        else:
            seen.add(identity)
            yield tree


def _machine(tree: Node, findings: list[Diagnostic]) -> Machine:
    cordoned = tree.at(("spec", "unschedulable"))
    return Machine(
        name_of(tree),
        _labels(tree, findings),
        tuple(_taints(tree, findings)),
        cordoned is not None and cordoned.value is True,
        _allocatable(tree, findings),
    )


def _labels(tree: Node, findings: list[Diagnostic]) -> dict[str, str]:
    path: KeyPath = ("metadata", "labels")
    labels = tree.at(path)
    values: dict[str, str] = {}
    for key, node in labels.fields.items() if labels else ():
        if isinstance(node.value, str):
            values[key] = node.value
        else:
            findings.append(_malformed(tree, (*path, key), "a label must be a string"))
    return values


def _taints(tree: Node, findings: list[Diagnostic]) -> Iterator[Taint]:
    taints = tree.at(("spec", "taints"))
    if taints is not None and taints.value is not None and not isinstance(taints.value, tuple):
        findings.append(_malformed(tree, ("spec", "taints"), "`taints` must be a list"))
    for index, item in enumerate(taints.items if taints else ()):
        key, value, effect = (item.fields.get(name) for name in Taint._fields)
        if key is None or effect is None or not isinstance(key.value, str) or not isinstance(effect.value, str):
            findings.append(_malformed(tree, ("spec", "taints", index), "a taint needs a key and an effect"))
            continue
        yield Taint(key.value, str(value.value) if value is not None and value.value is not None else "", effect.value)


def _allocatable(tree: Node, findings: list[Diagnostic]) -> ResourceAmounts:
    """The allocatable amounts of a node, or its capacity if they are missing."""
    path: KeyPath = ("status", "allocatable")
    if tree.at(path) is None:
        path = ("status", "capacity")
    resources = tree.at(path)
    values: dict[str, int] = {}
    for resource, node in resources.fields.items() if resources else ():
        amount = amount_of(node, resource)
        if amount is None:
            findings.append(_malformed(tree, (*path, resource), "an amount must be a quantity, such as 8 or 32Gi"))
        else:
            values[resource] = amount
    return values


def _used(pods: Iterable[Node], node_names: set[str]) -> tuple[dict[str, Usage], list[Node]]:
    """The usage of each node, and the pods on unknown nodes."""
    used: dict[str, Usage] = {}
    unknown_node_pods: list[Node] = []
    for tree in pods:
        node, phase, pod = tree.at(("spec", "nodeName")), tree.at(("status", "phase")), tree.at(("spec",))
        if node is None or not isinstance(node.value, str) or not node.value or pod is None:
            continue
        if phase is not None and phase.value in _FINISHED_PHASES:
            continue
        if node.value in node_names:
            used[node.value] = used.get(node.value, _UNUSED).with_pods(needs_of(pod), 1)
        else:
            unknown_node_pods.append(tree)
    return used, unknown_node_pods


def _unexpected(tree: Node, kind: str) -> Diagnostic:
    found = kind_of(tree)
    return Diagnostic(
        code=_UNEXPECTED,
        message=f"expected a {kind}, found {f'a {quote(found)}' if found else 'no Kubernetes object'}",
        span=object_span(tree),
        help=f"save the file with: kubectl get {_KUBECTL_ARGUMENTS[kind]} -o yaml",
    )


_KUBECTL_ARGUMENTS = {"Node": "nodes", "Pod": "pods -A"}


def _malformed(tree: Node, path: KeyPath, expected: str) -> Diagnostic:
    node = tree.at(path)
    name = name_of(tree)
    return Diagnostic(
        code=_MALFORMED,
        message=f"malformed {kind_of(tree)}{f' {quote(name)}' if name else ''}: {expected}",
        span=object_span(tree) if node is None else node.place,
        path=path,
        help="save the file again, without editing it",
    )


def _no_nodes(document: Document) -> Diagnostic:
    return Diagnostic(
        code=_EMPTY,
        message="no nodes in this file",
        span=document.root.span,
        help="save the file with: kubectl get nodes -o yaml",
    )


def _unknown_node_findings(unknown_node_pods: Sequence[Node]) -> Iterator[Diagnostic]:
    if unknown_node_pods:
        first = unknown_node_pods[0]
        node = first.at(("spec", "nodeName"))
        pods = "1 pod runs" if len(unknown_node_pods) == 1 else f"{len(unknown_node_pods)} pods run"
        yield Diagnostic(
            code=_UNKNOWN_NODE,
            message=f"{pods} on nodes that are not in the node files, such as {quote(node.value if node else '')}",
            span=node.place if node is not None else object_span(first),
            severity=Severity.NOTICE,
            help="save both files at the same time, from the same cluster",
        )
