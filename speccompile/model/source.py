"""Source texts, their layers, and spans within them."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache

from speccompile.model.light_namedtuple import NamedTuple


class Layer(StrEnum):
    """The kind of text that a value comes from."""

    RUN = "run"
    TASK = "task"
    FUNCTION = "function"
    PROFILE = "profile"
    PLATFORM = "platform"
    TEMPLATE = "template"


USER_LAYERS = (Layer.RUN, Layer.TASK, Layer.FUNCTION)
"""The layers that users write: a run, and the function and task that it names."""


class Source(NamedTuple):
    """A text with its name and layer."""

    name: str
    text: str
    layer: Layer

    def __repr__(self) -> str:
        return f"<{self.layer} {self.name}>"


class Span(NamedTuple):
    """A range of a source; lines and columns count from 1, and line 0 marks Python data, which has no text."""

    source: Source
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @property
    def label(self) -> str:
        """`file:line:column`, or the source's name for Python data."""
        return f"{self.source.name}:{self.line}:{self.column}" if self.line else self.source.name

    @property
    def last_line(self) -> int:
        """The last line with a character of the range."""
        return self.end_line - (self.end_column <= 1) if self.end_line > self.line else self.line


def split_lines(text: str) -> tuple[str, ...]:
    """The lines of a text; other characters that Python counts as line ends are not."""
    return tuple(re.split(r"\r\n|\r|\n", text))


@lru_cache(maxsize=8)
def lines_of(source: Source) -> tuple[str, ...]:
    """The lines of a source, cached because a report needs them for each finding."""
    return split_lines(source.text)


BUILT_IN = Span(Source("built-in platform", "", Layer.PLATFORM))
"""The span of built-in values."""
