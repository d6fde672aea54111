"""Takes the name of a template and a line, gives the place that manifests point to for what stands there."""

from __future__ import annotations

from functools import lru_cache

from speccompile.library import Library
from speccompile.model import Layer, Source, Span

_FOLDER = "templates/"


@lru_cache(maxsize=4096)
def template_span(library: Library, source_name: str, line: int) -> Span:
    """The whole line, without what it is indented by."""
    source, lines = _lines(library, source_name.removeprefix(_FOLDER))
    text = lines[line - 1]
    start = len(text) - len(text.lstrip()) + 1
    return Span(source, line, start, line, len(text.rstrip()) + 1)


@lru_cache(maxsize=256)
def _lines(library: Library, name: str) -> tuple[Source, tuple[str, ...]]:
    text = library.templates[name]
    return Source(f"{_FOLDER}{name}", text, Layer.TEMPLATE), tuple(text.split("\n"))
