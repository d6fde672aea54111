"""Pods that a cluster creates from Kubernetes objects. Values of a wrong type are read as unset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of
from speccompile.placement.seldon.objects import non_null_at
from speccompile.placement.seldon.operator_merge import merge_server
from speccompile.placement.seldon.server_pods import config_of, replicas_of

_POD: KeyPath = ("spec", "template", "spec")
_JOB: KeyPath = ("spec", "jobTemplate")
_SUSPEND: KeyPath = ("spec", "suspend")
_DAEMON_SET = ("apps", "DaemonSet")


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


WorkloadReader: TypeAlias = Callable[[Node, Sequence[Node]], Iterator[PodWorkload]]
"""Read the workloads of an object, which may depend on the other objects."""
WorkloadReaders: TypeAlias = Mapping[tuple[str, str], WorkloadReader]
"""By API group, empty for the core group, and kind."""


def workloads(objects: Sequence[Node]) -> tuple[PodWorkload, ...]:
    """The workloads of the objects, in their order."""
    readers = ((tree, WORKLOAD_READERS.get((group_of(tree), kind_of(tree)))) for tree in objects)
    return tuple(workload for tree, reader in readers if reader is not None for workload in reader(tree, objects))


def not_placed(objects: Sequence[Node]) -> tuple[Node, ...]:
    """The objects with a pod template whose pods are not placed.

    A DaemonSet runs a pod on every matching node, and the number of pods of an unknown kind is not known.
    """
    return tuple(tree for tree in objects if _has_template(tree) and not is_placed(tree))


def is_placed(tree: Node) -> bool:
    """Whether the pods of its kind are placed."""
    key = (group_of(tree), kind_of(tree))
    return key in WORKLOAD_READERS and key != _DAEMON_SET


def _has_template(tree: Node) -> bool:
    containers = tree.at((*_POD, "containers"))
    return containers is not None and isinstance(containers.value, tuple)


def _count_at(tree: Node, path: KeyPath) -> int | None:
    """The integer at the path, at least 0; None if there is none."""
    node = tree.at(path)
    value = None if node is None else node.value
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else None


def _of_pod(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    yield from _workload(tree, tree.at(("spec",)), 1)


def _of_replicas(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    replicas = _count_at(tree, ("spec", "replicas"))
    yield from _workload(tree, tree.at(_POD), 1 if replicas is None else replicas)


def _of_stateful_set(tree: Node, objects: Sequence[Node]) -> Iterator[PodWorkload]:
    claims = tree.at(("spec", "volumeClaimTemplates"))
    yield from (workload._replace(claims=claims) for workload in _of_replicas(tree, objects))


def _of_daemon_set(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    yield from _workload(tree, tree.at(_POD), 1)


def _of_job(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    yield from _workload(tree, tree.at(_POD), _parallel_pods(tree), is_suspended=_is_true(tree, _SUSPEND))


def _of_cron_job(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    job = tree.at(_JOB)
    if job is not None:
        is_suspended = _is_true(tree, _SUSPEND) or _is_true(job, _SUSPEND)
        yield from _workload(tree, job.at(_POD), _parallel_pods(job), is_suspended=is_suspended)


def _parallel_pods(job: Node) -> int:
    """Pods of a Job that run at the same time: its parallelism, at most its completions."""
    parallelism, completions = _count_at(job, ("spec", "parallelism")), _count_at(job, ("spec", "completions"))
    parallel = 1 if parallelism is None else parallelism
    return parallel if completions is None else min(parallel, completions)


def _is_true(tree: Node, path: KeyPath) -> bool:
    node = tree.at(path)
    return node is not None and node.value is True


def _workload(owner: Node, pod: Node | None, replicas: int, *, is_suspended: bool = False) -> Iterator[PodWorkload]:
    if pod is not None and isinstance(pod.value, dict):
        yield PodWorkload(owner, pod, replicas, is_suspended)


def _of_seldon_server(tree: Node, objects: Sequence[Node]) -> Iterator[PodWorkload]:
    """The pods of a Seldon Server, merged over its ServerConfig: one of the objects, or a stock one."""
    config = config_of(tree, objects)
    claims = non_null_at(config, ("spec", "volumeClaimTemplates"))
    yield PodWorkload(tree, merge_server(tree, config).pod, replicas_of(tree), claims=claims)


WORKLOAD_READERS: WorkloadReaders = {
    ("", "Pod"): _of_pod,
    ("", "ReplicationController"): _of_replicas,
    ("batch", "Job"): _of_job,
    ("batch", "CronJob"): _of_cron_job,
    ("apps", "Deployment"): _of_replicas,
    ("apps", "ReplicaSet"): _of_replicas,
    ("apps", "StatefulSet"): _of_stateful_set,
    _DAEMON_SET: _of_daemon_set,
    ("mlops.seldon.io", "Server"): _of_seldon_server,
}
