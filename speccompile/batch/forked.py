"""Compile units of work in forked processes, which inherit everything that is loaded.

Starting them takes milliseconds, where a pool of processes has to import its modules first. Each process has two pipes,
for texts and for outcomes, and gets new texts only after its outcomes were read, so that neither side waits for the
other to read.
"""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
import threading
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import islice
from typing import IO, Any, NoReturn

from speccompile.batch.compile_unit import CRASHED, DONE, Compiler
from speccompile.batch.executor_error import ExecutorError
from speccompile.batch.work_units import UnitOutcome, WorkUnit, chunks
from speccompile.files.defer_interrupt import defer_interrupt
from speccompile.model.input_texts import Text
from speccompile.model.internal_error import traceback_text
from speccompile.model.light_namedtuple import NamedTuple

_FIRST = 4
"""Units that are compiled before the fork: new processes inherit what is loaded and prepared for the first runs."""
_CHUNK = 20
"""Runs that are sent to a process together."""
_AHEAD = 4
"""Chunks for each process that are compiled before the results of an earlier one are used."""
_LENGTH_BYTES = 8


class _Worker(NamedTuple):
    """A forked process: texts are written to it, outcomes are read from it."""

    pid: int
    texts: IO[bytes]
    outcomes: IO[bytes]


class _Chunk:
    """Units, and the outcomes of those that have none, once they are compiled."""

    __slots__ = ("outcomes", "texts", "units")

    def __init__(self, units: Sequence[WorkUnit]) -> None:
        self.units = units
        self.texts = [(unit.text.name, unit.text.text) for unit in units if unit.outcome is None]
        self.outcomes: Sequence[UnitOutcome] | None = None if self.texts else ()


def can_fork() -> bool:
    """Whether forking is safe: a lock held by another thread would stay locked in the new process."""
    return sys.platform == "linux" and threading.active_count() == 1


def compile_forked(
    units: Iterable[WorkUnit], compiler: Compiler, jobs: int
) -> Generator[tuple[WorkUnit, UnitOutcome], None, None]:
    """Each unit with its outcome, in order; units without one are compiled by forked processes.

    Closing the generator ends them. Raises ExecutorError if a process ends early.
    """
    stream = iter(units)
    for unit in islice(stream, _FIRST):
        yield unit, unit.outcome or compiler.compile(unit)
    with _workers(compiler, jobs) as idle:
        poll = select.poll()
        busy: dict[int, tuple[_Worker, _Chunk]] = {}
        waiting: deque[_Chunk] = deque()
        remaining = chunks(stream, jobs, _CHUNK)
        while True:
            while idle and len(waiting) < _AHEAD * jobs and (chunk := next(remaining, None)) is not None:
                waiting.append(_Chunk(chunk))
                if waiting[-1].texts:
                    worker = idle.pop()
                    busy[worker.outcomes.fileno()] = worker, waiting[-1]
                    poll.register(worker.outcomes, select.POLLIN)
                    _send(waiting[-1].texts, worker.texts)
            if not waiting:
                return
            # Idle processes get new texts before any results are used.
            is_done = waiting[0].outcomes is not None
            ready = poll.poll(0 if is_done else None) if busy else ()
            for number, _ in ready:
                poll.unregister(number)
                worker, compiled = busy.pop(number)
                compiled.outcomes = _receive_outcomes(worker)
                idle.append(worker)
            if not ready:
                done = waiting.popleft()
                outcomes = iter(done.outcomes or ())
                for unit in done.units:
                    yield unit, unit.outcome or next(outcomes)


@contextmanager
def _workers(compiler: Compiler, jobs: int) -> Iterator[list[_Worker]]:
    """Forked processes, which end with this block, or with this process. Raises ExecutorError."""
    workers: list[_Worker] = []
    with ExitStack() as stack:
        try:
            # Only the parent handles Ctrl-C: the signal stays blocked in new processes.
            with defer_interrupt():
                for _ in range(jobs):
                    worker = _fork(compiler, workers)
                    workers.append(worker)
                    stack.callback(_end, worker)
        except OSError as error:
            raise ExecutorError(f"a process cannot be started: {error.strerror or error}; try --jobs 1") from error
        yield [*workers]


def _fork(compiler: Compiler, others: Sequence[_Worker]) -> _Worker:
    """Start a process. Raises OSError."""
    text_reader, text_writer = os.pipe()
    outcome_reader, outcome_writer = os.pipe()
    pid = os.fork()
    if not pid:
        # A pipe is at its end once all processes have closed its other side.
        for worker in others:
            os.close(worker.texts.fileno())
            os.close(worker.outcomes.fileno())
        os.close(text_writer)
        os.close(outcome_reader)
        _serve(compiler, text_reader, outcome_writer)
    os.close(text_reader)
    os.close(outcome_writer)
    return _Worker(pid, open(text_writer, "wb"), open(outcome_reader, "rb"))  # noqa: PTH123


def _serve(compiler: Compiler, text_reader: int, outcome_writer: int) -> NoReturn:
    """Compile texts until there are no more, and end this process without running what its parent has planned."""
    try:
        # An error here means that the parent has ended.
        with open(text_reader, "rb") as texts, open(outcome_writer, "wb") as outcomes:
            while (request := _receive(texts)) is not None:
                _send_packed(_compile(request, compiler), outcomes)
    finally:
        os._exit(0)


def _compile(texts: Iterable[tuple[str, str]], compiler: Compiler) -> bytes:
    """The packed outcomes, or why there are none."""
    try:
        return marshal.dumps((DONE, [compiler.compile(WorkUnit.of(Text(name, text))) for name, text in texts]))
    except Exception as error:  # noqa: BLE001  an internal error, which the parent reports
        return marshal.dumps((CRASHED, traceback_text(error)))


def _receive_outcomes(worker: _Worker) -> Sequence[UnitOutcome]:
    answer = _receive(worker.outcomes)
    if answer is None:
        raise ExecutorError("a process ended early, perhaps because memory ran out; try --jobs 1")
    kind, outcomes = answer
    if kind == CRASHED:
        raise RuntimeError(f"a worker failed:\n{outcomes}")
    result: Sequence[UnitOutcome] = outcomes
    return result


def _end(worker: _Worker) -> None:
    with suppress(OSError):
        os.kill(worker.pid, signal.SIGKILL)
    os.waitpid(worker.pid, 0)
    for stream in (worker.texts, worker.outcomes):
        # Text that could not be sent is lost with the process.
        with suppress(OSError):
            stream.close()


def _send(texts: list[tuple[str, str]], stream: IO[bytes]) -> None:
    _send_packed(marshal.dumps(texts), stream)


def _send_packed(packed: bytes, stream: IO[bytes]) -> None:
    # A process that has ended is noticed when its outcomes are read.
    with suppress(BrokenPipeError):
        stream.write(len(packed).to_bytes(_LENGTH_BYTES, "big") + packed)
        stream.flush()


def _receive(stream: IO[bytes]) -> Any:
    """The data that was sent; None if the other side has ended."""
    header = stream.read(_LENGTH_BYTES)
    packed = stream.read(int.from_bytes(header, "big"))
    is_whole = len(header) == _LENGTH_BYTES and len(packed) == int.from_bytes(header, "big")
    return marshal.loads(packed) if is_whole else None  # noqa: S302  from this program
