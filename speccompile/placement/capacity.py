"""Estimate how many pods fit at once, by first fit, pool by pool.

First fit: pods in the order of the runs, each on the first node that has room for it. The real scheduler looks at one
pod at a time as well, but chooses by scores, and may do better or worse.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.fit import NodeFilter, WorkloadFit
from speccompile.placement.machine import Machine, Usage
from speccompile.placement.node_pools import NAMING, Pool, pool_with
from speccompile.placement.pod_requirements import Needs, is_counted
from speccompile.placement.scheduler_filters import POD_RESOURCE, Filter, NodeRejection, usage_reasons

_ROLE = "node-role.kubernetes.io/"
ALL_NODES = "all nodes"
"""What the pool is called of nodes that say nothing of any."""


class ResourceUse(NamedTuple):
    """One resource of a pool, in the units of `pod_requirements.py`."""

    resource: str
    allocatable: int
    in_use: int
    """What is taken now."""
    added: int
    """What the workloads that fit would take."""
    missing: int
    """What those that do not fit would need beyond all that is free."""

    @property
    def free(self) -> int:
        return max(self.allocatable - self.in_use - self.added, 0)


class PoolUse(NamedTuple):
    """A pool, and what becomes of its nodes but for those that are cordoned."""

    name: str
    machines: tuple[Machine, ...]
    resources: tuple[ResourceUse, ...]


class PendingPods(NamedTuple):
    """Pods of a workload that find no room."""

    verdict: WorkloadFit
    pods: int
    pools: tuple[str, ...]
    """The pools that have nodes for it, were there room; what is missing counts in the first."""
    insufficient: tuple[str, ...]
    """The resources that no node of these has enough of."""
    ports: tuple[str, ...] = ()
    """The ports of the node that are taken on all of these."""


class Capacity(NamedTuple):
    """How much fits at once."""

    pods: int
    placed: int
    workloads: int
    fully_placed: int
    """Workloads of which all pods fit."""
    pools: tuple[PoolUse, ...]
    pending: tuple[PendingPods, ...]


def fleet(fit_workloads: Sequence[WorkloadFit], cluster: Cluster, pools: Sequence[Pool] = ()) -> Capacity:
    """The estimate; the pools are those that the platform names."""
    judge = NodeFilter(cluster)
    used = {machine.name: cluster.usage(machine) for machine in cluster.machines}
    names = {machine.name: pool_name(machine, pools) for machine in cluster.machines}
    left = [_placed(verdict, judge, used) for verdict in fit_workloads]
    pending = [
        _unplaced(verdict, count, judge, used, names)
        for verdict, count in zip(fit_workloads, left, strict=True)
        if count
    ]
    pods = sum(verdict.subject.workload.pods for verdict in fit_workloads)
    return Capacity(
        pods,
        pods - sum(left),
        len(fit_workloads),
        left.count(0),
        tuple(_pools(fit_workloads, cluster, used, names, pending)),
        tuple(pending),
    )


def pool_name(machine: Machine, pools: Sequence[Pool] = ()) -> str:
    """The name of the node's pool: one that the platform declares, or as the node itself says."""
    declared = pool_with(machine.labels, pools)
    named = (machine.labels[key] for key in NAMING if machine.labels.get(key))
    roles = (key.removeprefix(_ROLE) for key in sorted(machine.labels) if key.startswith(_ROLE) and key != _ROLE)
    return declared.name if declared else next(named, None) or next(roles, None) or ALL_NODES


def _placed(verdict: WorkloadFit, judge: NodeFilter, used: dict[str, Usage]) -> int:
    """How many pods are left over; what the others take is noted."""
    needs, left = verdict.needs, verdict.subject.workload.pods
    for machine, held in zip(judge.cluster.machines, judge.static_reasons(needs.constraints), strict=True):
        if not left:
            break
        count = 0 if held else min(left, _room(needs, machine, used[machine.name]))
        if count:
            used[machine.name] = used[machine.name].with_pods(needs, count)
            left -= count
    return left


def _room(needs: Needs, machine: Machine, usage: Usage) -> int:
    """How many such pods a node has room for, one after the other."""
    if usage_reasons(needs, machine, usage):
        return 0
    if needs.ports:
        return 1
    rooms = (
        (machine.allocatable.get(resource, 0) - usage.amounts.get(resource, 0)) // amount
        for resource, amount, _ in needs.requests
    )
    return min((machine.allocatable.get(POD_RESOURCE, 0) - usage.pods, *rooms))


def _unplaced(
    verdict: WorkloadFit, count: int, judge: NodeFilter, used: Mapping[str, Usage], names: Mapping[str, str]
) -> PendingPods:
    open_to = [
        machine
        for machine, held in zip(judge.cluster.machines, judge.static_reasons(verdict.needs.constraints), strict=True)
        if not held
    ]
    sizes: dict[str, int] = {}
    for machine in open_to:
        sizes[names[machine.name]] = sizes.get(names[machine.name], 0) + 1
    pools = tuple(sorted(sizes, key=lambda name: (-sizes[name], name)))
    lacking = [_subjects(usage_reasons(verdict.needs, machine, used[machine.name])) for machine in open_to]
    short = sorted(frozenset.intersection(*lacking) or frozenset.union(*lacking)) if lacking else ()
    ports = tuple(subject for subject, is_port in short if is_port)
    return PendingPods(verdict, count, pools, tuple(subject for subject, is_port in short if not is_port), ports)


def _subjects(found: Iterable[NodeRejection]) -> frozenset[tuple[str, bool]]:
    """What is lacking, and whether it is a port."""
    return frozenset((reason.subject, reason.filter is Filter.PORTS) for reason in found)


def _pools(
    fit_workloads: Sequence[WorkloadFit],
    cluster: Cluster,
    used: Mapping[str, Usage],
    names: Mapping[str, str],
    pending: Sequence[PendingPods],
) -> Iterator[PoolUse]:
    asked = {request.resource for verdict in fit_workloads for request in verdict.needs.requests}
    for name in sorted(set(names.values())):
        machines = tuple(machine for machine in cluster.machines if names[machine.name] == name)
        known = asked & {key for machine in machines for key in machine.allocatable if is_counted(key)}
        # What is cordoned is no room, unless pods that tolerate that have gone there.
        usable = [one for one in machines if not one.cordoned or used[one.name].pods > cluster.usage(one).pods]
        waiting = [one for one in pending if one.pools[:1] == (name,)]
        wanted = {request.resource for one in waiting for request in one.verdict.needs.requests}
        resources = (
            _share(resource, usable, cluster, used, waiting) for resource in (*sorted(known | wanted), POD_RESOURCE)
        )
        yield PoolUse(name, machines, tuple(resources))


def _share(
    resource: str,
    machines: Sequence[Machine],
    cluster: Cluster,
    used: Mapping[str, Usage],
    waiting: Sequence[PendingPods],
) -> ResourceUse:
    allocatable = sum(machine.allocatable.get(resource, 0) for machine in machines)
    before = sum(_taken(cluster.usage(machine), resource) for machine in machines)
    after = sum(_taken(used[machine.name], resource) for machine in machines)
    needed = sum(_asked(one.verdict.needs, resource) * one.pods for one in waiting)
    return ResourceUse(resource, allocatable, before, after - before, max(needed - max(allocatable - after, 0), 0))


def _taken(usage: Usage, resource: str) -> int:
    return usage.pods if resource == POD_RESOURCE else usage.amounts.get(resource, 0)


def _asked(needs: Needs, resource: str) -> int:
    if resource == POD_RESOURCE:
        return 1
    return next((request.amount for request in needs.requests if request.resource == resource), 0)
