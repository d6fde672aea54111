"""Regular expressions of admins, matched in bounded time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.formats.text_format import Fault

LONGEST = 1000
"""Characters of a text beyond which it matches no pattern."""
SHORTEST = 32
"""A pattern that would take too long over texts of this length is refused."""
STEPS = 10_000_000
"""Ways to share a text among repetitions that there is time to try."""
_PIECE = r"(?s:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^:=!>)]*[:=!>]?|\{[0-9]*,?[0-9]*\}|.)"
"""The pieces of a regular expression: an escape, a set, the opening of a special group, a count, or one character."""
_SAMPLE = "".join(map(chr, range(9, 127))) + "é"
_GROUPS = ("(", "(?:")
"""Openings of groups that change nothing about what stands behind them."""


def matches(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text; one that is too long for the pattern does not match."""
    return len(text) <= _longest(pattern) and re.fullmatch(pattern, text) is not None


def pattern_fault(pattern: str) -> Fault | None:
    """What is wrong with the pattern, and what would cure it."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return Fault(
            f"is no regular expression: {error}", "write a Python regular expression; it must match the whole value"
        )
    if _repeats_repeats(pattern):
        return Fault(
            "repeats a group that repeats or chooses itself", "some text would take forever: repeat single characters"
        )
    if _longest(pattern) < SHORTEST:
        return Fault(
            "has too many repetitions and choices that can take the same text",
            "some text would take forever: put between them what they do not match themselves",
        )
    return None


class _Atom(NamedTuple):
    piece: str
    times: str
    """How often, as the pattern says it; empty for once."""

    @property
    def is_open(self) -> bool:
        """Whether the number of times is not known beforehand."""
        low, comma, high = self.times.strip("{}").partition(",")
        return self.times[:1] in ("*", "+") or (bool(comma) and low != high)

    @property
    def is_choice(self) -> bool:
        return self.times == "?"


def _atoms(pattern: str) -> Iterator[_Atom]:
    """The pieces of the pattern, each with the count behind it; that a count is lazy makes no difference."""
    pieces = [match.group() for match in re.finditer(_PIECE, pattern)]
    for piece, after in pairwise((*pieces, "")):
        if not _is_count(piece):
            yield _Atom(piece, after if _is_count(after) else "")


def _is_count(piece: str) -> bool:
    return piece in ("*", "+", "?") or (piece[:1] == "{" and len(piece) > 1)


@lru_cache(maxsize=256)
def _longest(pattern: str) -> int:
    """The longest text there is time for: repetitions in a row may share it out in as many ways as it has places.

    What stands between two repetitions, and neither can match, ends the row.
    """
    atoms = list(_atoms(pattern))
    # What flags and looking around do, and a choice of whole patterns, are taken for the worst.
    is_plain = all(atom.piece in _GROUPS for atom in atoms if atom.piece.startswith("("))
    longest, repeats, ways = LONGEST, 0, 1
    taken: frozenset[str] = frozenset()
    options = [1]
    for atom in atoms:
        if atom.piece.startswith("("):
            options.append(1)
        elif atom.piece == ")":
            options.pop()
        elif atom.piece == "|":
            ways = ways * (options[-1] + 1) // options[-1]
            options[-1] += 1
            is_plain = is_plain and len(options) > 1
        repeats += atom.is_open
        ways *= 1 + atom.is_choice
        is_between = is_plain and len(options) == 1 and not (atom.is_open or atom.is_choice or atom.piece in ")|")
        own = _taken(atom.piece)
        if is_between and own and own.isdisjoint(taken):
            repeats, ways, taken = 0, 1, frozenset()
        elif not is_between:
            taken |= own
        longest = min(longest, _root(STEPS // ways, repeats))
    return longest


def _root(steps: int, repeats: int) -> int:
    return int(steps ** (1 / repeats)) if repeats else steps


@lru_cache(maxsize=1024)
def _taken(piece: str) -> frozenset[str]:
    """The characters, of a sample, that a piece of a pattern matches."""
    try:
        return frozenset(char for char in _SAMPLE if re.fullmatch(piece, char))
    except re.error:
        return frozenset()


def _repeats_repeats(pattern: str) -> bool:
    """Whether a repeated group holds a repetition or a choice, which can take time without end on text that fails."""
    repeating = [False]
    closed = False
    for match in re.finditer(_PIECE, pattern):
        piece = match.group()
        if piece.startswith("("):
            repeating.append(False)
        elif piece == ")" and len(repeating) > 1:
            closed = repeating.pop()
            repeating[-1] = repeating[-1] or closed
            continue
        elif piece[0] in "*+{":
            if closed:
                return True
            repeating[-1] = True
        elif piece in "|?":
            repeating[-1] = True
        closed = False
    return False
