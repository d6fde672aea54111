"""One finding: code, message, position, severity, notes and help."""

from __future__ import annotations

from enum import StrEnum

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Span

_SHOWN = 40


class Severity(StrEnum):
    """How much a finding matters: errors stop the compilation, the others only tell."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Note(NamedTuple):
    """Context of a finding, possibly at a place of its own."""

    message: str
    span: Span | None = None


class Diagnostic(NamedTuple):
    """One finding: what is wrong, where, and what would cure it."""

    code: str
    message: str
    span: Span | None = None
    path: KeyPath = ()
    severity: Severity = Severity.ERROR
    notes: tuple[Note, ...] = ()
    help: str | None = None
    secret: Span | None = None
    """A stretch of source that no report may show."""

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """Source order, then code and wording: total, so that reports never depend on discovery."""
        where = (self.span.source.name, self.span.line, self.span.column) if self.span else ("", 0, 0)
        return (*where, self.code, self.message)


def quote(value: object, longest: int = _SHOWN) -> str:
    """A value of the input as a message may show it: in backticks, cut short, everything unprintable escaped."""
    try:
        # As everybody but Python writes them.
        text = str(value).lower() if isinstance(value, bool) else str(value)
    except ValueError:
        # Python refuses to write out an integer of thousands of digits.
        text = type(value).__name__
    if not text:
        return '`""`'
    if len(text) <= longest and text.isprintable():
        return f"`{text}`"
    pieces: list[str] = []
    room = longest
    for char in text[: longest + 1]:
        piece = char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        room -= len(piece)
        if room < 0:
            pieces.append("…")
            break
        pieces.append(piece)
    return f"`{''.join(pieces)}`"
