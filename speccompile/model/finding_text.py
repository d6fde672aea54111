"""Findings as text, with the source line and a caret under the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.redaction import HIDDEN, is_secret_line, lines_of
from speccompile.model.source import Source, Span
from speccompile.terminal.display_width import base, columns, printable, window
from speccompile.terminal.style import Paint, plain

_WIDTH = 120
MAX_SHOWN = 200
"""Findings that are shown; of more, only the number is told."""
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def as_text(
    diagnostics: Iterable[Diagnostic], paint: Paint = plain, *, total: int = 0, hidden: Iterable[Span] = ()
) -> str:
    """Every finding with its place, excerpt, notes and help; lines that may hold a secret are never shown.

    Whoever has held back others that matter less says how many there are in all, and what these hide.
    """
    found = tuple(diagnostics)
    secret = {
        (span.source, line)
        for span in (*hidden, *(finding.secret for finding in found if finding.secret))
        for line in range(span.line, span.end_line + 1)
    }
    # What matters most is never among what is cut.
    worst = set(sorted(found, key=lambda finding: _RANK[finding.severity])[:MAX_SHOWN])
    shown = "".join("\n".join(_lines(finding, secret, paint)) + "\n\n" for finding in found if finding in worst)
    more = max(total, len(found)) - MAX_SHOWN
    return shown + (f"… and {more} more\n\n" if more > 0 else "")


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How many findings of each severity there are: `2 errors, 1 notice`."""
    found = tuple(diagnostics)
    return summed({severity: sum(finding.severity is severity for finding in found) for severity in Severity})


def summed(counts: Mapping[Severity, int]) -> str:
    """The same of numbers."""
    return ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts.items() if count)


def excerpt(
    span: Span, secret: AbstractSet[tuple[Source, int]] = frozenset(), paint: Paint = plain, kind: str = "error"
) -> Iterator[str]:
    """The line of the place with carets under it, painted as `kind`; nothing for a value that was never text."""
    if not span.line:
        return
    number = str(span.line)
    gutter = " " * max(len(number), 3)
    bar, numbered = (paint(f"{start:>{len(gutter)}} |", "quiet") for start in ("", number))
    yield bar
    if (span.source, span.line) in secret or is_secret_line(span):
        yield f"{numbered} {HIDDEN}"
        return
    lines = lines_of(span.source)
    line = lines[span.line - 1] if span.line <= len(lines) else ""
    start = base(line, span.column - 1)
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    end = max(start + 1, min(end, len(line.rstrip()) or 1))
    # A window around the place keeps a line of any length readable.
    left, right = window(line, start, _WIDTH)
    before, after = "…" * (left > 0), "…" * (right < len(line))
    yield f"{numbered} {before}{printable(line[left:right])}{after}"
    indent = columns(before + line[left:start]) + max(0, start - len(line))
    carets = "^" * max(1, columns(line[start : min(end, right)]))
    yield f"{bar} {' ' * indent}{paint(carets, kind)}"


def _lines(finding: Diagnostic, secret: AbstractSet[tuple[Source, int]], paint: Paint) -> Iterator[str]:
    yield f"{paint(f'{finding.severity}[{finding.code}]', finding.severity)}: {paint(finding.message, 'title')}"
    if finding.span:
        yield f"  {paint('-->', 'quiet')} {printable(where(finding.span, finding.path))}"
        yield from excerpt(finding.span, secret, paint, finding.severity)
    beside = paint("=", "quiet")
    for note in finding.notes:
        if note.span and note.span.line:
            yield f"   {beside} note: {note.message}"
            yield f"  {paint(':::', 'quiet')} {printable(note.span.label)}"
            yield from excerpt(note.span, secret, paint, "quiet")
        elif note.span:
            yield f"   {beside} note: {note.message}: {printable(note.span.label)}"
        else:
            yield f"   {beside} note: {note.message}"
    if finding.help:
        yield f"   {beside} help: {finding.help}"


def where(span: Span, path: KeyPath = ()) -> str:
    """`file:line:column`, or the source's name and the path for a value that was never text."""
    return span.label if span.line or not path else f"{span.label}: {format_path(path)}"
