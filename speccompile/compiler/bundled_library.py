"""The bundled library of schemas and templates, with or without custom templates."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from speccompile.compiler.documents.target_fields import extended
from speccompile.model.input_texts import TemplateFile
from speccompile.schema.bundled import read_bundle
from speccompile.schema.library import Library, Schemas


@cache
def bundled_library() -> Library:
    """The schemas, templates and presets of this installation, each read on first use."""
    bundle = read_bundle()
    return Library(Schemas(bundle.schemas), bundle.templates, bundle.presets, bundle.prebuilt, extend=extended)


@lru_cache(maxsize=4)
def library_of(templates: tuple[TemplateFile, ...]) -> Library:
    """The bundled library with custom templates; the same object for equal ones, so that its caches are reused."""
    return with_templates(bundled_library(), templates) if templates else bundled_library()


def with_templates(library: Library, custom: Iterable[TemplateFile]) -> Library:
    """The library with custom templates, which replace those of the same path."""
    files = tuple(custom)
    return library.but(
        {**library.templates, **{file.path: file.text for file in files}},
        called={file.path: file.name for file in files},
    )
