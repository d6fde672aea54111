"""Takes what was measured, gives each target of the project: what it asks, what there is, and by how much it fails."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias

from benchmarks import ours, warm
from benchmarks.contests import COLD, GROWTH, batch_of, runs, workers_at
from benchmarks.figures import Series, peak, ratio
from benchmarks.peers import helm, jsonnet, kapitan, kustomize

Measured: TypeAlias = Mapping[str, Series]
"""The series of every contest that was held, by its name."""
WARM = "warm"
TIMES, MEGABYTES = "×", " MB"


class Target(NamedTuple):
    """Something that must hold: a figure, and the most or the least that it may be."""

    what: str
    figure: Callable[[Measured], float | None]
    bound: float
    is_most: bool = True
    unit: str = TIMES

    def miss(self, figure: float) -> float:
        """By what part of the bound the figure misses it; nothing or less if it is met."""
        return figure / self.bound - 1 if self.is_most else 1 - figure / self.bound


def _times(contest: str, one: str, other: str) -> Callable[[Measured], float | None]:
    return lambda measured: ratio(measured.get(contest, {}), one, other)


def _memory_grown(measured: Measured) -> float | None:
    series = measured.get(GROWTH, {})
    small, large = series.get(runs(1)), series.get(runs(10_000))
    return peak(large) - peak(small) if small and large else None


_BATCH = batch_of(1000)
_HELM = helm.ONE_BY_ONE.name
TARGETS: tuple[Target, ...] = (
    Target(
        "warm compile and serialize, to the same loader and emitter alone", _times(WARM, warm.WHOLE, warm.ALONE), 1.6
    ),
    *(
        Target(f"1,000 runs: {name}, to ours", _times(_BATCH, name, ours.NAME), least, is_most=False)
        for name, least in (
            (helm.RANGING.name, 3.5),
            (helm.ONE_BY_ONE.name, 80),
            (kustomize.IN_CHUNKS.name, 30),
            (kapitan.KAPITAN.name, 20),
            (jsonnet.RJSONNET.name, 2),
        )
    ),
    Target("one run: bundled templates, nothing kept, to helm template", _times(COLD, ours.VALID, _HELM), 1.2),
    Target("one run: bundled templates, cache kept, to helm template", _times(COLD, ours.EDITED, _HELM), 1.2),
    Target("one run: templates of one's own, nothing kept, to helm template", _times(COLD, ours.OWN, _HELM), 2.2),
    Target("one run: templates of one's own, cache kept, to helm template", _times(COLD, ours.OWN_EDITED, _HELM), 2.2),
    Target("a faulty run explained, to a good one", _times(COLD, ours.INVALID, ours.VALID), 2.1),
    Target("import speccompile, to python -c pass", _times(COLD, ours.IMPORT, ours.BARE), 1.5),
    Target("--help, to python -c pass", _times(COLD, ours.HELP, ours.BARE), 3),
    Target("--version, to python -c pass", _times(COLD, ours.VERSION, ours.BARE), 3),
    Target("time for 10,000 runs, to that for 1,000", _times(GROWTH, runs(10_000), runs(1000)), 10.5),
    Target("peak memory of 10,000 runs, more than that of one", _memory_grown, 16, unit=MEGABYTES),
    Target("10,000 runs: one worker, to two", _times(workers_at(10_000), ours.SERIAL, ours.TWO), 1.6, is_most=False),
    *(
        Target(f"{runs(size)}: automatic, to one worker", _times(workers_at(size), ours.AUTOMATIC, ours.SERIAL), 1.1)
        for size in (1, 10, 100, 1000)
    ),
    Target("verify and render warm, to render alone", _times(WARM, warm.VERIFIED, warm.WHOLE), 1.1),
)
