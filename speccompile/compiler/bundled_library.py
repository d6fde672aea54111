"""The library that ships with the package, as it is or with an admin's templates over it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, lru_cache

from speccompile.compiler.documents.target_fields import extended
from speccompile.model.input_texts import TemplateFile
from speccompile.schema.bundled import read_bundle
from speccompile.schema.library import Library, Schemas


@cache
def bundled_library() -> Library:
    """The schemas, templates and presets that came with this installation; each is read once, when it is needed."""
    bundle = read_bundle()
    return Library(Schemas(bundle.schemas), bundle.templates, bundle.presets, bundle.prebuilt, extend=extended)


@lru_cache(maxsize=4)
def library_of(templates: tuple[TemplateFile, ...]) -> Library:
    """The bundled library with the templates of an admin; one for equal ones, so that what it keeps is found again."""
    return with_templates(bundled_library(), templates) if templates else bundled_library()


def with_templates(library: Library, custom: Iterable[TemplateFile]) -> Library:
    """The library with templates of an admin, which replace those of the same path."""
    files = tuple(custom)
    return library.but(
        {**library.templates, **{file.path: file.text for file in files}},
        called={file.path: file.name for file in files},
    )
