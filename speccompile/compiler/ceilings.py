"""The platform's limits (its settings `ceilings` and `jobs.deadline_seconds`), and the amounts each applies to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccompile.compiler.container_resources import DISK, SCRATCH_DISK, amount, is_device, is_extended
from speccompile.compiler.policy import volumes_in
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.quantity import added_up
from speccompile.model.source import USER_LAYERS
from speccompile.model.spec import Merged
from speccompile.schema.field_path import SIDES


def above_ceilings(spec: Node, complete: Merged) -> Iterator[Diagnostic]:
    """Amounts above a limit: resources in the spec as written, volumes in the completed one, and the deadline."""
    platform = complete.platform
    # Claims and directories without a size get one only when the spec is completed.
    yield from resources_above_ceilings(spec.fields.get("resources"), volumes_in(complete.spec), platform)
    yield from claims_above_ceiling(complete.spec, platform)
    yield from deadline_above_limit(spec.fields.get("deadline_seconds"), platform)


def resources_above_ceilings(
    resources: Node | None, volumes: Iterable[Node], platform: Platform
) -> Iterator[Diagnostic]:
    """Amounts of a container, and of the directories of its pod, that are above a limit."""
    amounts = list(_amounts(resources, volumes))
    for name in _COUNTED:
        if limit := platform.settings.at(("ceilings", name)):
            for counted in _sums(name, amounts):
                yield from _above(name, counted, limit)


def claims_above_ceiling(spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    """Claims of a spec that are larger than the limit."""
    if limit := platform.settings.at(("ceilings", "pvc")):
        for volume in volumes_in(spec):
            if size := volume.fields["spec"].fields.get("size"):
                yield from _above("pvc", [_Amount(_VOLUMES, "size", size)], limit)


def deadline_above_limit(deadline: Node | None, platform: Platform) -> Iterator[Diagnostic]:
    """The deadline of a job, if it is later than the platform allows."""
    limit = platform.settings.at(("jobs", "deadline_seconds"))
    # A base document may have anything here.
    if deadline and limit and isinstance(deadline.value, int):
        yield from _above("deadline_seconds", [_Amount((), "deadline_seconds", deadline)], limit)


class _Amount(NamedTuple):
    """An amount of a resource, or the size of a directory, and where it is set."""

    above: KeyPath
    name: str
    node: Node


def _amounts(resources: Node | None, volumes: Iterable[Node]) -> Iterator[_Amount]:
    for side in SIDES:
        amounts = resources.fields.get(side) if resources else None
        for name, node in amounts.fields.items() if amounts else ():
            yield _Amount(("resources", side), name, node)
    for volume in volumes:
        fields = volume.fields["spec"].fields
        if "size_limit" in fields:
            in_memory = "medium" in fields and fields["medium"].value == "Memory"
            yield _Amount(_VOLUMES, _MEMORY_DIRECTORY if in_memory else _DIRECTORY, fields["size_limit"])


_VOLUMES: KeyPath = ("volumes",)
_DIRECTORY, _MEMORY_DIRECTORY = "directory", "directory in memory"
_SHOWN = 3
"""How many of the other amounts a finding lists."""

_COUNTED: Mapping[str, Callable[[str], bool]] = {
    "cpu": lambda name: name == "cpu",
    "mem": lambda name: name in ("memory", _MEMORY_DIRECTORY) or name.startswith("hugepages-"),
    "gpu": is_device,
    "disk": lambda name: name in (DISK, SCRATCH_DISK, _DIRECTORY),
}
"""The amounts that each limit applies to; those of one side add up."""


def beside_memory(resources: Node | None, volumes: Iterable[Node]) -> list[Node]:
    """The amounts that count towards the limit of memory in addition to the container's memory."""
    return [one.node for one in _without_side(_counted("mem", _amounts(resources, volumes)))]


def _counted(name: str, amounts: Iterable[_Amount]) -> list[_Amount]:
    return [one for one in amounts if _COUNTED[name](one.name)]


def _without_side(amounts: Iterable[_Amount]) -> list[_Amount]:
    """Directories, and resources that have the same request and limit, each once.

    A base document may set the limit alone, which is then the request too.
    """
    amounts = list(amounts)
    resources = {one.name: one for one in amounts if is_extended(one.name)}
    return [*resources.values(), *(one for one in amounts if one.above == _VOLUMES)]


def _sums(name: str, amounts: Iterable[_Amount]) -> Iterator[list[_Amount]]:
    """The amounts to add up: those of each side, with those that have no side."""
    counted = _counted(name, amounts)
    common = _without_side(counted)
    sides = [[one for one in counted if one.above[-1] == side and not is_extended(one.name)] for side in SIDES]
    sums = [[*of_side, *common] for of_side in sides if of_side] or [common]
    # `disk` is one value on both sides. The value counts too: in Python data, all spans are equal.
    yield from {tuple((one.node.span, one.node.value) for one in some): some for some in sums if some}.values()


def _above(name: str, amounts: list[_Amount], limit: Node) -> Iterator[Diagnostic]:
    total = added_up([amount(one.node) for one in amounts])
    if total <= amount(limit):
        return
    of_run = [one for one in amounts if one.node.span.source.layer in USER_LAYERS]
    reported = max(of_run or amounts, key=lambda one: amount(one.node))
    others = [one for one in amounts if one is not reported and amount(one.node).nano]
    subject = f"{quote(total.text)} in total" if others else quote(reported.node.value)
    yield Diagnostic(
        code="policy/ceiling",
        message=f"{subject} is above the limit {quote(limit.value)} for {name}",
        span=reported.node.span,
        path=_path(reported, is_sum=bool(others)),
        notes=(
            *(Note(f"{quote(one.node.value)} counts too", one.node.span) for one in others[:_SHOWN]),
            *([Note(f"and {len(others) - _SHOWN} more")] if len(others) > _SHOWN else ()),
            Note("limit defined here", limit.span),
        ),
        help=f"set {quote(limit.value)} or less{' in total' if others else ''}",
    )


def _path(reported: _Amount, *, is_sum: bool) -> KeyPath:
    if reported.above == _VOLUMES:
        return _VOLUMES
    return ("resources", "requests") if is_sum else (*reported.above, reported.name)
