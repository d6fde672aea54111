"""Compile files of runs: one result per run, in order, with an error where two make the same object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from speccompile.compiler.compiled import Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.duplicate_objects import ClaimStore, refuse_duplicates
from speccompile.compiler.pipeline import compile_document
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError, has_errors
from speccompile.yaml_text.parsed import Parsed


def compile_files(files: Iterable[Parsed], setting: Setting, memory: ClaimStore | None = None) -> Iterator[Result]:
    """One result a document, and one error for each file that could not be read as documents.

    `memory` is where the runs so far are kept, to find two that make the same object; without it, in a list.
    """
    return refuse_duplicates((result for parsed in files for result in compile_file(parsed, setting)), memory)


def compile_file(parsed: Parsed, setting: Setting) -> Iterator[Result]:
    """As `compile_files`, for one file, whose runs are not compared with one another."""
    if has_errors(parsed.findings):
        yield CompileError((*parsed.findings, *_further(parsed, setting)))
        return
    for document in parsed.documents:
        try:
            yield compile_document(document, setting)
        except CompileError as error:
            yield error


def _further(parsed: Parsed, setting: Setting) -> tuple[Diagnostic, ...]:
    """What else is wrong with documents whose text has faults already, except at the very places reported."""
    reported = {(finding.span.line, finding.span.column) for finding in parsed.findings if finding.span}
    found: list[Diagnostic] = []
    for document in parsed.documents:
        try:
            read_run(document, setting)
        except CompileError as error:
            found += error.diagnostics
    return tuple(
        finding for finding in found if not finding.span or (finding.span.line, finding.span.column) not in reported
    )
