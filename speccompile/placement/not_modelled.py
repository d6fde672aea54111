"""What also decides where pods run, and is not modelled here."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.workloads import PodWorkload


class Unmodelled(NamedTuple):
    """Something that also decides where a pod runs."""

    what: str
    uses: Callable[[PodWorkload], Node | None]
    """What of the pods makes it matter; None if it does not."""


def unmodelled_features(workload: PodWorkload) -> Iterator[tuple[str, Node]]:
    """What these very pods have that is not looked at, with the node that says so; nothing raises."""
    for row in UNMODELLED:
        node = row.uses(workload)
        if node is not None:
            yield row.what, node


def _said(*paths: KeyPath) -> Callable[[PodWorkload], Node | None]:
    def uses(workload: PodWorkload) -> Node | None:
        found = (workload.pod.at(path) for path in paths)
        return next((node for node in found if node is not None and node.value), None)

    return uses


def _volume(workload: PodWorkload) -> Node | None:
    volumes, claims = workload.pod.fields.get("volumes"), workload.claims
    items = volumes.items if volumes is not None else ()
    stored = (item for item in items if item.fields.keys() & _STORED)
    return next(stored, claims if claims is not None and claims.value else None)


def _other_scheduler(workload: PodWorkload) -> Node | None:
    node = workload.pod.fields.get("schedulerName")
    return node if node is not None and node.value not in (None, "", "default-scheduler") else None


def _never(_: PodWorkload) -> None:
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
