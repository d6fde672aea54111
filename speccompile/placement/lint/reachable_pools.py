"""The pools that a pod can use, and what excludes the others."""

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
    """Whether a pod can use a pool; unknown properties of the pool do not exclude it."""

    pool: Pool
    has_labels: bool
    """Whether its labels satisfy the requirements of the pod."""
    untolerated: tuple[Taint, ...]
    """The taints that reject the pod."""
    insufficient: tuple[Request, ...]
    """The requests that none of its nodes can satisfy."""

    @property
    def is_usable(self) -> bool:
        return self.has_labels and not self.untolerated and not self.insufficient


def match_pools(pod: Node, pools: Sequence[Pool]) -> tuple[PoolMatch, ...]:
    """Match a pod with each pool."""
    alternatives, needed = requirement_sets(pod), pod_needs(pod)
    return tuple(
        PoolMatch(
            pool,
            any(all(may_match(requirement, pool) for requirement in requirements) for requirements in alternatives),
            tuple(taint for taint in pool.hard_taints if not tolerated(taint, needed.constraints.tolerations)),
            tuple(request for request in needed.requests if _lacks(pool, request)),
        )
        for pool in pools
    )


def may_match(requirement: LocatedRequirement, pool: Pool) -> bool:
    """Whether nodes of the pool satisfy the requirement, or may, as far as known."""
    return (
        requirement.is_node_name
        or not pool.knows(requirement.requirement.key)
        or satisfies(requirement.requirement, pool.labels)
    )


def _lacks(pool: Pool, request: Request) -> bool:
    """An unlisted device is missing; any other unlisted resource may be sufficient."""
    if not pool.resources or (request.resource not in pool.resources and not is_device(request.resource)):
        return False
    return request.amount > pool.resources.get(request.resource, 0)
