"""Distinguish files of the user from bundled templates and Python data."""

from __future__ import annotations

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.source import BUILT_IN, Layer, Source


def user_file(source: Source) -> str | None:
    """The path of the file with forward slashes; None if it is not the user's, such as a bundled template."""
    name = source.name
    if not name or (name[0] == "<" and name[-1] == ">") or source == BUILT_IN.source or _is_bundled(source):
        return None
    return name.replace("\\", "/")


def _is_bundled(source: Source) -> bool:
    """Whether it is a bundled template; a custom one may have the same path and another text."""
    if source.layer is not Layer.TEMPLATE:
        return False
    library = bundled_library()
    path = library.paths.get(source.name)
    return path is not None and library.templates[path] == source.text
