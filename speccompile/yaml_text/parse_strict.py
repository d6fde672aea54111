"""Parse text by the letter of YAML 1.2, with everything that is wrong with it; slower than libyaml, but it explains."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import Event

from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document
from speccompile.model.redaction import redacted
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parsed import CONTROL, Parsed
from speccompile.yaml_text.tree_builder import FatalFinding, Reader, documents_of

MAX_STRAY_COMMAS = 50
MAX_READ_AGAIN = 500_000
"""Characters that may be read again and again to show further stray commas."""

# Refused when written raw, because YAML 1.1 counts them as line ends and 1.2 does not (and the mark is invisible).
_RAW = re.compile("[\u2028\u2029]|(?<=.)\ufeff", re.DOTALL)
_MARK = re.compile("\\A\ufeff")
_TAB_HELP = "indent with spaces"
_TOKEN_NAME = re.compile(r"'?<([a-z ]+)>'?")
_TOKEN_WORDS = {
    "block end": "the end of the block",
    "block mapping start": "a key",
    "block sequence start": "a list item",
    "document start": "the start of a document",
    "scalar": "a value",
    "stream end": "the end of the file",
}
_SYNTAX_HELP = {
    "found character '\\t' that cannot start any token": _TAB_HELP,
    "found a tab character": _TAB_HELP,
    "mapping values are not allowed here": "quote a value that contains `: `, and check the indentation",
    "could not find expected ':'": "put a `:` and a space after the key",
    "that cannot start any token": "quote a value that begins with this character",
    "expected alphabetic or numeric character": "quote a value that begins with `*` or `&`",
    "found unexpected end of stream": "close the quote or bracket that is still open",
    "expected ',' or": "close the bracket, or quote a text that has `[`, `]`, `{`, `}`, `,` or `: ` in it",
}


_ENDING = frozenset({"yaml/syntax", "yaml/control-character", "yaml/unknown-alias", "yaml/stray-comma"})
"""Findings after which the rest of the text may be anything."""


def parse_exact(source: Source) -> Parsed:
    """As `parse`, by a reader in Python that knows the place of everything that is wrong."""
    documents, findings = _read(source)
    was_read = not any(finding.code in _ENDING for finding in findings)
    return Parsed(documents, redacted(findings, was_read=was_read))


def _read(source: Source) -> Parsed:
    unreadable = tuple(_refused_characters(source))
    if unreadable:
        return Parsed((), unreadable)
    commas: list[Diagnostic] = []
    text = _json_without_tabs(source.text)
    while len(commas) < MAX_STRAY_COMMAS and len(commas) * len(text) <= MAX_READ_AGAIN:
        reader = Reader(source)
        documents: list[Document] = []
        try:
            documents.extend(documents_of(_events(reader, text), reader))
        except FatalFinding as stop:
            return Parsed(tuple(documents), (*commas, *reader.findings, stop.finding))
        except _StrayComma as stray:
            # Read on without it, so that all of them are shown at once.
            commas.append(stray.finding)
            text = f"{text[: stray.index]} {text[stray.index + 1 :]}"
            continue
        if not documents and not commas and not reader.findings:
            reader.report(
                "yaml/empty",
                "the file holds no document",
                Span(source, 1, 1, 1, 1),
                help="write at least one run or profile, or remove the file",
            )
        return Parsed(tuple(documents), (*commas, *reader.findings))
    return Parsed((), tuple(commas))


def _refused_characters(source: Source) -> Iterator[Diagnostic]:
    for pattern, help_text in (
        (CONTROL, "remove it; only tabs and line ends may stand beside printable text"),
        (_MARK, "save the file without a byte order mark"),
        (_RAW, "remove it, or write it as an escape inside double quotes"),
    ):
        if match := re.search(pattern, source.text):
            line = len(re.findall(r"\r\n|\r|\n", source.text[: match.start()])) + 1
            start = max(source.text.rfind("\n", 0, match.start()), source.text.rfind("\r", 0, match.start())) + 1
            column = match.start() - start + 1
            yield Diagnostic(
                code="yaml/control-character",
                message=f"character U+{ord(match.group()):04X} is not allowed",
                span=Span(source, line, column, line, column + 1),
                help=help_text,
            )


def _json_without_tabs(text: str) -> str:
    """Tabs between the tokens of JSON as spaces, which YAML wants; JSON strings cannot hold a raw tab."""
    if "\t" not in text or not text.lstrip().startswith(("{", "[")):
        return text
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return text
    return text.replace("\t", " ")


class _StrayComma(Exception):  # noqa: N818  caught one frame up
    def __init__(self, finding: Diagnostic, index: int) -> None:
        super().__init__(finding.message)
        self.finding = finding
        self.index = index


def _events(reader: Reader, text: str) -> Iterator[Event]:
    try:
        yield from YAML(typ="safe", pure=True).parse(text)
    except MarkedYAMLError as error:
        _syntax_error(reader, text, error)
    except (YAMLError, AssertionError, ValueError, OverflowError, RecursionError) as error:
        # ruamel.yaml converts `\U` escapes without checking them, and asserts what it wants of %YAML versions.
        finding = Diagnostic(
            code="yaml/syntax",
            message=f"not readable as YAML: {str(error).splitlines()[0][:100] if str(error) else 'unknown reason'}",
            span=Span(reader.source, 1, 1, 1, 1),
        )
        raise FatalFinding(finding) from error


def _syntax_error(reader: Reader, text: str, error: Any) -> None:
    mark = error.problem_mark or error.context_mark
    line, column, index = (mark.line + 1, mark.column + 1, mark.index) if mark else (1, 1, 0)
    span = Span(reader.source, line, column, line, column + 1)
    problem = str(error.problem or error.context or "the text is not YAML").strip()
    if text[index : index + 1] == "," and text[:index].rstrip(" ")[-1:] in ("'", '"'):
        finding = Diagnostic(
            code="yaml/stray-comma",
            message="a comma after a quoted value is not YAML",
            span=span,
            help="remove the comma: in YAML the end of the line ends the value",
        )
        raise _StrayComma(finding, index)
    help_text = next((cure for start, cure in _SYNTAX_HELP.items() if start in problem), None)
    notes: tuple[Note, ...] = ()
    if error.context and error.context_mark and error.problem:
        start = error.context_mark
        notes = (
            Note(
                str(error.context),
                Span(reader.source, start.line + 1, start.column + 1, start.line + 1, start.column + 2),
            ),
        )
    message = _TOKEN_NAME.sub(lambda match: _TOKEN_WORDS.get(match.group(1), match.group(1)), problem).replace("'", "`")
    raise FatalFinding(Diagnostic(code="yaml/syntax", message=message, span=span, notes=notes, help=help_text))
