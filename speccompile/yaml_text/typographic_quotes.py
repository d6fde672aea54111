"""Warn about typographic quotes around a value: YAML keeps them as part of it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.node import Node
from speccompile.model.source import Span, lines_of

_QUOTES = "“”„‟‘’‚‛"
_APOSTROPHE = "’"


def typographic_quotes(root: Node) -> Iterator[Diagnostic]:
    """A warning for each key or plain scalar that is in typographic quotes, or in half a pair of them.

    Quotes inside a sentence are text, and so are those in quoted and block scalars.
    """
    if not re.search(f"[{_QUOTES}]", root.span.source.text):
        return
    for path, node in root.walk():
        if node.key and path and _is_in_quotes(str(path[-1]), node.key):
            yield _warning("key", node.key)
        if isinstance(node.value, str) and _is_in_quotes(node.value, node.span):
            yield _warning("value", node.span)


def _is_in_quotes(text: str, span: Span) -> bool:
    starts, ends = text[:1] in _QUOTES, text[-1:] in _QUOTES
    if not text or not (starts or ends) or not _is_plain(text, span):
        return False
    if starts and ends:
        return True
    is_apostrophe = (text[0] if starts else text[-1]) == _APOSTROPHE and " " in text
    # A second quote inside makes a pair, and the text a sentence that contains it.
    return not is_apostrophe and len(re.findall(f"[{_QUOTES}]", text)) == 1


def _is_plain(text: str, span: Span) -> bool:
    """Whether the scalar is written without quotes, and not as a block."""
    if not span.line:
        return False
    return lines_of(span.source)[span.line - 1].startswith(text[0], span.column - 1)


def _warning(what: str, span: Span) -> Diagnostic:
    return Diagnostic(
        code="yaml/typographic-quotes",
        message=f"typographic quotes are part of this {what}",
        span=span,
        severity=Severity.WARNING,
        help='replace them with `"`',
    )
