"""Executors to hand work to: processes on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, parent_process
from typing import Any

from speccompile.batch.dispatch import Crew
from speccompile.batch.executor_error import ExecutorError
from speccompile.files.defer_interrupt import defer_interrupt

_PATIENCE = 10
"""Seconds in which a cluster must answer."""
_ABANDONED = 12
"""How often in a row a cluster may be asked for workers and have none: a minute."""


@contextmanager
def processes(jobs: int) -> Iterator[Crew]:
    """Processes on this machine. None of them is left behind, whatever becomes of this one."""
    # A copy of this process has everything at hand, but a lock that another thread holds would stay locked in it.
    can_fork = sys.platform == "linux" and threading.active_count() == 1
    context = multiprocessing.get_context("fork" if can_fork else "spawn")
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin)
    try:
        # Ctrl-C is for the parent to hear.
        with defer_interrupt():
            # Each of these starts a worker, or all of them do.
            for _ in range(jobs):
                executor.submit(_nothing)
        yield Crew(executor, jobs)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _nothing() -> None:
    return


def _begin() -> None:
    """A worker's first act: Ctrl-C is for its parent to hear, and without that it has nothing left to do."""
    # Where signals cannot be held back, this comes late for some.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextmanager
def cluster(address: str) -> Iterator[Crew]:
    """The workers of a Dask cluster that is running already. Raises ExecutorError if nobody answers."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ExecutorError(
            "Dask is not installed here: pip install 'speccompile[dask]', the same version as on the cluster"
        ) from error
    client = _client(Client, address)
    try:
        workers = _workers(client)
        if not workers:
            client.wait_for_workers(1, timeout=_PATIENCE)
            workers = _workers(client)
        # Each call is a new one: a result that another call left behind on the cluster is none of ours.
        executor = client.get_executor(pure=False)
        yield Crew(executor, workers, _Watch(client))
    except TimeoutError as error:
        raise ExecutorError(f"the Dask cluster at {address} has no workers: start some with `dask worker`") from error
    finally:
        client.close(timeout=_PATIENCE)


def _client(make: Callable[..., Any], address: str) -> Any:
    # What it logs of a connection that fails is told in our own words.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        return make(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError, RuntimeError, AssertionError) as error:
        reason = str(error) or type(error).__name__
        raise ExecutorError(f"no Dask scheduler answers at {address}: {reason}") from error


def _workers(client: Any) -> int:
    """How many tasks the cluster can do at a time."""
    return sum(client.nthreads().values())


class _Watch:
    """Whether anybody is at work on the cluster: workers come and go, but none at all for a minute is the end."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._missed = 0

    def __call__(self) -> bool:
        try:
            is_there = bool(_workers(self._client))
        except Exception:  # noqa: BLE001  a scheduler that is gone shows in many ways
            is_there = False
        self._missed = 0 if is_there else self._missed + 1
        return self._missed < _ABANDONED
