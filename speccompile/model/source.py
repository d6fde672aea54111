"""Source texts, their layers, and spans within them."""

from __future__ import annotations

from enum import StrEnum

from speccompile.model.light_namedtuple import NamedTuple


class Layer(StrEnum):
    """Who speaks: the four kinds of text a value can come from."""

    RUN = "run"
    PROFILE = "profile"
    PLATFORM = "platform"
    TEMPLATE = "template"


class Source(NamedTuple):
    """A text with the name people know it by, and the layer it speaks for."""

    name: str
    text: str
    layer: Layer

    def __repr__(self) -> str:
        return f"<{self.layer} {self.name}>"


class Span(NamedTuple):
    """A stretch of a source; lines and columns count from 1, and line 0 means a value that was never text."""

    source: Source
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    @property
    def label(self) -> str:
        """`file:line:column`, or the source's name alone for a value that was never text."""
        return f"{self.source.name}:{self.line}:{self.column}" if self.line else self.source.name

    @property
    def last_line(self) -> int:
        """The last line it has part in; one that ends before the first character of a line ends with the one above."""
        return self.end_line - (self.end_column <= 1) if self.end_line > self.line else self.line


BUILT_IN = Span(Source("built-in platform", "", Layer.PLATFORM))
"""The place of values that nobody wrote and the compiler brings along."""
