"""Scalars as their author wrote them."""

from __future__ import annotations

from speccompile.model.node import Node
from speccompile.model.source import Span, lines_of


def as_written(span: Span) -> str | None:
    """The scalar as written in the source; None for Python data and for several lines."""
    if not span.line or span.line != span.end_line:
        return None
    return lines_of(span.source)[span.line - 1][span.column - 1 : span.end_column - 1]


def fraction_as_written(node: Node) -> str | None:
    """The text of a decimal number, since `1.30` would become `1.3`; None for other values."""
    return as_written(node.span) if isinstance(node.value, float) else None
