"""Cost of compiling in a process that is already warmed up."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from time import perf_counter, process_time

import yaml

from benchmarks.figures import Cost, Series
from benchmarks.shapes import SMALL_PROFILE
from benchmarks.timing import Progress
from benchmarks.workload import PROFILE, Kind, Workload
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import Setting
from speccompile.files.load_admin_config import read_setting
from speccompile.model.source import Layer, Source

WHOLE, VERIFIED, PYYAML = "compile and serialize", "compile, serialize and verify", "PyYAML, load and dump"
SMALL, SMALL_PYYAML = f"small runs: {WHOLE}", f"small runs: {PYYAML}"


def load_profile(folder: Path, text: str = PROFILE) -> Setting:
    """Read a profile, by default that of the large workloads."""
    path = folder / "profile.yaml"
    path.write_text(text, encoding="utf-8")
    return read_setting([path], None)


def sources(workload: Workload) -> list[Source]:
    return [Source(f"{name}.yaml", text, Layer.RUN) for name, text in workload.runs.items()]


def compile_all(texts: Iterable[Source], setting: Setting) -> Iterable[Compiled]:
    """Compile texts of runs one by one, the way all measurements in one process do; all runs are valid."""
    for result in compile_files(texts, setting):
        assert isinstance(result, Compiled), result
        yield result


def measure(folder: Path, rounds: int, each: int, progress: Progress) -> Series:
    """Measure the seconds per run, with `each` runs per round and task.

    No text is compiled in two tasks or two rounds, as in a service. PyYAML loads the texts that a task compiled and
    dumps their manifests, with libyaml. `verify` is measured only if its package is installed.
    """
    setting = load_profile(folder)
    tasks = _tasks()
    texts = iter(sources(Workload(each * (rounds + 1) * len(tasks))))
    costs: dict[str, list[Cost]] = {}
    with _frozen():
        for number in range(rounds + 1):
            progress(f"warm, round {number} of {rounds}")
            measured: dict[str, Cost] = {}
            for name, task in tasks.items():
                batch = [*islice(texts, each)]
                measured[name] = _measure(partial(task, batch, setting), each)
            measured[PYYAML] = _measure_pyyaml(batch, setting)
            if number:
                _append(costs, measured)
    return costs


def measure_small(folder: Path, rounds: int, each: int, progress: Progress) -> Series:
    """Measure the seconds per small run.

    Each round has new texts and reads the profile again, so nothing is kept from an earlier round.
    """
    texts = iter(sources(Workload(each * (rounds + 1), kind=Kind.SMALL)))
    costs: dict[str, list[Cost]] = {}
    with _frozen():
        for number in range(rounds + 1):
            progress(f"small runs, round {number} of {rounds}")
            setting = load_profile(folder, SMALL_PROFILE)
            batch = [*islice(texts, each)]
            measured = {SMALL: _measure(partial(_compile, batch, setting), each)}
            measured[SMALL_PYYAML] = _measure_pyyaml(batch, setting)
            if number:
                _append(costs, measured)
    return costs


def _tasks() -> Mapping[str, Callable[[Sequence[Source], Setting], None]]:
    tasks: dict[str, Callable[[Sequence[Source], Setting], None]] = {WHOLE: _compile}
    if importlib.util.find_spec("kubernetes_validate"):
        from speccompile.verify.kubernetes_api import versions
        from speccompile.verify.verify import violations

        newest = versions()[-1]

        def verify(texts: Sequence[Source], setting: Setting) -> None:
            for result in compile_all(texts, setting):
                result.to_yaml()
                assert not violations(result, newest)

        tasks[VERIFIED] = verify
    return tasks


def _compile(texts: Sequence[Source], setting: Setting) -> None:
    for result in compile_all(texts, setting):
        result.to_yaml()


def _measure_pyyaml(texts: Sequence[Source], setting: Setting) -> Cost:
    # Plain data: PyYAML refuses to dump the types of manifests.
    documents = [[*yaml.load_all(result.to_yaml(), yaml.CSafeLoader)] for result in compile_all(texts, setting)]

    def load_and_dump() -> None:
        for text, manifests in zip(texts, documents, strict=True):
            yaml.load(text.text, yaml.CSafeLoader)
            yaml.dump_all(manifests, Dumper=yaml.CSafeDumper, sort_keys=False)

    return _measure(load_and_dump, len(texts))


def _append(costs: dict[str, list[Cost]], measured: Mapping[str, Cost]) -> None:
    for name, cost in measured.items():
        costs.setdefault(name, []).append(cost)


@contextmanager
def _frozen() -> Iterator[None]:
    """Exclude the benchmark's own objects from collections."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _measure(task: Callable[[], None], times: int) -> Cost:
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    task()
    return Cost((perf_counter() - wall) / times, (process_time() - cpu) / times, 0)
