"""Lint rules about tolerations."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintContext, LintRule, LintWording, finding_at
from speccompile.placement.lint.pod_facts import (
    CONTROL_PLANE,
    PREFERRED_AFFINITY,
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
_SEVERAL = 2


def _are_well_formed(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for allowed in pod_tolerations(workload.pod):
            for key, fault, fix in faults(allowed):
                message = f"Kubernetes refuses this toleration: {fault}"
                told = LintWording("placement/bad-toleration", message, fix, Severity.ERROR)
                yield finding_at(context, told, workload.owner, allowed.node.fields.get(key, allowed.node))


def faults(allowed: LocatedToleration) -> Iterator[tuple[str, str, str]]:
    """What is wrong with a toleration: the field, the fault, the cure."""
    key, operator, value, effect = allowed.toleration
    if operator not in _OPERATORS:
        yield "operator", f"there is no operator {quote(operator)}", "write `Exists` or `Equal`"
    if effect and effect not in _EFFECTS:
        yield "effect", f"there is no effect {quote(effect)}", f"write {', '.join(_EFFECTS[:-1])} or {_EFFECTS[-1]}"
    if not key and operator != "Exists":
        yield "key", "without a key, its operator must be `Exists`", "name the taint's key"
    if operator == "Exists" and value:
        yield "value", "`Exists` takes no value", "leave the value out, or write `operator: Equal`"
    if operator in ("Lt", "Gt") and parse_int64(value) is None:
        yield "value", f"`{operator}` compares with a whole number", 'write one, quoted, such as "950"'
    if "tolerationSeconds" in allowed.node.fields and effect != "NoExecute":
        yield (
            "tolerationSeconds",
            "`tolerationSeconds` is about the effect `NoExecute` alone",
            "write `effect: NoExecute`, or leave the seconds out",
        )


def _are_for_some_taints(context: LintContext) -> Iterator[Diagnostic]:
    for workload in context.linted_workloads:
        for allowed in pod_tolerations(workload.pod):
            key, operator, _, effect = allowed.toleration
            if operator == "Exists" and not key:
                if is_for_all_nodes(workload):
                    continue
                of = f" of effect {quote(effect)}" if effect else ""
                told = LintWording(
                    "placement/tolerates-everything",
                    f"this tolerates every taint{of}, that of the control plane and those of broken nodes too",
                    "name the key of the taint that is meant",
                )
                yield finding_at(context, told, workload.owner, allowed.node)
            elif allowed.is_for_pool and not effect and not any(faults(allowed)):
                told = LintWording(
                    "placement/tolerates-every-effect",
                    f"this tolerates taints {quote(key)} of every effect, `NoExecute` too",
                    "add the effect that is meant, such as `effect: NoSchedule`",
                    Severity.NOTICE,
                )
                yield finding_at(context, told, workload.owner, allowed.node)


def _stand_once(context: LintContext) -> Iterator[Diagnostic]:
    told = LintWording(
        "placement/duplicate-toleration",
        "this toleration stands here a second time",
        "keep one of the two",
        Severity.NOTICE,
    )
    for workload in context.linted_workloads:
        seldon_state: dict[tuple[object, ...], Node] = {}
        for allowed in pod_tolerations(workload.pod):
            seconds = allowed.node.fields.get("tolerationSeconds")
            said = allowed.toleration._replace(operator=allowed.toleration.operator or "Equal")
            first = seldon_state.setdefault((said, repr(seconds.plain()) if seconds else ""), allowed.node)
            if first is not allowed.node:
                yield finding_at(context, told, workload.owner, allowed.node, Note("first here", first.place))


def _stay_off_the_control_plane(context: LintContext) -> Iterator[Diagnostic]:
    told = LintWording(
        "placement/on-control-plane",
        "this lets the pods onto the nodes of the control plane",
        "leave the toleration out: whatever fills those nodes takes the whole cluster with it",
    )
    for workload in context.linted_workloads:
        for allowed in () if is_for_all_nodes(workload) else pod_tolerations(workload.pod):
            if allowed.toleration.key == CONTROL_PLANE and allowed.toleration.effect != "PreferNoSchedule":
                yield finding_at(context, told, workload.owner, allowed.node)


def _come_with_a_pin(context: LintContext) -> Iterator[Diagnostic]:
    """Whoever tolerates the taint of a pool, or asks for its GPUs, means that pool; only a pin says so.

    To prefer nodes, and no more, may be what is meant.
    """
    for workload in context.linted_workloads:
        pod = workload.pod
        if is_pinned(pod) or is_for_all_nodes(workload):
            continue
        preferred, gpu = pod.at(PREFERRED_AFFINITY), gpu_request(pod)
        is_meant = gpu is not None or any(allowed.is_for_pool for allowed in pod_tolerations(pod))
        if preferred is not None and preferred.items:
            told = LintWording(
                "placement/preferred-only",
                "the pods prefer certain nodes, and nothing keeps them there",
                "move the terms to the required node affinity, or add a node selector",
                Severity.WARNING if is_meant else Severity.NOTICE,
            )
            yield finding_at(
                context, told, workload.owner, preferred, Note("where those nodes are full, any other will do")
            )
        elif gpu is not None:
            yield from _unpinned_gpu(context, workload, gpu)
        elif not needs_devices(pod):
            yield from _unpinned_toleration(context, workload)


def _unpinned_gpu(context: LintContext, workload: PodWorkload, gpu: Node) -> Iterator[Diagnostic]:
    """It goes where GPUs are, which is a pin of its own where one pool alone has them."""
    names = sorted({reach.pool.name for reach in match_pools(workload.pod, context.pools) if reach.is_usable})
    if context.pools and len(names) < _SEVERAL:
        return
    of = f": pools {', '.join(map(quote, names))} have some" if names else ""
    told = LintWording(
        "placement/gpu-without-pin",
        f"a GPU is asked for, and nothing says of which nodes{of}",
        "add a node selector, or a required node affinity, for the pool that is meant",
    )
    yield finding_at(
        context, told, workload.owner, gpu, Note("the pods may get a GPU of any kind that the cluster has")
    )


def _unpinned_toleration(context: LintContext, workload: PodWorkload) -> Iterator[Diagnostic]:
    """One is told for all; those of exclusive pools, and those of no pool, are told by rules of their own."""
    told = LintWording(
        "placement/pins-nothing",
        "the pods tolerate a taint, and nothing keeps them on the tainted nodes",
        "add a node selector, or a required node affinity, for these nodes",
    )
    note = Note("a toleration only allows: pods may run on every other node as well")
    plain = (one for one in pod_tolerations(workload.pod) if one.is_for_pool and _leaves_others(one, context))
    for allowed in plain:
        yield finding_at(context, told, workload.owner, allowed.node, note)
        return


def _leaves_others(allowed: LocatedToleration, context: LintContext) -> bool:
    meant = [pool for pool in context.pools if any(tolerates(allowed.toleration, taint) for taint in pool.taints)]
    is_shared = bool(meant) and not any(pool.exclusive for pool in meant)
    return not context.pools or (is_shared and len(meant) < len(context.pools))


TOLERATION_RULES: tuple[LintRule, ...] = (
    _are_well_formed,
    _are_for_some_taints,
    _stand_once,
    _stay_off_the_control_plane,
    _come_with_a_pin,
)
