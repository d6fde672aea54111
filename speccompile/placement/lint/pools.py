"""Lint rules about the cluster's node pools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speccompile.compiler.container_resources import is_device
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.node import Node
from speccompile.placement.lint.affinity import affinity_faults, is_impossible
from speccompile.placement.lint.context import LintRule, LintWording, PlacementContext, finding_at, location_note
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
from speccompile.placement.lint.tolerations import toleration_faults
from speccompile.placement.machine import Taint
from speccompile.placement.node_pools import Pool
from speccompile.placement.pod_requirements import Request, amount_text
from speccompile.placement.scheduler_filters import taint_text, tolerates
from speccompile.placement.workloads import PodWorkload
from speccompile.schema.suggestions import near

_MAX_NAMED = 4


def _check_pool_exists(context: PlacementContext) -> Iterator[Diagnostic]:
    """Report the first reason that excludes all pools: labels, then taints, then resources."""
    for workload, matches in _matched_workloads(context):
        labelled = [match for match in matches if match.has_labels]
        tolerated = [match for match in labelled if not match.untolerated]
        if not labelled:
            yield _no_pool(context, workload)
        elif not tolerated:
            yield _untolerated(context, workload, labelled)
        elif not any(match.is_usable for match in tolerated):
            yield from _too_large(context, workload, matches, tolerated)


def _matched_workloads(context: PlacementContext) -> Iterator[tuple[PodWorkload, tuple[PoolMatch, ...]]]:
    """The workloads with valid, satisfiable requirements, each matched with all pools."""
    for workload in context.linted_workloads:
        restriction = pod_needs(workload.pod).constraints
        is_read = not restriction.faults and not any(affinity_faults(workload.pod))
        if context.pools and restriction.node is None and is_read and not is_impossible(workload.pod):
            yield workload, match_pools(workload.pod, context.pools)


def _no_pool(context: PlacementContext, workload: PodWorkload) -> Diagnostic:
    requirements = requirement_sets(workload.pod)[0]
    unmet = [located for located in requirements if not any(may_match(located, pool) for pool in context.pools)]
    if not unmet:
        wording = LintWording(
            "placement/no-pool", "no pool satisfies all of these requirements", _CHECK_REQUIREMENT, Severity.ERROR
        )
        *others, last = requirements
        notes = (
            note
            for one in others
            for note in location_note(f"the requirement that {one.subject} must {one.predicate}", one.node)
        )
        return finding_at(context, wording, workload.owner, last.node, *notes)
    located = unmet[0]
    message = f"no pool matches: {located.subject} must {located.predicate}"
    wording = LintWording("placement/no-pool", message, _no_pool_help(located, context.pools), Severity.ERROR)
    return finding_at(context, wording, workload.owner, located.node)


_CHECK_REQUIREMENT = "change the requirement, or declare the intended pool"


def _no_pool_help(located: LocatedRequirement, pools: Sequence[Pool]) -> str:
    key = located.requirement.key
    values = sorted({pool.labels[key] for pool in pools if key in pool.labels})
    if values:
        return f"use a value that a pool has: {_join(values)}"
    suggestion = near(key, sorted({label for pool in pools for label in pool.labels}))
    return f"did you mean label {quote(suggestion)}?" if suggestion else _CHECK_REQUIREMENT


def _join(names: Sequence[str]) -> str:
    words = [*map(quote, names[:_MAX_NAMED]), *(["…"] if len(names) > _MAX_NAMED else [])]
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _untolerated(context: PlacementContext, workload: PodWorkload, labelled: Sequence[PoolMatch]) -> Diagnostic:
    """Report the pool with the fewest untolerated taints, role taints last."""
    closest = min(labelled, key=lambda match: (_has_role_taint(match), len(match.untolerated)))
    wording = LintWording(
        "placement/untolerated-taint",
        f"the pods do not fit any pool: pool {quote(closest.pool.name)} requires a toleration for"
        f" {_join([taint_text(taint) for taint in closest.untolerated])}{_others_text(len(labelled) - 1)}",
        _NOT_FOR_PODS
        if _has_role_taint(closest)
        else f"add {' and '.join(map(_toleration, closest.untolerated))} to the tolerations",
        Severity.ERROR,
    )
    restriction = next(
        (
            located.node
            for requirements in requirement_sets(workload.pod)
            for located in requirements
            if restricts_nodes(located)
        ),
        None,
    )
    where = restriction or workload.owner.at(("metadata", "name")) or workload.owner
    return finding_at(context, wording, workload.owner, where, *_declaration_note(closest.pool))


def _others_text(others: int) -> str:
    if not others:
        return ""
    return f", and {others} other pools are tainted as well" if others > 1 else ", and 1 other pool is tainted as well"


_NOT_FOR_PODS = "select another pool: this taint reserves nodes for the cluster itself"


def _has_role_taint(match: PoolMatch) -> bool:
    return any(taint.key.startswith(ROLES) for taint in match.untolerated)


def _toleration(taint: Taint) -> str:
    predicate = f'operator: Equal, value: "{taint.value}"' if taint.value else "operator: Exists"
    return f"`{{key: {taint.key}, {predicate}, effect: {taint.effect}}}`"


def _declaration_note(pool: Pool) -> Iterator[Note]:
    if pool.written is not None:
        yield Note("the pool is declared here", pool.written.fields["name"].place)


def _too_large(
    context: PlacementContext, workload: PodWorkload, matches: Sequence[PoolMatch], tolerated: Sequence[PoolMatch]
) -> Iterator[Diagnostic]:
    """Report the pool with the fewest insufficient resources."""
    closest = min(tolerated, key=lambda match: len(match.insufficient))
    for request in closest.insufficient:
        most = max(match.pool.resources.get(request.resource, 0) for match in tolerated)
        node = next((found_node for path in request.paths if (found_node := workload.pod.at(path))), workload.pod)
        if is_device(request.resource) and not most:
            wording = LintWording(
                "placement/no-such-device",
                f"the pods request {quote(request.resource)}, which no pool that they can use has",
                "request a device that the pool has, or select another pool",
                Severity.ERROR,
            )
            yield finding_at(context, wording, workload.owner, node, *_other_pool_notes(matches, request))
        else:
            requested, available = (
                amount_text(request.resource, request.amount, up=True),
                amount_text(request.resource, most),
            )
            wording = LintWording(
                "placement/too-large",
                f"the pods request {requested} of {quote(request.resource)}, "
                f"but no node in the pools that they can use has more than {available}",
                "request less, or select another pool",
                Severity.ERROR,
            )
            yield finding_at(context, wording, workload.owner, node, *_declaration_note(closest.pool))


def _other_pool_notes(matches: Sequence[PoolMatch], request: Request) -> Iterator[Note]:
    """The pools with enough of the resource, and why the pods cannot use them."""
    for match in matches:
        if match.pool.resources.get(request.resource, 0) >= request.amount:
            taints = _join([taint_text(taint) for taint in match.untolerated]) if match.untolerated else ""
            why = f"has taint {taints}" if match.has_labels else "its labels do not match"
            where = match.pool.written.fields["name"].place if match.pool.written else None
            yield Note(f"pool {quote(match.pool.name)} has it, but {why}", where)


# GPUs


def _check_gpu_nodes(context: PlacementContext) -> Iterator[Diagnostic]:
    wording = LintWording(
        "placement/no-gpu-asked",
        "the pods are pinned to nodes with GPUs, but no container requests one",
        "request a GPU, or pin the pods to nodes without GPUs",
    )
    for workload in context.linted_workloads:
        pod = workload.pod
        restricting = [
            located for requirements in requirement_sets(pod) for located in requirements if restricts_nodes(located)
        ]
        if restricting and not needs_devices(pod) and _uses_only_gpu_nodes(workload, context):
            yield finding_at(
                context,
                wording,
                workload.owner,
                restricting[0].node,
                Note("they use CPU and memory that pods with GPUs need"),
            )


def _uses_only_gpu_nodes(workload: PodWorkload, context: PlacementContext) -> bool:
    """Decided by the resources of the pools or, without pools, by labels that only GPU nodes have."""
    if not context.pools:
        return all(any(map(_is_gpu_label, requirements)) for requirements in requirement_sets(workload.pod))
    usable = [match.pool for match in match_pools(workload.pod, context.pools) if match.is_usable]
    return is_pinned(workload.pod) and bool(usable) and all(map(_has_gpus, usable))


def _is_gpu_label(located: LocatedRequirement) -> bool:
    requirement = located.requirement
    return (
        restricts_nodes(located)
        and requirement.key.startswith(_GPU_LABELS)
        and not {"false", "0"} & {*requirement.values}
    )


_GPU_LABELS = (
    *("nvidia.com/gpu.", "nvidia.com/cuda.", "amd.com/gpu.", "gpu.intel.com/"),
    *("cloud.google.com/gke-accelerator", "k8s.amazonaws.com/accelerator"),
)


def _has_gpus(pool: Pool) -> bool:
    return any(is_gpu(name) and amount > 0 for name, amount in pool.resources.items())


# Exclusive pools


def _check_exclusive_pools(context: PlacementContext) -> Iterator[Diagnostic]:
    """A pod that can use an exclusive pool should be pinned to exclusive pools."""
    for workload, matches in _matched_workloads(context):
        usable = [match.pool for match in matches if match.is_usable and not is_for_all_nodes(workload)]
        for pool in usable:
            if pool.exclusive and pool.hard_taints and not all(other.exclusive for other in usable):
                wording = LintWording(
                    "placement/leaks-onto-pool",
                    f"the pods can use exclusive pool {quote(pool.name)} without being pinned to it",
                    "remove the toleration, or add a node selector or a required node affinity for the pool",
                )
                yield finding_at(
                    context, wording, workload.owner, _tolerating_node(workload.pod, pool), *_declaration_note(pool)
                )


def _tolerating_node(pod: Node, pool: Pool) -> Node:
    taints = pool.hard_taints
    return next((one.node for one in pod_tolerations(pod) if any(tolerates(one.toleration, t) for t in taints)), pod)


def _check_exclusive_taints(context: PlacementContext) -> Iterator[Diagnostic]:
    for pool in context.pools:
        if not pool.exclusive or pool.written is None:
            continue
        if not pool.hard_taints:
            yield _pool_finding(
                pool,
                LintWording(
                    "placement/open-pool",
                    f"pool {quote(pool.name)} is exclusive, but has no taint that rejects other pods",
                    "taint its nodes, and declare the taint in `taints`",
                ),
            )
        elif all(taint.effect == "NoSchedule" for taint in pool.hard_taints):
            yield _pool_finding(
                pool,
                LintWording(
                    "placement/stays-on-pool",
                    f"pool {quote(pool.name)} rejects new pods, but pods from before it was tainted keep running",
                    "taint its nodes with `NoExecute`, or drain them once",
                    Severity.NOTICE,
                ),
            )


def _pool_finding(pool: Pool, wording: LintWording) -> Diagnostic:
    assert pool.written is not None
    return Diagnostic(
        code=wording.code,
        message=wording.message,
        span=pool.written.fields.get("taints", pool.written.fields["name"]).place,
        severity=wording.severity,
        help=wording.help,
    )


# Tolerations


def _check_unused_tolerations(context: PlacementContext) -> Iterator[Diagnostic]:
    taints = [taint for pool in context.pools for taint in pool.taints]
    for workload in context.linted_workloads if context.pools else ():
        for located in pod_tolerations(workload.pod):
            is_unused = not any(tolerates(located.toleration, taint) for taint in taints)
            if located.is_for_pool and is_unused and not any(toleration_faults(located)):
                wording = LintWording(
                    "placement/idle-toleration",
                    "no pool has a taint that this tolerates",
                    _toleration_help(located.toleration.key, taints),
                )
                yield finding_at(context, wording, workload.owner, located.node)


def _toleration_help(key: str, taints: Sequence[Taint]) -> str:
    same_key = sorted({taint_text(taint) for taint in taints if taint.key == key})
    if same_key:
        return f"tolerate {_join(same_key)}"
    suggestion = near(key, sorted({taint.key for taint in taints}))
    return f"did you mean {quote(suggestion)}?" if suggestion else "remove it, or declare the intended pool"


POOL_RULES: tuple[LintRule, ...] = (
    _check_pool_exists,
    _check_gpu_nodes,
    _check_exclusive_pools,
    _check_exclusive_taints,
    _check_unused_tolerations,
)
