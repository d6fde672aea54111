"""Takes a source, gives its documents by the letter of YAML 1.2, and everything that is wrong with its text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from speccompile.model.diagnostic import Diagnostic, Note, shown
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Value
from speccompile.model.redaction import hushed
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parse import CONTROL, MAX_DEPTH, MAX_EXPANDED, Parsed, control_character
from speccompile.yaml_text.plain_scalars import Ambiguous, Exponent, OutOfRange, ambiguous, resolve

if TYPE_CHECKING:
    from ruamel.yaml.events import Event

MAX_STRAY_COMMAS = 50
MAX_READ_AGAIN = 500_000
"""Characters that may be read again and again to show further stray commas."""

# Refused when written raw, because YAML 1.1 counts them as line ends and 1.2 does not (and the mark is invisible).
_RAW = re.compile("[\u2028\u2029]|(?<=.)\ufeff", re.DOTALL)
_MARK = re.compile("\\A\ufeff")
_ANCHOR = re.compile(r"&\S+[ \t]+(?=\S)")
_SURROGATES = re.compile("[\ud800-\udfff]")
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


class _Fatal(Exception):  # noqa: N818  it ends the reading of one source and never leaves this module
    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Built(NamedTuple):
    """A finished node, what it counts in the budget of expansion, and how many levels it has."""

    node: Node
    size: int
    height: int = 0


class _Frame:
    """A container whose end has not been read yet."""

    __slots__ = ("anchor", "fields", "height", "items", "key", "mapping", "merged", "size", "start")

    def __init__(self, start: Span, anchor: str | None, *, mapping: bool) -> None:
        self.start = start
        self.anchor = anchor
        self.mapping = mapping
        self.key: Node | None = None
        self.fields: dict[str, Node] = {}
        self.merged: list[Node] = []
        self.items: list[Node] = []
        self.size = 1
        self.height = 1


class _Reader:
    """The state of reading one source."""

    __slots__ = ("anchors", "expanded", "findings", "source", "stack")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.anchors: dict[str, _Built | None] = {}
        """What each anchor names; None while it is still being read."""
        self.expanded = 0
        self.stack: list[_Frame] = []

    def span(self, event: Event) -> Span:
        start, end = event.start_mark, event.end_mark
        assert start is not None
        assert end is not None
        # An anchor belongs to the event, and not to the value that people look for.
        anchor = _ANCHOR.match(self.source.text, start.index) if getattr(event, "anchor", None) else None
        before = len(anchor.group()) if anchor else 0
        return Span(self.source, start.line + 1, start.column + 1 + before, end.line + 1, end.column + 1)

    def report(self, code: str, message: str, span: Span, **more: Any) -> None:
        self.findings.append(Diagnostic(code=code, message=message, span=span, **more))


def parse_exact(source: Source) -> Parsed:
    """As `parse`, by a reader in Python that knows the place of everything that is wrong."""
    documents, findings = _read(source)
    was_read = not any(finding.code in _ENDING for finding in findings)
    return Parsed(documents, hushed(findings, was_read=was_read))


def _read(source: Source) -> Parsed:
    unreadable = tuple(_refused_characters(source))
    if unreadable:
        return Parsed((), unreadable)
    commas: list[Diagnostic] = []
    text = _json_without_tabs(source.text)
    while len(commas) < MAX_STRAY_COMMAS and len(commas) * len(text) <= MAX_READ_AGAIN:
        reader = _Reader(source)
        documents: list[Document] = []
        try:
            documents.extend(_documents(reader, text))
        except _Fatal as stop:
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


def _events(reader: _Reader, text: str) -> Iterator[Event]:
    from ruamel.yaml import YAML  # a third of a second cold, wanted by who reads YAML only
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

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
        raise _Fatal(finding) from error


def _syntax_error(reader: _Reader, text: str, error: Any) -> None:
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
    raise _Fatal(Diagnostic(code="yaml/syntax", message=message, span=span, notes=notes, help=help_text))


def _documents(reader: _Reader, text: str) -> Iterator[Document]:
    from ruamel.yaml import events as kinds  # see _events

    for event in _events(reader, text):
        match event:
            case kinds.DocumentStartEvent():
                reader.anchors.clear()
            case kinds.MappingStartEvent() | kinds.SequenceStartEvent():
                _open(reader, event, mapping=isinstance(event, kinds.MappingStartEvent))
            case kinds.MappingEndEvent() | kinds.SequenceEndEvent():
                yield from _place(reader, _close(reader, event))
            case kinds.ScalarEvent():
                yield from _place(reader, _Built(_scalar(reader, event), _weight(event.value)))
            case kinds.AliasEvent():
                yield from _place(reader, _alias(reader, event))


def _open(reader: _Reader, event: Any, *, mapping: bool) -> None:
    span = reader.span(event)
    _refuse_tag(reader, event, span)
    _refuse_depth(len(reader.stack) + 1, span)
    if event.anchor:
        reader.anchors[event.anchor] = None
    reader.stack.append(_Frame(span, event.anchor, mapping=mapping))


def _refuse_depth(depth: int, span: Span) -> None:
    if depth > MAX_DEPTH:
        raise _Fatal(
            Diagnostic(
                code="yaml/too-deep",
                message=f"nested more than {MAX_DEPTH} levels deep",
                span=span,
                help="flatten the document; no run or profile needs this many levels",
            )
        )


def _close(reader: _Reader, event: Any) -> _Built:
    frame = reader.stack.pop()
    end = event.end_mark
    span = frame.start._replace(end_line=end.line + 1, end_column=end.column + 1)
    value: Value = tuple(frame.items)
    if frame.mapping:
        # Explicit keys win over merged ones, and of several merged maps the first wins: YAML's own rule.
        fields = dict(frame.fields)
        for merged in frame.merged:
            for key, child in merged.fields.items():
                fields.setdefault(key, child)
        value = fields
    built = _Built(Node(value, span), frame.size, frame.height)
    if frame.anchor:
        reader.anchors[frame.anchor] = built
    return built


def _scalar(reader: _Reader, event: Any) -> Node:
    span = reader.span(event)
    _refuse_tag(reader, event, span)
    text = _joined_surrogates(event.value)
    node = Node(text, span)
    if found := control_character(text):
        reader.report(
            "yaml/control-character",
            f"character U+{ord(found):04X} is not allowed, escaped or not",
            span,
            help="remove it; only tabs and line ends may stand beside printable text",
        )
    elif event.style is None or event.style == "":
        node = _plain_scalar(reader, text, span)
    if event.anchor:
        reader.anchors[event.anchor] = _Built(node, _weight(text))
    return node


def _weight(text: str) -> int:
    """What a scalar counts in the budget of expansion: repeating a long text is a bomb as well."""
    return 1 + len(text) // 100


def _plain_scalar(reader: _Reader, text: str, span: Span) -> Node:
    value = resolve(text)
    if isinstance(value, Exponent):
        return Node(text, span, unsure=True)
    if isinstance(value, Ambiguous) and not (text == "<<" and _wants_key(reader)):
        reader.findings.append(ambiguous(text, span))
    if isinstance(value, OutOfRange):
        reader.report(
            "yaml/number",
            f"{shown(text)} is not a number this file can hold",
            span,
            help="write a finite number of at most 64 bits, or quote the text",
        )
    return Node(text if isinstance(value, str) else value, span)


def _alias(reader: _Reader, event: Any) -> _Built:
    span = reader.span(event)
    if event.anchor not in reader.anchors:
        raise _Fatal(
            Diagnostic(
                code="yaml/unknown-alias",
                message=f"alias {shown('*' + event.anchor)} has no anchor before it in this document",
                span=span,
                help=f"define it first: {shown('&' + event.anchor)}; or quote a text that begins with `*`",
            )
        )
    known = reader.anchors[event.anchor]
    if known is None:
        raise _Fatal(
            Diagnostic(
                code="yaml/recursive-alias",
                message=f"alias {shown('*' + event.anchor)} stands inside the value it names",
                span=span,
                help="write the inner value out",
            )
        )
    _refuse_depth(len(reader.stack) + known.height, span)
    reader.expanded += known.size
    if reader.expanded > MAX_EXPANDED:
        raise _Fatal(
            Diagnostic(
                code="yaml/expansion",
                message=f"the aliases of this file stand for more than {MAX_EXPANDED} values",
                span=span,
                help="write fewer aliases of aliases",
            )
        )
    return known


def _refuse_tag(reader: _Reader, event: Any, span: Span) -> None:
    tag = getattr(event, "tag", None) or getattr(event, "ctag", None)
    if tag is not None and str(tag) != "None":
        reader.report(
            "yaml/tag",
            f"tag {shown(str(tag).replace('tag:yaml.org,2002:', '!!'))} is not allowed",
            span,
            help="remove the tag; quote the value if it is meant as text",
        )


def _wants_key(reader: _Reader) -> bool:
    return bool(reader.stack) and reader.stack[-1].mapping and reader.stack[-1].key is None


def _place(reader: _Reader, built: _Built) -> Iterator[Document]:
    """Puts a finished node where it belongs; a finished document comes out."""
    node = built.node
    if not reader.stack:
        if node.value is not None:
            yield Document(reader.source, node)
        return
    frame = reader.stack[-1]
    frame.size += built.size
    frame.height = max(frame.height, built.height + 1)
    if not frame.mapping:
        frame.items.append(node.but(key=None) if node.key else node)
    elif frame.key is None:
        frame.key = node
    else:
        _enter(reader, frame, frame.key, node)
        frame.key = None


def _enter(reader: _Reader, frame: _Frame, key: Node, node: Node) -> None:
    if key.value == "<<" and not key.unsure and key.span.end_column - key.span.column == len("<<"):
        _merge_key(reader, frame, key, node)
        return
    if not isinstance(key.value, str):
        found = shown(json.dumps(key.value)) if key.is_scalar else "a list or mapping"
        help_text = "quote the key" if key.is_scalar else "write a string"
        reader.report("yaml/non-string-key", f"{found} is not a string, and keys are strings", key.span, help=help_text)
        return
    if key.unsure:
        reader.findings.append(ambiguous(key.value, key.span))
    if first := frame.fields.get(key.value):
        reader.report(
            "yaml/duplicate-key",
            f"key {shown(key.value)} stands here a second time",
            key.span,
            notes=(Note("first here", first.key),),
            help="keep one of the two",
        )
        return
    frame.fields[key.value] = node.but(key=key.span)


def _merge_key(reader: _Reader, frame: _Frame, key: Node, node: Node) -> None:
    if frame.merged:
        reader.report("yaml/duplicate-key", "key `<<` stands here a second time", key.span, help="give one `<<` a list")
        return
    sources = node.items if isinstance(node.value, tuple) else (node,)
    if not all(isinstance(source.value, Mapping) for source in sources):
        reader.report(
            "yaml/merge-key",
            "`<<` merges mappings only",
            key.span,
            help="give it an alias of a mapping, or a list of them",
        )
        return
    frame.merged.extend(sources)


def _joined_surrogates(text: str) -> str:
    """JSON writes characters beyond U+FFFF as two escapes, which YAML reads as two halves."""
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
