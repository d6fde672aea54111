"""Takes a workload, gives what ours costs inside one process that has compiled such runs before."""

from __future__ import annotations

import gc
import importlib.util
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

from benchmarks.figures import Cost, Series
from benchmarks.timing import Watch
from benchmarks.workload import PROFILE, Workload
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.admin_config import Setting
from speccompile.files.load_admin_config import read_setting
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.serialize import serialize

WHOLE, ALONE, VERIFIED = "compile and serialize", "the same loader and emitter alone", "compile, serialize and verify"


def setting_of(folder: Path) -> Setting:
    """The profile of the workload, read."""
    path = folder / "profile.yaml"
    path.write_text(PROFILE, encoding="utf-8")
    return read_setting([path], None)


def sources(workload: Workload) -> list[Source]:
    return [Source(f"{name}.yaml", text, Layer.RUN) for name, text in workload.runs.items()]


def compiled(texts: Iterable[Source], setting: Setting) -> Iterable[Compiled]:
    """The compilations, one after another; a run that does not compile is a fault of the workload."""
    for result in compile_files(map(parse, texts), setting):
        assert isinstance(result, Compiled), result
        yield result


def measured(folder: Path, rounds: int, each: int, watch: Watch) -> Series:
    """Seconds a run, round by round, each with runs of its own, as a service would have.

    Without the package that `verify` needs, there is no such row.
    """
    setting = setting_of(folder)
    texts = sources(Workload(each * (rounds + 1)))
    costs: dict[str, list[Cost]] = {}
    gc.collect()
    gc.freeze()  # what the benchmark itself holds is not for a round to look through
    for number in range(rounds + 1):
        watch(f"warm, round {number} of {rounds}")
        some = texts[each * number : each * (number + 1)]
        # Also, no task finds texts that another has met first: all of them have been seen here.
        documents = [[manifest.data for manifest in made.manifests] for made in compiled(some, setting)]
        for some_documents in documents:
            serialize(some_documents)
        for name, task in _tasks(some, documents, setting).items():
            cost = _cost(task, len(some))
            if number:
                costs.setdefault(name, []).append(cost)
    gc.unfreeze()
    return costs


def _tasks(
    texts: Sequence[Source], documents: Sequence[Sequence[Mapping[str, Any]]], setting: Setting
) -> Mapping[str, Callable[[], None]]:
    def whole() -> None:
        for made in compiled(texts, setting):
            made.to_yaml()

    def alone() -> None:
        for text, documents_of_one in zip(texts, documents, strict=True):
            parse(text)
            serialize(documents_of_one)

    tasks: dict[str, Callable[[], None]] = {WHOLE: whole, ALONE: alone}
    if importlib.util.find_spec("kubernetes_validate"):
        from speccompile.verify.kubernetes_api import versions
        from speccompile.verify.verify import violations

        newest = versions()[-1]

        def verified() -> None:
            for made in compiled(texts, setting):
                made.to_yaml()
                assert not violations(made, newest)

        tasks[VERIFIED] = verified
    return tasks


def _cost(task: Callable[[], None], times: int) -> Cost:
    gc.collect()
    wall, cpu = perf_counter(), process_time()
    task()
    return Cost((perf_counter() - wall) / times, (process_time() - cpu) / times, 0)
