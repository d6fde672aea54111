"""The result of `speccompile place`."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Span
from speccompile.placement.capacity import Capacity, estimate_capacity
from speccompile.placement.cluster_snapshot import Cluster
from speccompile.placement.fit import LocatedWorkload, WorkloadFit, fit_workloads
from speccompile.placement.model_hosting import ModelHosting, host_models
from speccompile.placement.node_pools import Pool
from speccompile.placement.not_modelled import unmodelled_features
from speccompile.placement.suggest import ClosestNode, Suggestion, closest_node, suggest_change
from speccompile.placement.workloads import is_daemon_set


class UnknownPods(NamedTuple):
    """An object whose pods, or some of them, are unknown."""

    owner: Node
    place: Span
    run: str | None = None
    """The run that produced it; None for an object from a manifest file."""


class PlacementObjects(NamedTuple):
    """The Kubernetes objects of a call."""

    placed: Sequence[Node] = ()
    """Objects to place."""
    existing: Sequence[Node] = ()
    """Objects that the cluster already has, such as servers for the models."""
    unknown: Sequence[UnknownPods] = ()
    """Those of the objects to place whose pods cannot be placed, because they are unknown."""


class Advice(NamedTuple):
    """A suggestion for a workload that fits no node."""

    suggestion: Suggestion | None
    """None if none of the changes that were tried makes it fit."""
    closest: ClosestNode | None


class WorkloadResult(NamedTuple):
    """The result for one workload."""

    fit: WorkloadFit
    advice: Advice | None
    """None without `--suggest`, or if the workload fits."""
    not_considered: tuple[tuple[str, Node], ...]
    """What its pods use that is not evaluated."""

    @property
    def fits(self) -> bool:
        """Whether its pods fit some node; true without pods."""
        return bool(self.fit.fits) or not self.fit.subject.workload.replicas


class PlacementResult(NamedTuple):
    """The result for all workloads and models."""

    cluster: Cluster
    workloads: tuple[WorkloadResult, ...]
    capacity: Capacity
    models: tuple[ModelHosting, ...]
    not_placed: tuple[Node, ...] = ()
    """DaemonSets, whose pods run on every matching node."""
    unknown: tuple[UnknownPods, ...] = ()

    @property
    def everything_fits(self) -> bool:
        """Whether every workload fits some node, and every model some server."""
        return all(results.fits for results in self.workloads) and all(model.is_possible for model in self.models)

    @property
    def has_unknown(self) -> bool:
        """Whether for some object, it is unknown whether it fits."""
        return bool(self.unknown) or any(model.is_unknown for model in self.models)


def place_workloads(
    subjects: Sequence[LocatedWorkload],
    objects: PlacementObjects,
    cluster: Cluster,
    pools: Sequence[Pool] = (),
    *,
    suggests: bool = False,
) -> PlacementResult:
    """Evaluate the workloads, and the models among the objects."""
    fits = fit_workloads(subjects, cluster)
    advised: dict[object, Advice] = {}
    results = tuple(_workload_result(fit, cluster, advised, suggests=suggests) for fit in fits)
    models = host_models(objects.placed, objects.existing)
    return PlacementResult(
        cluster,
        results,
        estimate_capacity(fits, cluster, pools),
        models,
        tuple(tree for tree in objects.placed if is_daemon_set(tree)),
        tuple(objects.unknown),
    )


def _workload_result(
    fit: WorkloadFit, cluster: Cluster, advised: dict[object, Advice], *, suggests: bool
) -> WorkloadResult:
    ignored = tuple(unmodelled_features(fit.subject.workload))
    if not suggests or fit.fits:
        return WorkloadResult(fit, None, ignored)
    # Pods with equal requirements get the same advice.
    if fit.needs not in advised:
        advised[fit.needs] = Advice(suggest_change(fit, cluster), closest_node(fit))
    return WorkloadResult(fit, advised[fit.needs], ignored)
