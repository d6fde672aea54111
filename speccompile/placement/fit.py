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
    """A workload, and where somebody asked for it."""

    workload: PodWorkload
    place: Span
    run: str | None = None
    """The name of the run that it comes from; None for an object as somebody wrote it."""


class NodeGroup(NamedTuple):
    """Nodes that are all refused for reasons that are alike."""

    machines: tuple[Machine, ...]
    reasons: tuple[tuple[NodeRejection, ...], ...]
    """Of each node, in the same order."""

    @property
    def alike(self) -> Iterator[tuple[NodeRejection, ...]]:
        """Each reason, as it is for one node after the other."""
        return zip(*self.reasons, strict=True)


class WorkloadFit(NamedTuple):
    """What was decided about one workload."""

    subject: LocatedWorkload
    needs: Needs
    fits: tuple[Machine, ...]
    others: tuple[NodeGroup, ...]
    """Largest first, as what is found alike of most nodes tells most."""

    def origins(self, paths: Iterable[KeyPath]) -> tuple[Node, ...]:
        """The nodes of the PodSpec at the paths, or what stands nearest above them."""
        pod = self.subject.workload.pod
        return tuple(node for path in paths if (node := _nearest(pod, path)) is not None)


def fit_workloads(subjects: Sequence[LocatedWorkload], cluster: Cluster) -> tuple[WorkloadFit, ...]:
    """What is decided about each, in order; pods that ask the same are decided about once."""
    judge = NodeFilter(cluster)
    known: dict[Needs, tuple[tuple[Machine, ...], tuple[NodeGroup, ...]]] = {}
    told: list[WorkloadFit] = []
    for subject in subjects:
        needs = needs_of(subject.workload.pod)
        if needs not in known:
            known[needs] = _sorted_out(judge, needs)
        told.append(WorkloadFit(subject, needs, *known[needs]))
    return tuple(told)


class NodeFilter:
    """A cluster that is asked about many pods, of which most want nodes of the same few kinds."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._known: dict[NodeConstraints, tuple[tuple[NodeRejection, ...], ...]] = {}

    def static_reasons(self, pin: NodeConstraints) -> tuple[tuple[NodeRejection, ...], ...]:
        """The reasons of each node that hold whatever runs there."""
        if pin not in self._known:
            self._known[pin] = tuple(static_reasons(pin, machine) for machine in self.cluster.machines)
        return self._known[pin]

    def reasons(self, needs: Needs) -> Iterator[tuple[Machine, tuple[NodeRejection, ...]]]:
        """Each node with all that speaks against it."""
        for machine, held in zip(self.cluster.machines, self.static_reasons(needs.constraints), strict=True):
            yield machine, held + usage_reasons(needs, machine, self.cluster.usage(machine))


def _sorted_out(judge: NodeFilter, needs: Needs) -> tuple[tuple[Machine, ...], tuple[NodeGroup, ...]]:
    fits: list[Machine] = []
    alike: dict[tuple[object, ...], list[tuple[Machine, tuple[NodeRejection, ...]]]] = {}
    for machine, found in judge.reasons(needs):
        if found:
            alike.setdefault(tuple(reason.kind for reason in found), []).append((machine, found))
        else:
            fits.append(machine)
    groups = [NodeGroup(*map(tuple, zip(*members, strict=True))) for members in alike.values()]
    return tuple(fits), tuple(sorted(groups, key=lambda group: (-len(group.machines), group.machines[0].name)))


def _nearest(pod: Node, path: KeyPath) -> Node | None:
    return next((node for end in range(len(path), 0, -1) if (node := pod.at(path[:end])) is not None), None)
