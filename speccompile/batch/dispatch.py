"""Hand units of work to an executor in chunks, and take the answers back in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from itertools import chain
from typing import Any

from speccompile.batch.compile_unit import BUG, OTHER, Order, compile_chunk
from speccompile.batch.compiler_fingerprint import text_digest
from speccompile.batch.executor_error import ExecutorError
from speccompile.batch.work_units import Answer, Piece
from speccompile.model.input_texts import AdminTexts
from speccompile.model.light_namedtuple import NamedTuple

CHUNK = 100
"""Runs that go to a worker together: sending one costs as much as compiling several."""
_PER_WORKER = 3
"""Chunks that are on their way for each worker, so that none waits for us; and memory holds no more."""
_WORKERS = 8
"""How many workers an executor has that does not tell."""
_PATIENCE = 5.0
"""Seconds after which to ask whether anybody is still at work."""


class Crew(NamedTuple):
    """An executor, how many work for it, and a way to ask whether anybody still does."""

    executor: Executor
    workers: int
    is_alive: Callable[[], bool] = lambda: True

    @classmethod
    def of(cls, executor: Executor) -> Crew:
        workers = getattr(executor, "_max_workers", None)
        return cls(executor, workers if isinstance(workers, int) else _WORKERS)


def spread(pieces: Iterable[Piece], admin: AdminTexts, shape: str, crew: Crew) -> Iterator[tuple[Piece, Answer]]:
    """Each piece with its answer, in order; those that have none go to the executor, many at a time.

    Memory holds a few chunks for each worker. Raises ExecutorError if the executor fails.
    """
    compiler = text_digest()
    waiting: deque[tuple[list[Piece], _Errand | None]] = deque()
    try:
        for chunk in _chunks(pieces, crew.workers):
            texts = tuple(piece.text for piece in chunk if piece.answer is None)
            order = Order(compiler, admin, shape, texts)
            waiting.append((chunk, _Errand(order, _submitted(crew, order)) if texts else None))
            if len(waiting) > _PER_WORKER * crew.workers:
                yield from _answers(*waiting.popleft(), crew)
        while waiting:
            yield from _answers(*waiting.popleft(), crew)
    finally:
        for _, errand in waiting:
            if errand is not None:
                errand.future.cancel()


def _chunks(pieces: Iterable[Piece], workers: int) -> Iterator[list[Piece]]:
    """The pieces in chunks; if there are too few to give everybody a whole one, in smaller ones."""
    stream = iter(pieces)
    first: list[Piece] = []
    total = 0
    for piece in stream:
        first.append(piece)
        total += piece.weight
        if total >= CHUNK * workers:
            break
    size = min(CHUNK, max(1, total // (_PER_WORKER * workers))) if total < CHUNK * workers else CHUNK
    rest = chain(first, stream)
    del first
    chunk: list[Piece] = []
    weight = 0
    for piece in rest:
        chunk.append(piece)
        weight += piece.weight
        if weight >= size:
            yield chunk
            chunk, weight = [], 0
    if chunk:
        yield chunk


class _Errand(NamedTuple):
    """An order that is on its way."""

    order: Order
    future: Future[tuple[str, Any]]


def _submitted(crew: Crew, order: Order) -> Future[tuple[str, Any]]:
    try:
        return crew.executor.submit(compile_chunk, order)
    except Exception as error:
        raise _failed(error) from error


def _answers(chunk: Sequence[Piece], errand: _Errand | None, crew: Crew) -> Iterator[tuple[Piece, Answer]]:
    told = iter(_awaited(errand, crew) if errand is not None else ())
    for piece in chunk:
        yield piece, piece.answer or next(told)


def _awaited(errand: _Errand, crew: Crew) -> Sequence[Answer]:
    order, future = errand
    try:
        state, told = _result(future, crew)
    except ExecutorError:
        # Once more: Dask's own executor can stumble over a worker that is lost with a result just fetched from it.
        state, told = _result(_submitted(crew, order), crew)
    if state == OTHER:
        raise ExecutorError(
            "a worker has another speccompile than this process: install the same version everywhere "
            f"(digests {told} and {text_digest()})"
        )
    if state == BUG:
        raise RuntimeError(f"a worker failed:\n{told}")
    answers: Sequence[Answer] = told
    return answers


def _result(future: Future[tuple[str, Any]], crew: Crew) -> tuple[str, Any]:
    while True:
        try:
            return future.result(timeout=_PATIENCE)
        except TimeoutError as error:
            if future.done():
                raise _failed(error) from error
            if not crew.is_alive():
                future.cancel()
                raise ExecutorError("the executor has no workers left") from None
        except (Exception, CancelledError) as error:
            raise _failed(error) from error


def _failed(error: BaseException) -> ExecutorError:
    return ExecutorError(f"the executor failed: {type(error).__name__}: {error}".rstrip(": "))
