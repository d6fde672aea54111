"""Lint rules about resource amounts of containers."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.compiler.container_resources import is_device, is_extended
from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.quantity import Quantity, QuantityError, parse_quantity
from speccompile.placement.lint.context import LintContext, LintRule, LintWording, finding_at, location_note
from speccompile.placement.lint.pod_facts import pod_containers


class _Amount(NamedTuple):
    quantity: Quantity
    node: Node


def _requests_keep_the_limits(context: LintContext) -> Iterator[Diagnostic]:
    for owner, requests, limits in _sides(context):
        for name, request in requests.items():
            limit = limits.get(name)
            if limit is not None and not is_extended(name) and request.quantity > limit.quantity:
                told = LintWording(
                    "policy/request-above-limit",
                    f"{quote(name)}: the request {quote(request.quantity.text)} is above"
                    f" the limit {quote(limit.quantity.text)}",
                    f"lower the request or raise the limit of {quote(name)}",
                    Severity.ERROR,
                )
                yield finding_at(context, told, owner, request.node, *location_note("the limit", limit.node))


def _devices_are_whole(context: LintContext) -> Iterator[Diagnostic]:
    """Kubernetes hands devices out one by one: as many as are asked for, and no more."""
    for owner, requests, limits in _sides(context):
        for name in dict.fromkeys((*requests, *limits)):
            request, limit = requests.get(name), limits.get(name)
            fault = _fault(name, request, limit)
            if is_extended(name) and fault:
                message, fix = fault
                at = request or limit
                assert at is not None
                told = LintWording("placement/uneven-device", f"{quote(name)}: {message}", fix, Severity.ERROR)
                yield finding_at(
                    context,
                    told,
                    owner,
                    at.node,
                    *(location_note("the limit", limit.node) if request and limit else ()),
                )


def _fault(name: str, request: _Amount | None, limit: _Amount | None) -> tuple[str, str] | None:
    uneven = [one for one in (request, limit) if one and is_device(name) and not one.quantity.is_whole]
    if uneven:
        return f"there is no part of a device, such as {quote(uneven[0].quantity.text)}", "ask for a whole number"
    if request and limit is None:
        return "Kubernetes refuses a request without a limit", f"write limits of {quote(request.quantity.text)} as well"
    if request and limit and request.quantity != limit.quantity:
        return "request and limit must be equal", "make the two equal"
    return None


def _sides(context: LintContext) -> Iterator[tuple[Node, dict[str, _Amount], dict[str, _Amount]]]:
    """The requests and limits of each container, with the object it is in."""
    for workload in context.linted_workloads:
        for holder in pod_containers(workload.pod):
            yield workload.owner, _amounts(holder, "requests"), _amounts(holder, "limits")


def _amounts(container: Node, side: str) -> dict[str, _Amount]:
    """What is no quantity is for `verify` to say."""
    node = container.at(("resources", side))
    told: dict[str, _Amount] = {}
    for name, child in (node.fields if node else {}).items():
        if isinstance(child.value, str | int | float):
            try:
                told[name] = _Amount(parse_quantity(child.value), child)
            except QuantityError:
                continue
    return told


AMOUNT_RULES: tuple[LintRule, ...] = (_requests_keep_the_limits, _devices_are_whole)
