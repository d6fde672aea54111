"""Fast parser on libyaml, for text with nothing to report.

libyaml, which is C, reads YAML 1.1: it takes some texts, values and ends of values otherwise than the exact reader
does. All that is known to be read differently counts as odd, and the tests look for more.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Scalar
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed, control_character
from speccompile.yaml_text.plain_scalars import Ambiguous, Exponent, OutOfRange, resolve

# Directives, and the ends of documents.
_ODD_STARTS = ("%", "...")
# Of a block scalar: no number, no comment, no empty line before the text.
_HEADER = re.compile(r"[|>][-+]?\r?\n *[^ \r\n]")
_BLOCK = frozenset("|>")
_LONGEST_KEPT = 64
_place: Final[Any] = tuple.__new__
"""Makes a span in half the time that the class takes, and every value has one."""


class _Odd(Exception):  # noqa: N818  caught in `parse_fast`
    pass


class _Binding(NamedTuple):
    """What reads in C, and what it gives."""

    parser: Callable[[str], Any]
    error: type[Exception]
    scalar: type
    mapping: type
    sequence: type
    ends: tuple[type, ...]
    around: tuple[type, ...]


@lru_cache(maxsize=1)
def _binding() -> _Binding | None:
    """The binding of libyaml, or None where it is not installed; it takes a while to import."""
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
    """What the exact reader gives, if that has no findings, or None; nothing raises, whatever the text."""
    binding = _binding()
    if binding is None or _is_odd(source.text):
        return None
    try:
        roots = _roots(source, binding)
    except (_Odd, binding.error, ValueError):
        # ValueError: what cannot be encoded or decoded.
        return None
    documents = tuple([Document(source, root) for root in roots if root.value is not None])
    return Parsed(documents, ()) if documents else None


def _is_odd(text: str) -> bool:
    """Whether it has characters that do not show, of which each has its rules, or lines that the readers differ on."""
    return (
        not text.replace("\r\n", "").replace("\n", "").isprintable()
        or text.startswith(_ODD_STARTS)
        or any(f"\n{start}" in text for start in _ODD_STARTS)
    )


def _roots(source: Source, binding: _Binding) -> list[Node]:
    """The roots of all documents, in one loop and local names: this is where the time goes."""
    text = source.text
    parser, _, a_scalar, a_mapping, a_sequence, ends, around = binding
    is_escaped = "\\" in text
    bottom = _bottom(text)
    outer: list[Any] = []
    # What is being read: a mapping if there are fields, and else a list; the roots are one.
    fields: dict[str, Node] | None = None
    items: list[Node] = []
    start: Any = None
    key: str | None = None
    key_span: Span | None = None
    for event in iter(parser(text).get_event, None):
        kind = type(event)
        if kind is a_scalar:
            begin, end, value, style = event.start_mark, event.end_mark, event.value, event.style
            span = _place(Span, (source, begin.line + 1, begin.column + 1, end.line + 1, end.column + 1))
            if event.anchor is not None or event.ctag is not None:
                raise _Odd
            if not style:
                value = _kept_plain(value) if len(value) <= _LONGEST_KEPT else _plain(value)
            elif (is_escaped and control_character(value)) or (
                style in _BLOCK and not (outer and _HEADER.match(text, begin.index))
            ):
                raise _Odd
        elif kind in ends:
            end = event.end_mark
            behind = bottom if end.line == bottom[0] else (end.line + 1, end.column + 1)
            span = _place(Span, (source, start.line + 1, start.column + 1, *behind))
            value = tuple(items) if fields is None else fields
            fields, items, start, key, key_span = outer.pop()
        elif kind is a_mapping or kind is a_sequence:
            outer.append((fields, items, start, key, key_span))
            fields, items, start, key = {} if kind is a_mapping else None, [], event.start_mark, None
            # The one pair of `[a: b]` is a mapping, too, and the readers differ on it.
            is_pair = kind is a_mapping and event.flow_style and text[start.index] != "{"
            if is_pair or event.anchor is not None or event.ctag is not None or len(outer) > MAX_DEPTH:
                raise _Odd
            continue
        elif kind in around:
            continue
        else:
            raise _Odd
        if fields is None:
            items.append(Node(value, span))
        elif key is not None:
            fields[key] = Node(value, span, key_span)
            key = None
        elif type(value) is str and value not in fields and value != "<<":
            key, key_span = value, span
        else:
            raise _Odd
    return items


def _bottom(text: str) -> tuple[int, int]:
    """Line and column behind a text whose last line has no end; libyaml ends it, and sees one line more."""
    return (-1, -1) if text.endswith("\n") else (text.count("\n") + 1, len(text) - text.rfind("\n"))


def _plain(text: str) -> Scalar:
    value = resolve(text)
    # Where an empty value stands is a matter of what comes next.
    if not text or isinstance(value, (Ambiguous, Exponent, OutOfRange)):
        raise _Odd
    return value


_kept_plain = lru_cache(maxsize=4096)(_plain)
"""Short texts come again and again; long ones would fill the memory."""
