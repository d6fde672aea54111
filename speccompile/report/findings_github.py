"""Findings as GitHub workflow commands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from speccompile.compiler.source_file import user_file
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.finding_text import where
from speccompile.terminal.display_width import printable
from speccompile.terminal.style import Paint

_IN_DATA = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_IN_PROPERTIES = {**_IN_DATA, ":": "%3A", ",": "%2C"}


def format_findings(findings: Sequence[Diagnostic], _: Paint) -> str:
    return as_github(findings)


def as_github(diagnostics: Iterable[Diagnostic]) -> str:
    """One workflow command per line; no text of a finding can end the line or start another command."""
    return "".join(f"{_command(finding)}\n" for finding in diagnostics)


def _command(finding: Diagnostic) -> str:
    properties = ",".join(f"{name}={_escaped(value, _IN_PROPERTIES)}" for name, value in _properties(finding))
    message = _escaped("\n".join(_message(finding)), _IN_DATA)
    return f"::{finding.severity} {properties}::{message}"


def _properties(finding: Diagnostic) -> Iterator[tuple[str, str]]:
    span = finding.span
    file = user_file(span.source) if span else None
    if span and file:
        yield "file", file
    if span and file and span.line:
        yield "line", str(span.line)
        yield "endLine", str(span.end_line)
        # GitHub drops annotations with columns that span several lines.
        if span.line == span.end_line:
            yield "col", str(span.column)
            yield "endColumn", str(span.end_column)
    yield "title", finding.code


def _message(finding: Diagnostic) -> Iterator[str]:
    yield finding.message
    if finding.span and user_file(finding.span.source) is None:
        yield f"--> {where(finding.span, finding.path)}"
    for note in finding.notes:
        yield f"note: {note.message}{f' ({where(note.span)})' if note.span else ''}"
    if finding.help:
        yield f"help: {finding.help}"


def _escaped(text: str, table: dict[str, str]) -> str:
    return "".join(table.get(char) or printable(char) for char in text)
