"""The pools that a pod can run on, and what excludes the others."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.compiler.container_resources import is_device
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.contradictions import LocatedRequirement
from speccompile.placement.lint.pod_facts import pod_needs, requirement_sets
from speccompile.placement.machine import Taint
from speccompile.placement.node_pools import Pool
from speccompile.placement.pod_requirements import Request
from speccompile.placement.scheduler_filters import satisfies, tolerated


class PoolMatch(NamedTuple):
    """What a pool is to a pod. Whatever nobody said of the pool does not keep the pod off it."""

    pool: Pool
    has_labels: bool
    """Whether its labels are as the pod asks."""
    untolerated: tuple[Taint, ...]
    """The taints that keep the pod off it."""
    insufficient: tuple[Request, ...]
    """What no node of it has enough of."""

    @property
    def is_usable(self) -> bool:
        return self.has_labels and not self.untolerated and not self.insufficient


def match_pools(pod: Node, pools: Sequence[Pool]) -> tuple[PoolMatch, ...]:
    """The pools, each with what it is to the pod."""
    ways, asked = requirement_sets(pod), pod_needs(pod)
    return tuple(
        PoolMatch(
            pool,
            any(all(may_match(ask, pool) for ask in way) for way in ways),
            tuple(taint for taint in pool.hard_taints if not tolerated(taint, asked.constraints.tolerations)),
            tuple(request for request in asked.requests if _lacks(pool, request)),
        )
        for pool in pools
    )


def may_match(ask: LocatedRequirement, pool: Pool) -> bool:
    """Whether nodes of the pool are as asked, or may be, for all that is known."""
    return ask.is_node_name or not pool.knows(ask.requirement.key) or satisfies(ask.requirement, pool.labels)


def _lacks(pool: Pool, request: Request) -> bool:
    """Devices that are not listed are not there; of anything else, there may be enough."""
    if not pool.resources or (request.resource not in pool.resources and not is_device(request.resource)):
        return False
    return request.amount > pool.resources.get(request.resource, 0)
