"""Takes a regular expression as Go reads it, gives whether a text has a match, in time that grows with the text."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

_LONGEST, _DEEPEST, _LARGEST = 4000, 50, 1000
"""Characters of a pattern, groups in groups, and steps of its program: beyond these, a pattern is not judged."""
_EFFORT = 300_000
"""Steps times characters of a text that there is time for."""
_PIECE = re.compile(
    r"\\.|\[\^?\]?(?:\[:\^?[a-z]+:\]|\\.|[^\]\\])*\]"  # an escape, or a set
    r"|\((?:\?:|\?P?<\w+>)?|[)|^$.]"  # groups, choices and places
    r"|(?:[*+?]|\{[0-9]+(?:,[0-9]*)?\})\??"  # how often; that it is lazy makes no difference here
    r"|.",
    re.DOTALL,
)
_POSIX = {
    "alnum": "a-zA-Z0-9",
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "lower": "a-z",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": r"\w",
    "xdigit": "0-9A-Fa-f",
}
_PLACES = {"^": "start", r"\A": "start", "$": "end", r"\z": "end", r"\b": "edge", r"\B": "inside"}


class _Unknown(Exception):  # noqa: N818  it ends the reading of one pattern and never leaves this module
    pass


class _One(NamedTuple):
    """One character of those that a piece of the pattern stands for."""

    piece: str


class _At(NamedTuple):
    place: str


class _Row(NamedTuple):
    parts: tuple[_Tree, ...]


class _Choice(NamedTuple):
    parts: tuple[_Tree, ...]


class _Times(NamedTuple):
    part: _Tree
    low: int
    high: int | None


_Tree: TypeAlias = "_One | _At | _Row | _Choice | _Times"
_Step: TypeAlias = tuple[str, str | int, int]
"""`char` with a piece, `at` with a place, `split` with two steps to go on at, or `jump` with one."""


def matcher(pattern: str) -> Callable[[str], bool] | None:
    """Whether a text has a match anywhere; None for a pattern that cannot be judged here.

    A text that is too long for the pattern is taken to match.
    """
    program = _program(pattern)
    return None if program is None else lambda text: len(text) * len(program) > _EFFORT or _matches(program, text)


def effort(pattern: str, text: str) -> int:
    """How much there is to do to find a match, in some tenths of what it takes to look at a value."""
    steps = len(text) * len(_program(pattern) or ())
    return 0 if steps > _EFFORT else steps // 10


@lru_cache(maxsize=1024)
def _program(pattern: str) -> tuple[_Step, ...] | None:
    try:
        program: list[_Step] = []
        _emit(_read(pattern), program)
    except (_Unknown, re.error, OverflowError):
        return None
    return tuple(program)


def _read(pattern: str) -> _Tree:
    if len(pattern) > _LONGEST:
        raise _Unknown
    # Of each open group, the choices before this one, and the row that is being read.
    open_groups: list[tuple[list[_Tree], list[_Tree]]] = [([], [])]
    for match in _PIECE.finditer(pattern):
        piece = match.group()
        choices, row = open_groups[-1]
        if len(open_groups) > _DEEPEST:
            raise _Unknown
        if piece[0] == "(":
            open_groups.append(([], []))
        elif piece == ")":
            if len(open_groups) == 1:
                raise _Unknown
            open_groups.pop()
            open_groups[-1][1].append(_Choice((*choices, _Row(tuple(row)))))
        elif piece == "|":
            choices.append(_Row(tuple(row)))
            row.clear()
        elif piece[0] in "*+?" or (piece[0] == "{" and len(piece) > 1):
            if not row:
                # Among others, the flags of a group.
                raise _Unknown
            row.append(_Times(row.pop(), *_bounds(piece)))
        elif piece in _PLACES:
            row.append(_At(_PLACES[piece]))
        else:
            _one(piece)  # raises if it is nothing that Python knows as well
            row.append(_One(piece))
    if len(open_groups) > 1:
        raise _Unknown
    choices, row = open_groups[0]
    return _Choice((*choices, _Row(tuple(row))))


def _bounds(piece: str) -> tuple[int, int | None]:
    if piece[0] != "{":
        return int(piece[0] == "+"), 1 if piece[0] == "?" else None
    low, comma, high = piece.rstrip("?").strip("{}").partition(",")
    least, most = int(low), int(high) if high else None if comma else int(low)
    if max(least, most or 0) > _LARGEST or (most is not None and most < least):
        raise _Unknown
    return least, most


@lru_cache(maxsize=1024)
def _one(piece: str) -> re.Pattern[str]:
    if piece == "[":
        raise _Unknown
    if piece[0] == "[":
        start = 2 if piece[1] == "^" else 1
        inner = re.sub(r"\[:([a-z]+):\]", lambda match: _POSIX.get(match[1], "[:"), piece[start:-1])
        # Python warns of what may once mean more to it than to Go.
        if "[:" in inner or "--" in inner:
            raise _Unknown
        inner = re.sub(r"\\.|[\[&|~]", lambda match: match[0] if match[0][0] == "\\" else f"\\{match[0]}", inner)
        return re.compile(f"{piece[:start]}{inner}]", re.ASCII)
    return re.compile(piece if piece[0] in "\\." else re.escape(piece), re.ASCII)


def _emit(tree: _Tree, program: list[_Step]) -> None:
    if len(program) > _LARGEST:
        raise _Unknown
    match tree:
        case _One(piece):
            program.append(("char", piece, 0))
        case _At(place):
            program.append(("at", place, 0))
        case _Row(parts):
            for part in parts:
                _emit(part, program)
        case _Choice(parts):
            _emit_choice(parts, program)
        case _Times(part, low, high):
            _emit_times(part, low, high, program)


def _emit_choice(parts: tuple[_Tree, ...], program: list[_Step]) -> None:
    ends: list[int] = []
    for part in parts[:-1]:
        split = len(program)
        program.append(("jump", 0, 0))
        _emit(part, program)
        ends.append(len(program))
        program.append(("jump", 0, 0))
        program[split] = ("split", split + 1, len(program))
    _emit(parts[-1], program)
    for end in ends:
        program[end] = ("jump", len(program), 0)


def _emit_times(part: _Tree, low: int, high: int | None, program: list[_Step]) -> None:
    for _ in range(low):
        _emit(part, program)
    splits: list[int] = []
    for _ in range(1 if high is None else high - low):
        splits.append(len(program))
        program.append(("jump", 0, 0))
        _emit(part, program)
    if high is None:
        program.append(("jump", splits[0], 0))
    for split in splits:
        program[split] = ("split", split + 1, len(program))


def _matches(program: Sequence[_Step], text: str) -> bool:
    """Follows all ways through the program at once, so that none is ever tried again."""
    reached: set[int] = set()
    for index in range(len(text) + 1):
        # A match may begin anywhere.
        reached = _closure((*reached, 0), program, text, index)
        if len(program) in reached:
            return True
        if index < len(text):
            char = text[index]
            reached = {
                step + 1
                for step in reached
                if program[step][0] == "char" and _one(str(program[step][1])).fullmatch(char)
            }
    return False


def _closure(starts: Iterable[int], program: Sequence[_Step], text: str, index: int) -> set[int]:
    """The steps that are reached without another character."""
    pending, reached = [*starts], set[int]()
    while pending:
        step = pending.pop()
        if step in reached:
            continue
        reached.add(step)
        if step == len(program):
            continue
        action, told, other = program[step]
        if action == "split":
            pending += (int(told), other)
        elif action == "jump":
            pending.append(int(told))
        elif action == "at" and _is_at(str(told), text, index):
            pending.append(step + 1)
    return reached


def _is_at(place: str, text: str, index: int) -> bool:
    if place == "start":
        return index == 0
    if place == "end":
        return index == len(text)
    before, after = (
        bool(re.fullmatch(r"\w", char, re.ASCII))
        for char in (text[index - 1 : index] if index else "", text[index : index + 1])
    )
    return (before != after) == (place == "edge")
