"""A cluster from saved `kubectl get` output."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.documents import Document
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Span
from speccompile.placement.machine import Machine, Taint, Usage
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of
from speccompile.placement.pod_requirements import ResourceAmounts, amount_of, needs_of

_OVER = frozenset({"Succeeded", "Failed"})
"""Phases of pods that have given back what they had."""
_LISTS = frozenset({"List", "NodeList", "PodList"})
_UNEXPECTED, _MALFORMED, _TWICE, _EMPTY = (
    "snapshot/unexpected-object",
    "snapshot/malformed",
    "snapshot/listed-twice",
    "snapshot/no-nodes",
)
_UNKNOWN_NODE = "snapshot/unknown-node"


class Cluster(NamedTuple):
    """The nodes of a cluster, and what is taken of each."""

    machines: tuple[Machine, ...] = ()
    """In the order of their names."""
    used: Mapping[str, Usage] = {}
    """By the name of the node; one without pods may be missing."""
    knows_pods: bool = False
    """Whether anybody said what runs there."""

    def usage(self, machine: Machine) -> Usage:
        return self.used.get(machine.name, _UNUSED)


_UNUSED = Usage()


class Snapshot(NamedTuple):
    """A cluster, and everything that is wrong with the documents that show it."""

    cluster: Cluster
    findings: tuple[Diagnostic, ...]


def snapshot(nodes: Iterable[Document], pods: Iterable[Document] | None = None) -> Snapshot:
    """The cluster; without any documents of pods, nothing is taken. Nothing raises, whatever the documents are."""
    findings: list[Diagnostic] = []
    documents = tuple(nodes)
    trees = [*_each(_expected(documents, "Node", findings), findings)]
    machines = tuple(sorted((_machine(tree, findings) for tree in trees), key=lambda machine: machine.name))
    if documents and not machines and not findings:
        findings.append(_no_nodes(documents[0]))
    running = () if pods is None else _each(_expected(pods, "Pod", findings), findings)
    used, strays = _used(running, {machine.name for machine in machines})
    findings += _stray(strays)
    return Snapshot(Cluster(machines, used, pods is not None), tuple(findings))


def _expected(documents: Iterable[Document], kind: str, findings: list[Diagnostic]) -> Iterator[Node]:
    """The objects of the kind; anything else is told."""
    for document in documents:
        for tree in _members(document.root):
            if (group_of(tree), kind_of(tree)) == ("", kind):
                yield tree
            else:
                findings.append(_unexpected(tree, kind))


def _members(root: Node) -> Iterator[Node]:
    """The objects of a list, of whatever name, which may leave out their kind where the list tells it."""
    kind, items = kind_of(root), root.fields.get("items")
    if kind not in _LISTS or items is None or not isinstance(items.value, tuple):
        yield root
        return
    told = {"kind": kind.removesuffix("List"), "apiVersion": "v1"} if kind != "List" else {}
    for item in items.items:
        missing = {key: Node(value, item.span) for key, value in told.items() if key not in item.fields}
        yield item.with_fields({**missing, **item.fields}) if missing and isinstance(item.value, dict) else item


def _each(trees: Iterable[Node], findings: list[Diagnostic]) -> Iterator[Node]:
    """Each object that has a name, once."""
    seen: set[tuple[str, str]] = set()
    for tree in trees:
        named = (namespace_of(tree), name_of(tree))
        if not named[1]:
            findings.append(_malformed(tree, ("metadata", "name"), f"a {kind_of(tree)} has a name"))
        elif named in seen:
            findings.append(
                Diagnostic(
                    code=_TWICE,
                    message=f"{kind_of(tree)} {quote(named[1])} is listed twice, and counts once, as listed first",
                    span=object_span(tree),
                    severity=Severity.WARNING,
                    help="give each file once, and files that were saved at one time",
                )
            )
        else:
            seen.add(named)
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
    told: dict[str, str] = {}
    for key, node in labels.fields.items() if labels else ():
        if isinstance(node.value, str):
            told[key] = node.value
        else:
            findings.append(_malformed(tree, (*path, key), "a label is a text"))
    return told


def _taints(tree: Node, findings: list[Diagnostic]) -> Iterator[Taint]:
    taints = tree.at(("spec", "taints"))
    if taints is not None and taints.value is not None and not isinstance(taints.value, tuple):
        findings.append(_malformed(tree, ("spec", "taints"), "taints are a list"))
    for index, item in enumerate(taints.items if taints else ()):
        key, value, effect = (item.fields.get(name) for name in Taint._fields)
        if key is None or effect is None or not isinstance(key.value, str) or not isinstance(effect.value, str):
            findings.append(_malformed(tree, ("spec", "taints", index), "a taint has a key and an effect"))
            continue
        yield Taint(key.value, str(value.value) if value is not None and value.value is not None else "", effect.value)


def _allocatable(tree: Node, findings: list[Diagnostic]) -> ResourceAmounts:
    """What pods can have of the node; where it does not say, all that it has."""
    path: KeyPath = ("status", "allocatable")
    if tree.at(path) is None:
        path = ("status", "capacity")
    written = tree.at(path)
    told: dict[str, int] = {}
    for resource, node in written.fields.items() if written else ():
        amount = amount_of(node, resource)
        if amount is None:
            findings.append(_malformed(tree, (*path, resource), "an amount is a quantity, such as 8 or 32Gi"))
        else:
            told[resource] = amount
    return told


def _used(pods: Iterable[Node], known: set[str]) -> tuple[dict[str, Usage], list[Node]]:
    """What is taken of each node, and the pods that run on nodes that nobody knows."""
    used: dict[str, Usage] = {}
    strays: list[Node] = []
    for tree in pods:
        node, phase, pod = tree.at(("spec", "nodeName")), tree.at(("status", "phase")), tree.at(("spec",))
        if node is None or not isinstance(node.value, str) or not node.value or pod is None:
            continue
        if phase is not None and phase.value in _OVER:
            continue
        if node.value in known:
            used[node.value] = used.get(node.value, _UNUSED).with_pods(needs_of(pod), 1)
        else:
            strays.append(tree)
    return used, strays


def object_span(tree: Node) -> Span:
    """The place of an object as a whole: a mapping that reaches over many lines is shown by its first key."""
    keys = [child.key for child in tree.fields.values() if child.key]
    return min(keys, key=lambda span: (span.line, span.column), default=tree.span)


def _unexpected(tree: Node, kind: str) -> Diagnostic:
    found = kind_of(tree)
    return Diagnostic(
        code=_UNEXPECTED,
        message=f"this is {f'a {quote(found)}' if found else 'no object of Kubernetes'}, and a {kind} is expected",
        span=object_span(tree),
        help=f"save the file with: kubectl get {_CALLS[kind]} -o yaml",
    )


_CALLS = {"Node": "nodes", "Pod": "pods -A"}


def _malformed(tree: Node, path: KeyPath, expected: str) -> Diagnostic:
    node = tree.at(path)
    name = name_of(tree)
    return Diagnostic(
        code=_MALFORMED,
        message=f"this cannot be read{f', in {kind_of(tree)} {quote(name)}' if name else ''}: {expected}",
        span=object_span(tree) if node is None else node.place,
        path=path,
        help="save the file again, and do not edit it",
    )


def _no_nodes(document: Document) -> Diagnostic:
    return Diagnostic(
        code=_EMPTY,
        message="there are no nodes here",
        span=document.root.span,
        help="save the file with: kubectl get nodes -o yaml",
    )


def _stray(strays: Sequence[Node]) -> Iterator[Diagnostic]:
    if strays:
        first = strays[0]
        node = first.at(("spec", "nodeName"))
        pods = "1 pod runs" if len(strays) == 1 else f"{len(strays)} pods run"
        yield Diagnostic(
            code=_UNKNOWN_NODE,
            message=f"{pods} on nodes that are not among those given, such as {quote(node.value if node else '')}",
            span=node.place if node is not None else object_span(first),
            severity=Severity.NOTICE,
            help="save both files at one time, and of one cluster",
        )
