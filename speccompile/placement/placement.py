"""Everything `place` reports, as one value."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.capacity import Fleet, fleet
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.fit import Subject, Verdict, verdicts
from speccompile.placement.model_hosting import Hosting, hostings
from speccompile.placement.node_pools import Pool
from speccompile.placement.not_modelled import not_looked_at
from speccompile.placement.suggest import Nearest, Suggestion, nearest, suggestion
from speccompile.placement.workloads import not_placed


class Known(NamedTuple):
    """The objects that are at hand."""

    ours: Sequence[Node] = ()
    """Those that are asked about."""
    theirs: Sequence[Node] = ()
    """Those that the cluster has, such as servers for our models."""


class Advice(NamedTuple):
    """What would help a workload that fits nowhere."""

    suggestion: Suggestion | None
    """None if no single change would do, of those that are tried."""
    nearest: Nearest | None


class Told(NamedTuple):
    """A verdict with all that belongs to it."""

    verdict: Verdict
    advice: Advice | None
    """None where it was not asked for, or is not needed."""
    ignored: tuple[tuple[str, Node], ...]
    """What this very pod has that is not looked at."""

    @property
    def fits(self) -> bool:
        """Whether some node would take one of its pods; of no pods, that is no question."""
        return bool(self.verdict.fits) or not self.verdict.subject.workload.replicas


class Answer(NamedTuple):
    """What `place` tells."""

    cluster: Cluster
    workloads: tuple[Told, ...]
    fleet: Fleet
    models: tuple[Hosting, ...]
    left_out: tuple[Node, ...] = ()
    """Objects with pods that are not placed, such as those of a DaemonSet."""

    @property
    def is_good(self) -> bool:
        """Whether every workload fits some node, and every model some server."""
        return all(told.fits for told in self.workloads) and all(model.is_possible for model in self.models)


def answer(
    subjects: Sequence[Subject],
    known: Known,
    cluster: Cluster,
    pools: Sequence[Pool] = (),
    *,
    suggests: bool = False,
) -> Answer:
    """All about the workloads, and the models among our objects."""
    decided = verdicts(subjects, cluster)
    advised: dict[object, Advice] = {}
    told = tuple(_told(verdict, cluster, advised, suggests=suggests) for verdict in decided)
    models = hostings(known.ours, known.theirs)
    return Answer(cluster, told, fleet(decided, cluster, pools), models, not_placed(known.ours))


def _told(verdict: Verdict, cluster: Cluster, advised: dict[object, Advice], *, suggests: bool) -> Told:
    ignored = tuple(not_looked_at(verdict.subject.workload))
    if not suggests or verdict.fits:
        return Told(verdict, None, ignored)
    # What helps one pod helps another that asks the same.
    if verdict.needs not in advised:
        advised[verdict.needs] = Advice(suggestion(verdict, cluster), nearest(verdict))
    return Told(verdict, advised[verdict.needs], ignored)
