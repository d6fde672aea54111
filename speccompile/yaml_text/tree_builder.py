"""Build documents from the events of a YAML parser, and check them.

The tree is built iteratively; depth, aliases, duplicate keys, tags and ambiguous scalars are checked on the way.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ruamel.yaml import events as kinds
from ruamel.yaml.events import Event

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, NodeValue
from speccompile.model.source import Source, Span, lines_of
from speccompile.yaml_text.parsed import MAX_DEPTH, MAX_EXPANDED, control_character
from speccompile.yaml_text.plain_scalars import Ambiguous, Exponent, OutOfRange, ambiguous, resolve

_ANCHOR = re.compile(r"&\S+[ \t]+(?=\S)")
_DASH_KEY = re.compile(r"-\w")
_FLOW_SIGNS = frozenset(",]}")
_SURROGATES = re.compile("[\ud800-\udfff]")


class FatalFinding(Exception):  # noqa: N818  it ends the parsing of one source, and is caught in `parse_strict`
    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.finding = finding


class _Built(NamedTuple):
    """A finished node, its weight in the budget of expansion, and its number of levels."""

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


class Reader:
    """The state of parsing one source."""

    __slots__ = ("anchors", "expanded", "findings", "source", "stack")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.findings: list[Diagnostic] = []
        self.anchors: dict[str, _Built | None] = {}
        """The value of each anchor; None while it is being read."""
        self.expanded = 0
        self.stack: list[_Frame] = []

    def span(self, event: Event) -> Span:
        start, end = event.start_mark, event.end_mark
        assert start is not None
        assert end is not None
        # An anchor is part of the event, but not of the value.
        anchor = _ANCHOR.match(self.source.text, start.index) if getattr(event, "anchor", None) else None
        before = len(anchor.group()) if anchor else 0
        return Span(self.source, start.line + 1, start.column + 1 + before, end.line + 1, end.column + 1)

    def report(self, code: str, message: str, span: Span, **more: Any) -> None:
        self.findings.append(Diagnostic(code=code, message=message, span=span, **more))


def build_documents(events: Iterable[Event], reader: Reader) -> Iterator[Document]:
    """Build documents from events; findings go to the reader."""
    for event in events:
        match event:
            case kinds.DocumentStartEvent():
                reader.anchors.clear()
            case kinds.MappingStartEvent() | kinds.SequenceStartEvent():
                _open(reader, event, mapping=isinstance(event, kinds.MappingStartEvent))
            case kinds.MappingEndEvent() | kinds.SequenceEndEvent():
                yield from _place_node(reader, _close(reader, event))
            case kinds.ScalarEvent():
                yield from _place_node(reader, _Built(_scalar(reader, event), _weight(event.value)))
            case kinds.AliasEvent():
                yield from _place_node(reader, _alias(reader, event))


def _open(reader: Reader, event: Any, *, mapping: bool) -> None:
    span = reader.span(event)
    _refuse_tag(reader, event, span)
    _refuse_depth(len(reader.stack) + 1, span)
    if event.anchor:
        reader.anchors[event.anchor] = None
    reader.stack.append(_Frame(span, event.anchor, mapping=mapping))


def _refuse_depth(depth: int, span: Span) -> None:
    if depth > MAX_DEPTH:
        raise FatalFinding(
            Diagnostic(
                code="yaml/too-deep",
                message=f"nested more than {MAX_DEPTH} levels deep",
                span=span,
                help="flatten the document; no run or profile needs this many levels",
            )
        )


def _close(reader: Reader, event: Any) -> _Built:
    frame = reader.stack.pop()
    end = event.end_mark
    span = frame.start._replace(end_line=end.line + 1, end_column=end.column + 1)
    value: NodeValue = tuple(frame.items)
    if frame.mapping:
        # As YAML defines it, explicit keys override merged ones, and the first of several merged maps the others.
        fields = dict(frame.fields)
        for merged in frame.merged:
            for key, child in merged.fields.items():
                fields.setdefault(key, child)
        value = fields
    built = _Built(Node(value, span), frame.size, frame.height)
    if frame.anchor:
        reader.anchors[frame.anchor] = built
    return built


def _scalar(reader: Reader, event: Any) -> Node:
    span = reader.span(event)
    _refuse_tag(reader, event, span)
    text = _joined_surrogates(event.value)
    node = Node(text, span)
    if character := control_character(text):
        reader.report(
            "yaml/control-character",
            f"character U+{ord(character):04X} is not allowed, even as an escape",
            span,
            help="remove it; only tabs, line ends and printable characters are allowed",
        )
    elif event.style is None or event.style == "":
        node = _plain_scalar(reader, text, span)
    if event.anchor:
        reader.anchors[event.anchor] = _Built(node, _weight(text))
    return node


def _weight(text: str) -> int:
    """The weight of a scalar in the budget of expansion: repeating a long text is also a bomb."""
    return 1 + len(text) // 100


def _plain_scalar(reader: Reader, text: str, span: Span) -> Node:
    value = resolve(text)
    if isinstance(value, Exponent):
        return Node(text, span, unsure=True)
    if isinstance(value, Ambiguous) and not (text == "<<" and _wants_key(reader)):
        reader.findings.append(ambiguous(text, span))
    if text.endswith(":") and _is_before_flow_sign(span):
        reader.report(
            "yaml/ambiguous-scalar",
            f"{quote(text)} is a key to some YAML readers, and text with a colon to others",
            span,
            help="put a space after the colon if it is a key; otherwise quote the text",
        )
    if isinstance(value, OutOfRange):
        reader.report(
            "yaml/number",
            f"{quote(text)} is not a finite 64-bit number",
            span,
            help="write a smaller number, or quote the value if it is text",
        )
    return Node(text if isinstance(value, str) else value, span)


def _is_before_flow_sign(span: Span) -> bool:
    """Whether the scalar is directly followed by `,` or a closing bracket, as in `{gpu:}`."""
    return lines_of(span.source)[span.end_line - 1][span.end_column - 1 : span.end_column] in _FLOW_SIGNS


def _alias(reader: Reader, event: Any) -> _Built:
    span = reader.span(event)
    if event.anchor not in reader.anchors:
        raise FatalFinding(
            Diagnostic(
                code="yaml/unknown-alias",
                message=f"alias {quote('*' + event.anchor)} has no anchor before it in this document",
                span=span,
                help=f"define it first: {quote('&' + event.anchor)}; or quote a text that begins with `*`",
            )
        )
    anchored = reader.anchors[event.anchor]
    if anchored is None:
        raise FatalFinding(
            Diagnostic(
                code="yaml/recursive-alias",
                message=f"alias {quote('*' + event.anchor)} is inside the value that it names",
                span=span,
                help="write the inner value out",
            )
        )
    _refuse_depth(len(reader.stack) + anchored.height, span)
    reader.expanded += anchored.size
    if reader.expanded > MAX_EXPANDED:
        raise FatalFinding(
            Diagnostic(
                code="yaml/expansion",
                message=f"the aliases of this file expand to more than {MAX_EXPANDED} values",
                span=span,
                help="use fewer aliases of aliases",
            )
        )
    return anchored


def _refuse_tag(reader: Reader, event: Any, span: Span) -> None:
    tag = getattr(event, "tag", None) or getattr(event, "ctag", None)
    if tag is not None and str(tag) != "None":
        reader.report(
            "yaml/tag",
            f"tag {quote(str(tag).replace('tag:yaml.org,2002:', '!!'))} is not allowed",
            span,
            help="remove the tag, or quote the value if it is text",
        )


def _wants_key(reader: Reader) -> bool:
    return bool(reader.stack) and reader.stack[-1].mapping and reader.stack[-1].key is None


def _place_node(reader: Reader, built: _Built) -> Iterator[Document]:
    """Add a finished node to its container; yield it as a document if it has none."""
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


def _enter(reader: Reader, frame: _Frame, key: Node, node: Node) -> None:
    if key.value == "<<" and not key.unsure and key.span.end_column - key.span.column == len("<<"):
        _merge_key(reader, frame, key, node)
        return
    if not isinstance(key.value, str):
        message = f"key {quote(json.dumps(key.value))} is not a string" if key.is_scalar else "a key must be a string"
        help_text = "quote the key" if key.is_scalar else "write a string"
        if _is_template(key.span):
            help_text = "put a value that contains `{{` in quotes"
        reader.report("yaml/non-string-key", message, key.span, help=help_text)
        return
    if key.unsure:
        reader.findings.append(ambiguous(key.value, key.span))
    if first := frame.fields.get(key.value):
        reader.report(
            "yaml/duplicate-key",
            f"duplicate key {quote(key.value)}",
            key.span,
            notes=(Note("first here", first.key),),
            help="put a space after `-`" if _DASH_KEY.match(key.value) else "keep one of the two",
        )
        return
    frame.fields[key.value] = node.but(key=key.span)


def _is_template(span: Span) -> bool:
    """Whether a mapping opens with `{{`, as placeholders of template languages do."""
    return lines_of(span.source)[span.line - 1][span.column - 2 : span.column] == "{{"


def _merge_key(reader: Reader, frame: _Frame, key: Node, node: Node) -> None:
    if frame.merged:
        reader.report("yaml/duplicate-key", "duplicate key `<<`", key.span, help="write one `<<` with a list")
        return
    sources = node.items if isinstance(node.value, tuple) else (node,)
    if not all(isinstance(source.value, Mapping) for source in sources):
        reader.report(
            "yaml/merge-key",
            "`<<` merges only mappings",
            key.span,
            help="write an alias of a mapping after it, or a list of such aliases",
        )
        return
    frame.merged.extend(sources)


def _joined_surrogates(text: str) -> str:
    """Join the two escapes with which JSON writes a character beyond U+FFFF; YAML reads them as two characters."""
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
