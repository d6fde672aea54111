"""Takes findings, gives them as text with the source line and a caret."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from speccompile.diagnostics import Diagnostic, Severity
from speccompile.hush import lines_of, secret_lines
from speccompile.model import Layer, Source, Span, format_path

_WIDTH = 120
MAX_SHOWN = 200
"""Findings that are shown; of more, only the number is told."""
_RANK = {severity: rank for rank, severity in enumerate(Severity)}
_HIDDEN = "(not shown: this line may hold a secret)"


def as_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Every finding with its place, excerpt, notes and help; lines that may hold a secret are never shown."""
    found = tuple(diagnostics)
    secret = {
        (finding.secret.source, line)
        for finding in found
        if finding.secret
        for line in range(finding.secret.line, finding.secret.end_line + 1)
    }
    # What matters most is never among what is cut.
    worst = set(sorted(found, key=lambda finding: _RANK[finding.severity])[:MAX_SHOWN])
    shown = "".join("\n".join(_lines(finding, secret)) + "\n\n" for finding in found if finding in worst)
    return shown + (f"… and {len(found) - MAX_SHOWN} more\n\n" if len(found) > MAX_SHOWN else "")


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How many findings of each severity there are: `2 errors, 1 notice`."""
    found = tuple(diagnostics)
    counts = ((severity, sum(finding.severity is severity for finding in found)) for severity in Severity)
    return ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts if count)


def _lines(finding: Diagnostic, secret: set[tuple[Source, int]]) -> Iterator[str]:
    yield f"{finding.severity}[{finding.code}]: {finding.message}"
    if finding.span:
        where = finding.span.label
        if not finding.span.line and finding.path:
            where += f": {format_path(finding.path)}"
        yield f"  --> {_printable(where)}"
        yield from _excerpt(finding.span, secret)
    for note in finding.notes:
        if note.span and note.span.line:
            yield f"   = note: {note.message}"
            yield f"  ::: {_printable(note.span.label)}"
            yield from _excerpt(note.span, secret)
        elif note.span:
            yield f"   = note: {note.message}: {_printable(note.span.label)}"
        else:
            yield f"   = note: {note.message}"
    if finding.help:
        yield f"   = help: {finding.help}"


def _excerpt(span: Span, secret: set[tuple[Source, int]]) -> Iterator[str]:
    if not span.line:
        return
    number = str(span.line)
    gutter = " " * max(len(number), 3)
    yield f"{gutter} |"
    if (span.source, span.line) in secret or _may_tell(span):
        yield f"{number:>{len(gutter)}} | {_HIDDEN}"
        return
    lines = lines_of(span.source)
    line = lines[span.line - 1] if span.line <= len(lines) else ""
    start = span.column - 1
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    end = max(start + 1, min(end, len(line.rstrip()) or 1))
    # A window around the place keeps a line of any length readable.
    left = max(0, start - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = _printable(line[left : left + _WIDTH])
    yield f"{number:>{len(gutter)}} | {'…' if left else ''}{shown}{'…' if len(line) > left + _WIDTH else ''}"
    carets = "^" * max(1, min(end, left + _WIDTH) - start)
    yield f"{gutter} | {' ' * (start - left + bool(left))}{carets}"


def _may_tell(span: Span) -> bool:
    """Whether the line might hold the value of a secret; a platform only says where secrets are."""
    return span.source.layer is not Layer.PLATFORM and span.line in secret_lines(span.source)


def _printable(text: str) -> str:
    """The text as a terminal may get it: one column a character, and nothing it would obey."""
    return "".join(char if char.isprintable() else " " if char == "\t" else "\ufffd" for char in text)
