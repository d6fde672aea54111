"""Fast parser for common YAML and JSON, line by line, for text with nothing to report.

It returns the values and positions of the exact parser, or declines: anchors, aliases, tags, directives, `?`, tabs, and
whatever the exact parser would report. The tests search for differences.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final

from speccompile.model.documents import Document
from speccompile.model.node import Node, NodeValue, Scalar
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed, control_character
from speccompile.yaml_text.plain_scalars import Ambiguous, Exponent, OutOfRange, resolve

_DOCUMENT = "---"
# A plain scalar does not begin with one of these, except for a dash before anything but a space.
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@`")
_QUOTES_AND_BRACKETS = frozenset("'\"[{")
_BLANK = frozenset(("", " "))
_COMMENT = frozenset(("", "#"))
_NOT_AFTER_DASH = frozenset(("", " ", *",[]{}"))
_LONGEST_KEY = 1000
"""Characters of a key; the exact parser refuses slightly longer ones."""
_LONGEST_CACHED = 64
_QUOTED = {'"': r'[^"\\]*(?:\\.[^"\\]*)*', "'": r"[^']*(?:''[^']*)*"}
_ESCAPE = r"\\(?:x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))"
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", " ": " ", '"': '"', "/": "/", "\\": "\\"}
# Between brackets, a colon before a space ends a plain scalar; before a bracket or comma, it is reported.
_FLOW_PLAIN = r"[^,\[\]{}:#]+(?::(?![ ,\[\]{}]|$)[^,\[\]{}:#]*)*"
_new_span: Final[Any] = tuple.__new__
"""Builds a span in half the time that the class takes; every value has one."""


_Ended = tuple[NodeValue, int, int]
"""A value, and the line and column of its end."""


class _Declined(Exception):  # noqa: N818  the caller then uses the exact parser
    """The exact parser may read the text differently."""


def parse_fast(source: Source) -> Parsed | None:
    """The result of the exact parser, or None if that may have findings or differ; never raises."""
    text = source.text
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    if not text.replace("\n", "").isprintable() or text.startswith(("%", "...")) or "\n%" in text or "\n..." in text:
        return None
    try:
        roots = _Reader(source, text.split("\n")).read()
    except _Declined:
        return None
    return Parsed(tuple([Document(source, root) for root in roots]), ())


class _Block:
    """A list or mapping whose end has not been read; one without brackets has an indentation."""

    __slots__ = ("column", "fields", "indent", "items", "key", "key_span", "line")

    def __init__(self, fields: dict[str, Node] | None, indent: int, line: int, column: int) -> None:
        self.fields = fields
        """The values of a mapping; None for a list."""
        self.items: list[Node] = []
        self.indent = indent
        self.line = line
        self.column = column
        self.key = ""
        self.key_span: Span | None = None


class _Reader:
    """The state of reading a text; `number` lines have been read."""

    __slots__ = ("awaited", "block", "has_marker", "lines", "number", "outer", "source")

    def __init__(self, source: Source, lines: list[str]) -> None:
        self.source = source
        self.lines = lines
        self.number = 0
        self.outer: list[_Block] = []
        self.block = _Block(None, -1, 0, 0)
        """The innermost block; the outermost is the list of documents."""
        self.awaited: tuple[int, int] | None = (0, 0)
        """The end of the key or dash before the next value; None if a key or dash is next."""
        self.has_marker = False

    def read(self) -> list[Node]:  # noqa: PLR0915  one loop with local names, because this is the hot path
        """The roots of all documents."""
        source, lines = self.source, self.lines
        count = len(lines)
        while self.number < count:
            line = lines[self.number]
            self.number = number = self.number + 1
            body = line.strip(" ")
            if not body or body[0] == "#":
                continue
            first = body[0]
            column = line.index(first)
            if " #" in body:
                body = _without_comment(body)
            is_dash = False
            if first == "-":
                if not column and body.startswith(_DOCUMENT):
                    self._begin_document(body)
                    continue
                is_dash = body[1:2] in _BLANK
            block = self.block
            if is_dash or self.awaited or column != block.indent or block.fields is None:
                self._end_blocks(column, is_dash=is_dash)
                while is_dash:
                    if self.awaited:
                        self._begin_block(None, column)
                    elif self.block.fields is not None:
                        raise _Declined
                    self.awaited = (number, column + 2)
                    rest = body[1:].lstrip(" ")
                    column += len(body) - len(rest)
                    body = rest
                    first = body[:1]
                    is_dash = first == "-" and body[1:2] in _BLANK
                if not first or first == "#":
                    continue
                block = self.block
            if first in _QUOTES_AND_BRACKETS:
                colon = _colon_after_quotes(body)
            else:
                colon = body.find(": ")
                if colon < 0 and body[-1] == ":":
                    colon = len(body) - 1
            if colon >= 0:
                if self.awaited:
                    self._begin_block({}, column)
                    block = self.block
                key = _cached_key(body[:colon]) if colon <= _LONGEST_CACHED else _key(body[:colon])
                if block.fields is None or key in block.fields:
                    raise _Declined
                block.key = key
                block.key_span = _new_span(Span, (source, number, column + 1, number, column + 1 + colon))
                rest = body[colon + 2 :]
                first = rest[:1]
                if first == " ":
                    rest = rest.lstrip(" ")
                    first = rest[0]
                if not first or first == "#":
                    self.awaited = (number, column + colon + 2)
                    continue
                column += len(body) - len(rest)
                body = rest
            elif self.awaited:
                self.awaited = None
            else:
                raise _Declined
            if first in _INDICATORS and (first != "-" or body[1:2] in _BLANK):
                value, end_line, end_column = self._other_value(first, body, column)
            elif number < count and lines[number][block.indent : block.indent + 1] == " " and " #" not in line:
                value, end_line, end_column = self._plain_lines(body, column)
            else:
                if " #" in body:
                    body = body[: body.index(" #")].rstrip(" ")
                if ": " in body or body[-1] == ":":
                    raise _Declined
                value = _cached_plain(body) if len(body) <= _LONGEST_CACHED else _plain(body)
                end_line, end_column = number, column + 1 + len(body)
            span = _new_span(Span, (source, number, column + 1, end_line, end_column))
            if block.fields is None:
                block.items.append(Node(value, span))
            else:
                block.fields[block.key] = Node(value, span, block.key_span)
        self._end_document(count, len(lines[-1]) + 1)
        return self.block.items

    # Blocks and documents

    def _begin_block(self, fields: dict[str, Node] | None, column: int) -> None:
        """Begin a list or mapping that is the awaited value."""
        self.outer.append(self.block)
        if len(self.outer) > MAX_DEPTH:
            raise _Declined
        self.block = _Block(fields, column, self.number, column + 1)
        self.awaited = None

    def _end_blocks(self, column: int, *, is_dash: bool) -> None:
        """End the value and all blocks that do not continue in a line with this indentation."""
        block = self.block
        if self.awaited:
            if column > block.indent or (is_dash and column == block.indent and block.fields is not None):
                return
            self._add_empty(self.number, column + 1)
        while column < self.block.indent:
            self._end_block(self.number, column + 1)
        if not is_dash and self.block.fields is None and self.outer and self.outer[-1].indent == column:
            # A list may have the indentation of its key.
            self._end_block(self.number, column + 1)
        if column != self.block.indent:
            raise _Declined

    def _end_block(self, line: int, column: int) -> None:
        block = self.block
        self.block = self.outer.pop()
        value: NodeValue = tuple(block.items) if block.fields is None else block.fields
        _add(self.block, value, _new_span(Span, (self.source, block.line, block.column, line, column)))

    def _add_empty(self, line: int, column: int) -> None:
        """Add an empty value: it is after its dash, or before what follows its key."""
        at = (line, column) if self.block.fields is not None else self.awaited
        assert at is not None
        _add(self.block, None, _new_span(Span, (self.source, *at, *at)))
        self.awaited = None

    def _begin_document(self, body: str) -> None:
        """Read a line with `---`."""
        if self.has_marker or not self.awaited or self.outer:
            self._end_document(self.number, 1)
        rest = body[len(_DOCUMENT) :]
        if rest and (rest[0] != " " or rest.lstrip(" ")[:1] not in _COMMENT):
            raise _Declined
        self.awaited = (0, 0)
        self.has_marker = True

    def _end_document(self, line: int, column: int) -> None:
        """End all blocks at the position; a document without a value is declined."""
        if self.awaited and self.outer:
            self._add_empty(line, column)
        while self.outer:
            self._end_block(line, column)
        if self.awaited or self.block.items[-1].value is None:
            raise _Declined

    # Values

    def _other_value(self, first: str, body: str, column: int) -> _Ended:
        """A value that begins with an indicator."""
        if first in "\"'":
            ended: _Ended = self._quoted(column, first)
        elif first in "[{":
            ended = self._flow(column)
        elif first in "|>" and self.outer:
            return self._block_scalar(body)
        else:
            raise _Declined
        rest = self.lines[self.number - 1][ended[2] - 1 :]
        if rest and (rest[0] != " " or rest.lstrip(" ")[:1] not in _COMMENT):
            raise _Declined
        return ended

    def _next_line(self) -> str:
        """The next line of a value that has not ended."""
        if self.number >= len(self.lines):
            raise _Declined
        line = self.lines[self.number]
        self.number += 1
        if line.startswith(_DOCUMENT):
            raise _Declined
        return line

    def _plain_lines(self, text: str, column: int) -> _Ended:
        """A plain scalar that may continue in lines with a larger indentation."""
        lines, count, at, indent = self.lines, len(self.lines), self.number, self.block.indent
        parts: list[str] = []
        while True:
            content = text.split(" #", 1)[0].rstrip(" ")
            if content:
                if ": " in content or content[-1] == ":":
                    raise _Declined
                self.number = at
                end_column = column + 1 + len(content)
            parts.append(content)
            if " #" in text or at == count:
                break
            text = lines[at].lstrip(" ")
            column = len(lines[at]) - len(text)
            if text and (column <= indent or text[0] == "#"):
                break
            at += 1
        while not parts[-1]:
            parts.pop()
        return _plain(_folded(parts)), self.number, end_column

    def _quoted(self, column: int, quote: str) -> _Ended:
        line = self.lines[self.number - 1]
        stop = line.find(quote, column + 1)
        text = line[column + 1 : stop]
        if stop < 0 or "\\" in text or line.startswith(quote, stop + 1):
            text, stop = self._quoted_lines(line, column + 1, quote)
        return text, self.number, stop + 2

    def _quoted_lines(self, line: str, index: int, quote: str) -> tuple[str, int]:
        """A quoted scalar with escapes or several lines, and the index of the quote after it."""
        parts: list[str] = []
        while (stop := _quote_index(line, index, quote)) == len(line):
            part = line[index:].rstrip(" ")
            if part.endswith("\\"):
                raise _Declined
            parts.append(part)
            line = self._next_line()
            index = len(line) - len(line.lstrip(" "))
        return _unescaped(_folded([*parts, line[index:stop]]), quote), stop

    def _block_scalar(self, header: str) -> _Ended:
        """A scalar with `|` or `>`, whose first line has text."""
        lines, count, at, indent = self.lines, len(self.lines), self.number, self.block.indent
        style, chomping = header[0], header[1:].split(" #", 1)[0].rstrip(" ")
        margin = len(lines[at]) - len(lines[at].lstrip(" ")) if at < count else 0
        if chomping not in {"", "-", "+"} or margin <= indent or margin == len(lines[at]):
            raise _Declined
        parts: list[str] = []
        length = 0
        lead = " " * margin
        while at < count:
            line = lines[at]
            if line.startswith(lead) and len(line) > margin:
                parts.append(line[margin:])
                length = len(parts)
            elif line.strip(" ") or at == count - 1:
                break
            else:
                parts.append("")
            at += 1
        self.number = at
        text = "\n".join(parts[:length]) if style == "|" else _folded_block(parts[:length])
        if at == count:
            # The text has no line end after its last line.
            return text, at, len(lines[-1]) + 1
        breaks = {"": 1, "-": 0, "+": 1 + len(parts) - length}[chomping]
        return text + "\n" * breaks, at + 1, 1

    def _flow(self, index: int) -> _Ended:
        """A list or mapping in brackets."""
        line = self.lines[self.number - 1]
        outer: list[_Block] = []
        block: Any = None
        is_awaited = True
        while True:
            sign = line[index : index + 1]
            if sign == " ":
                index += 1
            elif not sign or (sign == "#" and line[index - 1 : index] in _BLANK):
                line, index = self._next_line(), 0
            elif sign in "]}":
                if (sign == "]") != (block.fields is None) or block.key_span is not None:
                    raise _Declined
                index += 1
                value = tuple(block.items) if block.fields is None else block.fields
                start, block = block, outer.pop()
                if block is None:
                    return value, self.number, index + 1
                span = _new_span(Span, (self.source, start.line, start.column, self.number, index + 1))
                _add(block, value, span)
                block.key_span = None
                is_awaited = False
            elif not is_awaited:
                if sign != ",":
                    raise _Declined
                index += 1
                is_awaited = True
            elif sign in "[{":
                if block is not None and block.fields is not None and block.key_span is None:
                    raise _Declined
                outer.append(block)
                if len(self.outer) + len(outer) > MAX_DEPTH:
                    raise _Declined
                index += 1
                block = _Block(None if sign == "[" else {}, 0, self.number, index)
            else:
                stop = self._flow_scalar(block, line, index)
                is_awaited = block.key_span is not None
                index = stop

    def _flow_scalar(self, block: _Block, line: str, index: int) -> int:
        """Read a scalar between brackets, and the colon after it if it is a key; the index after them."""
        first = line[index]
        if first in "\"'":
            stop = _quote_index(line, index + 1, first)
            if stop == len(line):
                raise _Declined
            stop += 1
            text: str = line[index:stop]
        else:
            if first in _INDICATORS and (first != "-" or line[index + 1 : index + 2] in _NOT_AFTER_DASH):
                raise _Declined
            match = _pattern(_FLOW_PLAIN).match(line, index)
            assert match is not None
            text = match.group().rstrip(" ")
            stop = match.end()
            if line[stop : stop + 1] == "#" and line[stop - 1] != " ":
                raise _Declined
        end = index + len(text)
        span = _new_span(Span, (self.source, self.number, index + 1, self.number, end + 1))
        if block.fields is None or block.key_span is not None:
            value = _scalar(text)
            _add(block, value, span)
            block.key_span = None
            return stop
        while line[stop : stop + 1] == " ":
            stop += 1
        if (
            line[stop : stop + 1] != ":"
            or (first not in "\"'" and line[stop + 1 : stop + 2] not in _BLANK)
            or stop - index > _LONGEST_KEY
        ):
            raise _Declined
        key = _cached_key(text) if len(text) <= _LONGEST_CACHED else _key(text)
        if key in block.fields:
            raise _Declined
        block.key, block.key_span = key, span
        return stop + 1


def _add(block: _Block, value: NodeValue, span: Span) -> None:
    if block.fields is None:
        block.items.append(Node(value, span))
    else:
        block.fields[block.key] = Node(value, span, block.key_span)


def _without_comment(body: str) -> str:
    """The line without its comment; if that may be inside quotes, it is looked for later."""
    before = body[: body.index(" #")]
    return body if '"' in before or "'" in before else before.rstrip(" ")


def _colon_after_quotes(body: str) -> int:
    """The index of the colon after a quoted key, or -1 if the line begins with a value."""
    if body[0] in "[{":
        return -1
    colon = _quote_index(body, 1, body[0]) + 1
    return colon if body[colon : colon + 1] == ":" and body[colon + 1 : colon + 2] in _BLANK else -1


def _quote_index(line: str, index: int, quote: str) -> int:
    """The index of the closing quote, or the length of the line."""
    match = _pattern(_QUOTED[quote]).match(line, index)
    assert match is not None
    stop = match.end()
    if stop < len(line) and line[stop] != quote:
        raise _Declined  # a backslash at the end of a line
    return stop


def _unescaped(text: str, quote: str) -> str:
    """The text between quotes; the exact parser reports unknown escapes and control characters."""
    if quote == "'":
        return text.replace("''", "'")
    if "\\" not in text:
        return text
    text = _pattern(_ESCAPE).sub(_character, text)
    if control_character(text):
        raise _Declined
    return text


def _character(escape: re.Match[str]) -> str:
    code = escape[1] or escape[2] or escape[3]
    try:
        return _ESCAPED[escape[4]] if code is None else chr(int(code, 16))
    except (KeyError, ValueError, OverflowError):
        raise _Declined from None


def _folded(parts: list[str]) -> str:
    """Join the lines of a scalar: a line end is a space, and an empty line is a line end."""
    text = [parts[0]]
    empty = 0
    for part in parts[1:-1]:
        if part:
            text += ("\n" * empty or " ", part)
            empty = 0
        else:
            empty += 1
    if len(parts) > 1:
        text += ("\n" * empty or " ", parts[-1])
    return "".join(text)


def _folded_block(parts: list[str]) -> str:
    """Join the lines of a scalar with `>`: like `_folded`, but line ends around indented lines are kept."""
    text = [parts[0]]
    empty = 0
    previous = parts[0]
    for part in parts[1:]:
        if not part:
            empty += 1
            continue
        is_kept = previous[0] == " " or part[0] == " "
        text += ("\n" * (empty + is_kept) or " ", part)
        empty, previous = 0, part
    return "".join(text)


def _scalar(text: str) -> Scalar:
    """The value of a quoted or plain scalar."""
    if text[0] in "\"'":
        return _unescaped(text[1:-1], text[0])
    return _cached_plain(text) if len(text) <= _LONGEST_CACHED else _plain(text)


def _plain(text: str) -> Scalar:
    value = resolve(text)
    if isinstance(value, (Ambiguous, Exponent, OutOfRange)):
        raise _Declined
    return value


def _key(text: str) -> str:
    """The key that is written as the text."""
    first = text[:1]
    if not first or len(text) > _LONGEST_KEY:
        raise _Declined
    if first in "\"'":
        key: Scalar = _unescaped(text[1:-1], first)
    elif (first in _INDICATORS and first != "-") or " #" in text or text[-1] == " ":
        raise _Declined
    else:
        key = _plain(text)
    if type(key) is not str or key == "<<":
        raise _Declined
    return key


# Short texts repeat; long ones would fill the memory.
_cached_plain = lru_cache(maxsize=4096)(_plain)
_cached_key = lru_cache(maxsize=4096)(_key)
_pattern = lru_cache(re.compile)
"""Patterns are compiled on first use, because not all texts need them."""
