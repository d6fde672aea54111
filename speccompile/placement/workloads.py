"""Pods that a cluster makes of Kubernetes objects.

Whatever the objects hold, wrong types too, nothing raises: what cannot be read is taken for not said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.object_identity import group_of, kind_of, name_of, namespace_of
from speccompile.placement.seldon.objects import node_at
from speccompile.placement.seldon.operator_merge import merge_server
from speccompile.placement.seldon.server_pods import config_of, replicas_of

_POD: KeyPath = ("spec", "template", "spec")
_JOB: KeyPath = ("spec", "jobTemplate")
_SUSPEND: KeyPath = ("spec", "suspend")
_DAEMON_SET = ("apps", "DaemonSet")


class PodWorkload(NamedTuple):
    """Pods that are all alike, and the object that makes them."""

    owner: Node
    """The whole object, every node with its origin."""
    pod: Node
    """The PodSpec as the cluster would come to have it."""
    replicas: int
    """Pods at once; of what has one on every node, one."""
    is_suspended: bool = False
    """Whether it makes none until somebody lets it."""
    claims: Node | None = None
    """The templates of volumes that each pod gets beside those of its PodSpec."""

    @property
    def pods(self) -> int:
        """Pods that there would be now."""
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


Maker: TypeAlias = Callable[[Node, Sequence[Node]], Iterator[PodWorkload]]
"""The workloads of an object, which may hang on the other objects beside it."""
Makers: TypeAlias = Mapping[tuple[str, str], Maker]
"""By API group, which is empty for the core, and kind."""


def workloads(objects: Sequence[Node]) -> tuple[PodWorkload, ...]:
    """The workloads of the objects, in their order; an object of any other kind has none."""
    makers = ((tree, MAKERS.get((group_of(tree), kind_of(tree)))) for tree in objects)
    return tuple(made for tree, maker in makers if maker is not None for made in maker(tree, objects))


def not_placed(objects: Sequence[Node]) -> tuple[Node, ...]:
    """The objects that have a template of pods, but whose pods nobody can place one by one.

    A DaemonSet has one on every node that takes it, and how many pods are made by kinds of others is theirs to say.
    """
    return tuple(tree for tree in objects if _has_template(tree) and not is_placed(tree))


def is_placed(tree: Node) -> bool:
    """Whether it is of a kind whose pods the scheduler puts where there is room."""
    key = (group_of(tree), kind_of(tree))
    return key in MAKERS and key != _DAEMON_SET


def _has_template(tree: Node) -> bool:
    containers = tree.at((*_POD, "containers"))
    return containers is not None and isinstance(containers.value, tuple)


def whole(tree: Node, path: KeyPath) -> int | None:
    """The whole number at the path, not below zero; None where there is none."""
    node = tree.at(path)
    value = None if node is None else node.value
    return max(value, 0) if isinstance(value, int) and not isinstance(value, bool) else None


def _one(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    yield from _made(tree, tree.at(("spec",)), 1)


def _replicated(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    replicas = whole(tree, ("spec", "replicas"))
    yield from _made(tree, tree.at(_POD), 1 if replicas is None else replicas)


def _stateful(tree: Node, objects: Sequence[Node]) -> Iterator[PodWorkload]:
    claims = tree.at(("spec", "volumeClaimTemplates"))
    yield from (made._replace(claims=claims) for made in _replicated(tree, objects))


def _everywhere(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    yield from _made(tree, tree.at(_POD), 1)


def _job(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    yield from _made(tree, tree.at(_POD), _at_once(tree), is_suspended=_is_true(tree, _SUSPEND))


def _cron_job(tree: Node, _: Sequence[Node]) -> Iterator[PodWorkload]:
    job = tree.at(_JOB)
    if job is not None:
        is_suspended = _is_true(tree, _SUSPEND) or _is_true(job, _SUSPEND)
        yield from _made(tree, job.at(_POD), _at_once(job), is_suspended=is_suspended)


def _at_once(job: Node) -> int:
    """Pods of a job that run side by side, which are never more than are still to be completed."""
    parallelism, completions = whole(job, ("spec", "parallelism")), whole(job, ("spec", "completions"))
    most = 1 if parallelism is None else parallelism
    return most if completions is None else min(most, completions)


def _is_true(tree: Node, path: KeyPath) -> bool:
    node = tree.at(path)
    return node is not None and node.value is True


def _made(owner: Node, pod: Node | None, replicas: int, *, is_suspended: bool = False) -> Iterator[PodWorkload]:
    if pod is not None and isinstance(pod.value, dict):
        yield PodWorkload(owner, pod, replicas, is_suspended)


def _servers(tree: Node, objects: Sequence[Node]) -> Iterator[PodWorkload]:
    """The pods of a Seldon Server, merged over the ServerConfig that it names: one of the objects, or a stock one."""
    config = config_of(tree, objects)
    claims = node_at(config, ("spec", "volumeClaimTemplates"))
    yield PodWorkload(tree, merge_server(tree, config).pod, replicas_of(tree), claims=claims)


MAKERS: Makers = {
    ("", "Pod"): _one,
    ("", "ReplicationController"): _replicated,
    ("batch", "Job"): _job,
    ("batch", "CronJob"): _cron_job,
    ("apps", "Deployment"): _replicated,
    ("apps", "ReplicaSet"): _replicated,
    ("apps", "StatefulSet"): _stateful,
    _DAEMON_SET: _everywhere,
    ("mlops.seldon.io", "Server"): _servers,
}
