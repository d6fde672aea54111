"""Compile runs with an executor that a caller of the library brings: Dask, Ray, or a pool of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from functools import partial

from speccompile.batch.compile_unit import Compiler
from speccompile.batch.dispatch import Crew, spread
from speccompile.batch.wire_format import from_portable
from speccompile.batch.work_units import Piece, sources_of
from speccompile.compiler.compiled import Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.model.findings import CompileError
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.yaml_text.parsed import Parsed


def compile_texts(
    texts: Iterable[Text | Parsed], admin: AdminTexts, setting: Setting, executor: Executor
) -> Iterator[Result]:
    """A result for each run, in order, as `compile_files` gives them. Raises ExecutorError if the executor fails."""
    known = sources_of(admin)
    compiler = Compiler.of(setting, "yaml", known)
    pieces = (Piece.of(text) if isinstance(text, Text) else Piece.unread(text) for text in texts)
    for piece, (results, _) in spread(pieces, admin, "yaml", Crew.of(executor)):
        for number, data in enumerate(results):
            again = partial(compiler.again, piece, number)
            result = from_portable(data, "yaml", piece.source, known, again).result
            # An error knows its run and what became of its values, and these do not travel.
            yield again() if isinstance(result, CompileError) and piece.answer is None else result
