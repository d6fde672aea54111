"""Automata that match regular expressions in linear time.

`re` backtracks, so some texts keep `(a+)+b` busy forever, and no test on the text of a pattern finds all such patterns.
This module does not backtrack: it follows, character by character, the set of all positions in the pattern at which a
match of the text so far can be (the position automaton of Glushkov). Each character takes one step, and the cost of a
step is bounded by the size of the pattern, which is bounded as well.

The standard library parses the pattern and tests single characters, so comments, verbose mode, escapes, flags and
character classes mean what they mean to `re`. Whether a text matches does not depend on greedy or lazy repetition.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from operator import or_
from typing import Any, Final, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

_MAX_CACHED: Final = 1024
_START: Final = 1
"""The state before the first character; bit n is the state after the nth character or set of the pattern."""


class Character(NamedTuple):
    """One character, or a set of them as a regular expression."""

    pattern: str
    flags: int | None
    """The flags of a set; None for a character that matches only itself."""


class Assertion(NamedTuple):
    """A condition on the characters before and after a point in the text."""

    kind: str
    operand: Any


class Concatenation(NamedTuple):
    parts: tuple[PatternPart, ...]


class Alternation(NamedTuple):
    parts: tuple[PatternPart, ...]


class OneOrMore(NamedTuple):
    """One or more times the same part."""

    part: PatternPart


class ZeroOrOne(NamedTuple):
    part: PatternPart


PatternPart: TypeAlias = Character | Assertion | Concatenation | Alternation | OneOrMore | ZeroOrOne
"""A part of a pattern, with counted repetitions written out."""


class _Ends(NamedTuple):
    """The states in which a part of a pattern can begin and end."""

    first: int
    last: int
    is_empty: bool
    """Whether the part matches the empty text."""


class _Point(NamedTuple):
    """A point in the text."""

    before: str
    """The character before it; empty at the start."""
    after: str
    """The two characters after it, because `$` is true before a last line end; fewer at the end."""


class _Table(NamedTuple):
    """The automaton at points of the text where the same assertions are true."""

    following: list[int]
    """By state, the states that the next character can lead to."""
    final: int
    unions: dict[tuple[int, str], int]
    """What follows any of four states, by their number divided by four and a hexadecimal digit."""

    def reached(self, states: int) -> int:
        """The states that follow any of these, looked up for four states at a time."""
        reached = 0
        for key in enumerate(reversed(f"{states:x}")):
            union = self.unions.get(key)
            if union is None:
                index, digit = key
                bits = (bit for bit in range(4) if int(digit, 16) >> bit & 1)
                union = self.unions[key] = reduce(or_, (self.following[4 * index + bit] for bit in bits), 0)
            reached |= union
        return reached


class Automaton:
    """A pattern ready to be matched, in time proportional to the length of the text."""

    def __init__(self, root: PatternPart) -> None:
        self._root: Final = root
        characters = list(_leaves(root, Character))
        self._size: Final = len(characters) + 1
        self._tests: Final[dict[Character, int]] = {}
        for number, character in enumerate(characters, start=1):
            self._tests[character] = self._tests.get(character, 0) | 1 << number
        self._assertions: Final = tuple(dict.fromkeys(_leaves(root, Assertion)))
        self._tables: Final[dict[frozenset[Assertion], _Table]] = {}
        # Caches that are emptied when full.
        self._moves: Final[dict[tuple[int, str, str], tuple[bool, int]]] = {}
        self._masks: Final[dict[str, int]] = {}

    def matches(self, text: str, *, starts_anywhere: bool = False, ends_anywhere: bool = False) -> bool:
        """Whether the pattern matches the whole text, or a part of it that starts or ends anywhere."""
        states, before = _START, ""
        for index, character in enumerate(text):
            after = text[index : index + 2] if self._assertions else character
            is_final, states = self._move(states, before, after)
            if is_final and ends_anywhere:
                return True
            if starts_anywhere:
                states |= _START
            elif not states:
                return False
            before = character if self._assertions else ""
        return self._move(states, before, "")[0]

    def _move(self, states: int, before: str, after: str) -> tuple[bool, int]:
        """Whether a match can end at a point in the text, and the states after the next character."""
        key = states, before, after
        known = self._moves.get(key)
        if known is None:
            table = self._table(_Point(before, after))
            reached = table.reached(states) & self._mask(after[0]) if after else 0
            known = _remember(self._moves, key, (bool(states & table.final), reached))
        return known

    def _table(self, point: _Point) -> _Table:
        true = frozenset(one for one in self._assertions if _ASSERTIONS[one.kind](one.operand, point))
        if true not in self._tables:
            self._tables[true] = _table(self._root, self._size, true)
        return self._tables[true]

    def _mask(self, character: str) -> int:
        """The states of the characters and sets that match the character."""
        known = self._masks.get(character)
        if known is None:
            states = (mask for test, mask in self._tests.items() if _is_match(test, character))
            known = _remember(self._masks, character, reduce(or_, states, 0))
        return known


def _remember(cache: dict[Any, Any], key: Any, value: Any) -> Any:
    if len(cache) >= _MAX_CACHED:
        cache.clear()
    cache[key] = value
    return value


def _leaves(part: PatternPart, kind: type[Any]) -> Iterator[Any]:
    """The characters or assertions of a pattern, from left to right."""
    if isinstance(part, Concatenation | Alternation):
        for child in part.parts:
            yield from _leaves(child, kind)
    elif isinstance(part, OneOrMore | ZeroOrOne):
        yield from _leaves(part.part, kind)
    elif isinstance(part, kind):
        yield part


def _table(root: PatternPart, size: int, true: frozenset[Assertion]) -> _Table:
    """The automaton in which these assertions match the empty text, and the others nothing."""
    following = [0] * size
    numbers = iter(range(1, size))

    def link(states: int, reached: int) -> None:
        while states and reached:
            lowest = states & -states
            following[lowest.bit_length() - 1] |= reached
            states ^= lowest

    def visit(part: PatternPart) -> _Ends:
        if isinstance(part, Character):
            state = 1 << next(numbers)
            return _Ends(state, state, is_empty=False)
        if isinstance(part, Assertion):
            return _Ends(0, 0, part in true)
        if isinstance(part, ZeroOrOne):
            return visit(part.part)._replace(is_empty=True)
        if isinstance(part, OneOrMore):
            ends = visit(part.part)
            link(ends.last, ends.first)
            return ends
        every = [visit(child) for child in part.parts]
        if isinstance(part, Alternation):
            return _Ends(
                reduce(or_, (ends.first for ends in every), 0),
                reduce(or_, (ends.last for ends in every), 0),
                any(ends.is_empty for ends in every),
            )
        return _joined(every, link)

    ends = visit(root)
    following[0] = ends.first
    return _Table(following, ends.last | (_START if ends.is_empty else 0), {})


def _joined(every: list[_Ends], link: Callable[[int, int], None]) -> _Ends:
    """The ends of parts that follow each other."""
    first = last = 0
    for ends in reversed(every):
        link(ends.last, first)
        first = ends.first | (first if ends.is_empty else 0)
    for ends in every:
        last = ends.last | (last if ends.is_empty else 0)
    return _Ends(first, last, all(ends.is_empty for ends in every))


# Single characters and assertions


def _is_match(test: Character, character: str) -> bool:
    if test.flags is None:
        return test.pattern == character
    return re.compile(test.pattern, test.flags).match(character) is not None


def _is_boundary(point: _Point, flags: int) -> bool:
    word = Character(r"\w", flags)
    return _is_match(word, point.before) != _is_match(word, point.after[:1])


_ASSERTIONS: Mapping[str, Callable[[Any, _Point], bool]] = {
    "start": lambda _, point: not point.before,
    "start of line": lambda _, point: point.before in ("", "\n"),
    "end": lambda _, point: not point.after,
    "end or last line end": lambda _, point: point.after in ("", "\n"),
    "end of line": lambda _, point: point.after[:1] in ("", "\n"),
    "boundary": lambda flags, point: _is_boundary(point, flags),
    "no boundary": lambda flags, point: not _is_boundary(point, flags),
    "before": lambda test, point: _is_match(test, point.after[:1]),
    "not before": lambda test, point: not _is_match(test, point.after[:1]),
    "after": lambda test, point: _is_match(test, point.before),
    "not after": lambda test, point: not _is_match(test, point.before),
}
