"""Columns of a terminal that text fills."""

from __future__ import annotations

import unicodedata

_MARKS = frozenset({"Mn", "Me"})
_WIDE = frozenset({"W", "F"})
_DENSE = 4
"""Characters a column, at most: text that only marks upon marks make longer is cut as well."""


def printable(text: str) -> str:
    """The text as a terminal may get it: a tab is one space, and nothing is left that it would obey."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else " " if char == "\t" else "\ufffd" for char in text)


def columns(text: str) -> int:
    """How many columns the text fills, once it is printable: two for most of Chinese, none for an accent."""
    return len(text) if text.isascii() else sum(_cells(char) for char in text)


def base(text: str, at: int) -> int:
    """Where the character stands that the one at `at` is drawn upon; most are drawn upon nothing but themselves."""
    while 0 < at < len(text) and _is_mark(text[at]):
        at -= 1
    return at


def window(text: str, at: int, room: int) -> tuple[int, int]:
    """From where to where to show the text, so that it fills `room` columns at most and `at` is amid them."""
    if _fitting(text, room) == len(text):
        return 0, len(text)
    at = min(at, len(text))
    left = at - _fitting(text[max(0, at - _DENSE * room) : at][::-1], room // 2)
    while left < at and _is_mark(text[left]):
        left += 1
    return left, left + _fitting(text[left:], room)


def _fitting(text: str, room: int) -> int:
    """How many characters fit, whole ones and with all their marks."""
    start = text[: _DENSE * room]
    for count, char in enumerate(start):
        room -= _cells(char)
        if room < 0:
            return count
    return len(start)


def _cells(char: str) -> int:
    # What is not printable is shown as something else, which fills one column.
    if not char.isprintable():
        return 1
    if _is_mark(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in _WIDE else 1


def _is_mark(char: str) -> bool:
    # The vowels and final consonants of decomposed Korean are letters to Unicode, and drawn into the first consonant.
    return unicodedata.category(char) in _MARKS or "\u1160" <= char <= "\u11ff"
