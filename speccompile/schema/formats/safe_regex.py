"""Regular expressions of admins, matched in bounded time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.formats.text_format import ValueFault

LONGEST = 1000
"""Longer texts match no pattern."""
SHORTEST = 32
"""A pattern that is too slow on texts of this length is rejected."""
STEPS = 10_000_000
"""The most ways to split a text among repetitions that matching may try."""
_PART = r"(?s:\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?[^:=!>)]*[:=!>]?|\{[0-9]*,?[0-9]*\}|.)"
"""One part of a regular expression: an escape, a set, the start of a special group, a count, or one character."""
_SAMPLE = "".join(map(chr, range(9, 127))) + "é"
_GROUPS = ("(", "(?:")
"""Starts of groups that do not affect how the rest matches."""


def matches_whole(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text; a text that is too long for the pattern does not match."""
    return len(text) <= _max_length(pattern) and re.fullmatch(pattern, text) is not None


def pattern_fault(pattern: str) -> ValueFault | None:
    """What is wrong with the pattern, and how to fix it."""
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return ValueFault(
            f"is not a valid regular expression: {error}",
            "write a Python regular expression that matches the whole value",
        )
    if _repeats_repeats(pattern):
        return ValueFault(
            "repeats a group that contains a repetition or a choice",
            "repeat single characters: some text would take forever",
        )
    if _max_length(pattern) < SHORTEST:
        return ValueFault(
            "has too many repetitions and choices that can match the same text",
            "separate them by characters that they do not match: some text would take forever",
        )
    return None


class _Atom(NamedTuple):
    part: str
    times: str
    """The count as written; empty for once."""

    @property
    def is_open(self) -> bool:
        """Whether the number of repetitions varies."""
        low, comma, high = self.times.strip("{}").partition(",")
        return self.times[:1] in ("*", "+") or (bool(comma) and low != high)

    @property
    def is_choice(self) -> bool:
        return self.times == "?"


def _atoms(pattern: str) -> Iterator[_Atom]:
    """The parts of the pattern with their counts, greedy or lazy."""
    parts = [match.group() for match in re.finditer(_PART, pattern)]
    for part, following in pairwise((*parts, "")):
        if not _is_count(part):
            yield _Atom(part, following if _is_count(following) else "")


def _is_count(part: str) -> bool:
    return part in ("*", "+", "?") or (part[:1] == "{" and len(part) > 1)


@lru_cache(maxsize=256)
def _max_length(pattern: str) -> int:
    """The longest text that the pattern matches in time.

    Consecutive repetitions can split a text in many ways. Characters that neither of two repetitions matches separate
    them.
    """
    atoms = list(_atoms(pattern))
    # Flags, lookaround and a choice between whole patterns count as the worst case.
    is_plain = all(atom.part in _GROUPS for atom in atoms if atom.part.startswith("("))
    longest, repeats, ways = LONGEST, 0, 1
    repeated: frozenset[str] = frozenset()
    options = [1]
    for atom in atoms:
        if atom.part.startswith("("):
            options.append(1)
        elif atom.part == ")":
            options.pop()
        elif atom.part == "|":
            ways = ways * (options[-1] + 1) // options[-1]
            options[-1] += 1
            is_plain = is_plain and len(options) > 1
        repeats += atom.is_open
        ways *= 1 + atom.is_choice
        is_between = is_plain and len(options) == 1 and not (atom.is_open or atom.is_choice or atom.part in ")|")
        characters = _characters(atom.part)
        if is_between and characters and characters.isdisjoint(repeated):
            repeats, ways, repeated = 0, 1, frozenset()
        elif not is_between:
            repeated |= characters
        longest = min(longest, _root(STEPS // ways, repeats))
    return longest


def _root(steps: int, repeats: int) -> int:
    return int(steps ** (1 / repeats)) if repeats else steps


@lru_cache(maxsize=1024)
def _characters(part: str) -> frozenset[str]:
    """The characters of the sample that a part matches."""
    try:
        return frozenset(char for char in _SAMPLE if re.fullmatch(part, char))
    except re.error:
        return frozenset()


def _repeats_repeats(pattern: str) -> bool:
    """Whether a repeated group contains a repetition or a choice, which can take exponential time."""
    repeating = [False]
    closed = False
    for match in re.finditer(_PART, pattern):
        part = match.group()
        if part.startswith("("):
            repeating.append(False)
        elif part == ")" and len(repeating) > 1:
            closed = repeating.pop()
            repeating[-1] = repeating[-1] or closed
            continue
        elif part[0] in "*+{":
            if closed:
                return True
            repeating[-1] = True
        elif part in "|?":
            repeating[-1] = True
        closed = False
    return False
