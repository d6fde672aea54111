"""Reasons, suggestions and amounts of placement in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import format_path
from speccompile.model.node import Node
from speccompile.model.origin import origin_of
from speccompile.model.source import Layer
from speccompile.placement.fit import Verdict
from speccompile.placement.machine import Machine
from speccompile.placement.not_modelled import UNMODELLED
from speccompile.placement.object_identity import kind_of
from speccompile.placement.pod_requirements import worded
from speccompile.placement.scheduler_filters import PODS, Filter, Reason, has
from speccompile.placement.suggest import Suggestion

_FEW = 3
"""Values, nodes or places that are named; of more, it is told that there are more."""
_LONGEST = 100
ESTIMATE = "an estimate: first fit, in the order of the runs; the real scheduler may do better or worse"
EMPTY = "without --pods, every node counts as empty"
NOT_MODELLED = tuple(row.what for row in UNMODELLED)
_ADMINS = {Layer.PROFILE: "the profile's", Layer.PLATFORM: "the platform's"}


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def named(machines: Sequence[Machine], most: int = _FEW) -> str:
    """The nodes by name, the first few of many."""
    names = [machine.name for machine in machines[:most]]
    return ", ".join(names) + (", …" if len(machines) > most else "")


def pods_text(verdict: Verdict) -> str:
    """How many pods there would be."""
    workload = verdict.subject.workload
    return "suspended" if workload.is_suspended else plural(workload.pods, "pod")


def left_out_text(objects: Iterable[Node]) -> str:
    """How many objects of which kinds have pods that are not placed."""
    counts = Counter(printable_name(kind_of(tree)) for tree in objects)
    told = ", ".join(plural(counts[kind], kind) for kind in sorted(counts))
    return f"pods of {told} are not placed"


def title(verdict: Verdict) -> str:
    workload = verdict.subject.workload
    return quote(f"{workload.kind} {workload.name}".strip(), _LONGEST)[1:-1]


def reason_text(alike: Sequence[Reason]) -> str:
    """A reason in words, with what was found on each node that it holds for."""
    return _WORDS[alike[0].filter](alike)


def _refused(alike: Sequence[Reason]) -> str:
    return f"the API server refuses it: {alike[0].asked} at {quote(format_path(alike[0].paths[0]), _LONGEST)}"


def _label(alike: Sequence[Reason]) -> str:
    first = alike[0]
    if first.requirement is None:
        told = f": {first.found}" if first.found and len({reason.found for reason in alike}) == 1 else ""
        return f"node affinity asks for {first.asked}{told}"
    return f"label {quote(first.subject, _LONGEST)}: asks for {first.asked}, found {_either(alike)}"


def _either(alike: Sequence[Reason]) -> str:
    found = [*dict.fromkeys(has(reason) for reason in alike)]
    *others, last = found[:_FEW]
    more = ", …" if len(found) > _FEW else ""
    return f"{', '.join(others)}{',' if more else ' or'} {last}{more}" if others else last


def _resource(alike: Sequence[Reason]) -> str:
    first = alike[0]
    frees = sorted({reason.lack.free for reason in alike if reason.lack})
    if first.subject == PODS:
        return "it has as many pods as it may have"
    least, most = (worded(first.subject, max(free, 0)) for free in (frees[0], frees[-1]))
    asked = worded(first.subject, first.lack.asked, up=True) if first.lack else ""
    return f"{printable_name(first.subject)}: asks for {asked}, free {least if least == most else f'{least} to {most}'}"


def printable_name(text: str) -> str:
    """A name of the input, as it is unless it holds what no report should."""
    return quote(text, _LONGEST)[1:-1]


_WORDS: Mapping[Filter, Callable[[Sequence[Reason]], str]] = {
    Filter.API: _refused,
    Filter.NODE_NAME: lambda alike: f"it names node {alike[0].asked}",
    Filter.UNSCHEDULABLE: lambda _: "cordoned, which is not tolerated",
    Filter.TAINTS: lambda alike: f"taint {quote(alike[0].subject, _LONGEST)} is not tolerated",
    Filter.AFFINITY: _label,
    Filter.RESOURCES: _resource,
    Filter.PORTS: lambda alike: f"host port {printable_name(alike[0].subject)} is taken",
}


def origins_text(nodes: Iterable[Node]) -> str:
    """Who says so, and where; nothing for what nobody says."""
    told = [*dict.fromkeys(str(origin_of(node)._replace(derived=None)) for node in nodes)]
    return ", ".join(told[:_FEW]) + (", …" if len(told) > _FEW else "")


def suggestion_text(made: Suggestion, verdict: Verdict) -> str:
    """The change, where, whose it is to make, and what would come of it."""
    change = made.change
    nodes = verdict.origins([change.at]) if change.at else ()
    at = f" ({origins_text(nodes)})" if nodes else ""
    admin = next((_ADMINS[node.span.source.layer] for node in nodes if node.span.source.layer in _ADMINS), None)
    whose = f"; the value is {admin}, so it is for its admin to change" if admin else ""
    return f"{change.what}{at}: would fit {plural(len(made.machines), 'node')}: {named(made.machines)}{whose}"


def ignored_text(ignored: Iterable[tuple[str, Node]]) -> Iterator[str]:
    """What this run has that is not looked at."""
    for what, node in ignored:
        yield f"{what} ({origins_text([node])})"
