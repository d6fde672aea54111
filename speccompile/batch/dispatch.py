"""Send units of work to an executor in chunks, and return their outcomes in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from typing import Any

from speccompile.batch.compile_unit import CRASHED, OTHER_VERSION, ChunkTask, compile_chunk
from speccompile.batch.compiler_fingerprint import text_digest
from speccompile.batch.executor_error import ExecutorError
from speccompile.batch.work_units import UnitOutcome, WorkUnit, chunks
from speccompile.model.input_texts import AdminTexts
from speccompile.model.light_namedtuple import NamedTuple

CHUNK = 100
"""Runs that are sent to a worker together: sending one costs as much as compiling several."""
_PER_WORKER = 3
"""Chunks in flight for each worker: enough that none is idle, and few enough to fit into memory."""
_DEFAULT_WORKERS = 8
"""The assumed number of workers if the executor does not report it."""
_POLL_SECONDS = 5.0
"""Seconds after which to check that there are still workers."""


class WorkerPool(NamedTuple):
    """An executor, the number of its workers, and a check that there are still any."""

    executor: Executor
    workers: int
    is_alive: Callable[[], bool] = lambda: True

    @classmethod
    def of(cls, executor: Executor) -> WorkerPool:
        workers = getattr(executor, "_max_workers", None)
        return cls(executor, workers if isinstance(workers, int) else _DEFAULT_WORKERS)


def dispatch_units(
    units: Iterable[WorkUnit], admin: AdminTexts, shape: str, pool: WorkerPool
) -> Iterator[tuple[WorkUnit, UnitOutcome]]:
    """Each unit with its outcome, in order; units without one are compiled by the executor.

    A few chunks for each worker are in memory. Raises ExecutorError if the executor fails.
    """
    compiler = text_digest()
    waiting: deque[tuple[list[WorkUnit], _Submission | None]] = deque()
    try:
        for chunk in chunks(units, pool.workers, CHUNK):
            texts = tuple(unit.text for unit in chunk if unit.outcome is None)
            task = ChunkTask(compiler, admin, shape, texts)
            waiting.append((chunk, _Submission(task, _submit(pool, task)) if texts else None))
            if len(waiting) > _PER_WORKER * pool.workers:
                yield from _outcomes(*waiting.popleft(), pool)
        while waiting:
            yield from _outcomes(*waiting.popleft(), pool)
    finally:
        for _, submission in waiting:
            if submission is not None:
                submission.future.cancel()


class _Submission(NamedTuple):
    """A task that was sent to a worker."""

    task: ChunkTask
    future: Future[tuple[str, Any]]


def _submit(pool: WorkerPool, task: ChunkTask) -> Future[tuple[str, Any]]:
    try:
        return pool.executor.submit(compile_chunk, task)
    except Exception as error:
        raise _failed(error) from error


def _outcomes(
    chunk: Sequence[WorkUnit], submission: _Submission | None, pool: WorkerPool
) -> Iterator[tuple[WorkUnit, UnitOutcome]]:
    outcomes = iter(_await_outcomes(submission, pool) if submission is not None else ())
    for unit in chunk:
        yield unit, unit.outcome or next(outcomes)


def _await_outcomes(submission: _Submission, pool: WorkerPool) -> Sequence[UnitOutcome]:
    task, future = submission
    try:
        kind, answer = _result(future, pool)
    except ExecutorError:
        # Retry once: the executor of Dask can fail if a worker disappears while a result is fetched from it.
        kind, answer = _result(_submit(pool, task), pool)
    if kind == OTHER_VERSION:
        raise ExecutorError(
            "a worker has another version of speccompile than this process: install the same version everywhere "
            f"(digests {answer} and {text_digest()})"
        )
    if kind == CRASHED:
        raise RuntimeError(f"a worker failed:\n{answer}")
    outcomes: Sequence[UnitOutcome] = answer
    return outcomes


def _result(future: Future[tuple[str, Any]], pool: WorkerPool) -> tuple[str, Any]:
    while True:
        try:
            return future.result(timeout=_POLL_SECONDS)
        except TimeoutError as error:
            if future.done():
                raise _failed(error) from error
            if not pool.is_alive():
                future.cancel()
                raise ExecutorError("the executor has no workers left") from None
        except (Exception, CancelledError) as error:
            raise _failed(error) from error


def _failed(error: BaseException) -> ExecutorError:
    return ExecutorError(f"the executor failed: {type(error).__name__}: {error}".rstrip(": "))
