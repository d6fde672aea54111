"""Takes work and the options of a call, gives what becomes of each run: kept, compiled here, or somewhere else."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import cached_property
from itertools import chain, islice
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from speccompile.batch.incremental import Lent, Recall
    from speccompile.batch.wire_format import Carried
    from speccompile.batch.work_units import Admin, Answer, Compiler, Crew, Piece
    from speccompile.cli.work import Work
    from speccompile.compiler.compiled import Result
    from speccompile.compiler.duplicate_objects import Memory
    from speccompile.model.diagnostic import Diagnostic
    from speccompile.yaml_text.parse import Parsed

_WINDOW = 100
"""Files that are looked at before it is decided who compiles them."""
_WORTH_IT = 1000
"""Runs to compile for which starting processes pays."""

Told: TypeAlias = "tuple[tuple[Diagnostic, ...], Iterator[Carried]]"


@contextmanager
def results_of(work: Work, arguments: argparse.Namespace) -> Iterator[Told]:
    """What is wrong with profiles and platform, and what becomes of each run, in order, as it comes.

    Raises CallError, or ExecutorError.
    """
    from speccompile.batch.disk_spool import Ledger

    with ExitStack() as stack:
        ledger = stack.enter_context(closing(Ledger()))
        admin = None if _needs_trees(arguments) else work.written.admin
        recall, lent = (None, None) if admin is None else _recall(work, arguments, admin, stack)
        findings = recall.findings if recall else work.setting.findings
        if admin is None or any(map(_stops, findings)):
            carried = _plainly(work, arguments)
        else:
            carried = _Route(work, arguments, admin, recall, stack).carried()
        yield findings, _apart(carried, ledger)
        if lent:
            lent.keep()


def _needs_trees(arguments: argparse.Namespace) -> bool:
    """Whether more is asked of results than travels, or less than a text."""
    return arguments.command != "render" or bool(arguments.report)


def _stops(finding: Diagnostic) -> bool:
    from speccompile.model.diagnostic import Severity

    return finding.severity is Severity.ERROR


def _recall(
    work: Work, arguments: argparse.Namespace, admin: Admin, stack: ExitStack
) -> tuple[Recall | None, Lent | None]:
    """What was compiled before, and skeletons of own templates, if that may be used."""
    if arguments.no_cache:
        return None, None
    from speccompile.batch.cache_store import key_of, opened
    from speccompile.batch.compiler_fingerprint import local_stamp
    from speccompile.batch.incremental import Lent, Recall

    stamp = local_stamp()
    if stamp is None:
        return None, None
    cache = stack.enter_context(opened())
    lent = Lent(cache, key_of, stamp, admin) if admin.templates else None
    known = Recall(cache, key_of, stamp=stamp, shape=arguments.shape, admin=admin, setting=lambda: work.setting)
    return known, lent


def _plainly(work: Work, arguments: argparse.Namespace) -> Iterator[Carried]:
    """All runs, compiled one after the other, with everything that is known of them."""
    for file in work.files:
        yield from _compiled(file, work, arguments)


def _compiled(file: Parsed, work: Work, arguments: argparse.Namespace) -> Iterator[Carried]:
    from speccompile.batch.wire_format import TEXTS, Carried
    from speccompile.compiler.compile_files import compile_file
    from speccompile.compiler.compiled import Compiled

    write = TEXTS[arguments.shape] if arguments.command == "render" else None
    for result in compile_file(file, work.setting):
        yield Carried(result, write(result) if write and isinstance(result, Compiled) else "")


def _apart(carried: Iterable[Carried], ledger: Memory) -> Iterator[Carried]:
    """The same, with an error in place of each run that clashes with one before it."""
    from speccompile.batch.wire_format import Carried
    from speccompile.compiler.duplicate_objects import apart

    text = ""

    def results() -> Iterator[Result]:
        nonlocal text
        for one in carried:
            text = one.text
            yield one.result

    for result in apart(results(), ledger):
        yield Carried(result, text)


class _Route:
    """The way of runs that need not be compiled again, or not here."""

    def __init__(
        self, work: Work, arguments: argparse.Namespace, admin: Admin, recall: Recall | None, stack: ExitStack
    ) -> None:
        from speccompile.batch.work_units import sources_of

        self._work, self._arguments, self._admin, self._recall, self._stack = work, arguments, admin, recall, stack
        self._known = sources_of(admin)

    def carried(self) -> Iterator[Carried]:
        pieces = self._pieces()
        if self._arguments.dask:
            from speccompile.batch.executors import cluster

            yield from self._by(self._stack.enter_context(cluster(self._arguments.dask)), pieces)
            return
        left = len(self._work.inputs.runs)
        while window := list(islice(pieces, _WINDOW)):
            left -= len(window)
            jobs = _jobs(self._arguments.jobs, window, left)
            if jobs > 1:
                from speccompile.batch.executors import processes

                # Whoever is made now finds it prepared.
                _ = self._work.setting
                yield from self._by(self._stack.enter_context(processes(jobs)), chain(window, pieces))
                return
            for piece in window:
                yield from self._here(piece)

    def _pieces(self) -> Iterator[Piece]:
        from speccompile.batch.work_units import Piece, Text
        from speccompile.yaml_text.parse import Parsed

        for read in self._work.texts:
            if isinstance(read, Parsed):
                yield Piece.unread(read)
            else:
                known = self._recall.answer(read) if self._recall else None
                yield Piece(read, Text(read.name, read.text), known)

    def _by(self, crew: Crew, pieces: Iterable[Piece]) -> Iterator[Carried]:
        """Those that are to be compiled go to the crew."""
        from speccompile.batch.work_units import spread

        for piece, answer in spread(pieces, self._admin, self._arguments.shape, crew):
            if self._recall and piece.answer is None:
                self._recall.keep(piece.source, answer)
            yield from self._unpacked(piece, answer)

    def _here(self, piece: Piece) -> Iterator[Carried]:
        if piece.answer is not None:
            yield from self._unpacked(piece, piece.answer)
            return
        if not self._recall:
            from speccompile.batch.work_units import parsed
            from speccompile.model.source import Layer

            # What stays here need not travel.
            yield from _compiled(parsed(piece.text, Layer.RUN), self._work, self._arguments)
            return
        answer = self._compiler.answer(piece)
        self._recall.keep(piece.source, answer)
        yield from self._unpacked(piece, answer)

    @cached_property
    def _compiler(self) -> Compiler:
        from speccompile.batch.work_units import Compiler

        return Compiler.of(self._work.setting, self._arguments.shape, self._known)

    def _unpacked(self, piece: Piece, answer: Answer) -> Iterator[Carried]:
        from speccompile.batch.wire_format import from_portable
        from speccompile.batch.work_units import compiled_again

        for number, data in enumerate(answer[0]):

            def again(number: int = number) -> Result:
                return compiled_again(piece, number, self._work.setting)

            yield from_portable(data, self._arguments.shape, piece.source, self._known, again)


def _jobs(asked: int | None, window: Sequence[Piece], left: int) -> int:
    """How many processes to compile these files and those behind them with.

    Nobody knows how many of the others have changed: probably as many as of these.
    """
    weight = sum(piece.weight for piece in window if piece.answer is None)
    if not weight or asked == 1:
        return 1
    if asked:
        return asked if weight > 1 or left else 1
    from speccompile.batch.executors import cores

    total = weight * (len(window) + left) // len(window)
    return cores() if total >= _WORTH_IT and 2 * weight >= len(window) else 1
