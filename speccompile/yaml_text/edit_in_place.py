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
from speccompile.model.full_path import FULL_PATH
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parse_lines import parse_fast
from speccompile.yaml_text.plain_scalars import resolve
from speccompile.yaml_text.serialize import serialize

_DEPTH = 2
"""Levels of parts that are recorded: the items below a key."""
_MAX_LEVELS = 500
"""Levels that a document may have; the parser needs time in proportion to their square."""
_NULLS = ("", "~", "null", "Null", "NULL")
_LINE_ENDS = "\r\n\x85\u2028\u2029"
_ESCAPED = re.compile("[\x7f-\uffff]")
_LINE_END = re.compile(rf"\r\n|[{_LINE_ENDS}]")
_BEFORE_ITEM = re.compile(rf"( *)(-?)[ \t]*(?:#[^{_LINE_ENDS}]*)?[{_LINE_ENDS}]*")


@dataclass(frozen=True, slots=True)
class YamlPart:
    """A value as it is written in the text, without comments after it."""

    start: int
    end: int
    span: Span
    value: str | None = None
    """The text of a scalar."""
    is_plain: bool = False
    """Whether it is a scalar without quotes, which may be a number, a boolean or null."""
    is_alias: bool = False
    is_flow: bool = False
    """Whether it is a list or mapping in brackets."""
    items: tuple[YamlPart, ...] | None = None
    """The items of a list."""
    fields: Mapping[str, tuple[YamlPart, YamlPart]] | None = None
    """Key and value of each pair of a mapping, by the text of the key."""

    @property
    def column(self) -> int:
        """The number of characters before it in its line."""
        return self.span.column - 1

    def node(self) -> Node:
        """The part as a tree, to be validated; an alias counts as a mapping."""
        if self.fields is not None:
            fields = {key: (name.span, value.node()) for key, (name, value) in self.fields.items()}
            return Node({key: Node(node.value, node.span, span) for key, (span, node) in fields.items()}, self.span)
        if self.items is not None:
            return Node(tuple(item.node() for item in self.items), self.span)
        if self.is_alias:
            return Node({}, self.span)
        return Node(resolve(self.value) if self.is_plain and self.value is not None else self.value, self.span)


class TextEdit(NamedTuple):
    """A range of the text and its replacement."""

    start: int
    end: int
    text: str


class Alias(NamedTuple):
    """An alias, and the anchor that it refers to."""

    name: str
    start: int
    span: Span
    anchor: int
    """The index at which the anchored value begins."""


class Outline(NamedTuple):
    """The one document of a text."""

    source: Source
    root: YamlPart
    aliases: tuple[Alias, ...]
    """Aliases at any depth whose anchor exists."""


def read_outline(source: Source) -> Outline:
    """Locate the parts of the only document of a source. Raises CompileError if it does not have exactly one.

    Scalars are not interpreted, except for null: the document may belong to other tools.
    """
    aliases: list[Alias] = []
    roots = None if FULL_PATH.get() else _fast_parts(source)
    try:
        if roots is None:
            events = _record_aliases(YAML(typ="safe", pure=True).parse(source.text), source, aliases)
            roots = _build_parts(events, source)
    except (YAMLError, AssertionError, ValueError, OverflowError, RecursionError):
        # ruamel.yaml checks %YAML versions by assertion.
        raise CompileError(_refusal(source)) from None
    if len(roots) != 1:
        raise CompileError(_refusal(source))
    return Outline(source, roots[0], tuple(aliases))


def _fast_parts(source: Source) -> Sequence[YamlPart] | None:
    """The parts of a text without aliases; None if only the exact parser can locate them."""
    parsed = parse_fast(source)
    if parsed is None:
        return None
    lines = [0, *(match.end() for match in re.finditer("\n", source.text))]
    return [_part(document.root, lines) for document in parsed.documents]


