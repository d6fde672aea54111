"""Width of text in terminal columns."""

from __future__ import annotations

import re
import unicodedata

_WANTED = r"([\n\r\t]|\x1b\[[0-9;]*[mK])"
"""Control characters that this program writes itself."""
_MARKS = frozenset({"Mn", "Me"})
_WIDE = frozenset({"W", "F"})
_DENSE = 4
"""Maximum characters per column, so that text with endless combining marks is cut too."""


def printable(text: str) -> str:
    """Replace control characters, and tabs by one space, so that the text is safe to print."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char == "\t" else "\ufffd" for char in text)


def for_terminal(text: str) -> str:
    """Replace control characters in all that is written to a terminal, except for line ends, tabs and styles."""
    if text.isprintable():
        return text
    # Every other part is one that the pattern matches.
    parts = re.split(_WANTED, text)
    return "".join(part if number % 2 else printable(part) for number, part in enumerate(parts))


def columns(text: str) -> int:
    """The width of printable text: two columns for most Chinese characters, none for a combining accent."""
    return len(text) if text.isascii() else sum(_cells(char) for char in text)


def base(text: str, at: int) -> int:
    """The index of the base character that the mark at `at` combines with; `at` itself if it is not a mark."""
    while 0 < at < len(text) and _is_mark(text[at]):
        at -= 1
    return at


def window(text: str, at: int, room: int) -> tuple[int, int]:
    """The start and end of a part of the text that is at most `room` columns wide, with `at` in the middle."""
    if _fitting(text, room) == len(text):
        return 0, len(text)
    at = min(at, len(text))
    left = at - _fitting(text[max(0, at - _DENSE * room) : at][::-1], room // 2)
    while left < at and _is_mark(text[left]):
        left += 1
    return left, left + _fitting(text[left:], room)


def _fitting(text: str, room: int) -> int:
    """How many characters fit into `room` columns, with all their combining marks."""
    start = text[: _DENSE * room]
    for count, char in enumerate(start):
        room -= _cells(char)
        if room < 0:
            return count
    return len(start)


def _cells(char: str) -> int:
    # An unprintable character is replaced by one that is one column wide.
    if not char.isprintable():
        return 1
    if _is_mark(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def _is_mark(char: str) -> bool:
    # Vowels and final consonants of decomposed Korean are letters in Unicode, but combine with the first consonant.
    return unicodedata.category(char) in _MARKS or "\u1160" <= char <= "\u11ff"
