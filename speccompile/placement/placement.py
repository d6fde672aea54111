"""Everything `place` reports, as one value."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.capacity import Capacity, fleet
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.fit import LocatedWorkload, WorkloadFit, fit_workloads
from speccompile.placement.model_hosting import ModelHosting, host_models
from speccompile.placement.node_pools import Pool
from speccompile.placement.not_modelled import unmodelled_features
from speccompile.placement.suggest import ClosestNode, Suggestion, closest_node, suggestion
from speccompile.placement.workloads import not_placed


class PlacementObjects(NamedTuple):
    """The objects that are at hand."""

    ours: Sequence[Node] = ()
    """Those that are asked about."""
    theirs: Sequence[Node] = ()
    """Those that the cluster has, such as servers for our models."""


class Advice(NamedTuple):
    """What would help a workload that fits nowhere."""

    suggestion: Suggestion | None
    """None if no single change would do, of those that are tried."""
    nearest: ClosestNode | None


class WorkloadResult(NamedTuple):
    """A verdict with all that belongs to it."""

    verdict: WorkloadFit
    advice: Advice | None
    """None where it was not asked for, or is not needed."""
    not_considered: tuple[tuple[str, Node], ...]
    """What this very pod has that is not looked at."""

    @property
    def fits(self) -> bool:
        """Whether some node would take one of its pods; of no pods, that is no question."""
        return bool(self.verdict.fits) or not self.verdict.subject.workload.replicas


class PlacementResult(NamedTuple):
    """What `place` tells."""

    cluster: Cluster
    workloads: tuple[WorkloadResult, ...]
    capacity: Capacity
    models: tuple[ModelHosting, ...]
    not_placed: tuple[Node, ...] = ()
    """Objects with pods that are not placed, such as those of a DaemonSet."""

    @property
    def everything_fits(self) -> bool:
        """Whether every workload fits some node, and every model some server."""
        return all(told.fits for told in self.workloads) and all(model.is_possible for model in self.models)


def place_workloads(
    subjects: Sequence[LocatedWorkload],
    known: PlacementObjects,
    cluster: Cluster,
    pools: Sequence[Pool] = (),
    *,
    suggests: bool = False,
) -> PlacementResult:
    """All about the workloads, and the models among our objects."""
    decided = fit_workloads(subjects, cluster)
    advised: dict[object, Advice] = {}
    told = tuple(_told(verdict, cluster, advised, suggests=suggests) for verdict in decided)
    models = host_models(known.ours, known.theirs)
    return PlacementResult(cluster, told, fleet(decided, cluster, pools), models, not_placed(known.ours))


def _told(verdict: WorkloadFit, cluster: Cluster, advised: dict[object, Advice], *, suggests: bool) -> WorkloadResult:
    ignored = tuple(unmodelled_features(verdict.subject.workload))
    if not suggests or verdict.fits:
        return WorkloadResult(verdict, None, ignored)
    # What helps one pod helps another that asks the same.
    if verdict.needs not in advised:
        advised[verdict.needs] = Advice(suggestion(verdict, cluster), closest_node(verdict))
    return WorkloadResult(verdict, advised[verdict.needs], ignored)
