"""Compile units of work in forked processes beside this one; they inherit everything that is loaded.

Starting them takes milliseconds, where a pool of processes has to import its modules first. Each process has two pipes,
for texts and for outcomes. Texts are sent only if they fit into the pipe or the process reads them at once, so that
neither side waits for the other to read. This process compiles what it needs next and no other has begun, and more
instead of waiting.
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
from fcntl import F_GETPIPE_SZ, F_SETPIPE_SZ, fcntl
from itertools import islice
from math import ceil, floor
from typing import Any, BinaryIO, Final, NoReturn, TypeAlias

from speccompile.batch.compile_unit import CRASHED, DONE, Compiler
from speccompile.batch.executor_error import ExecutorError
from speccompile.batch.work_units import UnitOutcome, WorkUnit
from speccompile.files.defer_interrupt import defer_interrupt
from speccompile.model.input_texts import Text
from speccompile.model.internal_error import traceback_text
from speccompile.model.light_namedtuple import NamedTuple

_FIRST = 4
"""Units that are compiled before the fork: new processes inherit what is loaded and prepared for the first runs."""
_BATCH = 20
"""Runs that are sent to a process together."""
_IN_FLIGHT = 2
"""Batches for a process: it compiles one, and another waits in its pipe."""
_RESERVE = 8192
"""Bytes of a pipe that are not used: it counts in pages."""
_AHEAD = 100
"""Runs for each process that are read before the results of the first one are used."""
_COMMON = 100
"""Runs of one form from which on all processes compile some."""
_RARE = 5
"""The same for smaller batches, as a part of all runs: a fifth."""
_OUTCOME_BYTES = 1024 * 1024
_LENGTH_BYTES = 8
_Form: TypeAlias = tuple[int, int]


class _Worker(NamedTuple):
    """A forked process: texts are written to it, outcomes are read from it."""

    pid: int
    texts: BinaryIO
    outcomes: BinaryIO
    room: int
    """Bytes that can be written to it while it does not read."""
    sent: deque[list[_Task]]
    """The tasks that it compiles, and those that wait in the pipe."""


class _Task:
    """A unit that is to be compiled, or whose outcome is known."""

    __slots__ = ("number", "outcome", "unit", "weight")

    def __init__(self, number: int, unit: WorkUnit) -> None:
        self.number = number
        """The position in the order of results."""
        self.unit = unit
        self.weight = unit.weight
        self.outcome = unit.outcome

    @property
    def form(self) -> _Form:
        """Roughly what runs of one shape have in common."""
        text = self.unit.text.text
        return text.count("\n"), text.count(":")

    @property
    def most_bytes(self) -> int:
        """More than it takes in a pipe."""
        name, text = self.unit.text.name, self.unit.text.text
        return 4 * len(name) + len(text) * (1 if text.isascii() else 4) + 32


class _Schedule:
    """The tasks that no process has begun.

    Each process has to learn a shape by itself, so runs of a rare form wait for one process, and those of a common form
    for any. A process that has nothing else to do takes what waits for others.
    """

    def __init__(self, processes: Iterable[int]) -> None:
        self._common: Final[deque[_Task]] = deque()
        self._rare: Final[dict[int, deque[_Task]]] = {process: deque() for process in processes}
        """By process."""
        self._owners: Final[dict[_Form, int]] = {}
        self._counts: Final[dict[_Form, int]] = {}
        self._total = 0

    def add(self, tasks: Sequence[_Task]) -> None:
        forms = [task.form for task in tasks]
        for form in forms:
            self._counts[form] = self._counts.get(form, 0) + 1
        self._total += len(tasks)
        for task, form in zip(tasks, forms, strict=True):
            if self._counts[form] >= min(_COMMON, self._total // _RARE):
                self._common.append(task)
            else:
                shortest = min(self._rare, key=lambda process: len(self._rare[process]))
                self._rare[self._owners.setdefault(form, shortest)].append(task)

    def take_first(self, process: int) -> _Task | None:
        """The first task that waits for the process or for any; without one, the first that waits for another."""
        mine = [queue for queue in (self._common, self._rare[process]) if queue]
        queues = mine or [queue for queue in self._rare.values() if queue]
        return min(queues, key=lambda queue: queue[0].number).popleft() if queues else None

    def take_batch(self, worker: _Worker) -> list[_Task]:
        """The next tasks of another process.

        Common ones are the last, because this process needs the results of the first ones next.
        """
        is_idle = not worker.sent
        # An idle process reads its texts at once, even if they do not fit into the pipe.
        room = sys.maxsize if is_idle else worker.room
        processes = len(self._rare)
        mine = self._rare[worker.pid]
        waiting = len(self._common) + sum(map(len, self._rare.values()))
        round_share = ceil if is_idle else floor
        # The last tasks are shared by all.
        most = min(_BATCH, max(waiting // (2 * processes), 1))
        tasks: list[_Task] = []
        weight = 0
        for queue in (mine, self._common, *(self._rare.values() if is_idle else ())):
            left = len(queue) if queue is mine else round_share(len(queue) / processes)
            while left and weight < most:
                room -= queue[0 if queue is mine else -1].most_bytes
                if room < 0:
                    return tasks
                tasks.append(queue.popleft() if queue is mine else queue.pop())
                weight += tasks[-1].weight
                left -= 1
        return tasks


def can_fork() -> bool:
    """Whether forking is safe: a lock held by another thread would stay locked in the new process."""
    return sys.platform == "linux" and threading.active_count() == 1


def compile_forked(
    units: Iterable[WorkUnit], compiler: Compiler, jobs: int
) -> Generator[tuple[WorkUnit, UnitOutcome | None], None, None]:
    """Each unit with its outcome, in order; None for those that the caller compiles, while others are compiled ahead.

    Closing the generator ends the forked processes. Raises ExecutorError if one ends early.
    """
    stream = iter(units)
    for unit in islice(stream, _FIRST):
        yield unit, unit.outcome
    with _workers(compiler, jobs - 1) as workers:
        poll = select.poll()
        for number in workers:
            poll.register(number, select.POLLIN)
        here = os.getpid()
        schedule = _Schedule([here, *(worker.pid for worker in workers.values())])
        tasks = (_Task(number, unit) for number, unit in enumerate(stream))
        ahead: deque[_Task] = deque()
        weight = 0
        is_waiting = False
        while True:
            new: list[_Task] = []
            # A file can contain many runs.
            while weight < _AHEAD * jobs or len(ahead) < _IN_FLIGHT * jobs:
                if (task := next(tasks, None)) is None:
                    break
                ahead.append(task)
                weight += task.weight
                if task.outcome is None:
                    new.append(task)
            schedule.add(new)
            if not ahead:
                return
            # Waiting is the last resort: a process that sleeps takes long to wake up.
            for number, _ in poll.poll(None if is_waiting else 0):
                _receive_outcomes(workers[number])
            for worker in workers.values():
                _send_tasks(worker, schedule)
            task = None if ahead[0].outcome else schedule.take_first(here)
            is_waiting = not (task or ahead[0].outcome)
            if task is not None and task is not ahead[0]:
                task.outcome = compiler.compile(task.unit)
            elif not is_waiting:
                first = ahead.popleft()
                weight -= first.weight
                yield first.unit, first.outcome


def _send_tasks(worker: _Worker, schedule: _Schedule) -> None:
    """Send the next tasks to a process, so that it has others when it is done with those that it compiles."""
    while len(worker.sent) < _IN_FLIGHT:
        tasks = schedule.take_batch(worker)
        if not tasks:
            return
        worker.sent.append(tasks)
        _send_packed(marshal.dumps([(one.unit.text.name, one.unit.text.text) for one in tasks]), worker.texts)


@contextmanager
def _workers(compiler: Compiler, jobs: int) -> Iterator[dict[int, _Worker]]:
    """Forked processes by the number of their pipe, which end with this block, or with this process.

    Raises ExecutorError.
    """
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
        yield {worker.outcomes.fileno(): worker for worker in workers}


def _fork(compiler: Compiler, others: Sequence[_Worker]) -> _Worker:
    """Start a process. Raises OSError."""
    text_reader, text_writer = os.pipe()
    outcome_reader, outcome_writer = os.pipe()
    # The outcomes of a batch should fit, so that the process can go on; users may have a limit.
    with suppress(OSError):
        fcntl(outcome_writer, F_SETPIPE_SZ, _OUTCOME_BYTES)
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
    room = fcntl(text_writer, F_GETPIPE_SZ) - _RESERVE
    texts = open(text_writer, "wb")  # noqa: PTH123, SIM115
    # With a buffer, an outcome could be in it, where `poll` does not see it.
    outcomes = open(outcome_reader, "rb", buffering=0)  # noqa: PTH123, SIM115
    return _Worker(pid, texts, outcomes, room, deque())


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


def _receive_outcomes(worker: _Worker) -> None:
    answer = _receive(worker.outcomes)
    if answer is None:
        raise ExecutorError("a process ended early, perhaps because memory ran out; try --jobs 1")
    kind, outcomes = answer
    if kind == CRASHED:
        raise RuntimeError(f"a worker failed:\n{outcomes}")
    for task, outcome in zip(worker.sent.popleft(), outcomes, strict=True):
        task.outcome = outcome


def _end(worker: _Worker) -> None:
    with suppress(OSError):
        os.kill(worker.pid, signal.SIGKILL)
    os.waitpid(worker.pid, 0)
    for stream in (worker.texts, worker.outcomes):
        # Text that could not be sent is lost with the process.
        with suppress(OSError):
            stream.close()


def _send_packed(packed: bytes, stream: BinaryIO) -> None:
    # A process that has ended is noticed when its outcomes are read.
    with suppress(BrokenPipeError):
        stream.write(len(packed).to_bytes(_LENGTH_BYTES, "big") + packed)
        stream.flush()


def _receive(stream: BinaryIO) -> Any:
    """The data that was sent; None if the other side has ended."""
    header = _read(stream, _LENGTH_BYTES)
    size = int.from_bytes(header, "big")
    packed = _read(stream, size)
    is_whole = len(header) == _LENGTH_BYTES and len(packed) == size
    return marshal.loads(packed) if is_whole else None  # noqa: S302  from this program


def _read(stream: BinaryIO, size: int) -> bytes:
    """As many bytes; fewer if the stream ends."""
    parts: list[bytes] = []
    while size and (part := stream.read(size)):
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
