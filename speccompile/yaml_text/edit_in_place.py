"""Positions of the parts of a YAML document, and edits that keep every other byte."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml import events as kinds
from ruamel.yaml.error import YAMLError

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.plain_scalars import resolve
from speccompile.yaml_text.serialize import serialize

_DEPTH = 2
"""How far down parts are known: the items below a key."""
_DEEPEST = 500
"""Levels that a document may have: the reader's work grows with their square, and no object has a tenth of these."""
_NULLS = ("", "~", "null", "Null", "NULL")
_LINE_ENDS = "\r\n\x85\u2028\u2029"
_ESCAPED = re.compile("[\x7f-\uffff]")
_LINE_END = re.compile(rf"\r\n|[{_LINE_ENDS}]")
_BEFORE_ITEM = re.compile(rf"( *)(-?)[ \t]*(?:#[^{_LINE_ENDS}]*)?[{_LINE_ENDS}]*")


@dataclass(frozen=True, slots=True)
class Part:
    """A value of the text as it stands there; comments behind it are none of it."""

    start: int
    end: int
    span: Span
    value: str | None = None
    """Of a scalar, as it is written."""
    is_plain: bool = False
    """Whether it is a scalar without quotes, which may be something else than text."""
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
        if self.is_alias:
            return Node({}, self.span)
        return Node(resolve(self.value) if self.is_plain and self.value is not None else self.value, self.span)


class Edit(NamedTuple):
    """A stretch of the text, and what stands there instead."""

    start: int
    end: int
    text: str


class Alias(NamedTuple):
    """A place that stands for a value somewhere else."""

    name: str
    start: int
    span: Span
    anchor: int
    """Where the value begins."""


class Outline(NamedTuple):
    """The one document of a text."""

    source: Source
    root: Part
    aliases: tuple[Alias, ...]
    """Those at any depth, but for such as stand for nothing."""


def outline(source: Source) -> Outline:
    """The one document of the source. Raises CompileError where there is no such thing.

    What a scalar means is not asked, except for null: values of others are not for us to judge.
    """
    aliases: list[Alias] = []
    try:
        events = _noting(YAML(typ="safe", pure=True).parse(source.text), source, aliases)
        roots = _parts(events, source)
    except (YAMLError, ValueError, OverflowError, RecursionError):
        raise CompileError(_unreadable(source)) from None
    if len(roots) != 1:
        raise CompileError(_unreadable(source))
    return Outline(source, roots[0], tuple(aliases))


def _noting(events: Iterable[Any], source: Source, aliases: list[Alias]) -> Iterator[Any]:
    """The events as they are; `aliases` gains every alias with what its anchor means there."""
    anchors: dict[str, int] = {}
    for event in events:
        name = getattr(event, "anchor", None)
        if name is not None and not isinstance(event, kinds.AliasEvent):
            anchors[name] = event.start_mark.index
        elif name in anchors:
            aliases.append(Alias(name, event.start_mark.index, _span(event, source), anchors[name]))
        yield event


def _unreadable(source: Source) -> tuple[Diagnostic, ...]:
    """What the one reader of ours has against the text, or else that it is not one document."""
    several = Diagnostic(code="yaml/syntax", message="expected one document", span=Span(source, 1, 1, 1, 1))
    return parse(source).findings or (several,)


def _parts(events: Iterable[Any], source: Source) -> Sequence[Part]:
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
    is_plain = event.style is None
    return Part(start, end, span, None if is_plain and text in _NULLS else text, is_plain)


def _collection(start: Any, inner: Sequence[Part], end: int, source: Source) -> Part:
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


Values = Sequence[Mapping[str, Any]]
_NOTHING: Mapping[int, Values] = MappingProxyType({})


def rewritten(known: Outline, key: str, added: Mapping[str, Values], replaced: Mapping[int, Values] = _NOTHING) -> str:
    """The text with values in place of items of the list below the key, and values behind the last ones of lists.

    All else is as it was, to the byte. Raises CompileError where the text is written so that this cannot be done.
    """
    root, text = known.root, known.source.text
    fields = root.fields or {}
    more = {name: values for name, values in added.items() if values}
    edits = [_replaced(fields[key][1], index, values, text) for index, values in replaced.items()]
    edits += [_appended(root, name, values, text) for name, values in more.items()]
    if not edits:
        return text
    changed = {*more, *((key,) if replaced else ())}
    stop_if_any(_loose(known.aliases, edits, {fields[name][1].start for name in changed & fields.keys()}))
    new = _edited(text, edits)
    if _has_marked_keys(root, text) or not _is_as_meant(known, new, _wanted(known, key, more, replaced)):
        raise CompileError([_unsafe(root.span)])
    return new


def _unsafe(span: Span) -> Diagnostic:
    return Diagnostic(
        code="yaml/uneditable",
        message="this ResourceList cannot be edited safely",
        span=span,
        help="write it in plain block style, without anchors, tags and `?`",
    )


def _loose(aliases: Iterable[Alias], edits: Iterable[Edit], lists: Collection[int]) -> Iterator[Diagnostic]:
    """A finding for each alias that would be left without its anchor, or stand for a list that changes."""
    stretches = sorted((start, end) for start, end, _ in edits if start < end)
    starts = [start for start, _ in stretches]
    for alias in aliases:
        before = bisect_right(starts, alias.anchor)
        start, end = stretches[before - 1] if before else (0, 0)
        if alias.anchor in lists or (start <= alias.anchor < end and not start <= alias.start < end):
            yield Diagnostic(
                code="yaml/unknown-alias",
                message=f"alias {quote('*' + alias.name)} stands for something that manifests take the place of",
                span=alias.span,
                help="write the value out",
            )


