"""`compile_files` for many runs: from the cache, in worker processes, or on a Dask cluster.

Whatever is skipped or done elsewhere, the results are those of `compile_files`, in the same order.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING

from speccompile.batch.disk_spool import Ledger
from speccompile.batch.wire_format import from_portable
from speccompile.batch.work_units import Answer, Piece, sources_of
from speccompile.compiler.compiled import Rendered, Result, Results
from speccompile.compiler.duplicate_objects import ClaimStore, refuse_duplicates
from speccompile.files.work import Work
from speccompile.model.findings import has_errors
from speccompile.model.input_texts import Admin, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from speccompile.batch.compile_unit import Compiler
    from speccompile.batch.incremental import Recall

_WINDOW = 100
"""Files that are looked at before it is decided who compiles them."""
_WORTH_IT = 1000
"""Runs to compile for which starting processes pays."""


class Effort(NamedTuple):
    """How a call wants its runs compiled."""

    shape: str = "yaml"
    jobs: int | None = None
    """Processes; None for as many as are worth it."""
    dask: str | None = None
    """The address of a Dask scheduler."""
    uses_cache: bool = True


@contextmanager
def accelerated(work: Work, effort: Effort) -> Iterator[Results]:
    """Compile the runs of a call with as little work as possible. Raises CallError, or ExecutorError."""
    with ExitStack() as stack:
        ledger = stack.enter_context(closing(Ledger()))
        admin = work.written.admin
        if admin is None:
            yield _plainly(work, effort.shape, ledger)
            return
        recall, lent = None, None
        if effort.uses_cache:
            from speccompile.batch.answer_cache import opened_recall

            recall, lent = opened_recall(work, effort.shape, admin, stack)
        findings = recall.findings if recall else work.setting.findings
        if has_errors(findings):
            yield _plainly(work, effort.shape, ledger)
            return
        yield findings, _apart(_Route(work, effort, admin, recall, stack).rendered(), ledger)
        if lent:
            lent.keep()


def _plainly(work: Work, shape: str, ledger: ClaimStore) -> Results:
    from speccompile.batch.straight import compile_here

    return compile_here(work, shape, ledger)


def _apart(results: Iterable[Rendered], ledger: ClaimStore) -> Iterator[Rendered]:
    """The same, with an error in place of each run that clashes with one before it."""
    text = ""

    def alone() -> Iterator[Result]:
        nonlocal text
        for one in results:
            text = one.text
            yield one.result

    for result in refuse_duplicates(alone(), ledger):
        yield Rendered(result, text)


class _Route:
    """Runs that need not be compiled again, or not here."""

    def __init__(self, work: Work, effort: Effort, admin: Admin, recall: Recall | None, stack: ExitStack) -> None:
        self._work, self._effort, self._admin, self._recall, self._stack = work, effort, admin, recall, stack
        self._known = sources_of(admin)

    def rendered(self) -> Iterator[Rendered]:
        pieces = self._pieces()
        if self._effort.dask:
            yield from self._elsewhere(pieces)
            return
        left = len(self._work.inputs.runs)
        while window := list(islice(pieces, _WINDOW)):
            left -= len(window)
            jobs = _jobs(self._effort.jobs, window, left)
            if jobs > 1:
                # Forked workers inherit it.
                _ = self._work.setting
                yield from self._elsewhere(chain(window, pieces), jobs)
                return
            for piece in window:
                yield from self._here(piece)

    def _pieces(self) -> Iterator[Piece]:
        for read in self._work.texts:
            if isinstance(read, Parsed):
                yield Piece.unread(read)
            else:
                known = self._recall.answer(read) if self._recall else None
                yield Piece(read, Text(read.name, read.text), known)

    def _elsewhere(self, pieces: Iterable[Piece], jobs: int = 0) -> Iterator[Rendered]:
        """Those that are to be compiled go to the cluster, or to so many processes."""
        from speccompile.batch.dispatch import spread
        from speccompile.batch.executors import cluster, processes

        workers = cluster(self._effort.dask) if self._effort.dask else processes(jobs)
        crew = self._stack.enter_context(workers)
        for piece, answer in spread(pieces, self._admin, self._effort.shape, crew):
            if self._recall and piece.answer is None:
                self._recall.keep(piece.source, answer)
            yield from self._unpacked(piece, answer)

    def _here(self, piece: Piece) -> Iterator[Rendered]:
        if piece.answer is None and self._recall is None:
            # What stays here need not travel.
            yield from self._compiler.rendered(piece)
            return
        answer = self._compiler.answer(piece) if piece.answer is None else piece.answer
        if self._recall and piece.answer is None:
            self._recall.keep(piece.source, answer)
        yield from self._unpacked(piece, answer)

    @cached_property
    def _compiler(self) -> Compiler:
        from speccompile.batch.compile_unit import Compiler

        return Compiler.of(self._work.setting, self._effort.shape, self._known)

    def _unpacked(self, piece: Piece, answer: Answer) -> Iterator[Rendered]:
        for number, data in enumerate(answer[0]):

            def again(number: int = number) -> Result:
                return self._compiler.again(piece, number)

            yield from_portable(data, self._effort.shape, piece.source, self._known, again)


def cores() -> int:
    """How many processes this one may keep busy."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def _jobs(asked: int | None, window: Sequence[Piece], left: int) -> int:
    """How many processes to compile these files and those behind them with.

    Nobody knows how many of the others have changed: probably as many as of these.
    """
    weight = sum(piece.weight for piece in window if piece.answer is None)
    if not weight or asked == 1:
        return 1
    if asked:
        return asked if weight > 1 or left else 1
    total = weight * (len(window) + left) // len(window)
    return cores() if total >= _WORTH_IT and 2 * weight >= len(window) else 1
