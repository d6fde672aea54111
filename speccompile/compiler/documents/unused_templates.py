"""Report custom templates that nothing uses, most often because a directory or file is misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from speccompile.compiler.documents.target_checks import FIELDS_FILE, TARGET_FILE
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near

_HELP = "use it in a `target.yaml` or another template, or remove it"
_BETWEEN_PATHS = r"[^A-Za-z0-9_./-]+"


def unused_templates(library: Library, bundled: Library) -> Iterator[Diagnostic]:
    """A warning for each custom template that overrides no bundled one and that no other file mentions."""
    added = [path for path in library.templates if library.is_custom(path) and path not in bundled.templates]
    if not added:
        return
    used = {name for path, text in library.templates.items() for name in _mentioned(path, text)}
    used |= {path for path in library.templates if path.endswith(f"/{TARGET_FILE}")}
    used |= {f"{path.removesuffix(TARGET_FILE)}{FIELDS_FILE}" for path in used if path.endswith(f"/{TARGET_FILE}")}
    for path in sorted(path for path in added if path not in used):
        meant = near(path, {*bundled.templates, *used} - {*added})
        yield Diagnostic(
            code="template/unused",
            message="nothing uses this file: it overrides no bundled template, and no other file mentions it",
            span=Span(Source(library.name_of(path), library.templates[path], Layer.TEMPLATE)),
            severity=Severity.WARNING,
            help=f"did you mean `{meant}`?" if meant else _HELP,
        )


def _mentioned(path: str, text: str) -> Iterator[str]:
    """The templates that the file names; without a directory, they are in that of the file."""
    folder = path.rpartition("/")[0]
    for name in re.split(_BETWEEN_PATHS, text):
        full = name if "/" in name else f"{folder}/{name}"
        if name.endswith(".j2") and full != path:
            yield full
