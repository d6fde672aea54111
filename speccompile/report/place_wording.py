"""Rejections, suggestions and amounts of placement in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import origin_of
from speccompile.model.source import Layer
from speccompile.placement.capacity import ALL_NODES, Capacity, PendingPods
from speccompile.placement.fit import WorkloadFit
from speccompile.placement.machine import Machine
from speccompile.placement.model_hosting import HostFit, ModelHosting
from speccompile.placement.not_modelled import UNMODELLED
from speccompile.placement.object_identity import kind_of, name_of
from speccompile.placement.placement import PlacementResult, UnknownPods, WorkloadResult
from speccompile.placement.pod_requirements import amount_text
from speccompile.placement.scheduler_filters import POD_RESOURCE, Filter, NodeRejection, actual_text, required_text
from speccompile.placement.suggest import Suggestion
from speccompile.report.natural_order import natural_key
from speccompile.terminal.display_width import printable

_MAX_LISTED = 3
_MAX_LENGTH = 100
ESTIMATE = (
    "estimate: pods are placed in the order of the runs, each on the first node with room;"
    " the scheduler may do better or worse"
)
EMPTY_NODES = "no --pods given: nodes are assumed to be empty"
PODS_UNKNOWN = "its pods are unknown"
NOT_MODELLED = tuple(row.what for row in UNMODELLED)
_ADMIN_LAYERS = {Layer.PROFILE: "profile", Layer.PLATFORM: "platform file"}


# Summaries


class SummaryLine(NamedTuple):
    """A line about workloads, models or capacity."""

    text: str
    is_good: bool
    """Whether all of them fit."""


def summary_lines(result: PlacementResult) -> Iterator[SummaryLine]:
    """Whether everything fits."""
    if result.workloads or not (result.models or result.unknown):
        yield SummaryLine(_workload_summary(result), all(workload.fits for workload in result.workloads))
    if result.models:
        is_good = all(model.is_possible and not model.is_unknown for model in result.models)
        yield SummaryLine(_model_summary(result.models), is_good)
    if result.unknown:
        yield SummaryLine(_unknown_summary(result.unknown), is_good=False)
    if result.capacity.pods:
        yield SummaryLine(_capacity_summary(result.capacity), not result.capacity.pending)


def _workload_summary(result: PlacementResult) -> str:
    nodes = len(result.cluster.machines)
    checked = f"({plural(nodes, 'node')} checked)"
    total = len(result.workloads)
    unfit = [one for one in result.workloads if not one.fits]
    if not total:
        return f"no workloads to place {checked}"
    if total == 1:
        (only,) = result.workloads
        return f"{title(only.fit)} {f'does not fit any node {checked}' if unfit else fit_text(only, nodes)}"
    if not unfit:
        return f"{'' if result.unknown else 'all '}{total} workloads fit at least one node {checked}"
    names = _names([title(one.fit) for one in unfit])
    return f"{len(unfit)} of {plural(total, 'workload')} {_does(unfit)} not fit any node {checked}: {names}"


def _model_summary(models: Sequence[ModelHosting]) -> str:
    total = len(models)
    unfit = [model for model in models if not model.is_possible]
    unknown = [model for model in models if model.is_unknown]
    stock = sum(model.needs_stock and not model.is_unknown for model in models)
    note = f" ({stock} only a stock server, which is not among the objects)" if stock else ""
    if unknown:
        names = _names([printable_name(model.title) for model in unknown])
        note += f"; unknown for {plural(len(unknown), 'model')}: {names}"
    if not unfit and not unknown:
        return f"{'1 model fits' if total == 1 else f'all {total} models fit'} a server{note}"
    if not unfit:
        fitting = total - len(unknown)
        return f"{fitting} of {plural(total, 'model')} {'fits' if fitting == 1 else 'fit'} a server{note}"
    names = _names([printable_name(model.title) for model in unfit])
    return f"{len(unfit)} of {plural(total, 'model')} {_does(unfit)} not fit any server: {names}{note}"


def _unknown_summary(unknown: Sequence[UnknownPods]) -> str:
    names = _names([shown_object(one.owner) for one in unknown])
    return f"the pods of {plural(len(unknown), 'object')} are unknown and may not fit: {names}"


def _does(subjects: Sequence[object]) -> str:
    return "does" if len(subjects) == 1 else "do"


def _names(names: Iterable[str]) -> str:
    ordered = sorted(names, key=natural_key)
    return ", ".join(ordered[:_MAX_LISTED]) + (", …" if len(ordered) > _MAX_LISTED else "")


def _capacity_summary(capacity: Capacity) -> str:
    pods, workloads = plural(capacity.pods, "pod"), plural(capacity.workloads, "workload")
    return (
        f"room for {capacity.placed} of {pods}, and for all pods of {capacity.fully_placed} of {workloads} (estimate)"
    )


def display_order(workloads: Sequence[WorkloadResult]) -> list[WorkloadResult]:
    """The workloads that fit no node first, each group in natural order."""
    return sorted(workloads, key=lambda one: (one.fits, natural_key(title(one.fit))))


# Workloads


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def node_names(machines: Sequence[Machine], most: int = _MAX_LISTED) -> str:
    """The names of the first few nodes."""
    return ", ".join(machine.name for machine in machines[:most]) + (", …" if len(machines) > most else "")


def pods_text(fit: WorkloadFit) -> str:
    workload = fit.subject.workload
    return "suspended" if workload.is_suspended else plural(workload.pods, "pod")


def not_placed_text(objects: Iterable[Node]) -> str:
    """How many objects of which kinds have pods that are not placed."""
    counts = Counter(printable_name(kind_of(tree)) for tree in objects)
    return f"not placed: pods of {', '.join(plural(counts[kind], kind) for kind in sorted(counts))}"


def title(fit: WorkloadFit) -> str:
    workload = fit.subject.workload
    part = f" ({workload.part})" if workload.part else ""
    return printable_name(f"{workload.kind} {workload.name}".strip() + part)


def shown_object(tree: Node) -> str:
    """An object by kind and name, as far as it has them."""
    return printable_name(f"{kind_of(tree)} {name_of(tree)}".strip()) or "an object"


def printable_name(text: str) -> str:
    """A name from the input, cut short, with unprintable characters escaped."""
    return quote(text, _MAX_LENGTH)[1:-1]


def fit_text(workload: WorkloadResult, nodes: int) -> str:
    """Whether a workload fits, and on which nodes."""
    fits = workload.fit.fits
    if fits:
        return f"fits {len(fits)} of {plural(nodes, 'node')}: {printable_name(node_names(fits))}"
    return "has no pods to place" if workload.fits else "does not fit any node"


def pending_text(pending: PendingPods) -> str:
    """How many pods of a workload stay pending, and why."""
    pods = f"{plural(pending.pods, 'pod')} of {title(pending.fit)} {'stays' if pending.pods == 1 else 'stay'} pending"
    if not pending.pools:
        return f"{pods}: no node matches, even when empty"
    pools = "" if pending.pools == (ALL_NODES,) else f" in pool {' or '.join(map(printable_name, pending.pools))}"
    short, ports = (", ".join(map(printable_name, names)) for names in (pending.insufficient, pending.ports))
    room = f"no node{pools} has enough {short} free" if short else ""
    taken = f"host port {ports} is in use on every node{pools}" if ports else ""
    return f"{pods}: {room}{' or ' if room and taken else ''}{taken}"


def not_considered_lines(ignored: Iterable[tuple[str, Node]]) -> Iterator[str]:
    """What a workload uses that also decides where it runs, and that `place` does not evaluate."""
    for what, node in ignored:
        yield f"not considered: {what} ({origins_text([node])})"


def origins_text(nodes: Iterable[Node]) -> str:
    """The lines that set the nodes; empty for values without an origin."""
    origins = [*dict.fromkeys(str(origin_of(node)._replace(derived=None)) for node in nodes)]
    return ", ".join(origins[:_MAX_LISTED]) + (", …" if len(origins) > _MAX_LISTED else "")


# Reasons


def reason_text(alike: Sequence[NodeRejection]) -> str:
    """A reason that several nodes share, with what each node has."""
    return _REASONS[alike[0].filter](alike)


def _invalid(alike: Sequence[NodeRejection]) -> str:
    return f"invalid pod: {alike[0].required} at {quote(format_path(alike[0].paths[0]), _MAX_LENGTH)}"


def _label(alike: Sequence[NodeRejection]) -> str:
    first = alike[0]
    if first.requirement is not None:
        needs = required_text(first.requirement)
        return f"label {quote(first.subject, _MAX_LENGTH)}: {needs}, {actual_text({one.actual for one in alike})}"
    detail = f": {first.actual}" if first.actual and len({one.actual for one in alike}) == 1 else ""
    return f"required node affinity: needs {first.required}{detail}"


def _resource(alike: Sequence[NodeRejection]) -> str:
    first = alike[0]
    if first.subject == POD_RESOURCE:
        return "the node has reached its pod limit"
    free = sorted({one.shortfall.free for one in alike if one.shortfall})
    least, most = (amount_text(first.subject, max(amount, 0)) for amount in (free[0], free[-1]))
    needs = amount_text(first.subject, first.shortfall.required, up=True) if first.shortfall else ""
    has = least if least == most else f"{least} to {most}"
    return f"{printable_name(first.subject)}: needs {needs}, has {has} free"


_REASONS: Mapping[Filter, Callable[[Sequence[NodeRejection]], str]] = {
    Filter.API: _invalid,
    Filter.NODE_NAME: lambda alike: f"`nodeName` requires node {alike[0].required}",
    Filter.UNSCHEDULABLE: lambda _: "the node is cordoned",
    Filter.TAINTS: lambda alike: f"taint {quote(alike[0].subject, _MAX_LENGTH)} is not tolerated",
    Filter.AFFINITY: _label,
    Filter.RESOURCES: _resource,
    Filter.PORTS: lambda alike: f"host port {printable_name(alike[0].subject)} is in use",
}


# Suggestions


def suggestion_lines(workload: WorkloadResult) -> Iterator[str]:
    """The suggested change, or the closest node if no single change helps; nothing without `--suggest`."""
    if workload.advice is None:
        return
    suggestion, closest = workload.advice
    if suggestion is not None:
        yield printable(_suggestion(suggestion, workload.fit))
        return
    yield "no single change makes it fit"
    if closest is not None:
        reasons = "; ".join(reason_text([reason]) for reason in closest.reasons)
        yield f"closest node: {printable(f'{closest.machine.name}: {reasons}')}"


def _suggestion(suggestion: Suggestion, fit: WorkloadFit) -> str:
    change = suggestion.change
    nodes = fit.origins([change.at]) if change.at else ()
    origins = f" ({origins_text(nodes)})" if nodes else ""
    layers = (node.span.source.layer for node in nodes)
    admin = next((_ADMIN_LAYERS[layer] for layer in layers if layer in _ADMIN_LAYERS), None)
    note = f"; the {admin} sets this value, so only an admin can change it" if admin else ""
    nodes_text = f"{plural(len(suggestion.machines), 'node')}: {node_names(suggestion.machines)}"
    return f"{change.what}{origins}, to fit {nodes_text}{note}"


# Models


def hosting_text(model: ModelHosting) -> str:
    """How many servers could load a model."""
    if model.needs_stock:
        names = " or ".join(printable_name(host.name) for host in model.possible)
        could = "could" if any(host.fit != "unknown" for host in model.possible) else "might"
        return f"does not fit any server among the objects; a stock {names} {could} load it, if it is installed"
    if not model.is_possible:
        return "does not fit any server"
    fits = "may fit" if model.is_unknown else "fits"
    return f"{fits} {len(model.possible)} of {plural(len(model.hosts), 'server')}"


def host_name(host: HostFit) -> str:
    return printable_name(host.name) + (" (stock, not among the objects)" if host.is_stock else "")


def host_fit_text(host: HostFit) -> str:
    return _HOST_FITS[host.fit]


_HOST_FITS = {"yes": "fits", "partly": "fits partly", "unknown": "unknown", "no": "does not fit"}
