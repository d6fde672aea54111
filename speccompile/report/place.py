"""Takes a place, gives the file that it is in, or words for it where it is in none."""

from __future__ import annotations

from speccompile.model import BUILT_IN, KeyPath, Layer, Source, Span, format_path


def file_of(source: Source) -> str | None:
    """The path of the file with forward slashes; None for what is no file of the user's: `<run>`, or a template."""
    name = source.name
    if not name or (name[0] == "<" and name[-1] == ">") or source.layer is Layer.TEMPLATE or source == BUILT_IN.source:
        return None
    return name.replace("\\", "/")


def where(span: Span, path: KeyPath = ()) -> str:
    """`file:line:column`, or the source's name and the path for a value that was never text."""
    return span.label if span.line or not path else f"{span.label}: {format_path(path)}"
