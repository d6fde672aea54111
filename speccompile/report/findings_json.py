"""Findings as JSON (`schemas/reports/findings.schema.json`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.key_path import format_path
from speccompile.model.source import Span
from speccompile.terminal.style import Paint

VERSION = 1
"""Changes when a reader of the old shape would stumble over the new one."""
_UNIT = re.compile("....")


def format_findings(findings: Sequence[Diagnostic], _: Paint) -> str:
    return as_json(findings)


def as_json(diagnostics: Iterable[Diagnostic]) -> str:
    """All findings as one document, which is there even if they are none."""
    found = tuple(diagnostics)
    return written(
        {
            "version": VERSION,
            "summary": {str(severity): sum(finding.severity is severity for finding in found) for severity in Severity},
            "findings": [finding_data(finding) for finding in found],
        }
    )


def finding_data(diagnostic: Diagnostic) -> dict[str, Any]:
    """One finding as data; it never holds a line of source, which might hold a secret."""
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
    """A place as data; a value that was never text has the name of its source, and no numbers."""
    if span is None:
        return None
    numbers = (span.line, span.column, span.end_line, span.end_column) if span.line else (None,) * 4
    names = ("line", "column", "end_line", "end_column")
    return {
        "layer": str(span.source.layer),
        "file": span.source.name,
        **dict(zip(names, numbers, strict=True)),
    }


def written(data: Any) -> str:
    """The data as JSON that can be read by people, encoded in UTF-8, and sent to a terminal."""
    lines = json.dumps(data, ensure_ascii=False, indent=2).split("\n")
    return "".join((line if line.isprintable() else "".join(map(_harmless, line))) + "\n" for line in lines)


def _harmless(char: str) -> str:
    if char.isprintable():
        return char
    # Half a pair is no character: UTF-8 cannot hold it, and many readers of JSON refuse its escape.
    if "\ud800" <= char <= "\udfff":
        return "\ufffd"
    return _UNIT.sub(r"\\u\g<0>", char.encode("utf-16-be").hex())
