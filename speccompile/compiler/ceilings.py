"""The platform's ceilings, and what each is compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.container_resources import DISK, SCRATCH_DISK, amount, is_device
from speccompile.compiler.policy import volumes_in
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import Layer, Span
from speccompile.model.spec import Merged
from speccompile.schema.field_path import SIDES


def above_ceilings(said: Node, merged: Merged) -> Iterator[Diagnostic]:
    """What is beyond a ceiling of the platform, in the spec as it was said and in what was derived from it."""
    yield from resources_above_ceilings(said, merged.platform)
    # Only now has a claim got its size.
    yield from claims_above_ceiling(merged.spec, merged.platform)


def resources_above_ceilings(spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    """What is asked for beyond a ceiling under `resources`, of a spec or of a container."""
    for name in ("cpu", "mem", "gpu", "disk"):
        yield from _above(name, spec, platform)


def claims_above_ceiling(spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    """Claims of a spec that are larger than the ceiling."""
    yield from _above("pvc", spec, platform)


def _above(name: str, spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    ceiling = platform.settings.at(("ceilings", name))
    if ceiling is None:
        return
    for path, amounts in _COMPARED[name](spec):
        if sum(amount(node).nano for node in amounts) > amount(ceiling).nano:
            told = next((node for node in amounts if node.span.source.layer is Layer.RUN), amounts[0])
            several = len(amounts) > 1
            total = sum(amount(node).value for node in amounts)
            asked = f"{total} devices of {len(amounts)} kinds are" if several else f"{quote(told.value)} is"
            yield Diagnostic(
                code="policy/ceiling",
                message=f"{asked} above the ceiling {quote(ceiling.value)} for {name}",
                span=told.span,
                path=path,
                notes=(Note("the ceiling stands here", ceiling.span),),
                help=f"ask for {quote(ceiling.value)} or less{' in all' if several else ''}",
            )


AmountGroups: TypeAlias = Iterator[tuple[KeyPath, list[Node]]]


def _resource(*names: str) -> Callable[[Node], AmountGroups]:
    """The resources of these names; one that ends in a dash stands for all that begin so."""
    beginnings = tuple(name for name in names if name.endswith("-"))

    def amounts(spec: Node) -> AmountGroups:
        told: set[tuple[Span, object]] = set()
        for side in SIDES:
            asked = spec.at(("resources", side))
            for name, node in asked.fields.items() if asked else ():
                # A single quantity of disk stands on both sides, and was said once.
                # Of Python data, all values stand in one place.
                if (name in names or name.startswith(beginnings)) and (node.span, node.value) not in told:
                    told.add((node.span, node.value))
                    yield ("resources", side, name), [node]

    return amounts


def _devices(spec: Node) -> AmountGroups:
    # A base document may give a limit alone, which is the request as well.
    asked = {
        name: node for side in SIDES if (told := spec.at(("resources", side))) for name, node in told.fields.items()
    }
    devices = [node for name, node in asked.items() if is_device(name)]
    if devices:
        yield ("resources", "requests"), devices


def _claims(spec: Node) -> AmountGroups:
    for volume in volumes_in(spec):
        size = volume.fields["spec"].fields.get("size")
        if size:
            yield ("volumes",), [size]


def _directories(medium: str) -> Callable[[Node], AmountGroups]:
    """The size limits of directories on disk, or in memory."""

    def amounts(spec: Node) -> AmountGroups:
        for volume in volumes_in(spec):
            told = volume.fields["spec"].fields
            if "size_limit" in told and (told["medium"].value if "medium" in told else "") == medium:
                yield ("volumes",), [told["size_limit"]]

    return amounts


def _both(*kinds: Callable[[Node], AmountGroups]) -> Callable[[Node], AmountGroups]:
    return lambda spec: (amounts for kind in kinds for amounts in kind(spec))


_COMPARED: Mapping[str, Callable[[Node], AmountGroups]] = {
    "cpu": _resource("cpu"),
    # Huge pages are memory too.
    "mem": _both(_resource("memory", "hugepages-"), _directories("Memory")),
    "gpu": _devices,
    "disk": _both(_resource(DISK, SCRATCH_DISK), _directories("")),
    "pvc": _claims,
}
"""What each ceiling is held against: each list of amounts counts as one."""
