"""Takes what was measured, gives tables in Markdown that can be read as they stand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import ours, stages, warm
from benchmarks.contender import Contender
from benchmarks.contests import COLD, GROWTH, batch_of, runs, workers_at
from benchmarks.figures import Series, best_cpu, best_wall, peak, ratio
from benchmarks.peers import helm
from benchmarks.targets import MEGABYTES, TARGETS, WARM, Measured

_NOT_AVAILABLE, _NOT_INSTALLED = "not available", "not installed"
_WORKERS = (ours.SERIAL, ours.TWO, ours.AUTOMATIC)
_MILLISECONDS = 1000
_MICROSECONDS = 1_000_000
_HUNDRED = 100
_TEN = 10


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown, its columns as wide as what is in them; all but the first are set to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return "| " + " | ".join((first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest))) + " |"

    rule = "|".join(("-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])))
    return "\n".join((line(header), f"|{rule}|", *map(line, rows))) + "\n"


def number(value: float) -> str:
    """Three digits that count, or all before the point."""
    return f"{value:,.0f}" if value >= _HUNDRED else f"{value:.1f}" if value >= _TEN else f"{value:.2f}"


def seconds(value: float) -> str:
    return f"{number(value)} s" if value >= 1 else f"{number(value * _MILLISECONDS)} ms"


def times(value: float | None) -> str:
    return "" if value is None else f"{number(value)} ×"


def targets(measured: Measured) -> str:
    """What the project set itself, and whether it is so."""
    rows = []
    for target in TARGETS:
        figure = target.figure(measured)
        unit = MEGABYTES if target.unit == MEGABYTES else f" {target.unit}"
        asked = f"{'at most' if target.is_most else 'at least'} {target.bound:g}{unit}"
        if figure is None:
            rows.append((target.what, asked, "", "not measured"))
            continue
        miss = target.miss(figure)
        rows.append((target.what, asked, f"{number(figure)}{unit}", "met" if miss <= 0 else f"missed by {miss:.0%}"))
    return table(("target", "asked", "measured", ""), rows)


def cold(measured: Measured, contenders: Sequence[Contender]) -> str:
    """One run, or none."""
    series = measured[COLD]
    peers = (contender.name for contender in contenders if contender.least == 1)
    names = (*((name, _NOT_AVAILABLE) for name in ours.COLD), *((name, _NOT_INSTALLED) for name in peers))
    others = (ours.VALID, helm.ONE_BY_ONE.name, ours.BARE)
    rows = [
        (name, *_figures(series, name, missing), *(times(ratio(series, name, other)) for other in others))
        for name, missing in names
    ]
    return table(("one run", "wall", "CPU", "peak", "to ours", "to helm", "to bare Python"), rows)


def batch(size: int, measured: Measured, contenders: Sequence[Contender], *, is_full: bool) -> str:
    """All contenders over the same runs; what was measured with fewer of them says so."""
    series = measured[batch_of(size)]
    scaled = {} if is_full else {peer.name: f"scaled from {peer.most:,}" for peer in contenders if peer.most < size}
    rows = [
        (
            name,
            *_figures(series, name, _NOT_INSTALLED),
            *(times(ratio(series, name, other)) for other in (ours.NAME, helm.RANGING.name)),
            scaled.get(name, "") if name in series else "",
        )
        for name in (ours.NAME, *(contender.name for contender in contenders))
    ]
    return table((runs(size), "wall", "CPU", "peak", "to ours", "to helm", ""), rows)


def growth(sizes: Sequence[int], measured: Measured, contenders: Sequence[Contender]) -> str:
    """How time and memory grow from batch to batch: ours round by round, peers from the best of each batch."""
    few, many = sizes[-2:]
    own, one, small, large = (measured[name] for name in (GROWTH, COLD, batch_of(few), batch_of(many)))
    rows = [(ours.NAME, times(ratio(own, runs(many), runs(few))), _peak(own, runs(1)), _peak(own, runs(many)))]
    for name in (peer.name for peer in contenders if peer.most >= many and peer.name in large):
        grown = best_wall(large[name]) / best_wall(small[name])
        rows.append((name, times(grown), _peak(one, name), _peak(large, name)))
    return table(("growth", f"time, {many:,} to {few:,}", "peak at 1", f"peak at {many:,}"), rows)


def workers(sizes: Sequence[int], measured: Measured) -> str:
    """Ours, with one process and with more."""
    rows = []
    for size in sizes:
        series = measured[workers_at(size)]
        rows.append(
            (
                runs(size),
                *(seconds(best_wall(series[name])) if name in series else _NOT_AVAILABLE for name in _WORKERS),
                times(ratio(series, ours.AUTOMATIC, ours.SERIAL)),
                times(ratio(series, ours.SERIAL, ours.TWO)),
            )
        )
    return table(("workers", *_WORKERS, "automatic to 1", "1 to 2"), rows)


def in_process(measured: Measured) -> str:
    """A service's view: what a call costs when all is loaded."""
    series = measured[WARM]
    names = (warm.WHOLE, warm.ALONE, warm.VERIFIED)
    rows = [
        (
            name,
            f"{number(best_wall(series[name]) * _MICROSECONDS)} µs" if name in series else _NOT_AVAILABLE,
            times(ratio(series, name, warm.ALONE)),
            times(ratio(series, name, warm.WHOLE)),
        )
        for name in names
    ]
    return table(("warm, one process", "a run", "to loader and emitter", "to compile and serialize"), rows)


def components(costs: Mapping[str, float]) -> str:
    """Where our time goes; what stands between the stages is in the whole alone."""
    whole = costs[stages.WHOLE]
    parts = {name: cost for name, cost in costs.items() if name != stages.WHOLE}
    rows = [*parts.items(), ("sum of the stages", sum(parts.values())), ("the whole line, as it is called", whole)]
    cells = [(name, f"{number(cost * _MICROSECONDS)} µs", f"{cost / whole:.0%}") for name, cost in rows]
    return table(("stage, warm", "a run", "of the whole"), cells)


def facts(rows: Sequence[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {value}\n" for name, value in rows)


def _figures(series: Series, name: str, missing: str) -> tuple[str, str, str]:
    costs = series.get(name)
    return (seconds(best_wall(costs)), seconds(best_cpu(costs)), _peak(series, name)) if costs else (missing, "", "")


def _peak(series: Series, name: str) -> str:
    return f"{peak(series[name]):.0f} MB" if name in series else ""
