"""Files that users know: which sources are files of theirs, and which came with the package or from Python data."""

from __future__ import annotations

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.source import BUILT_IN, Layer, Source


def user_file(source: Source) -> str | None:
    """The path of the file with forward slashes; None for what is no user's file: `<run>`, a bundled template."""
    name = source.name
    if not name or (name[0] == "<" and name[-1] == ">") or source == BUILT_IN.source or _is_bundled(source):
        return None
    return name.replace("\\", "/")


def _is_bundled(source: Source) -> bool:
    """Whether it is a bundled template; admins may keep theirs in a folder of the same name."""
    if source.layer is not Layer.TEMPLATE:
        return False
    library = bundled_library()
    known = library.paths.get(source.name)
    return known is not None and library.templates[known] == source.text
