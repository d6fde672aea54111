"""Parse YAML or JSON text to trees in which every value has its location, with all findings."""

from __future__ import annotations

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.full_path import FULL_PATH
from speccompile.model.source import Source
from speccompile.yaml_text.json_commas import trailing_commas
from speccompile.yaml_text.parse_lines import parse_fast
from speccompile.yaml_text.parsed import Parsed


def parse(source: Source) -> Parsed:
    """The documents of the source except null ones, and all findings instead of exceptions.

    The fast parser either agrees with the exact one or declines; the exact one is slow and explains errors.
    """
    parsed = None if FULL_PATH.get() else parse_fast(source)
    if parsed is None:
        from speccompile.yaml_text.parse_strict import parse_exact  # slow to import, and most texts do not need it

        parsed = parse_exact(source)
    if not source.name.endswith(".json"):
        return parsed
    return parsed._replace(findings=(*parsed.findings, *trailing_commas(source)))


def several_documents(document: Document, noun: str) -> Diagnostic:
    """The finding for the second document of a file that may contain only one."""
    return Diagnostic(
        code="input/several-documents",
        message=f"a {noun} file contains one document, and this is the second",
        span=document.root.span,
        help="put each document in a separate file",
    )
