"""Markdown tables of the measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from benchmarks import speccompile_calls, stages, warm
from benchmarks.comparisons import COLD, GROWTH, batch_name, format_runs, workers_name
from benchmarks.figures import Series, best_cpu, best_wall, peak, ratio
from benchmarks.peers import helm
from benchmarks.targets import SMALL, TARGETS, WARM, Measured
from benchmarks.tool import Tool
from benchmarks.workload import Workload

_NOT_AVAILABLE, _NOT_INSTALLED = "not available", "not installed"
_WORKERS = (speccompile_calls.SERIAL, speccompile_calls.TWO, speccompile_calls.AUTOMATIC)
_MILLISECONDS = 1000
_MICROSECONDS = 1_000_000
_HUNDRED = 100
_TEN = 10


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format a table; all columns but the first are aligned to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]

    def line(cells: Sequence[str]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        return "| " + " | ".join((first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest))) + " |"

    rule = "|".join(("-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])))
    return "\n".join((line(header), f"|{rule}|", *map(line, rows))) + "\n"


def format_number(value: float) -> str:
    """Format a number with three significant digits, or as an integer if that has more."""
    return f"{value:,.0f}" if value >= _HUNDRED else f"{value:.1f}" if value >= _TEN else f"{value:.2f}"


def _seconds(value: float) -> str:
    return f"{format_number(value)} s" if value >= 1 else f"{format_number(value * _MILLISECONDS)} ms"


def _times(value: float | None) -> str:
    return "" if value is None else f"{format_number(value)} ×"


def targets(measured: Measured) -> str:
    """Targets and whether they are met."""
    rows = []
    for target in TARGETS:
        figure = target.figure(measured)
        if figure is None:
            rows.append((target.name, target.limit, "", "not measured"))
            continue
        miss = target.miss(figure)
        result = "met" if miss <= 0 else f"missed by {miss:.0%}"
        rows.append((target.name, target.limit, f"{format_number(figure)}{target.unit}", result))
    return format_table(("target", "bound", "measured", ""), rows)


def cold_start(measured: Measured, tools: Sequence[Tool]) -> str:
    """One run or none."""
    series = measured[COLD]
    peers = (tool.name for tool in tools if tool.min_runs == 1)
    names = (*((name, _NOT_AVAILABLE) for name in speccompile_calls.COLD), *((name, _NOT_INSTALLED) for name in peers))
    others = (speccompile_calls.VALID, helm.CALL_PER_RUN.name, speccompile_calls.BARE)
    rows = [
        (name, *_figures(series, name, missing), *(_times(ratio(series, name, other)) for other in others))
        for name, missing in names
    ]
    header = ("one run", "wall", "CPU", "peak", "vs speccompile", "vs helm", "vs bare Python")
    return format_table(header, rows)


def batch(workload: Workload, measured: Measured, tools: Sequence[Tool], *, is_full: bool) -> str:
    """All tools on the same runs; times measured with fewer runs are marked as scaled."""
    size, kind = workload.size, workload.kind
    series = measured[batch_name(size, kind)]
    scaled = {} if is_full else {tool.name: f"scaled from {tool.max_runs:,}" for tool in tools if tool.max_runs < size}
    rows = [
        (
            name,
            *_figures(series, name, _NOT_INSTALLED),
            *(_times(ratio(series, name, other)) for other in (speccompile_calls.NAME, helm.ONE_CALL.name)),
            scaled.get(name, "") if name in series else "",
        )
        for name in (speccompile_calls.NAME, speccompile_calls.PARALLEL, *(tool.name for tool in tools))
    ]
    return format_table((format_runs(size, kind), "wall", "CPU", "peak", "vs speccompile", "vs helm", ""), rows)


def growth(sizes: Sequence[int], measured: Measured, tools: Sequence[Tool]) -> str:
    """Growth of time and memory: for speccompile the median over rounds, for other tools from the best times."""
    few, many = sizes[-2:]
    series, one, small, large = (measured[name] for name in (GROWTH, COLD, batch_name(few), batch_name(many)))
    one_run, few_runs, many_runs = map(format_runs, (1, few, many))
    time = _times(ratio(series, many_runs, few_runs))
    rows = [(speccompile_calls.NAME, time, _peak(series, one_run), _peak(series, many_runs))]
    for name in (tool.name for tool in tools if tool.max_runs >= many and tool.name in large):
        growth = best_wall(large[name]) / best_wall(small[name])
        rows.append((name, _times(growth), _peak(one, name), _peak(large, name)))
    return format_table(("growth", f"time, {many:,} vs {few:,}", "peak at 1", f"peak at {many:,}"), rows)


def workers(sizes: Sequence[int], measured: Measured) -> str:
    """Speccompile with one process and with more."""
    rows = []
    for size in sizes:
        series = measured[workers_name(size)]
        rows.append(
            (
                format_runs(size),
                *(_seconds(best_wall(series[name])) if name in series else _NOT_AVAILABLE for name in _WORKERS),
                _times(ratio(series, speccompile_calls.AUTOMATIC, speccompile_calls.SERIAL)),
                _times(ratio(series, speccompile_calls.SERIAL, speccompile_calls.TWO)),
            )
        )
    return format_table(("workers", *_WORKERS, "automatic vs 1", "1 vs 2"), rows)


def warm_process(measured: Measured) -> str:
    """Cost per run in a long-running process, such as a service."""
    groups = ((WARM, warm.WHOLE, warm.PYYAML, (warm.VERIFIED,)), (SMALL, warm.SMALL, warm.SMALL_PYYAML, ()))
    rows = [
        (
            name,
            f"{format_number(best_wall(series[name]) * _MICROSECONDS)} µs" if name in series else _NOT_AVAILABLE,
            _times(ratio(series, name, pyyaml)),
            _times(ratio(series, name, whole)),
        )
        for comparison, whole, pyyaml, others in groups
        for series in (measured[comparison],)
        for name in (whole, *others, pyyaml)
    ]
    return format_table(("warm, one process", "per run", "vs PyYAML", "vs compile and serialize"), rows)


def stage_times(costs: Mapping[str, float]) -> str:
    """Time per stage; time between stages is part of the full compilation only."""
    whole = costs[stages.WHOLE]
    parts = {name: cost for name, cost in costs.items() if name != stages.WHOLE}
    rows = [*parts.items(), ("sum of stages", sum(parts.values())), ("full compilation", whole)]
    cells = [(name, f"{format_number(cost * _MICROSECONDS)} µs", f"{cost / whole:.0%}") for name, cost in rows]
    return format_table(("stage, warm", "per run", "share"), cells)


def format_facts(rows: Sequence[tuple[str, str]]) -> str:
    return "".join(f"- {name}: {value}\n" for name, value in rows)


def _figures(series: Series, name: str, missing: str) -> tuple[str, str, str]:
    costs = series.get(name)
    return (_seconds(best_wall(costs)), _seconds(best_cpu(costs)), _peak(series, name)) if costs else (missing, "", "")


def _peak(series: Series, name: str) -> str:
    return f"{peak(series[name]):.0f} MB" if name in series else ""
