"""Commas after the last value of a JSON list or mapping, which YAML allows and JSON does not."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.source import Source, Span, split_lines

_MAX_COMMAS = 50
_JSON = r"\s*[{\[]"
_TRAILING = r",(?=\s*[}\]])"
_TOKEN = rf'"(?:[^"\\]|\\.)*(?:"|\Z)|{_TRAILING}'
"""A string, or such a comma outside of strings."""


def trailing_commas(source: Source) -> Iterator[Diagnostic]:
    """A finding for each such comma in a JSON file."""
    text = source.text
    # Most texts have none, not even inside strings. YAML in a JSON file has other strings.
    if not re.search(_TRAILING, text) or not re.match(_JSON, text):
        return
    commas = (token.start() for token in re.finditer(_TOKEN, text, re.DOTALL) if token[0] == ",")
    for index in islice(commas, _MAX_COMMAS):
        *before, last = split_lines(text[:index])
        line, column = len(before) + 1, len(last) + 1
        yield Diagnostic(
            code="yaml/stray-comma",
            message="a comma after the last value is not JSON",
            span=Span(source, line, column, line, column + 1),
            help="remove the comma, or name the file `.yaml`",
        )
