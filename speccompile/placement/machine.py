"""Nodes of a cluster as the scheduler sees them: labels, taints, allocatable and used resources."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.placement.pod_requirements import Needs, Port, ResourceAmounts


class Taint(NamedTuple):
    """A taint of a node."""

    key: str
    value: str
    effect: str


class Machine(NamedTuple):
    """A node of the cluster, with the fields that filters use."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    allocatable: ResourceAmounts = {}  # noqa: RUF012  never changed
    """Amounts that pods can use; `pods` is the maximum number of pods."""


class Usage(NamedTuple):
    """What the pods on a node use."""

    amounts: ResourceAmounts = {}  # noqa: RUF012  never changed
    pods: int = 0
    ports: frozenset[Port] = frozenset()

    def with_pods(self, needs: Needs, count: int) -> Usage:
        """The usage with `count` more pods."""
        amounts = dict(self.amounts)
        for request in needs.requests:
            amounts[request.resource] = amounts.get(request.resource, 0) + request.amount * count
        taken = {port._replace(path=()) for port in needs.ports} if count else ()
        return Usage(amounts, self.pods + count, self.ports.union(taken))
