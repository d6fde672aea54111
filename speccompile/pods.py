"""Takes an object that makes pods, gives its pod and containers."""

from __future__ import annotations

from collections.abc import Mapping

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
