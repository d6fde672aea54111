"""Placement as JSON (`schemas/reports/place.schema.json`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from speccompile.model.node import Node
from speccompile.model.origin import origin_of
from speccompile.placement.capacity import Capacity, ResourceUse
from speccompile.placement.fit import NodeGroup, WorkloadFit
from speccompile.placement.model_hosting import HostObjection, ModelHosting
from speccompile.placement.object_identity import kind_of, name_of, namespace_of
from speccompile.placement.placement import Advice, PlacementResult, WorkloadResult
from speccompile.placement.scheduler_filters import NodeRejection
from speccompile.report.explain_json import origin_data
from speccompile.report.findings_json import VERSION, place_data, written
from speccompile.report.place_wording import ESTIMATE, NOT_MODELLED, reason_text


def as_placed_json(result: PlacementResult) -> str:
    """Everything as one document, with exact amounts in the units that the scheduler counts in."""
    return written(
        {
            "version": VERSION,
            "nodes": [machine.name for machine in result.cluster.machines],
            "knows_pods": result.cluster.knows_pods,
            "not_modelled": list(NOT_MODELLED),
            "workloads": [_told(told) for told in result.workloads],
            "capacity": _capacity(result.capacity),
            "models": [_model(model) for model in result.models],
            "not_placed": [_object(tree) for tree in result.not_placed],
        }
    )


def _told(told: WorkloadResult) -> dict[str, Any]:
    verdict = told.verdict
    return {
        **_workload(verdict),
        "is_suspended": verdict.subject.workload.is_suspended,
        "fits": [machine.name for machine in verdict.fits],
        "others": [_group(group, verdict) for group in verdict.others],
        "not_considered": [{"what": what, "origin": _origin(node)} for what, node in told.not_considered],
        "advice": _advice(told.advice, verdict) if told.advice else None,
    }


def _workload(verdict: WorkloadFit) -> dict[str, Any]:
    workload = verdict.subject.workload
    return {
        "run": verdict.subject.run,
        "kind": workload.kind,
        "name": workload.name,
        "namespace": workload.namespace,
        "place": place_data(verdict.subject.place),
        "pods": workload.pods,
    }


def _group(group: NodeGroup, verdict: WorkloadFit) -> dict[str, Any]:
    return {
        "nodes": [machine.name for machine in group.machines],
        "reasons": [_reason(alike, verdict) for alike in group.alike],
    }


def _reason(alike: Sequence[NodeRejection], verdict: WorkloadFit) -> dict[str, Any]:
    first = alike[0]
    return {
        "filter": str(first.filter),
        "subject": first.subject,
        "message": reason_text(alike),
        "required": first.shortfall.asked if first.shortfall else first.asked,
        "actual": [reason.shortfall.free if reason.shortfall else reason.found for reason in alike],
        "origins": _origins(verdict.origins(first.paths)),
    }


def _advice(advice: Advice, verdict: WorkloadFit) -> dict[str, Any]:
    made, near = advice
    return {
        "suggestion": {
            "what": made.change.what,
            "origins": _origins(verdict.origins([made.change.at]) if made.change.at else ()),
            "nodes": [machine.name for machine in made.machines],
        }
        if made
        else None,
        "nearest": {
            "node": near.machine.name,
            "reasons": [_reason([reason], verdict) for reason in near.reasons],
        }
        if near
        else None,
    }


def _capacity(fleet: Capacity) -> dict[str, Any]:
    return {
        "estimate": ESTIMATE,
        "pods": fleet.pods,
        "placed": fleet.placed,
        "workloads": fleet.workloads,
        "fully_placed": fleet.fully_placed,
        "pools": [
            {
                "name": pool.name,
                "nodes": [machine.name for machine in pool.machines],
                "resources": [_share(share) for share in pool.resources],
            }
            for pool in fleet.pools
        ],
        "pending": [
            {
                **_workload(one.verdict),
                "pods": one.pods,
                "pools": list(one.pools),
                "insufficient": [*one.insufficient, *one.ports],
            }
            for one in fleet.pending
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
    nodes = [node for node in (objection.asked, objection.found) if node is not None]
    return {"message": objection.text, "origins": _origins(nodes)}


def _origins(nodes: Iterable[Node]) -> list[dict[str, Any]]:
    return [_origin(node) for node in nodes]


def _origin(node: Node) -> dict[str, Any]:
    return origin_data(origin_of(node))
