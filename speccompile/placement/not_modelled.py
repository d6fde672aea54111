"""Features that affect placement and are not evaluated."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.workloads import PodWorkload


class Unmodelled(NamedTuple):
    """A feature that affects where a pod runs."""

    what: str
    uses: Callable[[PodWorkload], Node | None]
    """The value of a workload that uses the feature; None if it does not use it."""


def unmodelled_features(workload: PodWorkload) -> Iterator[tuple[str, Node]]:
    """The features that the workload uses, each with the value that uses it."""
    for row in UNMODELLED:
        node = row.uses(workload)
        if node is not None:
            yield row.what, node


def _first_set(*paths: KeyPath) -> Callable[[PodWorkload], Node | None]:
    def uses(workload: PodWorkload) -> Node | None:
        nodes = (workload.pod.at(path) for path in paths)
        return next((node for node in nodes if node is not None and node.value), None)

    return uses


def _volume(workload: PodWorkload) -> Node | None:
    volumes, claims = workload.pod.fields.get("volumes"), workload.claims
    items = volumes.items if volumes is not None else ()
    persistent = (item for item in items if item.fields.keys() & _VOLUME_SOURCES)
    return next(persistent, claims if claims is not None and claims.value else None)


def _other_scheduler(workload: PodWorkload) -> Node | None:
    node = workload.pod.fields.get("schedulerName")
    return node if node is not None and node.value not in (None, "", "default-scheduler") else None


def _never(_: PodWorkload) -> None:
    return None


_VOLUME_SOURCES = frozenset(
    {"persistentVolumeClaim", "ephemeral", "csi", "gcePersistentDisk", "awsElasticBlockStore", "rbd"}
)
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"

UNMODELLED: tuple[Unmodelled, ...] = (
    Unmodelled("volumes: their zones, the nodes that can attach them, and attach limits", _volume),
    Unmodelled("topologySpreadConstraints", _first_set(("topologySpreadConstraints",))),
    Unmodelled(
        "affinity and anti-affinity to other pods",
        _first_set(("affinity", "podAffinity"), ("affinity", "podAntiAffinity")),
    ),
    Unmodelled("resourceClaims (dynamic resource allocation)", _first_set(("resourceClaims",))),
    Unmodelled("preferred node affinity", _first_set(("affinity", "nodeAffinity", _PREFERRED))),
    Unmodelled("priority and preemption", _first_set(("priorityClassName",))),
    Unmodelled("runtimeClassName: its overhead, node selector and tolerations", _first_set(("runtimeClassName",))),
    Unmodelled("schedulingGates", _first_set(("schedulingGates",))),
    Unmodelled("schedulerName: other schedulers", _other_scheduler),
    Unmodelled("quotas, LimitRanges and admission webhooks", _never),
    Unmodelled("containers and pods that operators add, such as the submitter of a RayJob", _never),
    Unmodelled("the architecture and operating system of the image", _never),
    Unmodelled("in-place resizing of pods", _never),
)
"""Some features affect every pod and are not reported per workload."""