def _part(node: Node, lines: Sequence[int], depth: int = 0) -> YamlPart:
    """The part for a node of the fast parser; `lines` are the indexes at which lines begin."""
    span, text = node.span, node.span.source.text
    start = _start(span, lines)
    is_flow = not node.is_scalar and text[start] in "[{"
    if node.is_scalar:
        end = _end(span, lines)
        is_plain = node.value is None or text[start] not in "\"'|>"
        value = node.value if node.value is None or isinstance(node.value, str) else text[start:end]
        return YamlPart(start, end, span, value, is_plain)
    last = node
    while not (last.is_scalar or text[_start(last.span, lines)] in "[{"):
        last = last.items[-1] if last.items else list(last.fields.values())[-1]
    end = _end(last.span, lines)
    is_beside_key = bool(node.items) and node.key is not None and node.key.column == span.column
    opening = span._replace(end_line=span.line, end_column=span.column + (is_flow or is_beside_key))
    if isinstance(node.value, tuple):
        items = tuple(_part(item, lines, depth + 1) for item in node.items) if depth < _DEPTH else ()
        return YamlPart(start, end, opening, is_flow=is_flow, items=items)
    fields: dict[str, tuple[YamlPart, YamlPart]] = {}
    for key, child in node.fields.items() if depth < _DEPTH else ():
        assert child.key is not None
        at = _start(child.key, lines)
        name = YamlPart(at, _end(child.key, lines), child.key, key, text[at] not in "\"'")
        fields[key] = (name, _part(child, lines, depth + 1))
    return YamlPart(start, end, opening, is_flow=is_flow, fields=fields)


def _start(span: Span, lines: Sequence[int]) -> int:
    return lines[span.line - 1] + span.column - 1


def _end(span: Span, lines: Sequence[int]) -> int:
    return lines[span.end_line - 1] + span.end_column - 1


def _record_aliases(events: Iterable[Any], source: Source, aliases: list[Alias]) -> Iterator[Any]:
    """Pass the events on, and add every alias whose anchor exists to `aliases`."""
    anchors: dict[str, int] = {}
    for event in events:
        name = getattr(event, "anchor", None)
        if name is not None and not isinstance(event, kinds.AliasEvent):
            anchors[name] = event.start_mark.index
        elif name in anchors:
            aliases.append(Alias(name, event.start_mark.index, _span(event, source), anchors[name]))
        yield event


def _refusal(source: Source) -> tuple[Diagnostic, ...]:
    """The findings of the parser, or else that the text is not one document."""
    not_one = Diagnostic(code="yaml/syntax", message="expected one document", span=Span(source, 1, 1, 1, 1))
    return parse(source).findings or (not_one,)


def _build_parts(events: Iterable[Any], source: Source) -> Sequence[YamlPart]:
    opened: list[tuple[Any, list[YamlPart]]] = [(None, [])]
    # The end of the last scalar or bracket: the parser ends a block only where the next token begins.
    end = 0
    for event in events:
        if isinstance(event, kinds.CollectionStartEvent):
            opened.append((event, []))
            if len(opened) > _MAX_LEVELS:
                raise CompileError(_refusal(source))
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


def _scalar(event: Any, source: Source) -> YamlPart:
    start, end, span = event.start_mark.index, event.end_mark.index, _span(event, source)
    text = getattr(event, "value", None)
    if text is None:
        return YamlPart(start, end, span, is_alias=True)
    is_plain = not event.style
    return YamlPart(start, end, span, None if is_plain and text in _NULLS else text, is_plain)


def _collection(start: Any, inner: Sequence[YamlPart], end: int, source: Source) -> YamlPart:
    at, span, is_flow = start.start_mark.index, _span(start, source), bool(start.flow_style)
    if isinstance(start, kinds.SequenceStartEvent):
        return YamlPart(at, end, span, is_flow=is_flow, items=tuple(inner))
    pairs = [(key.value or "", (key, value)) for key, value in zip(inner[::2], inner[1::2], strict=True)]
    if len({key for key, _ in pairs}) < len(pairs):
        raise CompileError(_refusal(source))
    return YamlPart(at, end, span, is_flow=is_flow, fields=dict(pairs))


