"""Findings as text, with the source line and a caret under the value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.redaction import HIDDEN, is_secret_line
from speccompile.model.source import Span, lines_of
from speccompile.terminal.display_width import base, columns, printable, window
from speccompile.terminal.style import Paint, plain

_WIDTH = 120
MAX_SHOWN = 200
"""Findings that text shows in full; of the others, it shows the number."""
_RANK = {severity: rank for rank, severity in enumerate(Severity)}


def findings_as_text(diagnostics: Iterable[Diagnostic], paint: Paint = plain, *, limit: int | None = None) -> str:
    """Every finding with its location, excerpt, notes and help; lines that may contain a secret are never shown.

    Beyond the limit, which is `MAX_SHOWN` by default, the least severe findings are left out.
    """
    findings = tuple(diagnostics)
    limit = MAX_SHOWN if limit is None else limit
    most_severe = set(sorted(findings, key=lambda finding: _RANK[finding.severity])[:limit])
    blocks = ("\n".join(finding_lines(finding, paint)) for finding in findings if finding in most_severe)
    return "".join(f"{block}\n\n" for block in blocks) + more_text(len(findings) - limit)


def more_text(more: int) -> str:
    """A line for findings that are left out, if there are any."""
    return f"… and {more} more\n\n" if more > 0 else ""


def count_text(counts: Mapping[Severity, int]) -> str:
    """The last line of a report; nothing if there are no findings."""
    return f"speccompile: {summed(counts)}\n" if any(counts.values()) else ""


def summary(diagnostics: Iterable[Diagnostic]) -> str:
    """How many findings of each severity there are: `2 errors, 1 notice`."""
    return summed(count_by_severity(diagnostics))


def count_by_severity(diagnostics: Iterable[Diagnostic]) -> dict[Severity, int]:
    """The number of findings of each severity."""
    counts = dict.fromkeys(Severity, 0)
    for finding in diagnostics:
        counts[finding.severity] += 1
    return counts


def summed(counts: Mapping[Severity, int]) -> str:
    """The counts as text: `2 errors, 1 notice`."""
    return ", ".join(f"{count} {severity}{'s' * (count > 1)}" for severity, count in counts.items() if count)


def excerpt(span: Span, paint: Paint = plain, kind: str = "error") -> Iterator[str]:
    """The source line of a span with carets under it, painted as `kind`; nothing for a value without a line."""
    if not span.line:
        return
    number = str(span.line)
    gutter = " " * max(len(number), 3)
    bar, numbered = (paint(f"{start:>{len(gutter)}} |", "quiet") for start in ("", number))
    yield bar
    if is_secret_line(span):
        yield f"{numbered} {HIDDEN}"
        return
    lines = lines_of(span.source)
    line = lines[span.line - 1] if span.line <= len(lines) else ""
    start = base(line, span.column - 1)
    end = span.end_column - 1 if span.end_line == span.line else len(line)
    end = max(start + 1, min(end, len(line.rstrip()) or 1))
    # Of a long line, only the part around the span is shown.
    left, right = window(line, start, _WIDTH)
    before, after = "…" * (left > 0), "…" * (right < len(line))
    yield f"{numbered} {before}{printable(line[left:right])}{after}"
    indent = columns(before + line[left:start]) + max(0, start - len(line))
    carets = "^" * max(1, columns(line[start : min(end, right)]))
    yield f"{bar} {' ' * indent}{paint(carets, kind)}"


def finding_lines(finding: Diagnostic, paint: Paint = plain) -> Iterator[str]:
    """The lines of one finding."""
    title = paint(f"{finding.severity}[{finding.code}]", finding.severity)
    yield f"{title}: {paint(printable(finding.message), 'title')}"
    if finding.span:
        yield f"  {paint('-->', 'quiet')} {printable(where(finding.span, finding.path))}"
        yield from excerpt(finding.span, paint, finding.severity)
    mark = paint("=", "quiet")
    for note in finding.notes:
        if note.span and note.span.line:
            yield f"   {mark} note: {printable(note.message)}"
            yield f"  {paint(':::', 'quiet')} {printable(note.span.label)}"
            yield from excerpt(note.span, paint, "quiet")
        elif note.span:
            yield f"   {mark} note: {printable(f'{note.message}: {note.span.label}')}"
        else:
            yield f"   {mark} note: {printable(note.message)}"
    if finding.help:
        yield f"   {mark} help: {printable(finding.help)}"


def where(span: Span, path: KeyPath = ()) -> str:
    """`file:line:column`; for a value without a line, the name of its source and its path."""
    return span.label if span.line or not path else f"{span.label}: {format_path(path)}"
