"""The pools that a pod can run on, and what excludes the others."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.compiler.container_resources import is_device
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.contradictions import Ask
from speccompile.placement.lint.pod_questions import alternatives, needs
from speccompile.placement.machine import Taint
from speccompile.placement.node_pools import Pool
from speccompile.placement.pod_requirements import Request
from speccompile.placement.scheduler_filters import holds, tolerated


class Reach(NamedTuple):
    """What a pool is to a pod. Whatever nobody said of the pool does not keep the pod off it."""

    pool: Pool
    is_asked_for: bool
    """Whether its labels are as the pod asks."""
    refused: tuple[Taint, ...]
    """The taints that keep the pod off it."""
    lacking: tuple[Request, ...]
    """What no node of it has enough of."""

    @property
    def is_open(self) -> bool:
        return self.is_asked_for and not self.refused and not self.lacking


def reaches(pod: Node, pools: Sequence[Pool]) -> tuple[Reach, ...]:
    """The pools, each with what it is to the pod."""
    ways, asked = alternatives(pod), needs(pod)
    return tuple(
        Reach(
            pool,
            any(all(may_hold(ask, pool) for ask in way) for way in ways),
            tuple(taint for taint in pool.hard_taints if not tolerated(taint, asked.pin.tolerations)),
            tuple(request for request in asked.requests if _lacks(pool, request)),
        )
        for pool in pools
    )


def may_hold(ask: Ask, pool: Pool) -> bool:
    """Whether nodes of the pool are as asked, or may be, for all that is known."""
    return ask.of_name or not pool.knows(ask.requirement.key) or holds(ask.requirement, pool.labels)


def _lacks(pool: Pool, request: Request) -> bool:
    """Devices that are not listed are not there; of anything else, there may be enough."""
    if not pool.resources or (request.resource not in pool.resources and not is_device(request.resource)):
        return False
    return request.amount > pool.resources.get(request.resource, 0)
