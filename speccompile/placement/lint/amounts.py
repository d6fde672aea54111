"""Lint rules about resource amounts of containers."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.compiler.container_resources import is_device, is_extended
from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.quantity import Quantity, QuantityError, parse_quantity
from speccompile.placement.lint.context import LintRule, LintWording, PlacementContext, finding_at, location_note
from speccompile.placement.lint.pod_facts import pod_containers


class _Amount(NamedTuple):
    quantity: Quantity
    node: Node


def _check_requests_within_limits(context: PlacementContext) -> Iterator[Diagnostic]:
    for owner, requests, limits in _sides(context):
        for name, request in requests.items():
            limit = limits.get(name)
            if limit is not None and not is_extended(name) and request.quantity > limit.quantity:
                wording = LintWording(
                    "policy/request-above-limit",
                    f"{quote(name)}: request {quote(request.quantity.text)} is above"
                    f" limit {quote(limit.quantity.text)}",
                    f"lower the request or raise the limit of {quote(name)}",
                    Severity.ERROR,
                )
                yield finding_at(context, wording, owner, request.node, *location_note("the limit", limit.node))


def _check_devices_are_whole(context: PlacementContext) -> Iterator[Diagnostic]:
    """Kubernetes assigns whole devices, so requests and limits must be equal integers."""
    for owner, requests, limits in _sides(context):
        for name in dict.fromkeys((*requests, *limits)):
            request, limit = requests.get(name), limits.get(name)
            fault = _fault(name, request, limit)
            if is_extended(name) and fault:
                message, fix = fault
                amount = request or limit
                assert amount is not None
                wording = LintWording("placement/uneven-device", f"{quote(name)}: {message}", fix, Severity.ERROR)
                yield finding_at(
                    context,
                    wording,
                    owner,
                    amount.node,
                    *(location_note("the limit", limit.node) if request and limit else ()),
                )


def _fault(name: str, request: _Amount | None, limit: _Amount | None) -> tuple[str, str] | None:
    fractional = [one for one in (request, limit) if one and is_device(name) and not one.quantity.is_whole]
    if fractional:
        return (
            f"devices cannot be split: {quote(fractional[0].quantity.text)} is not an integer",
            "request a whole number",
        )
    if request and limit is None:
        return "Kubernetes rejects a request without a limit", f"add a limit of {quote(request.quantity.text)}"
    if request and limit and request.quantity != limit.quantity:
        return "request and limit must be equal", "set both to the same value"
    return None


def _sides(context: PlacementContext) -> Iterator[tuple[Node, dict[str, _Amount], dict[str, _Amount]]]:
    """The requests and limits of each container, with its object."""
    for workload in context.linted_workloads:
        for container in pod_containers(workload.pod):
            yield workload.owner, _amounts(container, "requests"), _amounts(container, "limits")


def _amounts(container: Node, side: str) -> dict[str, _Amount]:
    """The valid quantities; `verify` reports the others."""
    node = container.at(("resources", side))
    amounts: dict[str, _Amount] = {}
    for name, child in (node.fields if node else {}).items():
        if isinstance(child.value, str | int | float):
            try:
                amounts[name] = _Amount(parse_quantity(child.value), child)
            except QuantityError:
                continue
    return amounts


AMOUNT_RULES: tuple[LintRule, ...] = (_check_requests_within_limits, _check_devices_are_whole)
