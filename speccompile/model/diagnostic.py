"""One finding: code, message, position, severity, notes and help."""

from __future__ import annotations

from enum import StrEnum

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Span

_MAX_QUOTED = 40


class Severity(StrEnum):
    """How much a finding matters; only errors stop the compilation."""

    ERROR = "error"
    WARNING = "warning"
    NOTICE = "notice"


class Note(NamedTuple):
    """Additional information about a finding, possibly with another position."""

    message: str
    span: Span | None = None


class Diagnostic(NamedTuple):
    """One finding: what is wrong, where, and how to fix it."""

    code: str
    message: str
    span: Span | None = None
    path: KeyPath = ()
    severity: Severity = Severity.ERROR
    notes: tuple[Note, ...] = ()
    help: str | None = None
    secret: Span | None = None
    """Always None: reports find secrets by themselves. Kept for programs that read it."""

    @property
    def order(self) -> tuple[str, int, int, str, str]:
        """A sort key: position, code and message, so that reports are deterministic."""
        where = (self.span.source.name, self.span.line, self.span.column) if self.span else ("", 0, 0)
        return (*where, self.code, self.message)


def quote(value: object, longest: int = _MAX_QUOTED) -> str:
    """A value in backticks for a message: shortened, with unprintable characters escaped."""
    try:
        # `true` and `false`, as in YAML.
        text = str(value).lower() if isinstance(value, bool) else str(value)
    except ValueError:
        # Python does not convert integers of thousands of digits.
        text = type(value).__name__
    if not text:
        return '`""`'
    if len(text) <= longest and text.isprintable():
        return f"`{text}`"
    parts: list[str] = []
    room = longest
    for char in text[: longest + 1]:
        part = char if char.isprintable() else char.encode("unicode_escape").decode("ascii")
        room -= len(part)
        if room < 0:
            parts.append("…")
            break
        parts.append(part)
    return f"`{''.join(parts)}`"
