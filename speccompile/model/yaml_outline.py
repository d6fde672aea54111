"""Positions of all parts of a YAML text, including those that the parser refuses, such as repeated keys."""

from __future__ import annotations

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

_MAX_LEVELS = 200
"""More levels than any text has that is accepted."""
_MAX_LENGTH = 2_000_000
_OTHER_LINE_ENDS = "[\x85\u2028\u2029\ufeff]"
"""Refused by the parser, and counted as line ends by some readers only."""
_CONTAINERS = frozenset({"MappingStartEvent", "SequenceStartEvent"})
_STARTS = _CONTAINERS | {"ScalarEvent", "AliasEvent"}
_ENDS = frozenset({"MappingEndEvent", "SequenceEndEvent"})


class TextPart:
    """A scalar, list or mapping as it is written. An alias is the part that it refers to."""

    __slots__ = ("children", "column", "first", "is_literal", "is_mapping", "last", "names", "text")

    def __init__(self, event: Any, *, is_mapping: bool = False) -> None:
        start, end = event.start_mark, event.end_mark
        self.first: int = start.line + 1
        self.column: int = start.column + 1
        self.last: int = end.line + (end.column > 0 or end.line == start.line)
        """The last line with a value."""
        self.text: str | None = getattr(event, "value", None)
        """The text of a scalar; None for a list or mapping."""
        self.is_literal: bool = getattr(event, "style", None) == "|"
        self.is_mapping = is_mapping
        tag = getattr(event, "tag", None) or getattr(event, "ctag", None)
        self.names: tuple[str, ...] = tuple(str(name) for name in (tag, event.anchor) if name and str(name) != "None")
        """Its tag and its anchor, which findings may quote."""
        self.children: list[tuple[TextPart | None, TextPart]] = []
        """The values with their keys; items of a list have none."""


def outlines(text: str) -> tuple[list[TextPart], bool]:
    """The documents up to the first error, and whether there is none; a text that is too long is not read."""
    roots: list[TextPart] = []
    if len(text) <= _MAX_LENGTH and not re.search(_OTHER_LINE_ENDS, text):
        for events in (_fast_events, _exact_events):
            roots = []
            # Only the parser has to explain errors; ruamel.yaml raises several types.
            with suppress(Exception):
                _read(events(text), roots)
                return roots, True
    return roots, False


def _fast_events(text: str) -> Iterable[Any]:
    from _ruamel_yaml import CParser  # type: ignore[import-not-found]

    return iter(CParser(text).get_event, None)


def _exact_events(text: str) -> Iterable[Any]:
    from ruamel.yaml import YAML  # slow to import, and few texts need it

    events: Iterable[Any] = YAML(typ="safe", pure=True).parse(text)
    return events


def _read(events: Iterable[Any], roots: list[TextPart]) -> None:
    anchors: dict[str, TextPart] = {}
    stack: list[TextPart] = []
    keys: list[TextPart | None] = []
    for event in events:
        kind = type(event).__name__
        if kind in _ENDS:
            part = stack.pop()
            keys.pop()
            part.last = max((child.last for _, child in part.children), default=part.last)
            continue
        if kind not in _STARTS:
            anchors = anchors if kind != "DocumentStartEvent" else {}
            continue
        part = TextPart(event, is_mapping=kind == "MappingStartEvent")
        if kind == "AliasEvent":
            part.text = f"*{event.anchor}"
            part = anchors.get(event.anchor, part)
        elif event.anchor:
            anchors[event.anchor] = part
        # Added before it is complete, so that it is found in a text that is not.
        if not stack:
            roots.append(part)
        elif stack[-1].is_mapping and keys[-1] is None:
            keys[-1] = part
        else:
            stack[-1].children.append((keys[-1], part))
            keys[-1] = None
        if kind in _CONTAINERS:
            stack.append(part)
            keys.append(None)
            if len(stack) > _MAX_LEVELS:
                raise ValueError("too many levels")
