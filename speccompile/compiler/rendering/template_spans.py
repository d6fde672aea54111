"""Spans of template lines, for values that a template sets itself."""

from __future__ import annotations

import re
from functools import lru_cache

from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library

_LINE_END = re.compile(r"\r\n|\r|\n")
"""Line ends of Jinja."""


@lru_cache(maxsize=4096)
def template_span(library: Library, template: str, line: int) -> Span:
    """The whole line without its indentation. Raises KeyError or IndexError if there is no such line."""
    source, lines = _lines(library, template)
    text = lines[line - 1]
    start = len(text) - len(text.lstrip()) + 1
    return Span(source, line, start, line, max(start, len(text.rstrip()) + 1))


@lru_cache(maxsize=256)
def _lines(library: Library, name: str) -> tuple[Source, tuple[str, ...]]:
    text = library.templates[name]
    return Source(library.name_of(name), text, Layer.TEMPLATE), tuple(_LINE_END.split(text))


def lines_in(library: Library, template: str) -> int:
    """The number of lines of the template."""
    return len(_lines(library, template)[1])
