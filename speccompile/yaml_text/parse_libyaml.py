"""Fast parser on libyaml, for text with nothing to report.

libyaml, written in C, reads YAML 1.1 and differs from the exact parser in some texts, values and positions. Text with
a known difference is declined, and the tests search for more.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Scalar
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed, control_character
from speccompile.yaml_text.plain_scalars import Ambiguous, Exponent, OutOfRange, resolve

# Directives and ends of documents.
_UNUSUAL_STARTS = ("%", "...")
# Block scalars without an indentation indicator, a comment, or a blank line before the text.
_HEADER = re.compile(r"[|>][-+]?\r?\n *[^ \r\n]")
_BLOCK = frozenset("|>")
_LONGEST_CACHED = 64
_new_span: Final[Any] = tuple.__new__
"""Builds a span in half the time that the class takes; every value has one."""


class Declined(Exception):  # noqa: N818  callers then use the exact parser
    """The text may be read differently by the exact parser."""


class _Binding(NamedTuple):
    """The C parser and the types of its events."""

    parser: Callable[[str], Any]
    error: type[Exception]
    scalar: type
    mapping: type
    sequence: type
    ends: tuple[type, ...]
    around: tuple[type, ...]


@lru_cache(maxsize=1)
def _binding() -> _Binding | None:
    """The binding of libyaml, or None if it is not installed; loaded on first use, because the import is slow."""
    try:
        from _ruamel_yaml import CParser  # type: ignore[import-not-found]
    except ImportError:
        return None
    from ruamel.yaml import error, events

    return _Binding(
        CParser,
        error.YAMLError,
        events.ScalarEvent,
        events.MappingStartEvent,
        events.SequenceStartEvent,
        (events.MappingEndEvent, events.SequenceEndEvent),
        (events.DocumentStartEvent, events.DocumentEndEvent, events.StreamStartEvent, events.StreamEndEvent),
    )


def parse_fast(source: Source) -> Parsed | None:
    """The result of the exact parser, or None if that may have findings or differ; never raises."""
    binding = _binding()
    if binding is None or _is_unusual(source.text):
        return None
    try:
        roots = _roots(source, binding)
    except (Declined, binding.error, ValueError):
        # ValueError: text that cannot be encoded or decoded.
        return None
    documents = tuple([Document(source, root) for root in roots if root.value is not None])
    return Parsed(documents, ()) if documents else None


def _is_unusual(text: str) -> bool:
    """Whether the text has unprintable characters, or lines on which the parsers differ."""
    return (
        not text.replace("\r\n", "").replace("\n", "").isprintable()
        or text.startswith(_UNUSUAL_STARTS)
        or any(f"\n{start}" in text for start in _UNUSUAL_STARTS)
    )


def _roots(source: Source, binding: _Binding) -> list[Node]:
    """The roots of all documents, in one loop with local names: this is the hot path."""
    text = source.text
    parser, _, a_scalar, a_mapping, a_sequence, ends, around = binding
    is_escaped = "\\" in text
    bottom = _bottom(text)
    outer: list[Any] = []
    # The container being read: a mapping if `fields` is not None, else a list, such as that of the roots.
    fields: dict[str, Node] | None = None
    items: list[Node] = []
    start: Any = None
    key: str | None = None
    key_span: Span | None = None
    for event in iter(parser(text).get_event, None):
        kind = type(event)
        if kind is a_scalar:
            begin, end, value, style = event.start_mark, event.end_mark, event.value, event.style
            span = _new_span(Span, (source, begin.line + 1, begin.column + 1, end.line + 1, end.column + 1))
            if event.anchor is not None or event.ctag is not None:
                raise Declined
            if not style:
                value = _cached_plain(value) if len(value) <= _LONGEST_CACHED else _plain(value)
            elif (is_escaped and control_character(value)) or (
                style in _BLOCK and not (outer and _HEADER.match(text, begin.index))
            ):
                raise Declined
        elif kind in ends:
            end = event.end_mark
            after = bottom if end.line == bottom[0] else (end.line + 1, end.column + 1)
            span = _new_span(Span, (source, start.line + 1, start.column + 1, *after))
            value = tuple(items) if fields is None else fields
            fields, items, start, key, key_span = outer.pop()
        elif kind is a_mapping or kind is a_sequence:
            outer.append((fields, items, start, key, key_span))
            fields, items, start, key = {} if kind is a_mapping else None, [], event.start_mark, None
            # The pair in `[a: b]` is a mapping without braces, and the parsers differ on it.
            is_pair = kind is a_mapping and event.flow_style and text[start.index] != "{"
            if is_pair or event.anchor is not None or event.ctag is not None or len(outer) > MAX_DEPTH:
                raise Declined
            continue
        elif kind in around:
            continue
        else:
            raise Declined
        if fields is None:
            items.append(Node(value, span))
        elif key is not None:
            fields[key] = Node(value, span, key_span)
            key = None
        elif type(value) is str and value not in fields and value != "<<":
            key, key_span = value, span
        else:
            raise Declined
    return items


def fast_events(text: str) -> Iterator[Any]:
    """The events of a text; texts and positions are those of the exact parser, except for ends of blocks.

    Raises Declined if they may differ, or if the text has aliases, anchors or tags.
    """
    binding = _binding()
    if binding is None or _is_unusual(text):
        raise Declined
    depth = 0
    try:
        for event in iter(binding.parser(text).get_event, None):
            kind = type(event)
            if kind is binding.scalar:
                is_block = event.style in _BLOCK
                if not (event.style or event.value) or (
                    is_block and not (depth and _HEADER.match(text, event.start_mark.index))
                ):
                    raise Declined
            elif kind is binding.mapping or kind is binding.sequence:
                depth += 1
                is_pair = kind is binding.mapping and event.flow_style and text[event.start_mark.index] != "{"
                if is_pair or depth > MAX_DEPTH:
                    raise Declined
            elif kind in binding.ends:
                depth -= 1
            elif kind not in binding.around:
                raise Declined
            if getattr(event, "anchor", None) is not None or getattr(event, "ctag", None) is not None:
                raise Declined
            yield event
    except (binding.error, ValueError):
        raise Declined from None


def _bottom(text: str) -> tuple[int, int]:
    """Line and column after a text without a final newline; libyaml adds one, and so counts one more line."""
    return (-1, -1) if text.endswith("\n") else (text.count("\n") + 1, len(text) - text.rfind("\n"))


def _plain(text: str) -> Scalar:
    value = resolve(text)
    # The position of an empty value depends on the next token.
    if not text or isinstance(value, (Ambiguous, Exponent, OutOfRange)):
        raise Declined
    return value


_cached_plain = lru_cache(maxsize=4096)(_plain)
"""Short texts repeat; long ones would fill the memory."""
