"""Placement as one HTML page."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.capacity import PoolUse, ResourceUse
from speccompile.placement.model_hosting import ModelHosting
from speccompile.placement.placement import PlacementResult, WorkloadResult
from speccompile.report.place_text import resource_cells
from speccompile.report.place_wording import (
    EMPTY_NODES,
    ESTIMATE,
    NOT_MODELLED,
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
from speccompile.schema.bundled import asset
from speccompile.terminal.display_width import printable

_MAX_NODES_NAMED = 50
_MAX_LISTED = 50
"""Entries of a list in the summary; every workload has a section."""
_COLUMNS = ("allocatable", "in use", "added by runs", "free", "missing")
_BAR_WIDTH = 400
_STATUS = {
    (True, False): "everything fits",
    (True, True): "not everything is known",
    (False, False): "not everything fits",
    (False, True): "not everything fits",
}
"""By whether everything fits, and whether something is unknown."""


class _Span(NamedTuple):
    """Text of one kind; identifiers, in backticks elsewhere, are code on the page."""

    text: str
    is_code: bool


_RichText: TypeAlias = tuple[_Span, ...]


class _BarPart(NamedTuple):
    kind: str
    x: int
    width: int


class _ResourceRow(NamedTuple):
    resource: str
    cells: tuple[tuple[str, str], ...]
    """Each amount with the name of its column."""
    parts: tuple[_BarPart, ...]
    room: int
    """The length of what is allocatable; a missing amount is drawn beyond it."""


class _PoolSection(NamedTuple):
    name: str
    nodes: str
    rows: tuple[_ResourceRow, ...]


class _ReasonItem(NamedTuple):
    text: _RichText
    origins: str


class _NodeGroup(NamedTuple):
    size: str
    names: str
    reasons: tuple[_ReasonItem, ...]


class _WorkloadSection(NamedTuple):
    id: str
    title: str
    place: str
    pods: str
    fit: _RichText
    is_good: bool
    suggestion: tuple[_RichText, ...]
    not_considered: tuple[_RichText, ...]
    groups: tuple[_NodeGroup, ...]


class _ServerRow(NamedTuple):
    name: str
    fit: str
    is_good: bool
    reasons: tuple[_ReasonItem, ...]


class _ModelSection(NamedTuple):
    title: str
    fit: _RichText
    is_good: bool
    servers: tuple[_ServerRow, ...]


def as_placed_page(result: PlacementResult) -> str:
    """A self-contained page without scripts; equal results produce equal pages."""
    from speccompile.report.html_template import filled_page  # Jinja is slow to import, and only pages need it

    style = asset("page.css") + asset("placed.css")
    workloads = [
        _workload(number, workload, result) for number, workload in enumerate(display_order(result.workloads), 1)
    ]
    pending = result.capacity.pending
    values = {
        "summary": [*summary_lines(result)],
        "status": _STATUS[result.everything_fits, result.has_unknown],
        "unknown": [(shown_object(one.owner), printable(one.place.label)) for one in result.unknown[:_MAX_LISTED]],
        "more_unknown": max(len(result.unknown) - _MAX_LISTED, 0),
        "pending": [_rich(pending_text(one)) for one in pending[:_MAX_LISTED]],
        "more_pending": max(len(pending) - _MAX_LISTED, 0),
        "unfit": [one for one in workloads if not one.is_good],
        "fitting": [one for one in workloads if one.is_good],
        "max_listed": _MAX_LISTED,
        "notes": tuple(_notes(result)),
        "columns": _COLUMNS,
        "pools": [_pool(pool) for pool in result.capacity.pools] if result.capacity.pods else [],
        "bar_width": _BAR_WIDTH,
        "models": [_model(model) for model in result.models],
        "not_modelled": NOT_MODELLED,
        "style_hash": f"sha256-{b64encode(sha256(style.encode()).digest()).decode('ascii')}",
    }
    return filled_page(asset("placed.html.j2"), values, {"style": style})


def _rich(text: str) -> _RichText:
    """Split a message at its backticks."""
    return tuple(_Span(part, number % 2 == 1) for number, part in enumerate(text.split("`")) if part)


def _notes(result: PlacementResult) -> Iterator[str]:
    if result.capacity.pods:
        yield ESTIMATE
    if not result.cluster.knows_pods:
        yield EMPTY_NODES
    if result.not_placed:
        yield not_placed_text(result.not_placed)


def _pool(pool: PoolUse) -> _PoolSection:
    cordoned = sum(machine.cordoned for machine in pool.machines)
    nodes = plural(len(pool.machines), "node") + (f" ({cordoned} cordoned)" if cordoned else "")
    names = printable(node_names(pool.machines, _MAX_NODES_NAMED))
    return _PoolSection(printable_name(pool.name), f"{nodes}: {names}", tuple(map(_resource_row, pool.resources)))


def _resource_row(share: ResourceUse) -> _ResourceRow:
    total = max(share.allocatable, share.in_use + share.added) + share.missing or 1
    parts: list[_BarPart] = []
    x = 0
    amounts = (("used", share.in_use), ("added", share.added), ("free", share.free), ("missing", share.missing))
    for kind, amount in amounts:
        width = amount * _BAR_WIDTH // total
        parts += [_BarPart(kind, x, width)] if width else []
        x += width
    cells = tuple(zip(_COLUMNS, resource_cells(share), strict=True))
    return _ResourceRow(printable_name(share.resource), cells, tuple(parts), share.allocatable * _BAR_WIDTH // total)


def _workload(number: int, workload: WorkloadResult, result: PlacementResult) -> _WorkloadSection:
    fit = workload.fit
    return _WorkloadSection(
        f"workload-{number}",
        title(fit),
        printable(fit.subject.place.label),
        pods_text(fit),
        _rich(fit_text(workload, len(result.cluster.machines))),
        workload.fits,
        tuple(map(_rich, suggestion_lines(workload))),
        tuple(_rich(printable(line)) for line in not_considered_lines(workload.not_considered)),
        tuple(_node_groups(workload)),
    )


def _node_groups(workload: WorkloadResult) -> Iterator[_NodeGroup]:
    for group in workload.fit.others:
        reasons = (_reason(reason_text(alike), workload.fit.origins(alike[0].paths)) for alike in group.alike)
        names = printable(node_names(group.machines, _MAX_NODES_NAMED))
        yield _NodeGroup(plural(len(group.machines), "node"), names, tuple(reasons))


def _model(model: ModelHosting) -> _ModelSection:
    servers = (
        _ServerRow(
            host_name(host),
            host_fit_text(host),
            host.fit != "no",
            tuple(
                _reason(one.text, [node for node in (one.model_node, one.server_node) if node is not None])
                for one in host.objections
            ),
        )
        for host in model.hosts
    )
    return _ModelSection(printable_name(model.title), _rich(hosting_text(model)), model.is_possible, tuple(servers))


def _reason(text: str, nodes: Iterable[Node]) -> _ReasonItem:
    return _ReasonItem(_rich(printable(text)), printable(origins_text(nodes)))
