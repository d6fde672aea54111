"""Findings as JSON (`schemas/reports/findings.schema.json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.finding_text import count_by_severity
from speccompile.model.key_path import format_path
from speccompile.model.source import Span
from speccompile.terminal.style import Paint

REPORT_VERSION = 1
"""Version of the JSON reports; a new one may break readers of the old one."""
_UNIT = re.compile("....")
_TOKENS = 10_000
"""Tokens of JSON that are joined at a time."""


def format_findings(findings: Sequence[Diagnostic], _: Paint) -> str:
    return as_json(findings)


def as_json(diagnostics: Iterable[Diagnostic]) -> str:
    """All findings as one JSON document, also if there are none."""
    findings = tuple(diagnostics)
    return to_json(
        {
            "version": REPORT_VERSION,
            "summary": {str(severity): count for severity, count in count_by_severity(findings).items()},
            "findings": [finding_data(finding) for finding in findings],
        }
    )


def finding_data(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as data, without source lines, which may contain secrets."""
    return {
        "code": diagnostic.code,
        "severity": str(diagnostic.severity),
        "message": diagnostic.message,
        "path": format_path(diagnostic.path),
        "place": place_data(diagnostic.span),
        "notes": [{"message": note.message, "place": place_data(note.span)} for note in diagnostic.notes],
        "help": diagnostic.help,
    }


def place_data(span: Span | None) -> dict[str, Any] | None:
    """A location as data; without lines and columns for a value that has none, such as Python data."""
    if span is None:
        return None
    numbers = (span.line, span.column, span.end_line, span.end_column) if span.line else (None,) * 4
    names = ("line", "column", "end_line", "end_column")
    return {
        "layer": str(span.source.layer),
        "file": span.source.name,
        **dict(zip(names, numbers, strict=True)),
    }


def to_json(data: Any) -> str:
    """The data as indented JSON that is safe to encode as UTF-8 and to print."""
    tokens = map(_printable, json.JSONEncoder(ensure_ascii=False, indent=2).iterencode(data))
    parts: list[str] = []
    # All tokens at once, as `json.dumps` collects them, take ten times the memory of the text.
    while part := "".join(islice(tokens, _TOKENS)):
        parts.append(part)
    return "".join((*parts, "\n"))


def _printable(token: str) -> str:
    """The token with escapes; a line end is never inside a string, and a token has at most one."""
    start, line_end, rest = token.rpartition("\n")
    return start + line_end + (rest if rest.isprintable() else "".join(map(_escaped, rest)))


def _escaped(char: str) -> str:
    if char.isprintable():
        return char
    # A lone surrogate cannot be encoded as UTF-8, and many JSON parsers reject its escape.
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return _UNIT.sub(r"\\u\g<0>", char.encode("utf-16-be").hex())
