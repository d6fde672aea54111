"""Takes a place, gives the file that it is in, or words for it where it is in none."""

from __future__ import annotations

from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.source import BUILT_IN, Layer, Source, Span


def file_of(source: Source) -> str | None:
    """The path of the file with forward slashes; None for what is no user's file: `<run>`, a bundled template."""
    name = source.name
    if not name or (name[0] == "<" and name[-1] == ">") or source == BUILT_IN.source or _is_bundled(source):
        return None
    return name.replace("\\", "/")


def _is_bundled(source: Source) -> bool:
    """Whether it is a template of ours; admins may keep theirs in a folder of the same name."""
    if source.layer is not Layer.TEMPLATE:
        return False
    from speccompile.schema.bundled import bundled_library  # whoever shows no template needs none

    library = bundled_library()
    known = library.paths.get(source.name)
    return known is not None and library.templates[known] == source.text


def where(span: Span, path: KeyPath = ()) -> str:
    """`file:line:column`, or the source's name and the path for a value that was never text."""
    return span.label if span.line or not path else f"{span.label}: {format_path(path)}"