def _span(event: Any, source: Source) -> Span:
    start, end = event.start_mark, event.end_mark
    return Span(source, start.line + 1, start.column + 1, end.line + 1, end.column + 1)


def part_text(part: YamlPart, text: str) -> str:
    """The text of a part alone; without brackets, it is padded so that all its lines keep their columns."""
    return " " * (0 if part.is_flow else part.column) + text[part.start : part.end]


NewItems = Sequence[Mapping[str, Any]]
_NO_REPLACEMENTS: Mapping[int, NewItems] = MappingProxyType({})


def rewrite_lists(
    outline: Outline, key: str, added: Mapping[str, NewItems], replaced: Mapping[int, NewItems] = _NO_REPLACEMENTS
) -> str:
    """Replace items of the list under `key` by index, and append `added` items to lists by key.

    Every other byte is unchanged. Raises CompileError if the way the text is written does not allow this.
    """
    root, text = outline.root, outline.source.text
    fields = root.fields or {}
    more = {name: values for name, values in added.items() if values}
    edits = [_replace_item(fields[key][1], index, values, text) for index, values in replaced.items()]
    edits += [_append_items(root, name, values, text) for name, values in more.items()]
    if not edits:
        return text
    changed = {*more, *((key,) if replaced else ())}
    stop_if_any(_broken_aliases(outline.aliases, edits, {fields[name][1].start for name in changed & fields.keys()}))
    new = _apply(text, edits)
    if _has_explicit_keys(root, text) or not _matches(outline, new, _expected_texts(outline, key, more, replaced)):
        raise CompileError([_unsafe(root.span)])
    return new


def _unsafe(span: Span) -> Diagnostic:
    return Diagnostic(
        code="yaml/uneditable",
        message="this ResourceList cannot be edited safely",
        span=span,
        help="write it in plain block style, without anchors, tags and `?`",
    )


def _broken_aliases(
    aliases: Iterable[Alias], edits: Iterable[TextEdit], lists: Collection[int]
) -> Iterator[Diagnostic]:
    """A finding for each alias that would lose its anchor, or that repeats a list that changes."""
    ranges = sorted((start, end) for start, end, _ in edits if start < end)
    starts = [start for start, _ in ranges]
    for alias in aliases:
        before = bisect_right(starts, alias.anchor)
        start, end = ranges[before - 1] if before else (0, 0)
        if alias.anchor in lists or (start <= alias.anchor < end and not start <= alias.start < end):
            yield Diagnostic(
                code="yaml/unknown-alias",
                message=f"alias {quote('*' + alias.name)} refers to something that manifests replace",
                span=alias.span,
                help="write the value out",
            )


def _has_explicit_keys(root: YamlPart, text: str) -> bool:
    """Whether a key is written with `?`, so that its value can be anywhere."""
    names = [name for name, _ in (root.fields or {}).values()]
    return not root.is_flow and any(text[name.start - name.column : name.start].strip() for name in names)


ItemTexts = dict[str, list[str | None]]
"""By key of the document, the texts of the items of its list, or of its value; None is a new item."""


def _texts(root: YamlPart, text: str, lists: Collection[str]) -> ItemTexts:
    parts = {name: part for name, (_, part) in (root.fields or {}).items()}
    inner = {name: (part.items or ()) if name in lists else (part,) for name, part in parts.items()}
    return {name: [text[part.start : part.end] for part in some] for name, some in inner.items()}


def _expected_texts(
    outline: Outline, key: str, added: Mapping[str, NewItems], replaced: Mapping[int, NewItems]
) -> ItemTexts:
    """The contents of the document after the edits."""
    expected = _texts(outline.root, outline.source.text, {*added, *((key,) if replaced else ())})
    for index, values in sorted(replaced.items(), reverse=True):
        expected[key][index : index + 1] = [None] * len(values)
    for name, values in added.items():
        expected.setdefault(name, []).extend([None] * len(values))
    return expected


