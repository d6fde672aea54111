"""Compile runs with the executor of a library user: Dask, Ray, or a pool of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from functools import partial

from speccompile.batch.compile_unit import Compiler
from speccompile.batch.dispatch import WorkerPool, dispatch_units
from speccompile.batch.wire_format import from_portable
from speccompile.batch.work_units import WorkUnit, sources_of
from speccompile.compiler.compiled import Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.model.findings import CompileError
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.yaml_text.parsed import Parsed


def compile_texts(
    texts: Iterable[Text | Parsed], admin: AdminTexts, setting: Setting, executor: Executor
) -> Iterator[Result]:
    """The results of `compile_files`, computed by the executor. Raises ExecutorError if that fails."""
    sources = sources_of(admin)
    compiler = Compiler.of(setting, "yaml", sources)
    units = (WorkUnit.of(text) if isinstance(text, Text) else WorkUnit.unread(text) for text in texts)
    for unit, (results, _) in dispatch_units(units, admin, "yaml", WorkerPool.of(executor)):
        for number, data in enumerate(results):
            recompile = partial(compiler.recompile, unit, number)
            result = from_portable(data, "yaml", unit.source, sources, recompile).result
            # An error has its run and overrides, which are not packed.
            yield recompile() if isinstance(result, CompileError) and unit.outcome is None else result
