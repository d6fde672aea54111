"""`compile_files` for many runs: from the cache, in worker processes, or on a Dask cluster.

The results are those of `compile_files`, in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

from speccompile.batch.disk_spool import Ledger
from speccompile.batch.wire_format import from_portable
from speccompile.batch.work_units import UnitOutcome, WorkUnit, sources_of
from speccompile.compiler.compiled import Rendered, Result, Results
from speccompile.compiler.duplicate_objects import ClaimStore, refuse_duplicates
from speccompile.files.work import Work
from speccompile.model.findings import has_errors
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from speccompile.batch.compile_unit import Compiler
    from speccompile.batch.incremental import ResultCache

_Outcomes: TypeAlias = Generator[tuple[WorkUnit, UnitOutcome | None], None, None]
_WINDOW = 100
"""Files that are read before it is decided how to compile them."""
_WORTH_FORKING, _WORTH_STARTING = 100, 1000
"""The number of runs to compile from which forked processes, or new ones, save time."""


class Effort(NamedTuple):
    """The options for compiling the runs of a call."""

    shape: str = "yaml"
    jobs: int | None = None
    """The number of processes; None to choose it automatically."""
    dask: str | None = None
    """The address of a Dask scheduler."""
    uses_cache: bool = True


@contextmanager
def accelerated(work: Work, effort: Effort) -> Iterator[Results]:
    """Compile the runs of a call with as little work as possible. Raises CallError, or ExecutorError."""
    with ExitStack() as stack:
        ledger = stack.enter_context(closing(Ledger()))
        admin = work.admin_texts.admin
        if admin is None:
            yield _compile_straight(work, effort.shape, ledger)
            return
        cache, skeletons = None, None
        if effort.uses_cache:
            from speccompile.batch.open_caches import open_caches

            cache, skeletons = open_caches(work, effort.shape, admin, stack)
        findings = cache.findings if cache else work.setting.findings
        if has_errors(findings):
            yield _compile_straight(work, effort.shape, ledger)
            return
        yield findings, _refuse_clashes(_Route(work, effort, admin, cache, stack).rendered(), work, ledger)
        if skeletons:
            skeletons.save()


def _compile_straight(work: Work, shape: str, ledger: ClaimStore) -> Results:
    from speccompile.batch.straight import compile_here

    return compile_here(work, shape, ledger)


def _refuse_clashes(results: Iterable[Rendered], work: Work, ledger: ClaimStore) -> Iterator[Rendered]:
    """The results, with an error in place of each run that creates the same object as an earlier one."""
    text = ""

    def without_text() -> Iterator[Result]:
        nonlocal text
        for one in results:
            text = one.text
            yield one.result

    for result in refuse_duplicates(without_text(), lambda: work.setting.platform, ledger):
        yield Rendered(result, text)


class _Route:
    """The choice between cached results, this process, worker processes and a cluster."""

    def __init__(
        self, work: Work, effort: Effort, admin: AdminTexts, cache: ResultCache | None, stack: ExitStack
    ) -> None:
        self._work, self._effort, self._admin = work, effort, admin
        self._cache, self._stack, self._sources = cache, stack, sources_of(admin)

    def rendered(self) -> Iterator[Rendered]:
        units = self._units()
        if self._effort.dask:
            yield from self._dispatched(units)
            return
        left = len(self._work.inputs.runs)
        while window := list(islice(units, _WINDOW)):
            left -= len(window)
            jobs = _jobs(self._effort.jobs, window, left)
            if jobs > 1:
                yield from self._dispatched(chain(window, units), jobs)
                return
            for unit in window:
                yield from self._local(unit)

    def _units(self) -> Iterator[WorkUnit]:
        for read in self._work.texts:
            if isinstance(read, Parsed):
                yield WorkUnit.unread(read)
            else:
                cached = self._cache.get(read) if self._cache else None
                yield WorkUnit(read, Text(read.name, read.text), cached)

    def _dispatched(self, units: Iterable[WorkUnit], jobs: int = 0) -> Iterator[Rendered]:
        """Compile units without an outcome on the cluster, or in `jobs` processes."""
        for unit, outcome in self._outcomes(units, jobs):
            if outcome is None:
                yield from self._local(unit)
                continue
            if self._cache and unit.outcome is None:
                self._cache.put(unit.source, outcome)
            yield from self._unpack(unit, outcome)

    def _outcomes(self, units: Iterable[WorkUnit], jobs: int) -> Iterator[tuple[WorkUnit, UnitOutcome | None]]:
        """Each unit with its outcome; None if it is to be compiled here."""
        compile_forked = None if self._effort.dask else _forked_compiler()
        if compile_forked:
            return self._stack.enter_context(closing(compile_forked(units, self._compiler, jobs)))
        from speccompile.batch.dispatch import dispatch_units
        from speccompile.batch.executors import cluster, processes

        workers = cluster(self._effort.dask) if self._effort.dask else processes(jobs)
        pool = self._stack.enter_context(workers)
        return dispatch_units(units, self._admin, self._effort.shape, pool)

    def _local(self, unit: WorkUnit) -> Iterator[Rendered]:
        if unit.outcome is None and self._cache is None:
            # Without a cache, results need not be packed.
            yield from self._compiler.render(unit)
            return
        outcome = unit.outcome or self._compiler.compile(unit)
        if self._cache and unit.outcome is None:
            self._cache.put(unit.source, outcome)
        yield from self._unpack(unit, outcome)

    @cached_property
    def _compiler(self) -> Compiler:
        from speccompile.batch.compile_unit import Compiler

        return Compiler.of(self._work.setting, self._effort.shape, self._sources)

    def _unpack(self, unit: WorkUnit, outcome: UnitOutcome) -> Iterator[Rendered]:
        for number, data in enumerate(outcome[0]):

            def recompile(number: int = number) -> Result:
                return self._compiler.recompile(unit, number)

            yield from_portable(data, self._effort.shape, unit.source, self._sources, recompile)


def cores() -> int:
    """The number of cores available to this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _jobs(requested: int | None, window: Sequence[WorkUnit], left: int) -> int:
    """The number of processes for these files and the ones after them, which are assumed to have changed as often."""
    weight = sum(unit.weight for unit in window if unit.outcome is None)
    if not weight or requested == 1:
        return 1
    if requested:
        return min(requested, weight + left)
    total = weight * (len(window) + left) // len(window)
    is_many = total >= _WORTH_FORKING and 2 * weight >= len(window)
    return cores() if is_many and (total >= _WORTH_STARTING or _forked_compiler()) else 1


def _forked_compiler() -> Callable[[Iterable[WorkUnit], Compiler, int], _Outcomes] | None:
    """The function that compiles in forked processes; None if forking is not safe."""
    from speccompile.batch.forked import can_fork, compile_forked

    return compile_forked if can_fork() else None
