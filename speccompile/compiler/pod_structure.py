"""Find lists, objects, pods and containers in Kubernetes trees."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import Span

MAIN = "main"
"""The container of a base document that gets the run's fields; any other is a sidecar."""
POD_PATHS: Mapping[str, KeyPath] = {
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
}
"""Path of the pod in Kubernetes kinds; targets add paths of other kinds."""


def main_of(pod: Node | None) -> Node | None:
    """The main container of a base document's pod."""
    return next((one for one in containers_of(pod, "containers") if one.fields["name"].value == MAIN), None)


def volumes_of(tree: Node, pods: Mapping[str, KeyPath] = POD_PATHS) -> Mapping[str, Node]:
    """The names of the volumes of the object's pods, those of volume claim templates included."""
    pod, claims = pod_of(tree, pods), tree.at(("spec", "volumeClaimTemplates"))
    volumes = pod.fields.get("volumes") if pod else None
    listed = (*(volumes.items if volumes else ()), *(claims.items if claims else ()))
    named = (item.fields.get("name") or item.at(("metadata", "name")) for item in listed)
    return {str(name.value): name for name in named if name}


def pod_of(tree: Node, pods: Mapping[str, KeyPath] = POD_PATHS) -> Node | None:
    path = pods.get(str(tree.fields["kind"].value))
    return tree.at(path) if path else None


def containers_of(pod: Node | None, section: str) -> tuple[Node, ...]:
    node = pod.fields.get(section) if pod else None
    return node.items if node else ()


def object_span(tree: Node) -> Span:
    """The span of an object in findings: its first key, since the whole mapping covers many lines."""
    keys = [child.key for child in tree.fields.values() if child.key]
    return min(keys, key=lambda span: (span.line, span.column), default=tree.span)


def members(root: Node) -> Iterator[Node]:
    """The objects of a (nested) List as `kubectl get -o yaml` prints it, or the object itself."""
    kind, items = root.fields.get("kind"), root.fields.get("items")
    if kind is not None and kind.value == "List" and items is not None and isinstance(items.value, tuple):
        for item in items.items:
            yield from members(item)
    else:
        yield root
