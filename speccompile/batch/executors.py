"""Executors: processes on this machine, or the workers of a Dask cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import connection, parent_process
from typing import Any

from speccompile.batch.dispatch import WorkerPool
from speccompile.batch.executor_error import ExecutorError
from speccompile.files.defer_interrupt import defer_interrupt

_TIMEOUT = 10
"""Seconds in which a cluster must answer."""
_MAX_MISSES = 12
"""Consecutive checks without workers after which a cluster counts as lost: a minute."""


@contextmanager
def processes(jobs: int) -> Iterator[WorkerPool]:
    """Worker processes on this machine, which exit with this one."""
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(jobs, mp_context=context, initializer=_initialize_worker)
    try:
        # Only the parent handles Ctrl-C.
        with defer_interrupt():
            # Submitting starts the workers, one by one or all at once.
            for _ in range(jobs):
                executor.submit(_do_nothing)
        yield WorkerPool(executor, jobs)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _do_nothing() -> None:
    return


def _initialize_worker() -> None:
    """Ignore Ctrl-C, which the parent handles, and exit with the parent."""
    # Where signals cannot be blocked, this may be too late for some workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        connection.wait([parent.sentinel])
        os._exit(1)


@contextmanager
def cluster(address: str) -> Iterator[WorkerPool]:
    """The workers of a running Dask cluster. Raises ExecutorError if it does not answer."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ExecutorError(
            "Dask is not installed; install the extra `dask` (in a checkout: pip install '.[dask]'), "
            "in the version of the cluster"
        ) from error
    client = _client(Client, address)
    try:
        workers = _workers(client)
        if not workers:
            client.wait_for_workers(1, timeout=_TIMEOUT)
            workers = _workers(client)
        # Not pure: a result that another call left on the cluster must not be used.
        executor = client.get_executor(pure=False)
        yield WorkerPool(executor, workers, _WorkerCheck(client))
    except TimeoutError as error:
        raise ExecutorError(f"the Dask cluster at {address} has no workers: start some with `dask worker`") from error
    finally:
        client.close(timeout=_TIMEOUT)


def _client(make: Callable[..., Any], address: str) -> Any:
    # A failed connection is reported by ExecutorError.
    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    try:
        return make(address, timeout=_TIMEOUT, set_as_default=False)
    except (OSError, ValueError, TypeError, ImportError, RuntimeError, AssertionError) as error:
        reason = str(error) or type(error).__name__
        raise ExecutorError(f"no Dask scheduler answers at {address}: {reason}") from error


def _workers(client: Any) -> int:
    """The number of tasks that the cluster can run at a time."""
    return sum(client.nthreads().values())


class _WorkerCheck:
    """Whether the cluster has workers, or had some within the last minute."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._missed = 0

    def __call__(self) -> bool:
        try:
            has_workers = bool(_workers(self._client))
        except Exception:  # noqa: BLE001  a lost scheduler raises many types
            has_workers = False
        self._missed = 0 if has_workers else self._missed + 1
        return self._missed < _MAX_MISSES
