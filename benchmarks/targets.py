"""Performance targets of the project."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from benchmarks import speccompile_calls, warm
from benchmarks.comparisons import COLD, GROWTH, batch_name, format_runs, workers_name
from benchmarks.figures import Series, peak, ratio
from benchmarks.peers import helm, jsonnet, kapitan, kustomize

Measured: TypeAlias = Mapping[str, Series]
"""The series of every comparison, by its name."""
WARM = "warm"
TIMES, MEGABYTES = "×", " MB"


class Target(NamedTuple):
    """A figure with an upper or lower bound."""

    name: str
    figure: Callable[[Measured], float | None]
    bound: float
    is_maximum: bool = True
    unit: str = TIMES

    def miss(self, figure: float) -> float:
        """Return how far the figure misses the bound, as a fraction of it; zero or less if it is met."""
        return figure / self.bound - 1 if self.is_maximum else 1 - figure / self.bound


def _ratio(comparison: str, one: str, other: str) -> Callable[[Measured], float | None]:
    return lambda measured: ratio(measured.get(comparison, {}), one, other)


def _memory_growth(measured: Measured) -> float | None:
    series = measured.get(GROWTH, {})
    small, large = series.get(format_runs(1)), series.get(format_runs(10_000))
    return peak(large) - peak(small) if small and large else None


_BATCH = batch_name(1000)
_HELM = helm.CALL_PER_RUN.name
TARGETS: tuple[Target, ...] = (
    Target(
        "warm: compile and serialize vs YAML loader and emitter only", _ratio(WARM, warm.WHOLE, warm.YAML_ONLY), 1.6
    ),
    *(
        Target(
            f"1,000 runs: {name} vs speccompile", _ratio(_BATCH, name, speccompile_calls.NAME), bound, is_maximum=False
        )
        for name, bound in (
            (helm.ONE_CALL.name, 3.5),
            (helm.CALL_PER_RUN.name, 80),
            (kustomize.KUSTOMIZE.name, 30),
            (kapitan.KAPITAN.name, 20),
            (jsonnet.RJSONNET.name, 2),
        )
    ),
    Target("one run: no cache vs helm template", _ratio(COLD, speccompile_calls.VALID, _HELM), 1.2),
    Target("one run: warm cache vs helm template", _ratio(COLD, speccompile_calls.EDITED, _HELM), 1.2),
    Target("one run: custom templates, no cache vs helm template", _ratio(COLD, speccompile_calls.CUSTOM, _HELM), 2.2),
    Target(
        "one run: custom templates, warm cache vs helm template",
        _ratio(COLD, speccompile_calls.CUSTOM_EDITED, _HELM),
        2.2,
    ),
    Target("one run: with mistakes vs valid", _ratio(COLD, speccompile_calls.INVALID, speccompile_calls.VALID), 2.1),
    Target("import speccompile vs python -c pass", _ratio(COLD, speccompile_calls.IMPORT, speccompile_calls.BARE), 1.5),
    Target("--help vs python -c pass", _ratio(COLD, speccompile_calls.HELP, speccompile_calls.BARE), 3),
    Target("--version vs python -c pass", _ratio(COLD, speccompile_calls.VERSION, speccompile_calls.BARE), 3),
    Target("time: 10,000 runs vs 1,000 runs", _ratio(GROWTH, format_runs(10_000), format_runs(1000)), 10.5),
    Target("peak memory: increase from 1 run to 10,000 runs", _memory_growth, 16, unit=MEGABYTES),
    Target(
        "10,000 runs: one worker vs two",
        _ratio(workers_name(10_000), speccompile_calls.SERIAL, speccompile_calls.TWO),
        1.6,
        is_maximum=False,
    ),
    *(
        Target(
            f"{format_runs(size)}: automatic vs one worker",
            _ratio(workers_name(size), speccompile_calls.AUTOMATIC, speccompile_calls.SERIAL),
            1.1,
        )
        for size in (1, 10, 100, 1000)
    ),
    Target("warm: render with verify vs render", _ratio(WARM, warm.VERIFIED, warm.WHOLE), 1.1),
)
