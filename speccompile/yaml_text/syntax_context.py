"""A syntax error of the YAML parser, with what the parser had read so far."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ruamel.yaml import events as kinds
from ruamel.yaml.events import Event

from speccompile.model.light_namedtuple import NamedTuple

_FOUND_TOKEN = re.compile(r"but (?:found|got) \(?'([^']+)',?\)?\Z")


class Place(NamedTuple):
    """A character of the text: its offset, and its line and column from 1."""

    offset: int
    line: int
    column: int


def place_of_mark(mark: Any) -> Place:
    """The place of a mark of the parser."""
    return Place(mark.index, mark.line + 1, mark.column + 1)


class SyntaxContext(NamedTuple):
    """An error of the parser, and what it had read so far."""

    text: str
    problem: str
    context: str
    place: Place
    start: Place | None
    """Where the construct begins that the parser was reading."""
    last: Any
    """The last event; None before the first."""
    brackets: Sequence[Place]
    """Brackets that are open, outermost first."""

    @property
    def symbol(self) -> str:
        """The name of the token that the parser found in place of the expected one."""
        found = _FOUND_TOKEN.search(self.problem)
        return found[1] if found else ""

    def line(self, number: int) -> str:
        lines = re.split(r"\r\n|\r|\n", self.text)
        return lines[number - 1] if 0 < number <= len(lines) else ""

    def line_above(self, number: int) -> tuple[int, str]:
        """The nearest line above that is neither blank nor a comment, with its number; 0 if there is none."""
        lines = re.split(r"\r\n|\r|\n", self.text)[: number - 1]
        for above in range(len(lines), 0, -1):
            if lines[above - 1].strip() and not lines[above - 1].lstrip().startswith("#"):
                return above, lines[above - 1]
        return 0, ""

    def start_of_line(self, number: int) -> Place:
        """The first character of a line that is not a space."""
        line = self.line(number)
        return Place(self.place.offset, number, len(line) - len(line.lstrip()) + 1)


class Progress:
    """The last event of the parser, and the brackets that are still open."""

    __slots__ = ("brackets", "last")

    def __init__(self) -> None:
        self.last: Event | None = None
        self.brackets: list[Place | None] = []

    def note(self, event: Any) -> None:
        self.last = event
        if isinstance(event, (kinds.MappingStartEvent, kinds.SequenceStartEvent)):
            self.brackets.append(place_of_mark(event.start_mark) if event.flow_style else None)
        elif isinstance(event, (kinds.MappingEndEvent, kinds.SequenceEndEvent)):
            self.brackets.pop()
