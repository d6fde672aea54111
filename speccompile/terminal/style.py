"""Colours and weights of text on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

Paint: TypeAlias = Callable[[str, str], str]
"""The text as a thing of the named kind looks: a severity, a layer, or one of the other keys of `_LOOKS`."""

_LOOKS: Mapping[str, str] = {
    "error": "1;31",
    "warning": "1;33",
    "notice": "1;36",
    "run": "34",
    "profile": "32",
    "platform": "35",
    "template": "2",
    "overridden": "9",
    "quiet": "2",
    "title": "1",
}
"""What each kind of text looks like, in the parameters of ECMA-48's SGR."""


def plain(text: str, _: str) -> str:
    """The text as it is: for files, pipes, and people who set NO_COLOR."""
    return text


def coloured(text: str, kind: str) -> str:
    """The text in the looks of its kind, and then as before."""
    return f"\x1b[{_LOOKS[kind]}m{text}\x1b[0m" if text else text
