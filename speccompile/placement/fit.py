"""The nodes that each workload fits, and every reason against the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Span
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.machine import Machine
from speccompile.placement.pod_requirements import Needs, Pin, needs_of
from speccompile.placement.scheduler_filters import Reason, passing, standing
from speccompile.placement.workloads import Workload


class Subject(NamedTuple):
    """A workload, and where somebody asked for it."""

    workload: Workload
    place: Span
    run: str | None = None
    """The name of the run that it comes from; None for an object as somebody wrote it."""


class Group(NamedTuple):
    """Nodes that are all refused for reasons that are alike."""

    machines: tuple[Machine, ...]
    reasons: tuple[tuple[Reason, ...], ...]
    """Of each node, in the same order."""

    @property
    def alike(self) -> Iterator[tuple[Reason, ...]]:
        """Each reason, as it is for one node after the other."""
        return zip(*self.reasons, strict=True)


class Verdict(NamedTuple):
    """What was decided about one workload."""

    subject: Subject
    needs: Needs
    fits: tuple[Machine, ...]
    others: tuple[Group, ...]
    """Largest first, as what is found alike of most nodes tells most."""

    def origins(self, paths: Iterable[KeyPath]) -> tuple[Node, ...]:
        """The nodes of the PodSpec at the paths, or what stands nearest above them."""
        pod = self.subject.workload.pod
        return tuple(node for path in paths if (node := _nearest(pod, path)) is not None)


def verdicts(subjects: Sequence[Subject], cluster: Cluster) -> tuple[Verdict, ...]:
    """What is decided about each, in order; pods that ask the same are decided about once."""
    judge = Judge(cluster)
    known: dict[Needs, tuple[tuple[Machine, ...], tuple[Group, ...]]] = {}
    told: list[Verdict] = []
    for subject in subjects:
        needs = needs_of(subject.workload.pod)
        if needs not in known:
            known[needs] = _sorted_out(judge, needs)
        told.append(Verdict(subject, needs, *known[needs]))
    return tuple(told)


class Judge:
    """A cluster that is asked about many pods, of which most want nodes of the same few kinds."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._known: dict[Pin, tuple[tuple[Reason, ...], ...]] = {}

    def standing(self, pin: Pin) -> tuple[tuple[Reason, ...], ...]:
        """The reasons of each node that hold whatever runs there."""
        if pin not in self._known:
            self._known[pin] = tuple(standing(pin, machine) for machine in self.cluster.machines)
        return self._known[pin]

    def reasons(self, needs: Needs) -> Iterator[tuple[Machine, tuple[Reason, ...]]]:
        """Each node with all that speaks against it."""
        for machine, held in zip(self.cluster.machines, self.standing(needs.pin), strict=True):
            yield machine, held + passing(needs, machine, self.cluster.usage(machine))


def _sorted_out(judge: Judge, needs: Needs) -> tuple[tuple[Machine, ...], tuple[Group, ...]]:
    fits: list[Machine] = []
    alike: dict[tuple[object, ...], list[tuple[Machine, tuple[Reason, ...]]]] = {}
    for machine, found in judge.reasons(needs):
        if found:
            alike.setdefault(tuple(reason.kind for reason in found), []).append((machine, found))
        else:
            fits.append(machine)
    groups = [Group(*map(tuple, zip(*members, strict=True))) for members in alike.values()]
    return tuple(fits), tuple(sorted(groups, key=lambda group: (-len(group.machines), group.machines[0].name)))


def _nearest(pod: Node, path: KeyPath) -> Node | None:
    return next((node for end in range(len(path), 0, -1) if (node := pod.at(path[:end])) is not None), None)
