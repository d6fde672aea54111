"""Regular expressions of admins and targets: Python's syntax, matched in linear time.

`re` backtracks, so some text keeps `(a+)+b` busy forever, and a check that recognizes such patterns by their text can
be bypassed. Patterns are therefore matched by automata, which do not backtrack: `pattern_reader` refuses what an
automaton of bounded size cannot match, and `pattern_automaton` takes a bounded number of steps for each character.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.formats.text_format import ValueFault

if TYPE_CHECKING:
    from speccompile.schema.formats.pattern_automaton import Automaton


def pattern_fault(pattern: str, *, is_searched: bool = False) -> ValueFault | None:
    """What is wrong with the pattern, and how to fix it; `is_searched` if it may match a part of the text."""
    compiled = _compiled(pattern, is_searched=is_searched)
    return compiled if isinstance(compiled, ValueFault) else None


def matches_whole(pattern: str, text: str) -> bool:
    """Whether the pattern matches the whole text; one with a fault matches nothing."""
    compiled = _compiled(pattern, is_searched=False)
    return isinstance(compiled, _Compiled) and compiled.allows(text) and compiled.automaton.matches(text)


def matches_part(pattern: str, text: str) -> bool:
    """Whether the pattern matches any part of the text; one with a fault matches nothing."""
    compiled = _compiled(pattern, is_searched=True)
    if not isinstance(compiled, _Compiled) or not compiled.allows(text):
        return False
    return compiled.automaton.matches(text, starts_anywhere=True, ends_anywhere=True)


class _Compiled(NamedTuple):
    automaton: Automaton
    lookaheads: tuple[tuple[Automaton, bool], ...]

    def allows(self, text: str) -> bool:
        """Whether the look-aheads at the start of the pattern are satisfied at the start of the text."""
        return all(automaton.matches(text, ends_anywhere=True) == wanted for automaton, wanted in self.lookaheads)


@lru_cache(maxsize=64)
def _compiled(pattern: str, *, is_searched: bool) -> _Compiled | ValueFault:
    from speccompile.schema.formats.pattern_automaton import Automaton
    from speccompile.schema.formats.pattern_reader import read_pattern

    parts = read_pattern(pattern, is_searched=is_searched)
    if isinstance(parts, ValueFault):
        return parts
    return _Compiled(Automaton(parts.root), tuple((Automaton(part), wanted) for part, wanted in parts.lookaheads))
