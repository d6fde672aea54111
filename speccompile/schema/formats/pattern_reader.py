"""Read regular expressions into parts that an automaton can match, and refuse all others.

The standard library parses the pattern, which resolves comments, verbose mode, escapes and flags. No automaton of
bounded size matches back-references, conditionals, large counts, atomic groups and possessive repetitions (which may
cut off matches), and look-arounds, except those at one character and look-aheads at the start of the pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice, takewhile
from typing import Any, Final, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.formats.pattern_automaton import (
    Alternation,
    Assertion,
    Automaton,
    Character,
    Concatenation,
    OneOrMore,
    PatternPart,
    ZeroOrOne,
)
from speccompile.schema.formats.text_format import ValueFault

_MAX_LENGTH: Final = 10_000
"""The most characters of a pattern as written."""
_MAX_SIZE: Final = 500
"""The most characters, sets and anchors of a pattern, with counted repetitions written out."""
_MAX_ASSERTIONS: Final = 4
"""The most different anchors, word boundaries and look-arounds; each can double the tables of an automaton."""
_MAX_DEPTH: Final = 50
"""The deepest nesting of groups; Python's own limit depends on its version and on the caller's stack."""
_CHARACTER_FLAGS: Final = re.ASCII | re.DOTALL | re.IGNORECASE | re.UNICODE
"""The flags that matter to a single character."""
_ALPHABETS: Final = re.ASCII | re.LOCALE | re.UNICODE
_FLAGS: Final = _CHARACTER_FLAGS | re.MULTILINE | re.VERBOSE
_NEW_ESCAPE: Final = r"(?<!\\)(?:\\\\)*(\\z)"
"""An escape that only Python 3.14 and later know."""

_Items: TypeAlias = Iterable[tuple[Any, Any]]
"""Operators and operands, as `re` parses them."""


class _RefusedError(Exception):
    """A key of _FAULTS, and the number of look-arounds of that kind in front of the refused one."""

    def __init__(self, construct: str, number: int = 0) -> None:
        super().__init__(construct)
        self.construct = construct
        self.number = number


class PatternParts(NamedTuple):
    """A pattern, and the look-aheads at its start."""

    root: PatternPart
    lookaheads: tuple[tuple[PatternPart, bool], ...]
    """What must match from the start, or must not."""


class LinearPattern(NamedTuple):
    """A pattern ready to be matched, and the look-aheads at its start."""

    automaton: Automaton
    lookaheads: tuple[tuple[Automaton, bool], ...]

    def allows(self, text: str) -> bool:
        """Whether the look-aheads are satisfied at the start of the text."""
        return all(automaton.matches(text, ends_anywhere=True) == wanted for automaton, wanted in self.lookaheads)


def linear_pattern(pattern: str, *, is_searched: bool) -> LinearPattern | ValueFault:
    """The pattern ready to be matched, or what is wrong with it."""
    parts = read_pattern(pattern, is_searched=is_searched)
    if isinstance(parts, ValueFault):
        return parts
    return LinearPattern(Automaton(parts.root), tuple((Automaton(part), wanted) for part, wanted in parts.lookaheads))


def read_pattern(pattern: str, *, is_searched: bool) -> PatternParts | ValueFault:
    """The parts of the pattern, or what is wrong with it; `is_searched` if it may match a part of the text."""
    try:
        return _parts(pattern, is_searched=is_searched)
    except _RefusedError as error:
        message, help_text, spelling = _FAULTS[error.construct]
        return ValueFault(message.format(_place(pattern, spelling, error.number)), help_text)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        return ValueFault(
            f"is not a valid regular expression: {error}",
            "write a Python regular expression, with `\\` before characters that are meant literally",
        )


def _parts(pattern: str, *, is_searched: bool) -> PatternParts:
    if len(pattern) > _MAX_LENGTH:
        raise _RefusedError("length")
    if _depth(pattern) > _MAX_DEPTH:
        raise _RefusedError("depth")
    if new := re.search(_NEW_ESCAPE, pattern):
        raise re.error(r"bad escape \z", pattern, new.start(1))
    # Private, but no other parser agrees with `re`; its tree has had the same shape since Python 3.11.
    tree = re._parser.parse(pattern)  # type: ignore[attr-defined]  # noqa: SLF001
    return _Reader(is_searched=is_searched).read(list(tree), tree.state.flags)


def _depth(pattern: str) -> int:
    """About how deep groups nest: parentheses in sets count as well."""
    depth = deepest = 0
    for character in re.sub(r"(?s)\\.", "", pattern):
        depth = depth + 1 if character == "(" else max(depth - 1, 0) if character == ")" else depth
        deepest = max(deepest, depth)
    return deepest


class _Reader:
    """Reads the tree of one pattern."""

    def __init__(self, *, is_searched: bool) -> None:
        self._is_searched = is_searched
        self._read: dict[str, int] = {}
        """The number of look-arounds read so far, by kind."""
        self._assertions: set[Assertion] = set()

    def read(self, items: list[tuple[Any, Any]], flags: int) -> PatternParts:
        """Read a whole pattern, with the look-aheads that nothing but anchors precedes."""
        parts: list[PatternPart] = []
        lookaheads: list[tuple[PatternPart, bool]] = []
        leading = list(takewhile(lambda item: str(item[0]) in ("AT", *_LOOKAROUNDS), items))
        total = 0
        for operator, operand in leading:
            if _looks_far_ahead(str(operator), operand):
                self._count("look-ahead")
                part, size = self._sequence(operand[1], flags)
                lookaheads.append((part, str(operator) == "ASSERT"))
            else:
                part, size = self._part(str(operator), operand, flags)
                parts.append(part)
            total = _bounded(total + size)
        rest, size = self._sequence(items[len(leading) :], flags)
        _bounded(total + size)
        # They would be evaluated at every character of the text.
        if self._is_searched and lookaheads and (str(leading[0][0]) != "AT" or parts[0] != Assertion("start", None)):
            raise _RefusedError("look-ahead without anchor")
        return PatternParts(Concatenation((*parts, rest)), tuple(lookaheads))

    def _sequence(self, items: _Items, flags: int) -> tuple[PatternPart, int]:
        """The parts in a row, and their size."""
        if flags & ~_FLAGS:
            raise _RefusedError("flag")
        read = [self._part(str(operator), operand, flags) for operator, operand in items]
        size = _bounded(sum(size for _, size in read))
        return (read[0][0] if len(read) == 1 else Concatenation(tuple(part for part, _ in read))), max(size, 1)

    def _part(self, name: str, operand: Any, flags: int) -> tuple[PatternPart, int]:
        if name == "LITERAL" and not flags & re.IGNORECASE:
            return Character(chr(operand), None), 1
        if name in _CHARACTERS:
            return Character(_CHARACTERS[name](operand), flags & _CHARACTER_FLAGS), 1
        if name == "AT":
            anchor = _anchor(str(operand), flags)
            # Patterns of schemas are searched, and those of ECMA-262 have no end before the last line end.
            is_end = self._is_searched and anchor.kind == _LAST_LINE_END
            return self._assertion(Assertion("end", None) if is_end else anchor)
        if name in _LOOKAROUNDS:
            return self._assertion(self._lookaround(name, operand, flags))
        if name == "SUBPATTERN":
            _, added, removed, items = operand
            kept = flags & ~_ALPHABETS if added & _ALPHABETS else flags
            return self._sequence(items, (kept | added) & ~removed)
        if name == "BRANCH":
            read = [self._sequence(items, flags) for items in operand[1]]
            return Alternation(tuple(part for part, _ in read)), _bounded(sum(size for _, size in read))
        if name in ("MAX_REPEAT", "MIN_REPEAT"):
            least, most, items = operand
            return _repeated(*self._sequence(items, flags), int(least), None if str(most) == "MAXREPEAT" else int(most))
        raise _RefusedError(_REFUSED.get(name, "construct"))

    def _assertion(self, assertion: Assertion) -> tuple[PatternPart, int]:
        self._assertions.add(assertion)
        if len(self._assertions) > _MAX_ASSERTIONS:
            raise _RefusedError("assertions")
        return assertion, 1

    def _lookaround(self, name: str, operand: tuple[int, _Items], flags: int) -> Assertion:
        """A look-around at one character."""
        direction, items = operand
        kind = "look-ahead" if direction > 0 else "look-behind"
        number = self._count(kind)
        if not items:
            raise _RefusedError(_REFUSED["FAILURE"])
        part, _ = self._sequence(items, flags)
        if not isinstance(part, Character):
            raise _RefusedError(kind, number)
        return Assertion(("" if name == "ASSERT" else "not ") + ("before" if direction > 0 else "after"), part)

    def _count(self, kind: str) -> int:
        number = self._read.get(kind, 0)
        self._read[kind] = number + 1
        return number


def _looks_far_ahead(name: str, operand: Any) -> bool:
    """Whether it is a look-ahead at more than one character."""
    if name not in _LOOKAROUNDS or operand[0] < 0:
        return False
    return [str(operator) in _CHARACTERS for operator, _ in operand[1]] not in ([], [True])


def _bounded(size: int) -> int:
    if size > _MAX_SIZE:
        raise _RefusedError("size")
    return size


def _repeated(part: PatternPart, size: int, least: int, most: int | None) -> tuple[PatternPart, int]:
    """The repetition written out: `a{2,}` as `aa+`, `a{1,3}` as `aa?a?`."""
    copies = max(least, 1) if most is None else most
    size = _bounded(size * copies)
    if most is None:
        last = OneOrMore(part) if least else ZeroOrOne(OneOrMore(part))
        return Concatenation((*(part,) * (copies - 1), last)), size
    return Concatenation((*(part,) * least, *(ZeroOrOne(part),) * (copies - least))), max(size, 1)


# Characters, anchors, and what is not supported


def _character(code: int) -> str:
    return rf"\U{code:08x}"


def _set(items: _Items) -> str:
    return "[" + "".join(_SET_ITEMS[str(operator)](operand) for operator, operand in items) + "]"


_CATEGORIES: Mapping[str, str] = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}
_SET_ITEMS: Mapping[str, Callable[[Any], str]] = {
    "NEGATE": lambda _: "^",
    "LITERAL": _character,
    "RANGE": lambda bounds: f"{_character(bounds[0])}-{_character(bounds[1])}",
    "CATEGORY": lambda category: _CATEGORIES[str(category)],
}
_CHARACTERS: Mapping[str, Callable[[Any], str]] = {
    "ANY": lambda _: ".",
    "IN": _set,
    "LITERAL": _character,
    "NOT_LITERAL": lambda code: f"[^{_character(code)}]",
}
_LOOKAROUNDS: Final = ("ASSERT", "ASSERT_NOT")
_LAST_LINE_END: Final = "end or last line end"
_ANCHORS: Mapping[tuple[str, bool], str] = {
    (name, is_multiline): kind
    for name, kind, kind_of_lines in (
        ("AT_BEGINNING", "start", "start of line"),
        ("AT_BEGINNING_STRING", "start", "start"),
        ("AT_BOUNDARY", "boundary", "boundary"),
        ("AT_NON_BOUNDARY", "no boundary", "no boundary"),
        ("AT_END", _LAST_LINE_END, "end of line"),
        ("AT_END_STRING", "end", "end"),
    )
    for is_multiline, kind in ((False, kind), (True, kind_of_lines))
}
"""The kind of assertion of an anchor, without and with the flag for several lines."""


def _anchor(name: str, flags: int) -> Assertion:
    kind = _ANCHORS[name, bool(flags & re.MULTILINE)]
    return Assertion(kind, flags & _ALPHABETS if "boundary" in kind else None)


_REFUSED: Mapping[str, str] = {
    "ATOMIC_GROUP": "atomic group",
    # An empty `(?!)` or `(?<!)`, since Python 3.13.
    "FAILURE": "empty look-around",
    "GROUPREF": "back-reference",
    "GROUPREF_EXISTS": "conditional",
    "POSSESSIVE_REPEAT": "possessive repetition",
}


# Messages

_NOT_LINEAR = "which cannot be matched in linear time"
_OTHER_PART = r"\\[^1-9]|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?#[^)]*\)"
"""Escapes, sets and comments, in which no construct begins."""


def _place(pattern: str, spelling: str, number: int) -> str:
    """Where the construct is, for the message alone: what is refused was decided on the parsed pattern."""
    if not spelling:
        return ""
    matches = (match for match in re.finditer(rf"(?s){_OTHER_PART}|({spelling})", pattern) if match[1])
    match = next(islice(matches, number, None), None)
    return f" (`{match[1]}` at position {match.start(1)})" if match else ""


_FAULTS: Mapping[str, tuple[str, str, str]] = {
    "assertions": (
        f"has more than {_MAX_ASSERTIONS} different anchors, word boundaries and look-arounds",
        "use fewer of them",
        "",
    ),
    "atomic group": (
        f"has an atomic group{{}}, {_NOT_LINEAR}",
        "write `(?:` instead of `(?>`: patterns are matched without backtracking",
        r"\(\?>",
    ),
    "back-reference": (
        f"has a back-reference{{}}, {_NOT_LINEAR}",
        "repeat the pattern of the group, or write all cases as alternatives: `(?:…|…)`",
        r"\\[1-9][0-9]?|\(\?P=",
    ),
    "conditional": (f"has a conditional{{}}, {_NOT_LINEAR}", "write both cases as alternatives: `(?:…|…)`", r"\(\?\("),
    "construct": (f"has a construct that is unknown, {_NOT_LINEAR}", "write the pattern without it", ""),
    "depth": (f"nests more than {_MAX_DEPTH} groups", "remove groups that are not needed", ""),
    "empty look-around": ("has an empty look-around{}", "remove it", r"\(\?<?[=!]\)"),
    "flag": ("has a flag other than `a`, `i`, `m`, `s`, `u` and `x`", "remove it", ""),
    "length": (f"is longer than {_MAX_LENGTH} characters", "shorten it", ""),
    "look-ahead": (
        f"has a look-ahead{{}} that is neither at the start nor at a single character, {_NOT_LINEAR}",
        "move it to the start, as in `(?!.*:latest).+`, or write the pattern without it",
        r"\(\?[=!]",
    ),
    "look-ahead without anchor": (
        f"has a look-ahead{{}} that is not preceded by `^`, {_NOT_LINEAR}",
        "write `^` in front of it",
        r"\(\?[=!]",
    ),
    "look-behind": (
        f"has a look-behind{{}} at more than one character, {_NOT_LINEAR}",
        "look at one character, as in `[a-z-]+(?<!-)`, or write the pattern without it",
        r"\(\?<[=!]",
    ),
    "possessive repetition": (
        f"has a possessive repetition{{}}, {_NOT_LINEAR}",
        "remove the second `+`: patterns are matched without backtracking",
        r"[*+?}]\+",
    ),
    "size": (
        f"has more than {_MAX_SIZE} characters, sets and anchors when its repetitions are written out",
        "lower the counts, or use `*` or `+`",
        "",
    ),
}
"""The message, the help and the spelling of each construct that is refused."""
