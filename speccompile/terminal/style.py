"""Colours and weights of text on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

Paint: TypeAlias = Callable[[str, str], str]
"""A function that styles text of a kind: a severity, a layer, or another key of `_LOOKS`."""

_LOOKS: Mapping[str, str] = {
    "error": "1;31",
    "warning": "1;33",
    "notice": "1;36",
    **dict.fromkeys(("run", "task", "function"), "34"),
    "profile": "32",
    "platform": "35",
    "template": "2",
    "overridden": "9",
    "quiet": "2",
    "title": "1",
}
"""SGR parameters (ECMA-48) of each kind of text."""


def plain(text: str, _: str) -> str:
    """Return the text without style, for files, pipes and NO_COLOR."""
    return text


def coloured(text: str, kind: str) -> str:
    """Style the text, and reset the style after it."""
    return f"\x1b[{_LOOKS[kind]}m{text}\x1b[0m" if text else text
