"""The platform's limits (its setting `ceilings`), and the amounts each applies to."""

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


def above_ceilings(spec: Node, complete: Merged) -> Iterator[Diagnostic]:
    """Amounts above a limit: resources in the spec as written, claims in the completed one."""
    yield from resources_above_ceilings(spec, complete.platform)
    # Claims without a size get one only when the spec is completed.
    yield from claims_above_ceiling(complete.spec, complete.platform)


def resources_above_ceilings(spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    """Amounts above a limit under `resources` of a spec or a container."""
    for name in ("cpu", "mem", "gpu", "disk"):
        yield from _above(name, spec, platform)


def claims_above_ceiling(spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    """Claims of a spec that are larger than the limit."""
    yield from _above("pvc", spec, platform)


def _above(name: str, spec: Node, platform: Platform) -> Iterator[Diagnostic]:
    limit = platform.settings.at(("ceilings", name))
    if limit is None:
        return
    for path, amounts in _COMPARED[name](spec):
        if sum(amount(node).nano for node in amounts) > amount(limit).nano:
            reported = next((node for node in amounts if node.span.source.layer is Layer.RUN), amounts[0])
            several = len(amounts) > 1
            total = sum(amount(node).value for node in amounts)
            subject = f"{total} devices of {len(amounts)} kinds are" if several else f"{quote(reported.value)} is"
            yield Diagnostic(
                code="policy/ceiling",
                message=f"{subject} above the limit {quote(limit.value)} for {name}",
                span=reported.span,
                path=path,
                notes=(Note("limit defined here", limit.span),),
                help=f"request {quote(limit.value)} or less{' in total' if several else ''}",
            )


AmountGroups: TypeAlias = Iterator[tuple[KeyPath, list[Node]]]
"""Amounts by path; the amounts of one list are added up."""


def _resource(*names: str) -> Callable[[Node], AmountGroups]:
    """The resources of these names; a name that ends in a dash is a prefix."""
    prefixes = tuple(name for name in names if name.endswith("-"))

    def amounts(spec: Node) -> AmountGroups:
        seen: set[tuple[Span, object]] = set()
        for side in SIDES:
            resources = spec.at(("resources", side))
            for name, node in resources.fields.items() if resources else ():
                # `disk` is one value on both sides. The value counts too: in Python data, all spans are equal.
                if (name in names or name.startswith(prefixes)) and (node.span, node.value) not in seen:
                    seen.add((node.span, node.value))
                    yield ("resources", side, name), [node]

    return amounts


def _devices(spec: Node) -> AmountGroups:
    # A base document may set the limit alone, which is then the request too.
    resources = {
        name: node
        for side in SIDES
        if (amounts := spec.at(("resources", side)))
        for name, node in amounts.fields.items()
    }
    devices = [node for name, node in resources.items() if is_device(name)]
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
            fields = volume.fields["spec"].fields
            if "size_limit" in fields and (fields["medium"].value if "medium" in fields else "") == medium:
                yield ("volumes",), [fields["size_limit"]]

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
"""The amounts that each limit applies to."""