def _matches(outline: Outline, new: str, expected: ItemTexts) -> bool:
    """Whether the new text, parsed again, has the expected contents: an edit must never damage other resources."""
    try:
        after = read_outline(Source(outline.source.name, new, outline.source.layer))
    except CompileError:
        return False
    actual = _texts(after.root, new, {name for name, texts in expected.items() if None in texts})
    return list(actual) == list(expected) and all(
        len(texts) == len(actual[name])
        and all(one in (None, other) for one, other in zip(texts, actual[name], strict=True))
        for name, texts in expected.items()
    )


def _apply(text: str, edits: Iterable[TextEdit]) -> str:
    """Apply edits that do not overlap; two insertions at one index keep their order."""
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(edits, key=lambda edit: (edit.start, edit.end)):
        parts += (text[at:start], new)
        at = end
    return "".join((*parts, text[at:]))


def _replace_item(items: YamlPart, index: int, values: NewItems, text: str) -> TextEdit:
    """Replace one item of a list by any number of items."""
    item = (items.items or ())[index]
    if items.is_flow:
        return TextEdit(item.start, item.end, _flow(values)[1:-1])
    start, column = _find_dash(item, text)
    return TextEdit(start, _line_end(item.end, text), _block(values, column))


def _append_items(root: YamlPart, key: str, values: NewItems, text: str) -> TextEdit:
    """Append items to the list under a key of the document, which is created if it does not exist."""
    pairs = tuple((root.fields or {}).values())
    name, items = (root.fields or {}).get(key, (None, None))
    if name is None or items is None:
        (first, _), (_, last) = pairs[0], pairs[-1]
        if root.is_flow:
            return TextEdit(last.end, last.end, f', "{key}": {_flow(values)}')
        end = _line_end(root.end, text)
        lead = _line_break_before(end, text) + " " * first.column
        return TextEdit(end, end, f"{lead}{key}:\n{_block(values, first.column)}")
    if not items.items:
        if root.is_flow:
            return TextEdit(name.start, items.end, f'"{key}": {_flow(values)}')
        end = _line_end(max(items.end, name.end), text)
        return TextEdit(name.start, end, f"{key}:\n{_block(values, name.column)}")
    last = items.items[-1]
    if items.is_flow:
        return TextEdit(last.end, last.end, f", {_flow(values)[1:-1]}")
    end = _line_end(last.end, text)
    return TextEdit(end, end, _line_break_before(end, text) + _block(values, _find_dash(last, text)[1]))


def _flow(values: NewItems) -> str:
    """The values as JSON that is also YAML, in which surrogate pairs of escapes are not allowed."""
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(values, ensure_ascii=False))


def _block(values: NewItems, column: int) -> str:
    """The values as items of a list whose dashes are in the column."""
    lead = " " * column
    texts = (serialize([value]).rstrip("\n").replace("\n", f"\n{lead}  ") for value in values)
    return "".join(f"{lead}- {text}\n" for text in texts)


def _find_dash(item: YamlPart, text: str) -> tuple[int, int]:
    """The start of the line with the dash of the item, and the column of the dash.

    Between them and the item there are only comments. Raises CompileError if there is no such line.
    """
    start, end = item.start - item.column, item.start
    while match := _BEFORE_ITEM.fullmatch(text, start, end):
        if match[2]:
            return start, len(match[1])
        if not start:
            break
        start, end = 1 + max(text.rfind(line_end, 0, start - 1) for line_end in _LINE_ENDS), start
    raise CompileError([_unsafe(item.span)])


def _line_end(index: int, text: str) -> int:
    """The index after the line that contains `index`; `index` itself if a line begins there."""
    if not _line_break_before(index, text):
        return index
    match = _LINE_END.search(text, index)
    return match.end() if match else len(text)


def _line_break_before(index: int, text: str) -> str:
    """The line break needed before a new line at the index."""
    return "\n" if index and text[index - 1] not in _LINE_ENDS else ""
