"""Check that compiling through a Ray executor gives the same results as compiling locally.

Needs the extra `bench`. `python -m benchmarks.ray_check [RUNS]`
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.workload import Workload
from speccompile import Compiled, compile_many

_RUNS = 1000


class RayExecutor(Executor):
    """Executor that submits each call as a Ray task."""

    def __init__(self, workers: int) -> None:
        self._max_workers = workers

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        import ray

        future: Future[Any] = ray.remote(fn).remote(*args, **kwargs).future()
        return future


def main(arguments: list[str]) -> int:
    """Print both times; return 1 if the results differ."""
    import ray

    number = int(arguments[0]) if arguments else _RUNS
    workload = Workload(number)
    runs = list(workload.runs.values())
    with TemporaryDirectory() as folder:
        profile = Path(folder) / "profile.yaml"
        profile.write_text(workload.profile, encoding="utf-8")
        start = time.perf_counter()
        local = [_text(result) for result in compile_many(runs, profiles=[profile])]
        middle = time.perf_counter()
        ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR)
        ready = time.perf_counter()
        remote = [_text(result) for result in compile_many(runs, profiles=[profile], executor=RayExecutor(2))]
        end = time.perf_counter()
        ray.shutdown()
    is_same = local == remote
    print(f"{number} runs: local {middle - start:.2f} s, Ray {end - ready:.2f} s plus {ready - middle:.2f} s to start")
    print("same results" if is_same else "DIFFERENT RESULTS")
    return int(not is_same)


def _text(result: object) -> str:
    return result.to_yaml() if isinstance(result, Compiled) else str(result)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
