"""Takes contenders and sizes, gives contests: the calls that are measured in turn, round after round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import equality, ours
from benchmarks.contender import Call, Contender
from benchmarks.figures import Cost, Series
from benchmarks.timing import Launcher, Watch
from benchmarks.workload import Workload

COLD = "cold start"
GROWTH = "growth"


def batch_of(size: int) -> str:
    """The name of the contest over that many runs."""
    return f"batch of {size:,}"


def workers_at(size: int) -> str:
    """The name of the contest of one process, two, and the automatic choice."""
    return f"workers at {size:,}"


def runs(size: int) -> str:
    return f"{size:,} run{'s' * (size != 1)}"


@dataclass(frozen=True)
class Entry:
    """A call in a contest."""

    calls: Sequence[Call]
    """One for all rounds, or one for each and for the round that is not counted."""
    factor: float = 1
    """How many times as many runs it stands for: not everything is worth the wait."""
    succeeds: bool = True


@dataclass(frozen=True)
class Contest:
    """Calls that are compared, by the names that tables give them."""

    name: str
    entries: Mapping[str, Entry]
    rounds: int


class DifferentError(Exception):
    """A contender gives other manifests than ours; says which."""


class Prepared:
    """What contenders read, written once for each number of runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._calls: dict[tuple[str, int], Call] = {}

    def call(self, contender: Contender, size: int) -> Call:
        key = (contender.name, size)
        if key not in self._calls:
            self._calls[key] = contender.prepare(Workload(size), self.room())
        return self._calls[key]

    def room(self) -> Path:
        """A new, empty folder."""
        made = self._folder / f"room-{len([*self._folder.iterdir()]):03}"
        made.mkdir()
        return made


def ensure_equal(
    contenders: Sequence[Contender], sizes: Sequence[int], prepared: Prepared, launcher: Launcher, watch: Watch
) -> None:
    """Raises DifferentError unless all give the manifests that ours gives, as data, for each number of runs."""
    output = prepared.room() / "output"
    for size in sizes:
        launcher.cost(prepared.call(ours.SPECCOMPILE, size), output)
        expected = equality.read(output.read_text(encoding="utf-8"))
        for contender in contenders:
            if size < contender.least:
                continue
            watch(f"comparing {runs(size)} of {contender.name}")
            call = prepared.call(contender, size)
            launcher.cost(call, output)
            given = (
                equality.read_folder(call.results)
                if call.results
                else equality.read(output.read_text(encoding="utf-8"))
            )
            found = equality.differences(expected, given, orders_variables=contender.orders_variables)
            if found:
                told = "\n  ".join(found)
                raise DifferentError(f"{contender.name} gives other manifests than ours for {runs(size)}:\n  {told}")


def cold(contenders: Sequence[Contender], prepared: Prepared, rounds: int) -> Contest:
    """One run, or none: what a call costs before it does anything."""
    own = ours.cold(prepared.room(), rounds + 1)
    entries = {name: Entry(calls, succeeds=name != ours.INVALID) for name, calls in own.items() if calls}
    peers = {peer.name: Entry([prepared.call(peer, 1)]) for peer in contenders if peer.least == 1}
    return Contest(COLD, entries | peers, rounds)


def batch(
    size: int, contenders: Sequence[Contender], prepared: Prepared, rounds: int, *, is_full: bool = False
) -> Contest:
    """All contenders over the same runs; those that are too slow for that over some of them."""
    entries = {ours.NAME: Entry([prepared.call(ours.SPECCOMPILE, size)])}
    for peer in contenders:
        measured = size if is_full else min(size, peer.most)
        entries[peer.name] = Entry([prepared.call(peer, measured)], factor=size / measured)
    return Contest(batch_of(size), entries, rounds)


def growth(sizes: Sequence[int], prepared: Prepared, rounds: int) -> Contest:
    """Ours, over ever more runs."""
    return Contest(GROWTH, {runs(size): Entry([prepared.call(ours.SPECCOMPILE, size)]) for size in (1, *sizes)}, rounds)


def workers(size: int, prepared: Prepared, rounds: int) -> Contest:
    """Ours with one process, with two, and with as many as it thinks good."""
    calls = ours.workers(Workload(size), prepared.room())
    return Contest(workers_at(size), {name: Entry([call]) for name, call in calls.items() if call}, rounds)


def held(contest: Contest, prepared: Prepared, launcher: Launcher, watch: Watch) -> Series:
    """What every entry cost in every round. The round before the first fills caches, and is not counted."""
    output = prepared.room() / "output"
    costs: dict[str, list[Cost]] = {name: [] for name in contest.entries}
    for number in range(contest.rounds + 1):
        for name, entry in contest.entries.items():
            watch(f"{contest.name}, round {number} of {contest.rounds}: {name}")
            cost = launcher.cost(entry.calls[number % len(entry.calls)], output, succeeds=entry.succeeds)
            if number:
                costs[name].append(cost.scaled(entry.factor))
    return costs
