"""Pods that a cluster creates from Kubernetes objects. Values of a wrong type are read as unset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of
from speccompile.placement.pod_sets import EACH, POD_SETS, PODLESS, Count, ObjectKind, PodSet, holders
from speccompile.placement.seldon.objects import non_null_at
from speccompile.placement.seldon.operator_merge import merge_server
from speccompile.placement.seldon.server_pods import config_of, replicas_of

_DAEMON_SET: ObjectKind = ("apps", "DaemonSet")
_SELDON_SERVER: ObjectKind = ("mlops.seldon.io", "Server")


class PodWorkload(NamedTuple):
    """Identical pods, and the object that creates them."""

    owner: Node
    """The object; every value has its origin."""
    pod: Node
    """The PodSpec as it would be in the cluster."""
    replicas: int
    """Pods that run at the same time; 1 for a DaemonSet."""
    is_suspended: bool = False
    """Whether it is suspended, and creates no pods."""
    claims: Node | None = None
    """The `volumeClaimTemplates` of a StatefulSet or ServerConfig."""
    part: str = ""
    """The path of the part of the object that defines the pods, if the object may have several."""
    is_complete: bool = True
    """Whether the PodSpec is known in full; that of a Seldon Server is not without its ServerConfig."""

    @property
    def pods(self) -> int:
        """The number of pods; 0 if suspended."""
        return 0 if self.is_suspended else self.replicas

    @property
    def kind(self) -> str:
        return kind_of(self.owner)

    @property
    def name(self) -> str:
        return name_of(self.owner)

    @property
    def namespace(self) -> str:
        return namespace_of(self.owner)


class ObjectPods(NamedTuple):
    """The pods of some objects, as far as they are known."""

    workloads: tuple[PodWorkload, ...]
    """In the order of the objects."""
    unknown: tuple[Node, ...]
    """The objects with pods, or possibly with pods, that are not among the workloads."""


def pods_of(objects: Sequence[Node], declared: Mapping[ObjectKind, tuple[PodSet, ...]] | None = None) -> ObjectPods:
    """Find the pods of the objects; targets declare where those of other kinds are."""
    workloads: list[PodWorkload] = []
    unknown: list[Node] = []
    for tree in objects:
        kind = (group_of(tree), kind_of(tree))
        if kind == _SELDON_SERVER:
            pods: list[PodWorkload | None] = [_seldon_server(tree, objects)]
        elif kind in PODLESS:
            continue
        else:
            pod_sets = POD_SETS.get(kind) or (declared or {}).get(kind, ())
            pods = [workload for pod_set in pod_sets for workload in _workloads(tree, pod_set, len(pod_sets))]
        workloads += [workload for workload in pods if workload]
        if not pods or not all(workload and workload.is_complete for workload in pods):
            unknown.append(tree)
    return ObjectPods(tuple(workloads), tuple(unknown))


def is_daemon_set(tree: Node) -> bool:
    """Whether it runs a pod on every matching node, so that its pods are not placed."""
    return (group_of(tree), kind_of(tree)) == _DAEMON_SET


def _workloads(tree: Node, pod_set: PodSet, pod_sets: int) -> Iterator[PodWorkload | None]:
    """The workload of each holder of a pod template; None for one without a template."""
    for path, holder in holders(tree, pod_set.holder):
        pod = None if holder is None else holder.at(pod_set.pod)
        if holder is None or pod is None or not isinstance(pod.value, dict):
            yield None
            continue
        job = None if pod_set.job is None else holder.at(pod_set.job)
        yield PodWorkload(
            tree,
            pod,
            prod(_number(holder, count) for count in pod_set.counts) * (_parallel_pods(job) if job else 1),
            any(_is_true(tree, at) for at in pod_set.suspends) or (job is not None and _is_true(job, ("suspend",))),
            tree.at(pod_set.claims) if pod_set.claims else None,
            format_path(path) if pod_sets > 1 or EACH in pod_set.holder else "",
        )


def _number(holder: Node, count: Count) -> int:
    return max(
        (number for path in count.paths if (number := _count_at(holder, path)) is not None), default=count.default
    )


def _count_at(tree: Node, path: KeyPath) -> int | None:
    """The integer at the path, at least 0; None if there is none."""
    node = tree.at(path)
    value = None if node is None else node.value
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else None


def _parallel_pods(job: Node) -> int:
    """Pods of a JobSpec that run at the same time: its parallelism, at most its completions."""
    parallelism, completions = _count_at(job, ("parallelism",)), _count_at(job, ("completions",))
    parallel = 1 if parallelism is None else parallelism
    return parallel if completions is None else min(parallel, completions)


def _is_true(tree: Node, path: KeyPath) -> bool:
    node = tree.at(path)
    return node is not None and node.value is True


def _seldon_server(tree: Node, objects: Sequence[Node]) -> PodWorkload:
    """The pods of a Seldon Server, merged over its ServerConfig: one of the objects, or a stock one."""
    config = config_of(tree, objects)
    claims = non_null_at(config, ("spec", "volumeClaimTemplates"))
    pod = merge_server(tree, config).pod
    return PodWorkload(tree, pod, replicas_of(tree), claims=claims, is_complete=config is not None)
