"""Parse YAML 1.2 exactly, with all findings; slower than the line reader, but it explains errors."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import Event

from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parsed import CONTROL, Parsed
from speccompile.yaml_text.syntax_context import Place, Progress
from speccompile.yaml_text.syntax_messages import explain_syntax
from speccompile.yaml_text.tree_builder import FatalFinding, Reader, build_documents

MAX_STRAY_COMMAS = 50
MAX_READ_AGAIN = 500_000
"""Characters that may be parsed again to report further stray commas."""

# Refused unless escaped: YAML 1.1 counts the separators as line ends, 1.2 does not, and the mark is invisible.
_RAW = re.compile("[\u2028\u2029]|(?<=.)\ufeff", re.DOTALL)
_MARK = re.compile("\\A\ufeff")


def parse_exact(source: Source) -> Parsed:
    """Like `parse`, in Python, with the location of every finding."""
    unreadable = tuple(_refused_characters(source))
    if unreadable:
        return Parsed((), unreadable)
    commas: list[Diagnostic] = []
    text = _json_without_tabs(source.text)
    while len(commas) < MAX_STRAY_COMMAS and len(commas) * len(text) <= MAX_READ_AGAIN:
        reader = Reader(source)
        documents: list[Document] = []
        try:
            documents.extend(build_documents(_events(reader, text), reader))
        except FatalFinding as stop:
            return Parsed(tuple(documents), (*commas, *reader.findings, stop.finding))
        except _StrayComma as stray:
            # Continue without it, so that all of them are reported at once.
            commas.append(stray.finding)
            text = f"{text[: stray.index]} {text[stray.index + 1 :]}"
            continue
        if not documents and not commas and not reader.findings:
            reader.report(
                "yaml/empty",
                "the file contains no document",
                Span(source, 1, 1, 1, 1),
                help="write at least one run or profile, or remove the file",
            )
        return Parsed(tuple(documents), (*commas, *reader.findings))
    return Parsed((), tuple(commas))


def _refused_characters(source: Source) -> Iterator[Diagnostic]:
    for pattern, help_text in (
        (CONTROL, "remove it; only tabs, line ends and printable characters are allowed"),
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
    """JSON with spaces in place of tabs, which YAML refuses between tokens; JSON strings cannot contain a raw tab."""
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
    progress = Progress()
    try:
        for event in YAML(typ="safe", pure=True).parse(text):
            progress.note(event)
            yield event
    except MarkedYAMLError as error:
        _syntax_error(reader, text, error, progress)
    except RecursionError as error:
        raise FatalFinding(_unreadable("nested too deeply to be read", reader.source)) from error
    except (YAMLError, AssertionError, ValueError, OverflowError) as error:
        # ruamel.yaml converts `\U` escapes without checking them, and checks %YAML versions by assertion.
        message = "an escape or a `%` directive in this file is not valid YAML"
        raise FatalFinding(_unreadable(message, reader.source)) from error


def _unreadable(message: str, source: Source) -> Diagnostic:
    return Diagnostic(code="yaml/syntax", message=message, span=Span(source, 1, 1, 1, 1))


def _syntax_error(reader: Reader, text: str, error: MarkedYAMLError, progress: Progress) -> None:
    explained = explain_syntax(text, error, progress)
    mark = error.problem_mark
    if mark and text[mark.index : mark.index + 1] == "," and text[: mark.index].rstrip(" ")[-1:] in ("'", '"'):
        finding = Diagnostic(
            code="yaml/stray-comma",
            message="a comma after a quoted value is not YAML",
            span=_span(reader.source, Place(mark.index, mark.line + 1, mark.column + 1)),
            help="remove the comma: in YAML the end of the line ends the value",
        )
        raise _StrayComma(finding, mark.index)
    notes: tuple[Note, ...] = ()
    if explained.note and explained.note_place:
        notes = (Note(explained.note, _span(reader.source, explained.note_place)),)
    raise FatalFinding(
        Diagnostic(
            code="yaml/syntax",
            message=explained.message,
            span=_span(reader.source, explained.place),
            notes=notes,
            help=explained.help,
        )
    )


def _span(source: Source, place: Place) -> Span:
    return Span(source, place.line, place.column, place.line, place.column + 1)
