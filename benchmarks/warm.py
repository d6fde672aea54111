"""Cost of compiling in a process that is already warmed up."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.figures import Cost, Series
from benchmarks.timing import Progress
from benchmarks.workload import PROFILE, Workload
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import Setting
from speccompile.files.load_admin_config import read_setting
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.serialize import serialize

WHOLE, YAML_ONLY, VERIFIED = "compile and serialize", "YAML loader and emitter only", "compile, serialize and verify"


def load_profile(folder: Path) -> Setting:
    """Read the profile of the workload."""
    path = folder / "profile.yaml"
    path.write_text(PROFILE, encoding="utf-8")
    return read_setting([path], None)


def sources(workload: Workload) -> list[Source]:
    return [Source(f"{name}.yaml", text, Layer.RUN) for name, text in workload.runs.items()]


def compile_all(texts: Iterable[Source], setting: Setting) -> Iterable[Compiled]:
    """Compile runs one by one; all runs of the workload are valid."""
    for result in compile_files(map(parse, texts), setting):
        assert isinstance(result, Compiled), result
        yield result


def measure(folder: Path, rounds: int, each: int, progress: Progress) -> Series:
    """Measure the seconds per run; each round has different runs, as in a service.

    `verify` is measured only if its package is installed.
    """
    setting = load_profile(folder)
    texts = sources(Workload(each * (rounds + 1)))
    costs: dict[str, list[Cost]] = {}
    gc.collect()
    gc.freeze()  # exclude the benchmark's own objects from collections
    for number in range(rounds + 1):
        progress(f"warm, round {number} of {rounds}")
        batch = texts[each * number : each * (number + 1)]
        # This also warms caches, so that no task profits from an earlier one.
        documents = [[manifest.data for manifest in result.manifests] for result in compile_all(batch, setting)]
        for manifests in documents:
            serialize(manifests)
        for name, task in _tasks(batch, documents, setting).items():
            cost = _measure(task, len(batch))
            if number:
                costs.setdefault(name, []).append(cost)
    gc.unfreeze()
    return costs


def _tasks(
    texts: Sequence[Source], documents: Sequence[Sequence[Mapping[str, Any]]], setting: Setting
) -> Mapping[str, Callable[[], None]]:
    def whole() -> None:
        for result in compile_all(texts, setting):
            result.to_yaml()

    def yaml_only() -> None:
        for text, manifests in zip(texts, documents, strict=True):
            parse(text)
            serialize(manifests)

    tasks: dict[str, Callable[[], None]] = {WHOLE: whole, YAML_ONLY: yaml_only}
    if importlib.util.find_spec("kubernetes_validate"):
        from speccompile.verify.kubernetes_api import versions
        from speccompile.verify.verify import violations

        newest = versions()[-1]

        def verified() -> None:
            for result in compile_all(texts, setting):
                result.to_yaml()
                assert not violations(result, newest)

        tasks[VERIFIED] = verified
    return tasks


def _measure(task: Callable[[], None], times: int) -> Cost:
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    task()
    return Cost((perf_counter() - wall) / times, (process_time() - cpu) / times, 0)
