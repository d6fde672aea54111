"""Comparisons: calls that are measured in turn, round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks import equality, speccompile_calls
from benchmarks.figures import Cost, Series
from benchmarks.timing import Launcher, Progress
from benchmarks.tool import Call, Tool
from benchmarks.workload import Kind, Workload

COLD = "cold start"
GROWTH = "growth"


def batch_name(size: int, kind: Kind = Kind.MIXED) -> str:
    """Name of the comparison of all tools on this many runs of a kind."""
    return f"batch of {format_runs(size, kind)}"


def workers_name(size: int) -> str:
    """Name of the comparison of one process, two, and the automatic choice."""
    return f"workers at {size:,}"


def format_runs(size: int, kind: Kind = Kind.MIXED) -> str:
    return f"{size:,} {kind if size != 1 else kind.replace('runs', 'run')}"


@dataclass(frozen=True)
class Entry:
    """A call in a comparison."""

    calls: Sequence[Call]
    """One for all rounds, or one for each round including the warm-up."""
    factor: float = 1
    """Scales the cost up to the size of the comparison, where fewer runs were measured."""
    succeeds: bool = True


@dataclass(frozen=True)
class Comparison:
    """Calls to compare, by their names in tables."""

    name: str
    entries: Mapping[str, Entry]
    rounds: int


class MismatchError(Exception):
    """A tool produces other manifests than speccompile; the message lists differences."""


class Inputs:
    """Input folders of tools, written once for each number and kind of runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls: dict[tuple[str, Workload], Call] = {}

    def call(self, tool: Tool, workload: Workload) -> Call:
        key = (tool.name, workload)
        if key not in self._calls:
            self._calls[key] = tool.prepare(workload, self.new_folder())
        return self._calls[key]

    def new_folder(self) -> Path:
        folder = self._folder / f"input-{len([*self._folder.iterdir()]):03}"
        folder.mkdir()
        return folder


def ensure_equal(
    tools: Sequence[Tool], workloads: Sequence[Workload], inputs: Inputs, launcher: Launcher, progress: Progress
) -> None:
    """Raise MismatchError unless all tools produce the same manifests, as data, for each workload."""
    output = inputs.new_folder() / "output"
    for workload in workloads:
        launcher.measure(inputs.call(speccompile_calls.SPECCOMPILE, workload), output)
        expected = equality.read(output.read_text(encoding="utf-8"))
        for tool in tools:
            if workload.size < tool.min_runs:
                continue
            runs = format_runs(workload.size, workload.kind)
            progress(f"comparing {runs} of {tool.name}")
            call = inputs.call(tool, workload)
            launcher.measure(call, output)
            actual = (
                equality.read_folder(call.results)
                if call.results
                else equality.read(output.read_text(encoding="utf-8"))
            )
            differences = equality.differences(expected, actual, keeps_variable_order=tool.keeps_variable_order)
            if differences:
                lines = "\n  ".join(differences)
                raise MismatchError(f"{tool.name}: different manifests for {runs}:\n  {lines}")


def cold_start(tools: Sequence[Tool], inputs: Inputs, rounds: int) -> Comparison:
    """One run or none: the fixed cost of a call."""
    calls_by_name = speccompile_calls.cold_start(inputs.new_folder(), rounds + 1)
    entries = {
        name: Entry(calls, succeeds=name != speccompile_calls.INVALID) for name, calls in calls_by_name.items() if calls
    }
    peers = {tool.name: Entry([inputs.call(tool, Workload(1))]) for tool in tools if tool.min_runs == 1}
    return Comparison(COLD, entries | peers, rounds)


def batch(
    workload: Workload, tools: Sequence[Tool], inputs: Inputs, rounds: int, *, is_full: bool = False
) -> Comparison:
    """All tools on the same runs; slow tools on fewer of them."""
    size = workload.size
    serial = inputs.call(speccompile_calls.SPECCOMPILE, workload)
    entries = {
        speccompile_calls.NAME: Entry([serial]),
        speccompile_calls.PARALLEL: Entry([speccompile_calls.automatic_workers(serial)]),
    }
    for tool in tools:
        measured = size if is_full else min(size, tool.max_runs)
        entries[tool.name] = Entry([inputs.call(tool, replace(workload, size=measured))], factor=size / measured)
    return Comparison(batch_name(size, workload.kind), entries, rounds)


def growth(sizes: Sequence[int], inputs: Inputs, rounds: int) -> Comparison:
    """Speccompile on increasing numbers of runs."""
    tool = speccompile_calls.SPECCOMPILE
    entries = {format_runs(size): Entry([inputs.call(tool, Workload(size))]) for size in (1, *sizes)}
    return Comparison(GROWTH, entries, rounds)


def workers(size: int, inputs: Inputs, rounds: int) -> Comparison:
    """Speccompile with one process, with two, and with the automatic number."""
    calls = speccompile_calls.workers(Workload(size), inputs.new_folder())
    return Comparison(workers_name(size), {name: Entry([call]) for name, call in calls.items() if call}, rounds)


def measure(comparison: Comparison, inputs: Inputs, launcher: Launcher, progress: Progress) -> Series:
    """Measure every entry in every round, after a warm-up round that fills caches."""
    output = inputs.new_folder() / "output"
    costs: dict[str, list[Cost]] = {name: [] for name in comparison.entries}
    for number in range(comparison.rounds + 1):
        for name, entry in comparison.entries.items():
            progress(f"{comparison.name}, round {number} of {comparison.rounds}: {name}")
            cost = launcher.measure(entry.calls[number % len(entry.calls)], output, succeeds=entry.succeeds)
            if number:
                costs[name].append(cost.scaled(entry.factor))
    return costs
