"""Nodes of a cluster as the scheduler sees them: labels, taints, what pods can have, and what pods have taken."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.placement.pod_requirements import Needs, Port, ResourceAmounts


class Taint(NamedTuple):
    """What keeps pods away from a node that do not tolerate it."""

    key: str
    value: str
    effect: str


class Machine(NamedTuple):
    """A node of the cluster, as far as filters look at it."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...] = ()
    cordoned: bool = False
    allocatable: ResourceAmounts = {}  # noqa: RUF012  never changed
    """What pods can have of it; as `pods`, how many there may be."""


class Usage(NamedTuple):
    """What the pods of a node have taken."""

    amounts: ResourceAmounts = {}  # noqa: RUF012  never changed
    pods: int = 0
    ports: frozenset[Port] = frozenset()

    def with_pods(self, needs: Needs, count: int) -> Usage:
        """The same with so many more pods."""
        amounts = dict(self.amounts)
        for request in needs.requests:
            amounts[request.resource] = amounts.get(request.resource, 0) + request.amount * count
        taken = {port._replace(path=()) for port in needs.ports} if count else ()
        return Usage(amounts, self.pods + count, self.ports.union(taken))
