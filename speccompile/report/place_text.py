"""Placement as text: workloads, capacity, models and servers."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from speccompile.model.node import Node
from speccompile.placement.capacity import ALL, Fleet, PoolUse, Share, Unplaced
from speccompile.placement.fit import Group, Verdict
from speccompile.placement.model_hosting import Host, Hosting
from speccompile.placement.placement import Answer, Told
from speccompile.placement.pod_requirements import worded
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
    suggestion_text,
    title,
)
from speccompile.terminal.display_width import columns, printable
from speccompile.terminal.style import Paint, plain

FEW = 20
"""Workloads that are all shown; of more, only those that fit nowhere are."""
_MOST_SHOWN = 100
_GAP = "  "
_WIDE = 100
_RIGHT = 3
"""Columns of the table of pools that hold words; the others hold numbers."""


def as_placed_table(answer: Answer, paint: Paint = plain) -> str:
    """Everything, in the order in which people ask."""
    lines = (
        *_workloads(answer, paint),
        *_fleet(answer, paint),
        *_models(answer.models, paint),
        *_footer(answer, paint),
    )
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _workloads(answer: Answer, paint: Paint) -> Iterator[str]:
    told = answer.workloads
    chosen = told if len(told) <= FEW else tuple(one for one in told if not one.fits)
    for one in chosen[:_MOST_SHOWN]:
        yield from _workload(one, answer, paint)
        yield ""
    if len(chosen) > _MOST_SHOWN:
        yield f"… and {len(chosen) - _MOST_SHOWN} more that fit no node"
        yield ""


def _workload(told: Told, answer: Answer, paint: Paint) -> Iterator[str]:
    verdict = told.verdict
    many = "" if verdict.subject.workload.pods == 1 else f", {pods_text(verdict)}"
    place = paint(printable(verdict.subject.place.label), "quiet")
    words = verdict_text(told, len(answer.cluster.machines))
    yield f"{paint(title(verdict), 'title')}{many} ({place}): {words if told.fits else paint(words, 'error')}"
    for group in verdict.others:
        yield from _group(group, verdict, paint)
    for line in ignored_text(told.ignored):
        yield f"  not looked at, and this run has it: {printable(line)}"
    for number, line in enumerate(advice_lines(told)):
        yield f"  {paint('suggestion:', 'notice')} {line}" if not number else f"  {line}"


def verdict_text(told: Told, nodes: int) -> str:
    """Whether it fits, and where."""
    fits = told.verdict.fits
    if not fits:
        return "fits no node"
    return f"fits {len(fits)} of {plural(nodes, 'node')}: {printable_name(named(fits))}"


def _group(group: Group, verdict: Verdict, paint: Paint) -> Iterator[str]:
    yield f"  not on {plural(len(group.machines), 'node')}: {printable_name(named(group.machines))}"
    for alike in group.alike:
        origin = printable(origins_text(verdict.origins(alike[0].paths)))
        yield f"    {printable(reason_text(alike))}" + (paint(f"  {origin}", "quiet") if origin else "")


def advice_lines(told: Told) -> Iterator[str]:
    """What would help it, if that was asked for."""
    if told.advice is None:
        return
    made, near = told.advice
    if made is not None:
        yield printable(suggestion_text(made, told.verdict))
        return
    yield "no single change that is tried here would do"
    if near is not None:
        reasons = "; ".join(reason_text([reason]) for reason in near.reasons)
        yield f"the nearest is {printable(f'{near.machine.name}: {reasons}')}"


# What fits at once


def _fleet(answer: Answer, paint: Paint) -> Iterator[str]:
    told = answer.fleet
    if not told.pods:
        return
    header = ("POOL", "NODES", "RESOURCE", "ALLOCATABLE", "TAKEN", "RUNS", "FREE", "MISSING")
    rows = [row for pool in told.pools for row in _pool(pool)]
    yield from _aligned([header, *rows], paint)
    yield ""
    yield sums(told)
    for one in told.unplaced[:FEW]:
        yield f"  {waiting_text(one)}"
    if len(told.unplaced) > FEW:
        yield f"  … and {len(told.unplaced) - FEW} more"
    yield f"  {paint(ESTIMATE, 'quiet')}"
    yield ""


def sums(told: Fleet) -> str:
    """How much fits at once."""
    pods, workloads = plural(told.pods, "pod"), plural(told.workloads, "workload")
    return f"at once: {told.placed} of {pods}, all pods of {told.whole} of {workloads}"


def _pool(pool: PoolUse) -> Iterator[tuple[str, ...]]:
    for number, share in enumerate(pool.shares):
        name, nodes = (printable_name(pool.name), nodes_text(pool)) if not number else ("", "")
        yield (name, nodes, printable_name(share.resource), *share_cells(share))


def nodes_text(pool: PoolUse) -> str:
    """How many nodes it has, and how many of them take no pods now."""
    cordoned = sum(machine.cordoned for machine in pool.machines)
    return str(len(pool.machines)) + (f" ({cordoned} cordoned)" if cordoned else "")


def share_cells(share: Share) -> tuple[str, ...]:
    """Allocatable, taken, added, free and missing of a resource, in words."""
    amounts = (share.allocatable, share.before, share.added, share.free)
    missing = worded(share.resource, share.missing, up=True) if share.missing else "-"
    return (*(worded(share.resource, amount) for amount in amounts), missing)


def waiting_text(one: Unplaced) -> str:
    """How many pods would wait, and for what."""
    pods = f"{plural(one.pods, 'pod')} of {title(one.verdict)} would wait"
    if not one.pools:
        return f"{pods}: no node would take it, had it all the room"
    pools = "" if one.pools == (ALL,) else f" of {' or '.join(map(printable_name, one.pools))}"
    short, ports = (", ".join(map(printable_name, names)) for names in (one.short, one.ports))
    room = f"no node{pools} has enough {short} left" if short else ""
    taken = f"host port {ports} is taken on every node{pools}" if ports else ""
    return f"{pods}: {room}{' or ' if room and taken else ''}{taken}"


# Models and servers


def _models(models: Sequence[Hosting], paint: Paint) -> Iterator[str]:
    for model in models:
        state = hosting_text(model)
        yield f"{paint(printable_name(model.title), 'title')}: {state if model.is_possible else paint(state, 'error')}"
        for host in model.hosts:
            yield f"  {host_name(host)}: {host.fit}"
            for objection in host.objections:
                nodes = [node for node in (objection.asked, objection.found) if node is not None]
                yield f"    {printable(objection.text)}{_origin(nodes, paint)}"
        yield ""


def hosting_text(model: Hosting) -> str:
    """On how many servers it could be."""
    if model.needs_stock:
        names = " or ".join(printable_name(host.name) for host in model.possible)
        surely = any(host.fit != "unknown" for host in model.possible)
        could = "could" if surely else "might"
        return f"no server at hand could have it; a stock {names} {could}, if the cluster has one"
    return f"could go to {len(model.possible)} of {plural(len(model.hosts), 'server')}"


def host_name(host: Host) -> str:
    """What a server is called, and whether it is one that is only supposed to be there."""
    return printable_name(host.name) + (" (stock, not at hand)" if host.is_stock else "")


def _origin(nodes: Sequence[Node], paint: Paint) -> str:
    return paint(f"  {printable(origins_text(nodes))}", "quiet") if nodes else ""


def _footer(answer: Answer, paint: Paint) -> Iterator[str]:
    if not answer.cluster.knows_pods:
        yield paint(EMPTY, "quiet")
    if answer.left_out:
        yield left_out_text(answer.left_out)
    for line in textwrap.wrap(f"not looked at: {'; '.join(NOT_MODELLED)}", _WIDE, subsequent_indent="  "):
        yield paint(line, "quiet")
    nodes = plural(len(answer.cluster.machines), "node")
    if answer.workloads or not answer.models:
        fit = [told.fits for told in answer.workloads]
        yield f"{plural(len(fit), 'workload')} on {nodes}: {_counts(fit, 'some node')}"
    if answer.models:
        fit = [model.is_possible for model in answer.models]
        stock = sum(model.needs_stock for model in answer.models)
        only = f" ({stock} only a stock one that is not at hand)" if stock else ""
        yield f"{plural(len(fit), 'model')}: {_counts(fit, f'some server{only}')}"


def _counts(fit: Sequence[bool], where: str) -> str:
    good = sum(fit)
    return f"all fit {where}" if good == len(fit) else f"{good} fit {where}, {len(fit) - good} fit none"


def _aligned(rows: Sequence[Sequence[str]], paint: Paint) -> Iterator[str]:
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    for number, row in enumerate(rows):
        cells = [_filled(cell, width, at) for at, (cell, width) in enumerate(zip(row, widths, strict=True))]
        missing = paint(cells[-1], "error") if number and row[-1] != "-" else cells[-1]
        line = _GAP.join([*cells[:-1], missing])
        yield line if number else paint(line.rstrip(), "title")


def _filled(cell: str, width: int, at: int) -> str:
    space = " " * (width - columns(cell))
    return cell + space if at < _RIGHT else space + cell
