"""Split a command line into words, for help that shows the list to write."""

from __future__ import annotations

import shlex

_MAX_LENGTH = 1000
"""Characters that are split: shlex takes quadratic time, and nobody reads a longer list."""


def shell_words(line: str) -> list[str] | None:
    """The words as a shell reads them; None if a quote is not closed or the line is too long to show."""
    if len(line) > _MAX_LENGTH:
        return None
    try:
        return shlex.split(line)
    except ValueError:
        return None
