"""Takes parsed files of runs and a setting, gives a result for each run, in order; no two make the same object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from speccompile.compiled import Compiled
from speccompile.diagnostics import CompileError, Diagnostic, Note, has_errors, shown
from speccompile.model import Span
from speccompile.parse import Parsed
from speccompile.pipeline import compile_document
from speccompile.runs import read_run
from speccompile.setting import Setting

Result: TypeAlias = Compiled | CompileError


def compile_files(files: Iterable[Parsed], setting: Setting) -> Iterator[Result]:
    """One result a document, and one error for each file that could not be read as documents."""
    runs: dict[tuple[str, str], Span] = {}
    objects: dict[tuple[str, ...], Span] = {}
    for parsed in files:
        if has_errors(parsed.findings):
            yield CompileError((*parsed.findings, *_further(parsed, setting)))
            continue
        for document in parsed.documents:
            try:
                compiled = compile_document(document, setting)
                _refuse_clashes(compiled, runs, objects)
            except CompileError as error:
                yield error
            else:
                yield compiled


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


def _refuse_clashes(
    compiled: Compiled, runs: dict[tuple[str, str], Span], objects: dict[tuple[str, ...], Span]
) -> None:
    """Raises if the run, or one of its objects, was there before."""
    identity, here = (compiled.project, compiled.name), compiled.place
    if identity in runs:
        raise CompileError(
            [
                Diagnostic(
                    code="run/duplicate",
                    message=f"run {shown(compiled.name)} of project {shown(compiled.project)} stands here again",
                    span=here,
                    path=("name",),
                    notes=(Note("first here", runs[identity]),),
                    help="rename one of the two",
                )
            ]
        )
    runs[identity] = here
    clashes = []
    for kind, name, namespace, place in compiled.objects:
        made = (kind, name, namespace)
        if made in objects:
            clashes.append(
                Diagnostic(
                    code="run/duplicate-object",
                    message=f"{kind} {shown(name)} would be made a second time",
                    span=place,
                    notes=(Note("first here", objects[made]),),
                    help="rename one of the two",
                )
            )
        objects.setdefault(made, place)
    if clashes:
        raise CompileError(clashes)
