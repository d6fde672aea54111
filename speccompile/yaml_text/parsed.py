"""Documents of a YAML or JSON text, and the limits that every reader applies."""

from __future__ import annotations

import re

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple

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


def control_character(text: str) -> str | None:
    """The first character of the text that may stand nowhere, raw or escaped."""
    if text.isprintable():
        return None
    match = re.search(CONTROL, text)
    return match.group() if match else None
