"""The nodes that each workload fits, and every reason against the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Span
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.machine import Machine
from speccompile.placement.pod_requirements import Needs, NodeConstraints, needs_of
from speccompile.placement.scheduler_filters import NodeRejection, static_reasons, usage_reasons
from speccompile.placement.workloads import PodWorkload


class LocatedWorkload(NamedTuple):
    """A workload and the place that findings about it point to."""

    workload: PodWorkload
    place: Span
    run: str | None = None
    """The run that produced it; None for an object from a manifest file."""


class NodeGroup(NamedTuple):
    """Nodes that are rejected for the same reasons."""

    machines: tuple[Machine, ...]
    reasons: tuple[tuple[NodeRejection, ...], ...]
    """Per node, in the same order."""

    @property
    def alike(self) -> Iterator[tuple[NodeRejection, ...]]:
        """Each reason, with its details per node."""
        return zip(*self.reasons, strict=True)


class WorkloadFit(NamedTuple):
    """The nodes that a workload fits, and the reasons against the others."""

    subject: LocatedWorkload
    needs: Needs
    fits: tuple[Machine, ...]
    others: tuple[NodeGroup, ...]
    """Largest first."""

    def origins(self, paths: Iterable[KeyPath]) -> tuple[Node, ...]:
        """The nodes of the PodSpec at the paths, or their nearest parents."""
        pod = self.subject.workload.pod
        return tuple(node for path in paths if (node := _nearest(pod, path)) is not None)


def fit_workloads(subjects: Sequence[LocatedWorkload], cluster: Cluster) -> tuple[WorkloadFit, ...]:
    """Find the nodes that each workload fits; equal requirements are evaluated once."""
    filters = NodeFilter(cluster)
    results: dict[Needs, tuple[tuple[Machine, ...], tuple[NodeGroup, ...]]] = {}
    fits: list[WorkloadFit] = []
    for subject in subjects:
        needs = needs_of(subject.workload.pod)
        if needs not in results:
            results[needs] = _evaluate(filters, needs)
        fits.append(WorkloadFit(subject, needs, *results[needs]))
    return tuple(fits)


class NodeFilter:
    """The filters for one cluster, with a cache: most pods have one of a few sets of constraints."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._known: dict[NodeConstraints, tuple[tuple[NodeRejection, ...], ...]] = {}

    def static_reasons(self, constraints: NodeConstraints) -> tuple[tuple[NodeRejection, ...], ...]:
        """The reasons per node that do not depend on what runs there."""
        if constraints not in self._known:
            self._known[constraints] = tuple(static_reasons(constraints, machine) for machine in self.cluster.machines)
        return self._known[constraints]

    def reasons(self, needs: Needs) -> Iterator[tuple[Machine, tuple[NodeRejection, ...]]]:
        """Each node with every reason against it."""
        for machine, static in zip(self.cluster.machines, self.static_reasons(needs.constraints), strict=True):
            yield machine, static + usage_reasons(needs, machine, self.cluster.usage(machine))


def _evaluate(filters: NodeFilter, needs: Needs) -> tuple[tuple[Machine, ...], tuple[NodeGroup, ...]]:
    fits: list[Machine] = []
    groups_by_reasons: dict[tuple[object, ...], list[tuple[Machine, tuple[NodeRejection, ...]]]] = {}
    for machine, reasons in filters.reasons(needs):
        if reasons:
            groups_by_reasons.setdefault(tuple(reason.kind for reason in reasons), []).append((machine, reasons))
        else:
            fits.append(machine)
    groups = [NodeGroup(*map(tuple, zip(*members, strict=True))) for members in groups_by_reasons.values()]
    return tuple(fits), tuple(sorted(groups, key=lambda group: (-len(group.machines), group.machines[0].name)))


def _nearest(pod: Node, path: KeyPath) -> Node | None:
    return next((node for end in range(len(path), 0, -1) if (node := pod.at(path[:end])) is not None), None)
