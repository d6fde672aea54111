"""Figures of a series of measurements: best times, peak memory, medians of ratios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple, TypeAlias


class Cost(NamedTuple):
    """Cost of one call."""

    wall: float
    """Seconds."""
    cpu: float
    """Seconds, of all its processes."""
    memory: float
    """Megabytes, of its largest process."""

    def scaled(self, factor: float) -> Cost:
        """Estimate the cost for `factor` times as many runs; memory is a lower bound."""
        return Cost(self.wall * factor, self.cpu * factor, self.memory)


Series: TypeAlias = Mapping[str, Sequence[Cost]]
"""Costs by name, one per round; each round measures every name."""


def best_wall(costs: Sequence[Cost]) -> float:
    return min(cost.wall for cost in costs)


def best_cpu(costs: Sequence[Cost]) -> float:
    return min(cost.cpu for cost in costs)


def peak(costs: Sequence[Cost]) -> float:
    return max(cost.memory for cost in costs)


def ratio(series: Series, one: str, other: str) -> float | None:
    """Return the median over rounds of the time of `one` divided by that of `other`; None if either is missing."""
    if not series.get(one) or not series.get(other):
        return None
    return median(first.wall / second.wall for first, second in zip(series[one], series[other], strict=True))
