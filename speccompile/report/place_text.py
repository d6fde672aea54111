"""Placement as text: a summary, then workloads, pools and models."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from speccompile.model.node import Node
from speccompile.placement.capacity import PoolUse, ResourceUse
from speccompile.placement.model_hosting import ModelHosting
from speccompile.placement.placement import PlacementResult, WorkloadResult
from speccompile.placement.pod_requirements import amount_text
from speccompile.report.place_wording import (
    EMPTY_NODES,
    ESTIMATE,
    NOT_MODELLED,
    PODS_UNKNOWN,
    display_order,
    fit_text,
    host_fit_text,
    host_name,
    hosting_text,
    node_names,
    not_considered_lines,
    not_placed_text,
    origins_text,
    pending_text,
    plural,
    pods_text,
    printable_name,
    reason_text,
    shown_object,
    suggestion_lines,
    summary_lines,
    title,
)
from speccompile.terminal.display_width import columns, printable
from speccompile.terminal.style import Paint, plain

MAX_WORKLOADS_SHOWN = 20
"""Up to this many workloads are all shown; of more, only those that fit no node."""
_MAX_SHOWN = 100
_GAP = "  "
_LINE_WIDTH = 100
_TEXT_COLUMNS = 3
"""Columns of the pool table that are aligned left; numbers are aligned right."""


def as_placed_table(result: PlacementResult, paint: Paint = plain) -> str:
    """The whole report, with the answer first."""
    lines = (
        *_summary(result, paint),
        *_unknown(result, paint),
        *_workloads(result, paint),
        *_pools(result, paint),
        *_models(result.models, paint),
        *_notes(result, paint),
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _summary(result: PlacementResult, paint: Paint) -> Iterator[str]:
    for line in summary_lines(result):
        yield paint(line.text, "title" if line.is_good else "error")
    pending = result.capacity.pending
    for one in pending[:MAX_WORKLOADS_SHOWN]:
        yield f"  {pending_text(one)}"
    if len(pending) > MAX_WORKLOADS_SHOWN:
        yield f"  … and {len(pending) - MAX_WORKLOADS_SHOWN} more"
    yield ""


def _workloads(result: PlacementResult, paint: Paint) -> Iterator[str]:
    workloads = display_order(result.workloads)
    shown = workloads if len(workloads) <= MAX_WORKLOADS_SHOWN else [one for one in workloads if not one.fits]
    for one in shown[:_MAX_SHOWN]:
        yield from _workload(one, result, paint)
        yield ""
    if len(shown) > _MAX_SHOWN:
        yield f"… and {len(shown) - _MAX_SHOWN} more that do not fit any node"
        yield ""


def _unknown(result: PlacementResult, paint: Paint) -> Iterator[str]:
    for one in result.unknown[:_MAX_SHOWN]:
        place = paint(printable(one.place.label), "quiet")
        yield f"{paint(shown_object(one.owner), 'title')} ({place}): {PODS_UNKNOWN}"
    if len(result.unknown) > _MAX_SHOWN:
        yield f"… and {len(result.unknown) - _MAX_SHOWN} more with unknown pods"
    if result.unknown:
        yield ""


def _workload(workload: WorkloadResult, result: PlacementResult, paint: Paint) -> Iterator[str]:
    fit = workload.fit
    pods = "" if fit.subject.workload.pods == 1 else f", {pods_text(fit)}"
    place = paint(printable(fit.subject.place.label), "quiet")
    fit_line = fit_text(workload, len(result.cluster.machines))
    yield f"{paint(title(fit), 'title')}{pods} ({place}): {fit_line if workload.fits else paint(fit_line, 'error')}"
    for group in fit.others:
        yield f"  does not fit {plural(len(group.machines), 'node')}: {printable_name(node_names(group.machines))}"
        for alike in group.alike:
            yield f"    {printable(reason_text(alike))}{_origins(fit.origins(alike[0].paths), paint)}"
    for line in not_considered_lines(workload.not_considered):
        yield f"  {printable(line)}"
    for number, line in enumerate(suggestion_lines(workload)):
        yield f"  {line}" if number else f"  {paint('suggestion:', 'notice')} {line}"


def _pools(result: PlacementResult, paint: Paint) -> Iterator[str]:
    capacity = result.capacity
    if not capacity.pods:
        return
    header = ("POOL", "NODES", "RESOURCE", "ALLOCATABLE", "IN USE", "ADDED", "FREE", "MISSING")
    rows = [row for pool in capacity.pools for row in _pool_rows(pool)]
    yield from _aligned([header, *rows], paint)
    yield ""


def _pool_rows(pool: PoolUse) -> Iterator[tuple[str, ...]]:
    for number, share in enumerate(pool.resources):
        cordoned = sum(machine.cordoned for machine in pool.machines)
        nodes = str(len(pool.machines)) + (f" ({cordoned} cordoned)" if cordoned else "")
        name_cells = ("", "") if number else (printable_name(pool.name), nodes)
        yield (*name_cells, printable_name(share.resource), *resource_cells(share))


def resource_cells(share: ResourceUse) -> tuple[str, ...]:
    """Allocatable, in use, added, free and missing amounts of a resource."""
    amounts = (share.allocatable, share.in_use, share.added, share.free)
    missing = amount_text(share.resource, share.missing, up=True) if share.missing else "-"
    return (*(amount_text(share.resource, amount) for amount in amounts), missing)


def _models(models: Sequence[ModelHosting], paint: Paint) -> Iterator[str]:
    for model in models:
        fit_line = hosting_text(model) if model.is_possible else paint(hosting_text(model), "error")
        yield f"{paint(printable_name(model.title), 'title')}: {fit_line}"
        for host in model.hosts:
            yield f"  {host_name(host)}: {host_fit_text(host)}"
            for objection in host.objections:
                nodes = [node for node in (objection.model_node, objection.server_node) if node is not None]
                yield f"    {printable(objection.text)}{_origins(nodes, paint)}"
        yield ""


def _origins(nodes: Sequence[Node], paint: Paint) -> str:
    return paint(f"  {printable(origins_text(nodes))}", "quiet") if nodes else ""


def _notes(result: PlacementResult, paint: Paint) -> Iterator[str]:
    if result.not_placed:
        yield not_placed_text(result.not_placed)
    notes = [f"not considered: {'; '.join(NOT_MODELLED)}"]
    if not result.cluster.knows_pods:
        notes.insert(0, EMPTY_NODES)
    if result.capacity.pods:
        notes.insert(0, ESTIMATE)
    for note in notes:
        for line in textwrap.wrap(note, _LINE_WIDTH, subsequent_indent="  "):
            yield paint(line, "quiet")


def _aligned(rows: Sequence[Sequence[str]], paint: Paint) -> Iterator[str]:
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [_padded(cell, width, column) for column, (cell, width) in enumerate(zip(row, widths, strict=True))]
        missing = paint(cells[-1], "error") if number and row[-1] != "-" else cells[-1]
        line = _GAP.join([*cells[:-1], missing])
        yield line if number else paint(line.rstrip(), "title")


def _padded(cell: str, width: int, column: int) -> str:
    space = " " * (width - columns(cell))
    return cell + space if column < _TEXT_COLUMNS else space + cell
