"""Takes the text of one YAML document, gives where its parts stand, and the text with others in their places."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from speccompile.diagnostics import CompileError, Diagnostic
from speccompile.model import Node, Source, Span
from speccompile.parse import parse
from speccompile.serialize import serialize

_DEPTH = 2
"""How far down parts are known: the items below a key."""
_DEEPEST = 500
"""Levels that a document may have: the reader's work grows with their square, and no object has a tenth of these."""
_NULLS = ("", "~", "null", "Null", "NULL")
_LINE_ENDS = "\r\n\x85\u2028\u2029"
_ESCAPED = re.compile("[\x7f-\uffff]")
_LINE_END = re.compile(rf"\r\n|[{_LINE_ENDS}]")


@dataclass(frozen=True, slots=True)
class Part:
    """A value of the text as it stands there; comments behind it are none of it."""

    start: int
    end: int
    span: Span
    value: str | None = None
    """Of a scalar, as it is written."""
    is_alias: bool = False
    """Whether it stands for a value somewhere else, whatever that is."""
    is_flow: bool = False
    """Whether it is a list or mapping in brackets."""
    items: tuple[Part, ...] | None = None
    """Of a list."""
    fields: Mapping[str, tuple[Part, Part]] | None = None
    """Of a mapping: key and value, by the text of the key."""

    @property
    def column(self) -> int:
        """How many characters stand before it in its line."""
        return self.span.column - 1

    def node(self) -> Node:
        """The part as a tree, for a schema to judge; an alias passes for a mapping."""
        if self.fields is not None:
            fields = {key: (name.span, value.node()) for key, (name, value) in self.fields.items()}
            return Node({key: Node(node.value, node.span, span) for key, (span, node) in fields.items()}, self.span)
        if self.items is not None:
            return Node(tuple(item.node() for item in self.items), self.span)
        return Node({} if self.is_alias else self.value, self.span)


class Edit(NamedTuple):
    """A stretch of the text, and what stands there instead."""

    start: int
    end: int
    text: str


def outline(source: Source) -> Part:
    """The one document of the source. Raises CompileError where there is no such thing.

    What a scalar means is not asked, except for null: values of others are not for us to judge.
    """
    from ruamel.yaml import YAML  # a third of a second cold, wanted by who reads YAML only
    from ruamel.yaml.error import YAMLError

    try:
        roots = _parts(YAML(typ="safe", pure=True).parse(source.text), source)
    except (YAMLError, ValueError, OverflowError, RecursionError):
        raise CompileError(_unreadable(source)) from None
    if len(roots) != 1:
        raise CompileError(_unreadable(source))
    return roots[0]


def _unreadable(source: Source) -> tuple[Diagnostic, ...]:
    """What the one reader of ours has against the text, or else that it is not one document."""
    several = Diagnostic(code="yaml/syntax", message="expected one document", span=Span(source, 1, 1, 1, 1))
    return parse(source).findings or (several,)


def _parts(events: Iterable[Any], source: Source) -> Sequence[Part]:
    from ruamel.yaml import events as kinds  # see outline

    opened: list[tuple[Any, list[Part]]] = [(None, [])]
    # Where the last thing ended that is more than the end of a block: blocks end where the next thing begins.
    end = 0
    for event in events:
        if isinstance(event, kinds.CollectionStartEvent):
            opened.append((event, []))
            if len(opened) > _DEEPEST:
                raise CompileError(_unreadable(source))
            continue
        if isinstance(event, kinds.CollectionEndEvent):
            start, inner = opened.pop()
            end = event.end_mark.index if start.flow_style else end
            part = _collection(start, inner, end, source)
        elif isinstance(event, (kinds.ScalarEvent, kinds.AliasEvent)):
            end = event.end_mark.index
            part = _scalar(event, source)
        else:
            continue
        if len(opened) <= _DEPTH + 1:
            opened[-1][1].append(part)
    return opened[0][1]


