"""Placement as JSON (`schemas/reports/place.schema.json`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from speccompile.model.node import Node
from speccompile.model.origin import origin_of
from speccompile.placement.capacity import Capacity, ResourceUse
from speccompile.placement.fit import WorkloadFit
from speccompile.placement.model_hosting import HostObjection, ModelHosting
from speccompile.placement.object_identity import kind_of, name_of, namespace_of
from speccompile.placement.placement import Advice, PlacementResult, WorkloadResult
from speccompile.placement.scheduler_filters import NodeRejection
from speccompile.report.explain_json import origin_data
from speccompile.report.findings_json import REPORT_VERSION, place_data, to_json
from speccompile.report.place_wording import ESTIMATE, NOT_MODELLED, reason_text


def as_placed_json(result: PlacementResult) -> str:
    """Everything as one document, with exact amounts in the units that the scheduler counts in."""
    return to_json(
        {
            "version": REPORT_VERSION,
            "nodes": [machine.name for machine in result.cluster.machines],
            "knows_pods": result.cluster.knows_pods,
            "not_modelled": list(NOT_MODELLED),
            "workloads": [_workload_result(workload) for workload in result.workloads],
            "capacity": _capacity(result.capacity),
            "models": [_model(model) for model in result.models],
            "not_placed": [_object(tree) for tree in (*result.not_placed, *(one.owner for one in result.unknown))],
            "unknown": [
                {"run": one.run, **_object(one.owner), "place": place_data(one.place)} for one in result.unknown
            ],
        }
    )


def _workload_result(workload: WorkloadResult) -> dict[str, Any]:
    fit = workload.fit
    return {
        **_workload(fit),
        "is_suspended": fit.subject.workload.is_suspended,
        "fits": [machine.name for machine in fit.fits],
        "others": [
            {
                "nodes": [machine.name for machine in group.machines],
                "reasons": [_reason(alike, fit) for alike in group.alike],
            }
            for group in fit.others
        ],
        "not_considered": [{"what": what, "origin": _origin(node)} for what, node in workload.not_considered],
        "advice": _advice(workload.advice, fit) if workload.advice else None,
    }


def _workload(fit: WorkloadFit) -> dict[str, Any]:
    workload = fit.subject.workload
    return {
        "run": fit.subject.run,
        "kind": workload.kind,
        "name": workload.name,
        "namespace": workload.namespace,
        "part": workload.part,
        "place": place_data(fit.subject.place),
        "pods": workload.pods,
    }


def _reason(alike: Sequence[NodeRejection], fit: WorkloadFit) -> dict[str, Any]:
    first = alike[0]
    return {
        "filter": str(first.filter),
        "subject": first.subject,
        "message": reason_text(alike),
        "required": first.shortfall.required if first.shortfall else first.required,
        "actual": [reason.shortfall.free if reason.shortfall else reason.actual for reason in alike],
        "origins": _origins(fit.origins(first.paths)),
    }


def _advice(advice: Advice, fit: WorkloadFit) -> dict[str, Any]:
    suggestion, closest = advice
    return {
        "suggestion": {
            "what": suggestion.change.what,
            "origins": _origins(fit.origins([suggestion.change.at]) if suggestion.change.at else ()),
            "nodes": [machine.name for machine in suggestion.machines],
        }
        if suggestion
        else None,
        "nearest": {
            "node": closest.machine.name,
            "reasons": [_reason([reason], fit) for reason in closest.reasons],
        }
        if closest
        else None,
    }


def _capacity(capacity: Capacity) -> dict[str, Any]:
    return {
        "estimate": ESTIMATE,
        "pods": capacity.pods,
        "placed": capacity.placed,
        "workloads": capacity.workloads,
        "fully_placed": capacity.fully_placed,
        "pools": [
            {
                "name": pool.name,
                "nodes": [machine.name for machine in pool.machines],
                "resources": [_share(share) for share in pool.resources],
            }
            for pool in capacity.pools
        ],
        "pending": [
            {
                **_workload(one.fit),
                "pods": one.pods,
                "pools": list(one.pools),
                "insufficient": [*one.insufficient, *one.ports],
            }
            for one in capacity.pending
        ],
    }


def _share(share: ResourceUse) -> dict[str, Any]:
    return {
        "resource": share.resource,
        "allocatable": share.allocatable,
        "in_use": share.in_use,
        "added": share.added,
        "free": share.free,
        "missing": share.missing,
    }


def _model(model: ModelHosting) -> dict[str, Any]:
    return {
        **_object(model.model),
        "is_possible": model.is_possible,
        "servers": [
            {
                "name": host.name,
                "is_stock": host.is_stock,
                "fit": host.fit,
                "reasons": [_objection(one) for one in host.objections],
            }
            for host in model.hosts
        ],
    }


def _object(tree: Node) -> dict[str, Any]:
    return {"kind": kind_of(tree), "name": name_of(tree), "namespace": namespace_of(tree)}


def _objection(objection: HostObjection) -> dict[str, Any]:
    nodes = [node for node in (objection.model_node, objection.server_node) if node is not None]
    return {"message": objection.text, "origins": _origins(nodes)}


def _origins(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    return [_origin(node) for node in nodes]


def _origin(node: Node) -> dict[str, Any]:
    return origin_data(origin_of(node))
