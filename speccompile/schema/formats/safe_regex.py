"""Regular expressions of admins and targets: Python's syntax, matched in linear time.

`re` backtracks, so some text keeps `(a+)+b` busy forever, and a check that recognizes such patterns by their text can
be bypassed. Patterns are therefore matched by automata, which do not backtrack: `pattern_reader` refuses what an
automaton of bounded size cannot match, and `pattern_automaton` takes a bounded number of steps for each character.
Only patterns that repeat nothing but their last set are left to `re`, because there is no other way to match them.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from speccompile.schema.formats.text_format import ValueFault

if TYPE_CHECKING:
    from speccompile.schema.formats.pattern_reader import LinearPattern


# Every run has a field with such a pattern, and it takes a thirtieth of a call to load the automata and build one.
_ONE_REPEATED_SET = r"\^(?:\[(?:a-z|A-Z|0-9|_)+-?\]){1,9}(?:[*+]|\{0,[1-9][0-9]?\})?\$"
"""Matches patterns of sets between `^` and `$` of which at most the last is repeated."""


def pattern_fault(pattern: str, *, is_searched: bool = False) -> ValueFault | None:
    """What is wrong with the pattern, and how to fix it; `is_searched` if it may match a part of the text."""
    compiled = _compiled(pattern, is_searched=is_searched)
    return compiled if isinstance(compiled, ValueFault) else None


def matches_whole(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text; one with a fault matches nothing."""
    compiled = _compiled(pattern, is_searched=False)
    return not isinstance(compiled, ValueFault) and compiled.allows(text) and compiled.automaton.matches(text)


def matches_part(pattern: str, text: str) -> bool:
    """Whether the pattern matches any part of the text; one with a fault matches nothing."""
    if re.fullmatch(_ONE_REPEATED_SET, pattern):
        return re.fullmatch(pattern[1:-1], text) is not None
    compiled = _compiled(pattern, is_searched=True)
    if isinstance(compiled, ValueFault) or not compiled.allows(text):
        return False
    return compiled.automaton.matches(text, starts_anywhere=True, ends_anywhere=True)


@lru_cache(maxsize=32)
def _compiled(pattern: str, *, is_searched: bool) -> LinearPattern | ValueFault:
    from speccompile.schema.formats.pattern_reader import linear_pattern

    return linear_pattern(pattern, is_searched=is_searched)