def _scalar(event: Any, source: Source) -> Part:
    start, end, span = event.start_mark.index, event.end_mark.index, _span(event, source)
    text = getattr(event, "value", None)
    if text is None:
        return Part(start, end, span, is_alias=True)
    return Part(start, end, span, None if event.style is None and text in _NULLS else text)


def _collection(start: Any, inner: Sequence[Part], end: int, source: Source) -> Part:
    from ruamel.yaml import events as kinds  # see outline

    at, span, is_flow = start.start_mark.index, _span(start, source), bool(start.flow_style)
    if isinstance(start, kinds.SequenceStartEvent):
        return Part(at, end, span, is_flow=is_flow, items=tuple(inner))
    pairs = [(key.value or "", (key, value)) for key, value in zip(inner[::2], inner[1::2], strict=True)]
    if len({key for key, _ in pairs}) < len(pairs):
        raise CompileError(_unreadable(source))
    return Part(at, end, span, is_flow=is_flow, fields=dict(pairs))


def _span(event: Any, source: Source) -> Span:
    start, end = event.start_mark, event.end_mark
    return Span(source, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def text_of(part: Part, text: str) -> str:
    """The text of a part alone; one without brackets has every character in the column where it stands."""
    return " " * (0 if part.is_flow else part.column) + text[part.start : part.end]


def edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits, which do not overlap."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(edits):
        pieces += (text[at:start], new)
        at = end
    return "".join((*pieces, text[at:]))


Values = Sequence[Mapping[str, Any]]


def replaced(items: Part, index: int, values: Values, text: str) -> Edit:
    """One item of a list gives way to others."""
    item = items.items[index] if items.items else items
    if items.is_flow:
        return Edit(item.start, item.end, _flow(values)[1:-1])
    start = _dash_line(item, items, text)
    return Edit(start, line_end(item.end, text), block(values, items.column))


def appended(root: Part, key: str, values: Values, text: str) -> Edit:
    """A list below a key of the document has more items, or comes into being with these."""
    name, items = (root.fields or {}).get(key, (None, None))
    if name is None or items is None:
        if root.is_flow:
            comma = ", " if root.fields else ""
            return Edit(root.end - 1, root.end - 1, f'{comma}"{key}": {_flow(values)}')
        end = line_end(root.end, text)
        return Edit(end, end, f"{_break_before(end, text)}{' ' * root.column}{key}:\n{block(values, root.column)}")
    if not items.items:
        if root.is_flow:
            return Edit(name.start, items.end, f'"{key}": {_flow(values)}')
        end = line_end(max(items.end, name.end), text)
        return Edit(name.start, end, f"{key}:\n{block(values, root.column)}")
    last = items.items[-1].end
    if items.is_flow:
        return Edit(last, last, f", {_flow(values)[1:-1]}")
    end = line_end(last, text)
    return Edit(end, end, _break_before(end, text) + block(values, items.column))


def _flow(values: Values) -> str:
    """The values as JSON that is YAML too, where characters beyond the first 65536 cannot be escaped in pairs."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(values, ensure_ascii=False))


def block(values: Values, column: int) -> str:
    """The values as items of a list whose dashes stand in the column."""
    lead = " " * column
    texts = (serialize([value]).rstrip("\n").replace("\n", f"\n{lead}  ") for value in values)
    return "".join(f"{lead}- {text}\n" for text in texts)


def _dash_line(item: Part, items: Part, text: str) -> int:
    """Where the line begins on which the dash of the item stands; up to it there are only comments."""
    lead = " " * items.column + "-"
    start = _line_start(item.start, text)
    while start and not text.startswith(lead, start):
        start = _line_start(start - 1, text)
    return start


def _line_start(index: int, text: str) -> int:
    return max(text.rfind(end, 0, index) for end in _LINE_ENDS) + 1


def line_end(index: int, text: str) -> int:
    """Behind the line in which something ends; at the index itself, if that is where a line begins."""
    if not _break_before(index, text):
        return index
    found = _LINE_END.search(text, index)
    return found.end() if found else len(text)


def _break_before(index: int, text: str) -> str:
    """What must stand before a new line at the index."""
    return "\n" if index and text[index - 1] not in _LINE_ENDS else ""
