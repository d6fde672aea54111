"""Placement as one HTML page, with a chart of capacity."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.capacity import PoolUse, Share
from speccompile.placement.model_hosting import Hosting
from speccompile.placement.placement import Answer, Told
from speccompile.placement.pod_requirements import worded
from speccompile.report.place_text import (
    advice_lines,
    host_name,
    hosting_text,
    nodes_text,
    share_cells,
    sums,
    verdict_text,
    waiting_text,
)
from speccompile.report.place_wording import (
    EMPTY,
    ESTIMATE,
    NOT_MODELLED,
    ignored_text,
    left_out_text,
    named,
    origins_text,
    plural,
    pods_text,
    printable_name,
    reason_text,
    title,
)
from speccompile.schema.bundled import asset
from speccompile.terminal.display_width import printable

_MOST_NAMED = 50
_COLUMNS = ("allocatable", "taken now", "added by runs", "free", "missing")
_LEFT, _ROOM, _RIGHT, _STEP = 150, 400, 90, 24
"""Columns of the chart, for names, bars and amounts, and the height of a row."""


class _Part(NamedTuple):
    kind: str
    x: int
    width: int


class _Bar(NamedTuple):
    """One row of a chart."""

    resource: str
    y: int
    x: int
    room: int
    """How long the whole of the pool is; what is missing stands beyond."""
    end: int
    parts: tuple[_Part, ...]
    amount: str


class _Pool(NamedTuple):
    name: str
    nodes: str
    rows: tuple[tuple[str, tuple[str, ...]], ...]
    bars: tuple[_Bar, ...]
    text: str
    """What the chart shows, for whoever cannot see it."""
    width: int
    height: int


class _Reason(NamedTuple):
    text: str
    origins: str


class _Group(NamedTuple):
    size: str
    names: str
    reasons: tuple[_Reason, ...]


class _Workload(NamedTuple):
    title: str
    place: str
    pods: str
    verdict: str
    is_good: bool
    advice: tuple[str, ...]
    ignored: tuple[str, ...]
    groups: tuple[_Group, ...]


class _Host(NamedTuple):
    name: str
    fit: str
    reasons: tuple[_Reason, ...]


class _Model(NamedTuple):
    title: str
    verdict: str
    hosts: tuple[_Host, ...]


def as_placed_page(answer: Answer) -> str:
    """A page that needs nothing but itself, and runs no script; the same answer gives the same page."""
    from speccompile.report.html_template import filled_page  # Jinja is slow to import, and only pages need it

    style = asset("page.css") + asset("placed.css")
    good = sum(told.fits for told in answer.workloads)
    nodes = plural(len(answer.cluster.machines), "node")
    values = {
        "summary": f"{good} of {plural(len(answer.workloads), 'workload')} fit, on {nodes}",
        "sums": sums(answer.fleet),
        "estimate": ESTIMATE,
        "notes": tuple(_notes(answer)),
        "waiting": [waiting_text(one) for one in answer.fleet.unplaced],
        "columns": _COLUMNS,
        "pools": [_pool(pool) for pool in answer.fleet.pools] if answer.fleet.pods else [],
        "models": [_model(model) for model in answer.models],
        "workloads": [_workload(told, answer) for told in answer.workloads],
        "unmodelled": "; ".join(NOT_MODELLED),
        "style_hash": f"sha256-{b64encode(sha256(style.encode()).digest()).decode('ascii')}",
    }
    return filled_page(asset("placed.html.j2"), values, {"style": style})


def _notes(answer: Answer) -> Iterator[str]:
    if not answer.cluster.knows_pods:
        yield EMPTY
    if answer.left_out:
        yield left_out_text(answer.left_out)


def _pool(pool: PoolUse) -> _Pool:
    bars = tuple(_bar(share, number) for number, share in enumerate(pool.shares))
    told = "; ".join(_told(share) for share in pool.shares)
    return _Pool(
        printable_name(pool.name),
        f"nodes: {nodes_text(pool)}: {printable(named(pool.machines, _MOST_NAMED))}",
        tuple((printable_name(share.resource), share_cells(share)) for share in pool.shares),
        bars,
        told,
        _LEFT + _ROOM + _RIGHT,
        len(bars) * _STEP,
    )


def _told(share: Share) -> str:
    cells = zip(share_cells(share), _COLUMNS, strict=True)
    return f"{printable_name(share.resource)}: {', '.join(f'{cell} {name}' for cell, name in cells if cell != '-')}"


def _bar(share: Share, number: int) -> _Bar:
    whole = max(share.allocatable, share.before + share.added) + share.missing or 1
    parts: list[_Part] = []
    x = 0
    for kind, amount in zip(
        ("taken", "added", "free", "missing"), (*share[2:4], share.free, share.missing), strict=True
    ):
        width = amount * _ROOM // whole
        parts += [_Part(kind, _LEFT + x, width)] if width else []
        x += width
    room = share.allocatable * _ROOM // whole
    amount_text = worded(share.resource, share.allocatable)
    return _Bar(
        _short(printable_name(share.resource)),
        number * _STEP,
        _LEFT,
        room,
        _LEFT + _ROOM + 8,
        tuple(parts),
        amount_text,
    )


def _short(name: str, longest: int = 22) -> str:
    return name if len(name) <= longest else f"…{name[1 - longest :]}"


def _workload(told: Told, answer: Answer) -> _Workload:
    verdict = told.verdict
    return _Workload(
        title(verdict),
        printable(verdict.subject.place.label),
        pods_text(verdict),
        verdict_text(told, len(answer.cluster.machines)),
        told.fits,
        tuple(advice_lines(told)),
        tuple(map(printable, ignored_text(told.ignored))),
        tuple(_groups(told)),
    )


def _groups(told: Told) -> Iterator[_Group]:
    for group in told.verdict.others:
        reasons = (_reason(reason_text(alike), told.verdict.origins(alike[0].paths)) for alike in group.alike)
        names = printable(named(group.machines, _MOST_NAMED))
        yield _Group(plural(len(group.machines), "node"), names, tuple(reasons))


def _model(model: Hosting) -> _Model:
    hosts = (
        _Host(
            host_name(host),
            host.fit,
            tuple(
                _reason(one.text, tuple(node for node in (one.asked, one.found) if node is not None))
                for one in host.objections
            ),
        )
        for host in model.hosts
    )
    return _Model(printable_name(model.title), hosting_text(model), tuple(hosts))


def _reason(text: str, nodes: tuple[Node, ...]) -> _Reason:
    return _Reason(printable(text), printable(origins_text(nodes)))
