"""Takes a source, gives its YAML or JSON documents as trees in which every value knows its place, and what is wrong."""

from __future__ import annotations

import re

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Source

MAX_DEPTH = 100
"""Levels of nesting; Kubernetes' own deepest object has about twenty."""
MAX_EXPANDED = 20_000
"""Nodes that aliases and merge keys of one source may stand for together."""

CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
"""Refused wherever they stand, written raw or as an escape: they are no text, and terminals obey some of them."""


class Parsed(NamedTuple):
    """The documents of a source, and everything wrong with its text; after a syntax error none follow."""

    documents: tuple[Document, ...]
    findings: tuple[Diagnostic, ...]


def parse(source: Source) -> Parsed:
    """The documents of the source, null ones left out; nothing raises, whatever the text.

    Two readers give the same, wherever the fast one gives anything; the exact one is slow, and can explain.
    """
    from speccompile.yaml_text.parse_libyaml import parse_fast  # both know what they give

    read = parse_fast(source)
    if read is not None:
        return read
    from speccompile.yaml_text.parse_strict import parse_exact

    return parse_exact(source)


def control_character(text: str) -> str | None:
    """The first character of the text that may stand nowhere, raw or escaped."""
    if text.isprintable():
        return None
    match = re.search(CONTROL, text)
    return match.group() if match else None


def several_documents(document: Document, noun: str) -> Diagnostic:
    """What is wrong with the second document of a file that holds one."""
    return Diagnostic(
        code="profile/several-documents",
        message=f"a {noun} file holds one document, and this is another",
        span=document.root.span,
        help="put each into a file of its own",
    )
