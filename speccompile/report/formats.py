"""Table of output formats for findings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.terminal.style import Paint, plain

if TYPE_CHECKING:
    from speccompile.model.diagnostic import Diagnostic


class Format(NamedTuple):
    """A row of `FORMATS`: a module of this package with a function `format_findings(findings, paint)`."""

    module: str
    is_document: bool = False
    """Whether the output is one document, so that no other text may be written to the same stream."""


TEXT = "text"
"""The format for people, and the default; all others are for programs."""
FORMATS: Mapping[str, Format] = {
    TEXT: Format("findings_text"),
    "json": Format("findings_json", is_document=True),
    "sarif": Format("findings_sarif", is_document=True),
    "github": Format("findings_github"),
}


def as_format(name: str, diagnostics: Iterable[Diagnostic], paint: Paint = plain) -> str:
    """Format the findings; only text has colours."""
    # The modules of other formats would slow down every call.
    module = import_module(f"speccompile.report.{FORMATS[name].module}")
    text: str = module.format_findings(tuple(diagnostics), paint)
    return text
