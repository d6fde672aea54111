"""Takes a few options, gives tables of what speccompile and its peers cost, and after a complete run RESULTS.md.

Every contender compiles the same runs, and none is timed before it is known to give the manifests that ours gives.
Calls are processes of their own that take turns, so a busy machine disturbs all alike; times are the best of the
rounds, and ratios the medians of the ratios of each round.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks import contests, machine, stages, tables, warm
from benchmarks.contender import ROOT, Contender
from benchmarks.contests import Contest, DifferentError, Prepared
from benchmarks.figures import Series
from benchmarks.peers import PEERS
from benchmarks.targets import WARM
from benchmarks.timing import FailedError, Watch, compile_bytecode, launcher

_SIZES = (100, 1000, 10_000)
_COMPARED = (1, 10, 100)
_WORKERS = (1, 10, 100, 1000, 10_000)
_FEW, _MANY = 3, 15
_WARM = 200
"""Runs of a round inside one process."""
_LONG = 1000
"""Batches of so many runs and more have a third of the rounds: they take long, and vary little."""
_RESULTS = ROOT / "benchmarks" / "RESULTS.md"
_NOTE = """\
# What speccompile costs, beside its peers

Written by `python -m benchmarks`; the package says how. Times are the best of {rounds} rounds, a third as many for
1,000 runs and more; ratios are the medians of the ratios of each round; memory is that of the largest process.
Everything that was measured gave equal manifests, as data, for 1, 10 and 100 runs. A run has about 33 lines, the
profile 38, and the manifests of a run, which are five as a rule, about 178.
"""


@dataclass(frozen=True)
class Plan:
    """What one call of the benchmark measures."""

    contenders: tuple[Contender, ...]
    installed: tuple[Contender, ...]
    sizes: tuple[int, ...]
    rounds: int
    is_full: bool

    @property
    def warm(self) -> int:
        return min(_WARM, max(self.sizes))

    def rounds_of(self, size: int) -> int:
        return max(1, self.rounds // 3) if size >= _LONG else self.rounds


def main(words: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 if a contender failed or gives something else."""
    given = _arguments(words)
    chosen = _chosen(given)
    plan = Plan(
        contenders=chosen,
        installed=tuple(contender for contender in chosen if contender.version()),
        sizes=given.sizes or (_SIZES[:1] if given.quick else _SIZES),
        rounds=given.rounds or (_FEW if given.quick else _MANY),
        is_full=given.full,
    )
    is_complete = not (given.quick or given.rounds or given.sizes or given.only or given.components)
    watch = _watch()
    compile_bytecode()
    with tempfile.TemporaryDirectory(prefix="speccompile-bench-") as name:
        folder = Path(name)
        try:
            told = []
            parts = (_components(plan, folder, watch),) if given.components else _tables(plan, folder, watch)
            for part in parts:
                watch("")
                print(part, flush=True)
                told.append(part)
        except (DifferentError, FailedError) as error:
            watch("")
            print(f"benchmarks: {error}", file=sys.stderr)
            return 1
    if is_complete:
        _RESULTS.write_text("\n".join((_NOTE.format(rounds=plan.rounds), *told)), encoding="utf-8")
    return 0


def _tables(plan: Plan, folder: Path, watch: Watch) -> Iterator[str]:
    """Every table as soon as there is one; the targets, which need all of them, at the end."""
    date = ("date", f"{datetime.now(tz=UTC):%Y-%m-%d}")
    yield _titled("Machine", tables.facts([*machine.machine(), date]))
    yield _titled("Versions", tables.facts(machine.versions(plan.contenders)))
    measured: dict[str, Series] = {}
    prepared = Prepared(folder)
    with launcher() as starter:

        def hold(contest: Contest) -> None:
            measured[contest.name] = contests.held(contest, prepared, starter, watch)

        compared = sorted({min(size, max(plan.sizes)) for size in _COMPARED})
        contests.ensure_equal(plan.installed, compared, prepared, starter, watch)
        hold(contests.cold(plan.installed, prepared, plan.rounds))
        yield _titled("Cold start", tables.cold(measured, plan.contenders))
        for size in plan.sizes:
            rounds = plan.rounds_of(size)
            hold(contests.batch(size, plan.installed, prepared, rounds, is_full=plan.is_full))
            yield _titled(f"A batch of {size:,}", tables.batch(size, measured, plan.contenders, is_full=plan.is_full))
        if len(plan.sizes) > 1:
            hold(contests.growth(plan.sizes[-2:], prepared, plan.rounds_of(plan.sizes[-1])))
            yield _titled("Growth", tables.growth(plan.sizes, measured, plan.contenders))
        sizes = sorted({min(size, max(plan.sizes)) for size in _WORKERS})
        for size in sizes:
            hold(contests.workers(size, prepared, plan.rounds_of(size)))
        yield _titled("Workers", tables.workers(sizes, measured))
    measured[WARM] = warm.measured(folder, plan.rounds, plan.warm, watch)
    yield _titled("Warm", tables.in_process(measured))
    yield _components(plan, folder, watch)
    yield _titled("Targets", tables.targets(measured))


def _components(plan: Plan, folder: Path, watch: Watch) -> str:
    costs = stages.measured(folder, plan.rounds, plan.warm, watch)
    return _titled("Where our time goes", tables.components(costs))


def _titled(title: str, table: str) -> str:
    return f"## {title}\n\n{table}"


def _watch() -> Watch:
    """Shows on a terminal what is going on, in one line that is wiped."""

    def tell(what: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[K{what}")
            sys.stderr.flush()

    return tell


def _chosen(given: argparse.Namespace) -> tuple[Contender, ...]:
    """The peers whose names hold one of the words, in any case; all of them if there are no words."""
    words = [word.lower() for word in given.only or ("",)]
    chosen = tuple(peer for peer in PEERS if any(word in peer.name.lower() for word in words))
    if not chosen:
        known = "; ".join(peer.name for peer in PEERS)
        given.refuse(f"no peer has {' or '.join(map(repr, words))} in its name; there are: {known}")
    return chosen


def _arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speccompile beside its peers.")
    parser.add_argument("--quick", action="store_true", help="a hundred runs, three rounds: for a first look")
    parser.add_argument("--full", action="store_true", help="wait for slow peers at every size, instead of scaling")
    parser.add_argument("--rounds", type=_positive, metavar="N", help=f"rounds of each contest (default: {_MANY})")
    parser.add_argument("--sizes", type=_sizes, metavar="N,...", help="sizes of batches (default: 100,1000,10000)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="peers with this in their names, and ours")
    parser.add_argument("--components", action="store_true", help="only where our own time goes, stage by stage")
    parser.set_defaults(refuse=parser.error)
    return parser.parse_args(words)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no positive number")
    return int(text)


def _sizes(text: str) -> tuple[int, ...]:
    return tuple(sorted({_positive(part) for part in text.split(",")}))


if __name__ == "__main__":
    sys.exit(main())
