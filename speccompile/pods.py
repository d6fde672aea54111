"""Takes a tree of Kubernetes, gives what is in it: the objects of a list, the pod of an object, its containers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model import KeyPath, Node

MAIN = "main"
"""The container of a base document that the run's fields go into; any other is a sidecar."""
PODS: Mapping[str, KeyPath] = {
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
}


def main_of(base: Node) -> Node | None:
    """The base document's main container, if it has one."""
    return next((one for one in containers_of(pod_of(base), "containers") if one.fields["name"].value == MAIN), None)


def volumes_of(base: Node) -> Mapping[str, Node]:
    """The names of the base document's volumes."""
    pod = pod_of(base)
    volumes = pod.fields.get("volumes") if pod else None
    return {str(item.fields["name"].value): item.fields["name"] for item in volumes.items} if volumes else {}


def pod_of(tree: Node) -> Node | None:
    return tree.at(PODS.get(str(tree.fields["kind"].value), ("nowhere",)))


def containers_of(pod: Node | None, section: str) -> tuple[Node, ...]:
    node = pod.fields.get(section) if pod else None
    return node.items if node else ()


def members(root: Node) -> Iterator[Node]:
    """The objects of a list as `kubectl get -o yaml` prints it, lists in it too, or the one object itself."""
    kind, items = root.fields.get("kind"), root.fields.get("items")
    if kind is not None and kind.value == "List" and items is not None and isinstance(items.value, tuple):
        for item in items.items:
            yield from members(item)
    else:
        yield root
