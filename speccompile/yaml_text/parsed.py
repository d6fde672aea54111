"""Documents of a YAML or JSON text, and the limits that every parser applies."""

from __future__ import annotations

import re

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple

MAX_DEPTH = 100
"""Levels of nesting; the deepest Kubernetes object has about twenty."""
MAX_EXPANDED = 20_000
"""Nodes that the aliases and merge keys of one source may expand to."""

CONTROL = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]"
"""Characters refused everywhere, raw or escaped: they are not text, and terminals interpret some of them."""


class Parsed(NamedTuple):
    """The documents of a source up to the first syntax error, and all findings about its text."""

    documents: tuple[Document, ...]
    findings: tuple[Diagnostic, ...]


def control_character(text: str) -> str | None:
    """The first character of the text that is not allowed anywhere."""
    if text.isprintable():
        return None
    match = re.search(CONTROL, text)
    return match.group() if match else None