def _has_marked_keys(root: Part, text: str) -> bool:
    """Whether something stands before a key, which is a `?`: its value has a place of its own then."""
    names = [name for name, _ in (root.fields or {}).values()]
    return not root.is_flow and any(text[name.start - name.column : name.start].strip() for name in names)


Texts = dict[str, list[str | None]]
"""By key of the document, the texts of its list's items, or of its value."""


def _texts(root: Part, text: str, lists: Collection[str]) -> Texts:
    parts = {name: part for name, (_, part) in (root.fields or {}).items()}
    inner = {name: (part.items or ()) if name in lists else (part,) for name, part in parts.items()}
    return {name: [text[part.start : part.end] for part in some] for name, some in inner.items()}


def _wanted(known: Outline, key: str, added: Mapping[str, Values], replaced: Mapping[int, Values]) -> Texts:
    """What the document is to hold; None is a new item, whose text is not asked for."""
    wanted = _texts(known.root, known.source.text, {*added, *((key,) if replaced else ())})
    for index, values in sorted(replaced.items(), reverse=True):
        wanted[key][index : index + 1] = [None] * len(values)
    for name, values in added.items():
        wanted.setdefault(name, []).extend([None] * len(values))
    return wanted


def _is_as_meant(known: Outline, new: str, wanted: Texts) -> bool:
    """Whether the new text, read again, holds what it should: no way of writing YAML may cost anybody a resource."""
    try:
        after = outline(Source(known.source.name, new, known.source.layer))
    except CompileError:
        return False
    found = _texts(after.root, new, {name for name, texts in wanted.items() if None in texts})
    return list(found) == list(wanted) and all(
        len(texts) == len(found[name])
        and all(one in (None, other) for one, other in zip(texts, found[name], strict=True))
        for name, texts in wanted.items()
    )


def _edited(text: str, edits: Iterable[Edit]) -> str:
    """The text with all edits, which do not overlap; of two in one place the first comes first."""
    pieces: list[str] = []
    at = 0
    for start, end, new in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        pieces += (text[at:start], new)
        at = end
    return "".join((*pieces, text[at:]))


def _replaced(items: Part, index: int, values: Values, text: str) -> Edit:
    """One item of a list gives way to others."""
    item = (items.items or ())[index]
    if items.is_flow:
        return Edit(item.start, item.end, _flow(values)[1:-1])
    start, column = _dash(item, text)
    return Edit(start, _line_end(item.end, text), _block(values, column))


def _appended(root: Part, key: str, values: Values, text: str) -> Edit:
    """A list below a key of the document has more items, or comes into being with these."""
    pairs = tuple((root.fields or {}).values())
    name, items = (root.fields or {}).get(key, (None, None))
    if name is None or items is None:
        (first, _), (_, last) = pairs[0], pairs[-1]
        if root.is_flow:
            return Edit(last.end, last.end, f', "{key}": {_flow(values)}')
        end = _line_end(root.end, text)
        lead = _break_before(end, text) + " " * first.column
        return Edit(end, end, f"{lead}{key}:\n{_block(values, first.column)}")
    if not items.items:
        if root.is_flow:
            return Edit(name.start, items.end, f'"{key}": {_flow(values)}')
        end = _line_end(max(items.end, name.end), text)
        return Edit(name.start, end, f"{key}:\n{_block(values, name.column)}")
    last = items.items[-1]
    if items.is_flow:
        return Edit(last.end, last.end, f", {_flow(values)[1:-1]}")
    end = _line_end(last.end, text)
    return Edit(end, end, _break_before(end, text) + _block(values, _dash(last, text)[1]))


def _flow(values: Values) -> str:
    """The values as JSON that is YAML too, where characters beyond the first 65536 cannot be escaped in pairs."""
    return _ESCAPED.sub(lambda found: f"\\u{ord(found.group()):04x}", json.dumps(values, ensure_ascii=False))


def _block(values: Values, column: int) -> str:
    """The values as items of a list whose dashes stand in the column."""
    lead = " " * column
    texts = (serialize([value]).rstrip("\n").replace("\n", f"\n{lead}  ") for value in values)
    return "".join(f"{lead}- {text}\n" for text in texts)


def _dash(item: Part, text: str) -> tuple[int, int]:
    """Where the line begins on which the dash of the item stands, and its column; up to it there are only comments.

    Raises CompileError where there is no such line.
    """
    start, end = item.start - item.column, item.start
    while found := _BEFORE_ITEM.fullmatch(text, start, end):
        if found[2]:
            return start, len(found[1])
        if not start:
            break
        start, end = _line_start(start - 1, text), start
    raise CompileError([_unsafe(item.span)])


def _line_start(index: int, text: str) -> int:
    return max(text.rfind(end, 0, index) for end in _LINE_ENDS) + 1


def _line_end(index: int, text: str) -> int:
    """Behind the line in which something ends; at the index itself, if that is where a line begins."""
    if not _break_before(index, text):
        return index
    found = _LINE_END.search(text, index)
    return found.end() if found else len(text)


def _break_before(index: int, text: str) -> str:
    """What must stand before a new line at the index."""
    return "\n" if index and text[index - 1] not in _LINE_ENDS else ""
