"""Compile files of runs: one result per run, in order, with an error where two create the same object."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from speccompile.compiler.compiled import Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.entities import as_exported, split_entities, with_entities
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.duplicate_objects import ClaimStore, refuse_duplicates
from speccompile.compiler.pipeline import compile_document
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.full_path import FULL_PATH
from speccompile.model.source import Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from speccompile.compiler.shapes.known_shapes import KnownShapes


CompileSource: TypeAlias = Callable[[Source], list[Result]]
"""Compiles the runs of a text without comparing them with others."""


def compile_files(
    files: Iterable[Source | Parsed], setting: Setting, memory: ClaimStore | None = None
) -> Iterator[Result]:
    """One result per document, and one error per file that could not be parsed.

    `memory` stores the runs so far, to find two that create the same object; a list by default.
    """
    compile_source = source_compiler(setting)
    results = (
        result
        for file in files
        for result in (compile_source(file) if isinstance(file, Source) else compile_file(file, setting))
    )
    return refuse_duplicates(results, lambda: setting.platform, memory)


def source_compiler(setting: Setting) -> CompileSource:
    """A function that compiles one text after the other, each shape of runs once; for one thread."""
    seen = 0
    shapes: KnownShapes | None = None

    def compile_usually(source: Source) -> list[Result]:
        return list(compile_file(parse(source), setting))

    def compile_source(source: Source) -> list[Result]:
        nonlocal seen, shapes
        seen += 1
        if seen == 1 or FULL_PATH.get():
            return compile_usually(source)
        if shapes is None:
            from speccompile.compiler.shapes.known_shapes import KnownShapes  # a single run needs none

            shapes = KnownShapes(setting, compile_usually)
        return shapes.compile(source)

    return compile_source


def compile_file(parsed: Parsed, setting: Setting) -> Iterator[Result]:
    """Compile the runs of one file without comparing them; its functions and tasks are what these runs may name."""
    if has_errors(parsed.findings):
        parsed = as_exported(parsed)
    if has_errors(parsed.findings):
        yield CompileError((*parsed.findings, *_other_faults(parsed, setting)))
        return
    runs, others = split_entities(parsed.documents)
    if others:
        entities, findings = with_entities(setting.entities, others, setting.library)
        setting = setting._replace(entities=entities)
        if findings and not setting.is_broken:
            yield CompileError(findings)
            return
    for document in runs:
        try:
            yield compile_document(document, setting)
        except CompileError as error:
            yield error


def _other_faults(parsed: Parsed, setting: Setting) -> tuple[Diagnostic, ...]:
    """Findings about documents of a file with syntax errors, except at the positions of those errors."""
    reported = {(finding.span.line, finding.span.column) for finding in parsed.findings if finding.span}
    findings: list[Diagnostic] = []
    for document in split_entities(parsed.documents)[0]:
        try:
            read_run(document, setting)
        except CompileError as error:
            findings += error.diagnostics
    return tuple(
        finding for finding in findings if not finding.span or (finding.span.line, finding.span.column) not in reported
    )
