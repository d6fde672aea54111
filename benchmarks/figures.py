"""Takes what calls cost, round by round, gives figures: the best, the peak, and medians of ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias


class Cost(NamedTuple):
    """What one call cost."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of all its processes."""
    memory: float
    """Megabytes, of the largest of its processes."""

    def scaled(self, factor: float) -> Cost:
        """That of `factor` times as many runs; as memory it is at least this."""
        return Cost(self.wall * factor, self.cpu * factor, self.memory)


Series: TypeAlias = Mapping[str, Sequence[Cost]]
"""Costs by contender, as many for each as there were rounds; a round went through all of them."""


def best_wall(costs: Sequence[Cost]) -> float:
    return min(cost.wall for cost in costs)


def best_cpu(costs: Sequence[Cost]) -> float:
    return min(cost.cpu for cost in costs)


def peak(costs: Sequence[Cost]) -> float:
    return max(cost.memory for cost in costs)


def ratio(series: Series, one: str, other: str) -> float | None:
    """How many times as long as `other` `one` takes: the median of the rounds; None if either was not measured."""
    if not series.get(one) or not series.get(other):
        return None
    return median(mine.wall / yours.wall for mine, yours in zip(series[one], series[other], strict=True))
