"""Lint rules about the cluster's node pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speccompile.compiler.container_resources import is_device
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.node import Node
from speccompile.placement.lint.affinity import faults_of_affinity, is_impossible
from speccompile.placement.lint.context import LintContext, LintRule, LintWording, finding_at, location_note
from speccompile.placement.lint.contradictions import LocatedRequirement, restricts_nodes
from speccompile.placement.lint.pod_facts import (
    ROLES,
    is_for_all_nodes,
    is_gpu,
    is_pinned,
    needs_devices,
    pod_needs,
    pod_tolerations,
    requirement_sets,
)
from speccompile.placement.lint.reachable_pools import PoolMatch, match_pools, may_match
from speccompile.placement.lint.tolerations import faults
from speccompile.placement.machine import Taint
from speccompile.placement.node_pools import Pool
from speccompile.placement.pod_requirements import Request, amount_text
from speccompile.placement.scheduler_filters import taint_text, tolerates
from speccompile.placement.workloads import PodWorkload
from speccompile.schema.suggestions import near

_NAMED = 4


def _pods_have_a_pool(context: LintContext) -> Iterator[Diagnostic]:
    """The first thing that keeps a pod off all pools; what comes after it would be told of no pool."""
    for workload, told in _judged(context):
        asked_for = [reach for reach in told if reach.has_labels]
        tolerated = [reach for reach in asked_for if not reach.untolerated]
        if not asked_for:
            yield _no_pool(context, workload)
        elif not tolerated:
            yield _untolerated(context, workload, asked_for)
        elif not any(reach.is_usable for reach in tolerated):
            yield from _too_large(context, workload, told, tolerated)


def _judged(context: LintContext) -> Iterator[tuple[PodWorkload, tuple[PoolMatch, ...]]]:
    """The workloads that a scheduler would find a pool for, as far as all that they ask is read and can be."""
    for workload in context.linted_workloads:
        pin = pod_needs(workload.pod).constraints
        is_read = not pin.faults and not any(faults_of_affinity(workload.pod))
        if context.pools and pin.node is None and is_read and not is_impossible(workload.pod):
            yield workload, match_pools(workload.pod, context.pools)


def _no_pool(context: LintContext, workload: PodWorkload) -> Diagnostic:
    way = requirement_sets(workload.pod)[0]
    hopeless = [ask for ask in way if not any(may_match(ask, pool) for pool in context.pools)]
    if not hopeless:
        told = LintWording(
            "placement/no-pool", "no pool has nodes with all that is asked here", _CHECK_PINS, Severity.ERROR
        )
        *others, last = way
        return finding_at(context, told, workload.owner, last.node, *(note for ask in others for note in _asked(ask)))
    ask = hopeless[0]
    message = f"no pool has such nodes: {ask.what} would have to {ask.predicate}"
    told = LintWording("placement/no-pool", message, _instead(ask, context.pools), Severity.ERROR)
    return finding_at(context, told, workload.owner, ask.node)


_CHECK_PINS = "change what is asked, or declare the pool that is meant"


def _asked(ask: LocatedRequirement) -> Iterator[Note]:
    return location_note(f"that {ask.what} must {ask.predicate}", ask.node)


def _instead(ask: LocatedRequirement, pools: Sequence[Pool]) -> str:
    key = ask.requirement.key
    values = sorted({pool.labels[key] for pool in pools if key in pool.labels})
    if values:
        return f"the pools have {_listed(values)} there"
    meant = near(key, sorted({label for pool in pools for label in pool.labels}))
    return f"did you mean label {quote(meant)}?" if meant else _CHECK_PINS


def _listed(names: Sequence[str]) -> str:
    words = [*map(quote, names[:_NAMED]), *(["…"] if len(names) > _NAMED else [])]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _untolerated(context: LintContext, workload: PodWorkload, asked_for: Sequence[PoolMatch]) -> Diagnostic:
    """The pool with the fewest taints is the one that is told of, those of the cluster itself after all others."""
    closest = min(asked_for, key=lambda reach: (_is_for_a_role(reach), len(reach.untolerated)))
    told = LintWording(
        "placement/untolerated-taint",
        f"the pods fit no pool: pool {quote(closest.pool.name)} lets none in that do not tolerate"
        f" {_listed([taint_text(taint) for taint in closest.untolerated])}{_closed(len(asked_for) - 1)}",
        _NOT_FOR_PODS
        if _is_for_a_role(closest)
        else f"add {' and '.join(map(_toleration, closest.untolerated))} to the tolerations",
        Severity.ERROR,
    )
    pin = next((ask.node for way in requirement_sets(workload.pod) for ask in way if restricts_nodes(ask)), None)
    where = pin or workload.owner.at(("metadata", "name")) or workload.owner
    return finding_at(context, told, workload.owner, where, *_declared(closest.pool))


def _closed(others: int) -> str:
    if not others:
        return ""
    return (
        f", and {others} other pools are tainted as well" if others > 1 else ", and one other pool is tainted as well"
    )


_NOT_FOR_PODS = "ask for nodes of another pool: such a taint keeps nodes for the cluster itself"


def _is_for_a_role(reach: PoolMatch) -> bool:
    return any(taint.key.startswith(ROLES) for taint in reach.untolerated)


def _toleration(taint: Taint) -> str:
    predicate = f'operator: Equal, value: "{taint.value}"' if taint.value else "operator: Exists"
    return f"`{{key: {taint.key}, {predicate}, effect: {taint.effect}}}`"


def _declared(pool: Pool) -> Iterator[Note]:
    if pool.written is not None:
        yield Note("the pool is declared here", pool.written.fields["name"].place)


def _too_large(
    context: LintContext, workload: PodWorkload, told: Sequence[PoolMatch], tolerated: Sequence[PoolMatch]
) -> Iterator[Diagnostic]:
    """The pool that lacks least is the one that is told of."""
    closest = min(tolerated, key=lambda reach: len(reach.insufficient))
    for request in closest.insufficient:
        most = max(reach.pool.resources.get(request.resource, 0) for reach in tolerated)
        node = next((at for path in request.paths if (at := workload.pod.at(path))), workload.pod)
        if is_device(request.resource) and not most:
            word = LintWording(
                "placement/no-such-device",
                f"the pods ask for {quote(request.resource)}, which no pool has that they may use",
                "ask for a device that the pool has, or for another pool",
                Severity.ERROR,
            )
            yield finding_at(context, word, workload.owner, node, *_elsewhere(told, request))
        else:
            asked, had = amount_text(request.resource, request.amount, up=True), amount_text(request.resource, most)
            word = LintWording(
                "placement/too-large",
                f"the pods ask for {asked} of {quote(request.resource)}, and {_HAVE}{had}",
                "ask for less, or for another pool",
                Severity.ERROR,
            )
            yield finding_at(context, word, workload.owner, node, *_declared(closest.pool))


_HAVE = "no node of the pools that they may use has more than "


def _elsewhere(told: Sequence[PoolMatch], request: Request) -> Iterator[Note]:
    """The pools that have enough, and why the pods cannot use them."""
    for reach in told:
        if reach.pool.resources.get(request.resource, 0) >= request.amount:
            taints = _listed([taint_text(taint) for taint in reach.untolerated]) if reach.untolerated else ""
            why = f"is tainted {taints}" if reach.has_labels else "has other labels than the pods ask for"
            where = reach.pool.written.fields["name"].place if reach.pool.written else None
            yield Note(f"pool {quote(reach.pool.name)} has it, and {why}", where)


# GPUs


def _gpu_nodes_are_for_gpus(context: LintContext) -> Iterator[Diagnostic]:
    told = LintWording(
        "placement/no-gpu-asked",
        "the pods are pinned to nodes with GPUs, and no container asks for one",
        "ask for a GPU, or pin the pods to nodes without",
    )
    for workload in context.linted_workloads:
        pod = workload.pod
        asks = [ask for way in requirement_sets(pod) for ask in way if restricts_nodes(ask)]
        if asks and not needs_devices(pod) and _is_among_gpus(workload, context):
            yield finding_at(
                context, told, workload.owner, asks[0].node, Note("they take up room that GPUs need beside them")
            )


def _is_among_gpus(workload: PodWorkload, context: LintContext) -> bool:
    """By what the pools have, or where none is known, by labels that only nodes with GPUs have."""
    if not context.pools:
        return all(any(map(_is_of_gpus, way)) for way in requirement_sets(workload.pod))
    open_to = [reach.pool for reach in match_pools(workload.pod, context.pools) if reach.is_usable]
    return is_pinned(workload.pod) and bool(open_to) and all(map(_has_gpus, open_to))


def _is_of_gpus(ask: LocatedRequirement) -> bool:
    asked = ask.requirement
    return restricts_nodes(ask) and asked.key.startswith(_GPU_LABELS) and not {"false", "0"} & {*asked.values}


_GPU_LABELS = (
    *("nvidia.com/gpu.", "nvidia.com/cuda.", "amd.com/gpu.", "gpu.intel.com/"),
    *("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator"),
)


def _has_gpus(pool: Pool) -> bool:
    return any(is_gpu(name) and amount > 0 for name, amount in pool.resources.items())


# Exclusive pools


def _exclusive_pools_stay_so(context: LintContext) -> Iterator[Diagnostic]:
    """A pod that may run on an exclusive pool, and elsewhere as well, is not one that the pool is there for."""
    for workload, told in _judged(context):
        open_to = [reach.pool for reach in told if reach.is_usable and not is_for_all_nodes(workload)]
        for pool in open_to:
            if pool.exclusive and pool.hard_taints and not all(other.exclusive for other in open_to):
                word = LintWording(
                    "placement/leaks-onto-pool",
                    f"the pods may run on pool {quote(pool.name)}, which is exclusive, and are not pinned to it",
                    "take the toleration out, or add a node selector, or a required node affinity, for the pool",
                )
                yield finding_at(context, word, workload.owner, _letting_in(workload.pod, pool), *_declared(pool))


def _letting_in(pod: Node, pool: Pool) -> Node:
    taints = pool.hard_taints
    return next((one.node for one in pod_tolerations(pod) if any(tolerates(one.toleration, t) for t in taints)), pod)


def _exclusive_pools_are_tainted(context: LintContext) -> Iterator[Diagnostic]:
    for pool in context.pools:
        if not pool.exclusive or pool.written is None:
            continue
        if not pool.hard_taints:
            yield _about(
                pool,
                LintWording(
                    "placement/open-pool",
                    f"pool {quote(pool.name)} is exclusive, and no taint keeps other pods off it",
                    "taint its nodes, and say so in its `taints`",
                ),
            )
        elif all(taint.effect == "NoSchedule" for taint in pool.hard_taints):
            yield _about(
                pool,
                LintWording(
                    "placement/stays-on-pool",
                    f"pool {quote(pool.name)} keeps new pods off, and pods stay that ran there before it was tainted",
                    "taint its nodes with `NoExecute`, or drain them once",
                    Severity.NOTICE,
                ),
            )


def _about(pool: Pool, told: LintWording) -> Diagnostic:
    assert pool.written is not None
    return Diagnostic(
        code=told.code,
        message=told.message,
        span=pool.written.fields.get("taints", pool.written.fields["name"]).place,
        severity=told.severity,
        help=told.help,
    )


# Tolerations


def _tolerations_are_of_some_pool(context: LintContext) -> Iterator[Diagnostic]:
    taints = [taint for pool in context.pools for taint in pool.taints]
    for workload in context.linted_workloads if context.pools else ():
        for allowed in pod_tolerations(workload.pod):
            is_idle = not any(tolerates(allowed.toleration, taint) for taint in taints)
            if allowed.is_for_pool and is_idle and not any(faults(allowed)):
                told = LintWording(
                    "placement/idle-toleration",
                    "no pool has a taint that this tolerates",
                    _meant(allowed.toleration.key, taints),
                )
                yield finding_at(context, told, workload.owner, allowed.node)


def _meant(key: str, taints: Sequence[Taint]) -> str:
    same = sorted({taint_text(taint) for taint in taints if taint.key == key})
    if same:
        return f"there is {_listed(same)}"
    meant = near(key, sorted({taint.key for taint in taints}))
    return f"did you mean {quote(meant)}?" if meant else "take it out, or declare the pool that is meant"


POOL_RULES: tuple[LintRule, ...] = (
    _pods_have_a_pool,
    _gpu_nodes_are_for_gpus,
    _exclusive_pools_stay_so,
    _exclusive_pools_are_tainted,
    _tolerations_are_of_some_pool,
)
