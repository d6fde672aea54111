"""Estimate how many pods fit at the same time, by first fit, per pool.

Pods are placed in the order of the runs, each on the first node with room. The real scheduler also places one pod at a
time, but scores the nodes, so it may do better or worse.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.fit import NodeFilter, WorkloadFit
from speccompile.placement.machine import Machine, Usage
from speccompile.placement.node_pools import NAMING, Pool, pool_with
from speccompile.placement.pod_requirements import Needs, is_counted
from speccompile.placement.scheduler_filters import POD_RESOURCE, Filter, usage_reasons

_ROLE = "node-role.kubernetes.io/"
ALL_NODES = "all nodes"
"""The name of the pool of nodes whose labels name none."""


class ResourceUse(NamedTuple):
    """One resource of a pool, in the units of `pod_requirements.py`."""

    resource: str
    allocatable: int
    in_use: int
    """The amount that existing pods use."""
    added: int
    """The amount that the placed pods would use."""
    missing: int
    """The amount that pending pods need beyond what is free."""

    @property
    def free(self) -> int:
        return max(self.allocatable - self.in_use - self.added, 0)


class PoolUse(NamedTuple):
    """The resources of a pool, without cordoned nodes."""

    name: str
    machines: tuple[Machine, ...]
    resources: tuple[ResourceUse, ...]


class PendingPods(NamedTuple):
    """Pods of a workload that have no room."""

    fit: WorkloadFit
    pods: int
    pools: tuple[str, ...]
    """The pools with matching nodes; missing amounts are counted in the first."""
    insufficient: tuple[str, ...]
    """The resources that no node of these pools has enough of."""
    ports: tuple[str, ...] = ()
    """The host ports that are in use on all of these nodes."""


class Capacity(NamedTuple):
    """How much fits at the same time."""

    pods: int
    placed: int
    workloads: int
    fully_placed: int
    """Workloads whose pods all have room."""
    pools: tuple[PoolUse, ...]
    pending: tuple[PendingPods, ...]


def estimate_capacity(fits: Sequence[WorkloadFit], cluster: Cluster, pools: Sequence[Pool] = ()) -> Capacity:
    """Place the pods of all workloads; `pools` are those that the platform file declares."""
    filters = NodeFilter(cluster)
    used = {machine.name: cluster.usage(machine) for machine in cluster.machines}
    names = {machine.name: pool_name(machine, pools) for machine in cluster.machines}
    remaining = [_place(fit, filters, used) for fit in fits]
    pending = [
        _pending_pods(fit, count, filters, used, names) for fit, count in zip(fits, remaining, strict=True) if count
    ]
    pods = sum(fit.subject.workload.pods for fit in fits)
    return Capacity(
        pods,
        pods - sum(remaining),
        len(fits),
        remaining.count(0),
        tuple(_pools(fits, cluster, used, names, pending)),
        tuple(pending),
    )


def pool_name(machine: Machine, pools: Sequence[Pool] = ()) -> str:
    """The pool of a node: declared by the platform file, or named by a label or role of the node."""
    declared = pool_with(machine.labels, pools)
    named = (machine.labels[key] for key in NAMING if machine.labels.get(key))
    roles = (key.removeprefix(_ROLE) for key in sorted(machine.labels) if key.startswith(_ROLE) and key != _ROLE)
    return declared.name if declared else next(named, None) or next(roles, None) or ALL_NODES


def _place(fit: WorkloadFit, filters: NodeFilter, used: dict[str, Usage]) -> int:
    """Place pods, update `used`, and return how many have no room."""
    needs, remaining = fit.needs, fit.subject.workload.pods
    for machine, reasons in zip(filters.cluster.machines, filters.static_reasons(needs.constraints), strict=True):
        if not remaining:
            break
        count = 0 if reasons else min(remaining, _room(needs, machine, used[machine.name]))
        if count:
            used[machine.name] = used[machine.name].with_pods(needs, count)
            remaining -= count
    return remaining


def _room(needs: Needs, machine: Machine, usage: Usage) -> int:
    """How many such pods a node has room for."""
    if usage_reasons(needs, machine, usage):
        return 0
    if needs.ports:
        return 1
    rooms = (
        (machine.allocatable.get(resource, 0) - usage.amounts.get(resource, 0)) // amount
        for resource, amount, _ in needs.requests
    )
    return min((machine.allocatable.get(POD_RESOURCE, 0) - usage.pods, *rooms))


def _pending_pods(
    fit: WorkloadFit, count: int, filters: NodeFilter, used: Mapping[str, Usage], names: Mapping[str, str]
) -> PendingPods:
    matching = [
        machine
        for machine, reasons in zip(
            filters.cluster.machines, filters.static_reasons(fit.needs.constraints), strict=True
        )
        if not reasons
    ]
    sizes: dict[str, int] = {}
    for machine in matching:
        sizes[names[machine.name]] = sizes.get(names[machine.name], 0) + 1
    pools = tuple(sorted(sizes, key=lambda name: (-sizes[name], name)))
    # Resources and ports, and whether each is a port.
    unmet = [
        frozenset(
            (reason.subject, reason.filter is Filter.PORTS)
            for reason in usage_reasons(fit.needs, machine, used[machine.name])
        )
        for machine in matching
    ]
    insufficient = sorted(frozenset.intersection(*unmet) or frozenset.union(*unmet)) if unmet else ()
    ports = tuple(subject for subject, is_port in insufficient if is_port)
    return PendingPods(fit, count, pools, tuple(subject for subject, is_port in insufficient if not is_port), ports)


def _pools(
    fits: Sequence[WorkloadFit],
    cluster: Cluster,
    used: Mapping[str, Usage],
    names: Mapping[str, str],
    pending: Sequence[PendingPods],
) -> Iterator[PoolUse]:
    requested = {request.resource for fit in fits for request in fit.needs.requests}
    for name in sorted(set(names.values())):
        machines = tuple(machine for machine in cluster.machines if names[machine.name] == name)
        counted = requested & {key for machine in machines for key in machine.allocatable if is_counted(key)}
        # A cordoned node has no room, unless pods that tolerate it were placed there.
        usable = [one for one in machines if not one.cordoned or used[one.name].pods > cluster.usage(one).pods]
        here = [one for one in pending if one.pools[:1] == (name,)]
        needed = {request.resource for one in here for request in one.fit.needs.requests}
        resources = (
            _resource_use(resource, usable, cluster, used, here)
            for resource in (*sorted(counted | needed), POD_RESOURCE)
        )
        yield PoolUse(name, machines, tuple(resources))


def _resource_use(
    resource: str,
    machines: Sequence[Machine],
    cluster: Cluster,
    used: Mapping[str, Usage],
    pending: Sequence[PendingPods],
) -> ResourceUse:
    allocatable = sum(machine.allocatable.get(resource, 0) for machine in machines)
    before = sum(_used_amount(cluster.usage(machine), resource) for machine in machines)
    after = sum(_used_amount(used[machine.name], resource) for machine in machines)
    needed = sum(_requested_amount(one.fit.needs, resource) * one.pods for one in pending)
    return ResourceUse(resource, allocatable, before, after - before, max(needed - max(allocatable - after, 0), 0))


def _used_amount(usage: Usage, resource: str) -> int:
    return usage.pods if resource == POD_RESOURCE else usage.amounts.get(resource, 0)


def _requested_amount(needs: Needs, resource: str) -> int:
    if resource == POD_RESOURCE:
        return 1
    return next((request.amount for request in needs.requests if request.resource == resource), 0)
