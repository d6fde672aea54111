"""Lint rules about tolerations."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintRule, LintWording, PlacementContext, finding_at
from speccompile.placement.lint.pod_facts import (
    CONTROL_PLANE,
    PREFERRED_AFFINITY_PATH,
    LocatedToleration,
    gpu_request,
    is_for_all_nodes,
    is_pinned,
    needs_devices,
    pod_tolerations,
)
from speccompile.placement.lint.reachable_pools import match_pools
from speccompile.placement.scheduler_filters import parse_int64, tolerates
from speccompile.placement.workloads import PodWorkload

_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_OPERATORS = ("", "Exists", "Equal", "Lt", "Gt")
_MIN_SEVERAL = 2


def _check_syntax(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for located in pod_tolerations(workload.pod):
            for key, fault, fix in toleration_faults(located):
                message = f"Kubernetes rejects this toleration: {fault}"
                wording = LintWording("placement/bad-toleration", message, fix, Severity.ERROR)
                yield finding_at(context, wording, workload.owner, located.node.fields.get(key, located.node))


def toleration_faults(located: LocatedToleration) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a toleration: field, message and help."""
    key, operator, value, effect = located.toleration
    if operator not in _OPERATORS:
        yield "operator", f"unknown operator {quote(operator)}", "use `Exists` or `Equal`"
    if effect and effect not in _EFFECTS:
        yield "effect", f"unknown effect {quote(effect)}", f"use {', '.join(_EFFECTS[:-1])} or {_EFFECTS[-1]}"
    if not key and operator != "Exists":
        yield "key", "without a key, the operator must be `Exists`", "add the key of the taint"
    if operator == "Exists" and value:
        yield "value", "`Exists` takes no value", "remove the value, or use `operator: Equal`"
    if operator in ("Lt", "Gt") and parse_int64(value) is None:
        yield "value", f"`{operator}` needs an integer", 'use a quoted integer, such as "950"'
    if "tolerationSeconds" in located.node.fields and effect != "NoExecute":
        yield (
            "tolerationSeconds",
            "`tolerationSeconds` needs effect `NoExecute`",
            "set `effect: NoExecute`, or remove `tolerationSeconds`",
        )


def _check_breadth(context: PlacementContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for located in pod_tolerations(workload.pod):
            key, operator, _, effect = located.toleration
            if operator == "Exists" and not key:
                if is_for_all_nodes(workload):
                    continue
                detail = f" with effect {quote(effect)}" if effect else ""
                wording = LintWording(
                    "placement/tolerates-everything",
                    f"this tolerates every taint{detail}, including those of the control plane and of unhealthy nodes",
                    "set the key of the intended taint",
                )
                yield finding_at(context, wording, workload.owner, located.node)
            elif located.is_for_pool and not effect and not any(toleration_faults(located)):
                wording = LintWording(
                    "placement/tolerates-every-effect",
                    f"this tolerates taint {quote(key)} with every effect, including `NoExecute`",
                    "add the intended effect, such as `effect: NoSchedule`",
                    Severity.NOTICE,
                )
                yield finding_at(context, wording, workload.owner, located.node)


def _check_duplicates(context: PlacementContext) -> Iterator[Diagnostic]:
    wording = LintWording(
        "placement/duplicate-toleration",
        "duplicate toleration",
        "remove one of the two",
        Severity.NOTICE,
    )
    for workload in context.linted_workloads:
        seldon_state: dict[tuple[object, ...], Node] = {}
        for located in pod_tolerations(workload.pod):
            seconds = located.node.fields.get("tolerationSeconds")
            toleration = located.toleration._replace(operator=located.toleration.operator or "Equal")
            first = seldon_state.setdefault((toleration, repr(seconds.plain()) if seconds else ""), located.node)
            if first is not located.node:
                yield finding_at(context, wording, workload.owner, located.node, Note("first here", first.place))


def _check_control_plane(context: PlacementContext) -> Iterator[Diagnostic]:
    wording = LintWording(
        "placement/on-control-plane",
        "this allows the pods on control plane nodes",
        "remove the toleration: pods that exhaust these nodes take down the cluster",
    )
    for workload in context.linted_workloads:
        for located in () if is_for_all_nodes(workload) else pod_tolerations(workload.pod):
            if located.toleration.key == CONTROL_PLANE and located.toleration.effect != "PreferNoSchedule":
                yield finding_at(context, wording, workload.owner, located.node)


def _check_pins(context: PlacementContext) -> Iterator[Diagnostic]:
    """A pod that tolerates the taint of a pool, or requests its GPUs, should be pinned to that pool.

    Preferring nodes may be intended.
    """
    for workload in context.linted_workloads:
        pod = workload.pod
        if is_pinned(pod) or is_for_all_nodes(workload):
            continue
        preferred, gpu = pod.at(PREFERRED_AFFINITY_PATH), gpu_request(pod)
        is_intended = gpu is not None or any(located.is_for_pool for located in pod_tolerations(pod))
        if preferred is not None and preferred.items:
            wording = LintWording(
                "placement/preferred-only",
                "the pods prefer certain nodes, but may run on any other",
                "make the node affinity required, or add a node selector",
                Severity.WARNING if is_intended else Severity.NOTICE,
            )
            yield finding_at(
                context, wording, workload.owner, preferred, Note("if those nodes are full, the pods run elsewhere")
            )
        elif gpu is not None:
            yield from _unpinned_gpu(context, workload, gpu)
        elif not needs_devices(pod):
            yield from _unpinned_toleration(context, workload)


def _unpinned_gpu(context: PlacementContext, workload: PodWorkload, gpu: Node) -> Iterator[Diagnostic]:
    """A GPU request pins a pod implicitly if only one pool has GPUs."""
    names = sorted({reach.pool.name for reach in match_pools(workload.pod, context.pools) if reach.is_usable})
    if context.pools and len(names) < _MIN_SEVERAL:
        return
    detail = f": pools {', '.join(map(quote, names))} have GPUs" if names else ""
    wording = LintWording(
        "placement/gpu-without-pin",
        f"the pods request a GPU, but do not select its nodes{detail}",
        "add a node selector or a required node affinity for the intended pool",
    )
    yield finding_at(context, wording, workload.owner, gpu, Note("the pods may get any kind of GPU in the cluster"))


def _unpinned_toleration(context: PlacementContext, workload: PodWorkload) -> Iterator[Diagnostic]:
    """Report the first toleration; other rules cover exclusive pools and unknown taints."""
    wording = LintWording(
        "placement/pins-nothing",
        "the pods tolerate a taint, but are not pinned to the tainted nodes",
        "add a node selector or a required node affinity for these nodes",
    )
    note = Note("a toleration does not attract pods: they may run on any other node")
    candidates = (one for one in pod_tolerations(workload.pod) if one.is_for_pool and _has_other_pools(one, context))
    for located in candidates:
        yield finding_at(context, wording, workload.owner, located.node, note)
        return


def _has_other_pools(located: LocatedToleration, context: PlacementContext) -> bool:
    matching = [pool for pool in context.pools if any(tolerates(located.toleration, taint) for taint in pool.taints)]
    is_shared = bool(matching) and not any(pool.exclusive for pool in matching)
    return not context.pools or (is_shared and len(matching) < len(context.pools))


TOLERATION_RULES: tuple[LintRule, ...] = (
    _check_syntax,
    _check_breadth,
    _check_duplicates,
    _check_control_plane,
    _check_pins,
)
