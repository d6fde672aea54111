"""Parse YAML or JSON text to trees in which every value has its location, with everything that is wrong."""

from __future__ import annotations

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.full_path import FULL_PATH
from speccompile.model.source import Source
from speccompile.yaml_text.parse_libyaml import parse_fast
from speccompile.yaml_text.parsed import Parsed


def parse(source: Source) -> Parsed:
    """The documents of the source, null ones left out; nothing raises, whatever the text.

    Two readers give the same, wherever the fast one gives anything; the exact one is slow, and can explain.
    """
    read = None if FULL_PATH.get() else parse_fast(source)
    if read is not None:
        return read
    from speccompile.yaml_text.parse_strict import parse_exact  # slow to import, and most texts do not need it

    return parse_exact(source)


def several_documents(document: Document, noun: str) -> Diagnostic:
    """What is wrong with the second document of a file that holds one."""
    return Diagnostic(
        code="input/several-documents",
        message=f"a {noun} file holds one document, and this is another",
        span=document.root.span,
        help="put each into a file of its own",
    )
