"""Commas after the last value of a JSON list or mapping, which YAML allows and JSON does not."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.source import Source, Span, split_lines

_MAX_COMMAS = 50
_TRAILING = r",\s*[}\]]"


def trailing_commas(source: Source) -> Iterator[Diagnostic]:
    """A finding for each such comma in a JSON file."""
    text = source.text
    # Most texts have none, not even inside strings.
    for _ in range(_MAX_COMMAS if re.search(_TRAILING, text) else 0):
        index = _next_comma(text)
        if index is None:
            return
        *before, last = split_lines(text[:index])
        line, column = len(before) + 1, len(last) + 1
        yield Diagnostic(
            code="yaml/stray-comma",
            message="a comma after the last value is not JSON",
            span=Span(source, line, column, line, column + 1),
            help="remove the comma, or name the file `.yaml`",
        )
        text = f"{text[:index]} {text[index + 1 :]}"


def _next_comma(text: str) -> int | None:
    """The index of the first comma before a closing bracket, if that is what is wrong."""
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        # Since Python 3.13, the position is that of the comma; before, that of the bracket.
        at = error.pos if text[error.pos : error.pos + 1] == "," else len(text[: error.pos].rstrip()) - 1
        return at if re.match(_TRAILING, text[at:]) else None
    except (ValueError, RecursionError):
        return None
    return None
