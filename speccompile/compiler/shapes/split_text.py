"""Split the text of a run into its structure and its scalars, without parsing it.

The structure is the text between the scalars. Texts of one structure are parsed to trees that differ in their scalars
only. The split may take a part of something else for a scalar: which scalars are values is found by parsing one of
the texts.
"""

from __future__ import annotations

import re

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.plain_scalars import resolve

MAX_TEXT = 16_384
"""Longer texts are not split: they rarely repeat, and would stay in memory."""
GAP = "\1"
"""Stands for a scalar in a structure."""
_UNFIT = ("\r", "\t", "\0", GAP)
"""Characters that need a closer look, or that structures and shapes use."""
_START = r"(?:[A-Za-z0-9_./]|-(?=[A-Za-z0-9_./-]))"
_REST = "[A-Za-z0-9_./@%+=~^*-]"
_WORD = rf"{_REST}*+(?::{_REST}++)*+"
# On a line of its own, a plain scalar may contain commas and spaces.
_LINE_REST = "[A-Za-z0-9_./@%+=~^*,-]"
_LINE_WORD = rf"{_LINE_REST}*+(?::{_LINE_REST}++)*+"
_LINE = rf"{_START}{_LINE_WORD}(?: (?=[A-Za-z0-9_./=+,-]){_LINE_WORD}){{0,40}}+(?=\n| +#)"
# Printable ASCII only: other characters may end a line, or need a closer look.
_QUOTED = r""""[ !#-\[\]-~]*+"(?=[\n,\]}]| +#)|'[ -&(-~]*+'(?=[\n,\]}]| +#)"""
_BLOCK = r"\|-?\n( +)[!-~][ -~]*+\n(?:\2[ -~]++\n)*+"
_IN_FLOW = rf"{_START}{_WORD}(?=[,\]}}])"
# After a colon, a dash, a comma or a bracket; the first condition alone would do for most characters of a text.
_SCALAR = re.compile(rf"(?<=[ \[])(?<=[:,-] |.\[)({_LINE}|{_IN_FLOW}|{_QUOTED}|{_BLOCK})")


class SplitText(NamedTuple):
    """A text in two parts."""

    structure: str
    """The text, with a gap in place of each scalar."""
    scalars: tuple[str, ...]
    """The scalars as written, with their quotes."""


def split_text(text: str) -> SplitText | None:
    """Split a text; None for one that is too long or not plain ASCII text."""
    if len(text) > MAX_TEXT or not text.isascii() or any(character in text for character in _UNFIT):
        return None
    parts = _SCALAR.split(text)
    # The pattern has a second group, for the indentation of a block.
    return SplitText(GAP.join(parts[::3]), tuple(parts[1::3]))


def positions(split: SplitText) -> tuple[tuple[int, int], ...]:
    """Line and column of each scalar, counted from 1."""
    found: list[tuple[int, int]] = []
    line, column = 1, 1
    for before, scalar in zip(split.structure.split(GAP), split.scalars, strict=False):
        line, column = _after(before, line, column)
        found.append((line, column))
        line, column = _after(scalar, line, column)
    return tuple(found)


def _after(text: str, line: int, column: int) -> tuple[int, int]:
    breaks = text.count("\n")
    return line + breaks, len(text) - text.rfind("\n") if breaks else column + len(text)


def scalar_value(scalar: str) -> str | int | None:
    """The value of a scalar: text or a whole number; None for anything else."""
    if scalar[0] in "\"'":
        return scalar[1:-1]
    if scalar[0] == "|":
        return _block_value(scalar)
    value = resolve(scalar)
    # Ambiguous scalars are subclasses of strings, and booleans one of whole numbers.
    return value if value.__class__ is str or value.__class__ is int else None


def _block_value(scalar: str) -> str:
    header, _, content = scalar.partition("\n")
    indent = len(content) - len(content.lstrip(" "))
    lines = [line[indent:] for line in content.split("\n")[:-1]]
    return "\n".join(lines) + ("" if header == "|-" else "\n")
