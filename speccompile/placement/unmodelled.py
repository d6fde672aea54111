"""Takes a PodSpec, gives what of it also decides where it runs, and is not looked at here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from speccompile.model import KeyPath, Node
from speccompile.records import NamedTuple


class Unmodelled(NamedTuple):
    """Something that also decides where a pod runs."""

    what: str
    uses: Callable[[Node], Node | None]
    """What of a pod makes it matter; None if it does not."""


def not_looked_at(pod: Node) -> Iterator[tuple[str, Node]]:
    """What this very pod has that is not looked at, with the node that says so; nothing raises."""
    for row in UNMODELLED:
        node = row.uses(pod)
        if node is not None:
            yield row.what, node


def _said(*paths: KeyPath) -> Callable[[Node], Node | None]:
    def uses(pod: Node) -> Node | None:
        found = (pod.at(path) for path in paths)
        return next((node for node in found if node is not None and node.value), None)

    return uses


def _volume(pod: Node) -> Node | None:
    volumes = pod.fields.get("volumes")
    items = volumes.items if volumes is not None else ()
    return next((item for item in items if item.fields.keys() & _STORED), None)


def _other_scheduler(pod: Node) -> Node | None:
    node = pod.fields.get("schedulerName")
    return node if node is not None and node.value not in (None, "", "default-scheduler") else None


def _never(_: Node) -> None:
    return None


_STORED = frozenset({"persistentVolumeClaim", "ephemeral", "csi", "gcePersistentDisk", "awsElasticBlockStore", "rbd"})
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

UNMODELLED: tuple[Unmodelled, ...] = (
    Unmodelled("volumes: which nodes can have them, their zones, and how many a node takes", _volume),
    Unmodelled("topologySpreadConstraints", _said(("topologySpreadConstraints",))),
    Unmodelled(
        "affinity and anti-affinity to other pods",
        _said(("affinity", "podAffinity"), ("affinity", "podAntiAffinity")),
    ),
    Unmodelled("resourceClaims (dynamic resource allocation)", _said(("resourceClaims",))),
    Unmodelled("preferences, which choose among nodes that fit", _said(("affinity", "nodeAffinity", _PREFERRED))),
    Unmodelled("priority and preemption", _said(("priorityClassName",))),
    Unmodelled("runtimeClassName: the overhead, nodes and tolerations of the class", _said(("runtimeClassName",))),
    Unmodelled("schedulingGates", _said(("schedulingGates",))),
    Unmodelled("schedulerName: what another scheduler decides", _other_scheduler),
    Unmodelled("quotas, LimitRanges and webhooks, which may refuse or change a pod", _never),
    Unmodelled("whether a node can run the image: its architecture and operating system", _never),
    Unmodelled("pods that are being resized in place", _never),
)
"""What is not looked at; some of it matters to any pod, and so is told of none."""
