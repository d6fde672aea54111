"""Performance targets of the project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from benchmarks import speccompile_calls, warm
from benchmarks.comparisons import COLD, batch_name, workers_name
from benchmarks.figures import Series, peak, ratio
from benchmarks.peers import helm, jinja, jsonnet
from benchmarks.workload import Kind

Measured: TypeAlias = Mapping[str, Series]
"""The series of every comparison, by its name."""
WARM, SMALL = "warm", "small runs"
TIMES, MEGABYTES = " ×", " MB"


class Target(NamedTuple):
    """A figure with an upper or lower bound."""

    name: str
    figure: Callable[[Measured], float | None]
    bound: float
    is_maximum: bool = True
    unit: str = TIMES
    tolerance: float = 0
    """Accepted excess, as a fraction of the bound: a figure that must not get worse varies between benchmarks."""

    def miss(self, figure: float) -> float:
        """Return how far the figure misses the bound, as a fraction of it; zero or less if it is met."""
        miss = figure / self.bound - 1 if self.is_maximum else 1 - figure / self.bound
        return miss if miss > self.tolerance else min(miss, 0)

    @property
    def limit(self) -> str:
        """The bound as text."""
        relation = "no worse than" if self.tolerance else "at most" if self.is_maximum else "at least"
        return f"{relation} {self.bound:g}{self.unit}"


def _ratio(comparison: str, one: str, other: str) -> Callable[[Measured], float | None]:
    return lambda measured: ratio(measured.get(comparison, {}), one, other)


def _peak(comparison: str, *names: str) -> Callable[[Measured], float | None]:
    return lambda measured: max(
        (peak(costs) for name in names if (costs := measured.get(comparison, {}).get(name))), default=None
    )


_OURS, _PARALLEL = speccompile_calls.NAME, speccompile_calls.PARALLEL
_HELM, _ONE_RUN = helm.ONE_CALL.name, helm.CALL_PER_RUN.name
_THOUSAND, _TEN_THOUSAND = batch_name(1000), batch_name(10_000)
_NOISE = 0.1
TARGETS: tuple[Target, ...] = (
    *(
        Target(
            f"1,000 runs, one process: {name} vs speccompile", _ratio(_THOUSAND, name, _OURS), bound, is_maximum=False
        )
        for name, bound in ((_HELM, 2.2), (jinja.JINJA.name, 1.4), (jsonnet.RJSONNET.name, 3))
    ),
    Target(
        f"1,000 runs of one shape, one process: {_HELM} vs speccompile",
        _ratio(batch_name(1000, Kind.SWEEP), _HELM, _OURS),
        4,
        is_maximum=False,
    ),
    Target(
        f"1,000 runs, automatic workers: {_HELM} vs speccompile",
        _ratio(_THOUSAND, _HELM, _PARALLEL),
        3.5,
        is_maximum=False,
    ),
    Target(
        f"10,000 runs, automatic workers: {_HELM} vs speccompile",
        _ratio(_TEN_THOUSAND, _HELM, _PARALLEL),
        5,
        is_maximum=False,
    ),
    Target(
        "1,000 runs of different shapes, one process: speccompile vs speccompile before",
        _ratio(batch_name(1000, Kind.ZOO), _OURS, speccompile_calls.BEFORE),
        1.03,
    ),
    Target("small runs, warm: speccompile vs PyYAML, load and dump", _ratio(SMALL, warm.SMALL, warm.SMALL_PYYAML), 0.5),
    Target("one run: speccompile vs helm template", _ratio(COLD, speccompile_calls.VALID, _ONE_RUN), 1.45),
    Target(
        "one run, from the cache: speccompile vs helm template", _ratio(COLD, speccompile_calls.UNCHANGED, _ONE_RUN), 1
    ),
    Target(
        "one run with two mistakes: speccompile vs helm template",
        _ratio(COLD, speccompile_calls.INVALID, _ONE_RUN),
        2.4,
    ),
    Target("warm: verify and render vs render", _ratio(WARM, warm.VERIFIED, warm.WHOLE), 1.15),
    Target(
        "100 runs: one worker vs two",
        _ratio(workers_name(100), speccompile_calls.SERIAL, speccompile_calls.TWO),
        1.25,
        is_maximum=False,
    ),
    Target("peak memory, 10,000 runs", _peak(_TEN_THOUSAND, _OURS, _PARALLEL), 48, unit=MEGABYTES),
    *(
        Target(
            f"{name} vs {speccompile_calls.BARE}", _ratio(COLD, name, speccompile_calls.BARE), bound, tolerance=_NOISE
        )
        for name, bound in (
            (speccompile_calls.IMPORT, 0.94),
            (speccompile_calls.HELP, 2.5),
            (speccompile_calls.VERSION, 2.2),
        )
    ),
)
