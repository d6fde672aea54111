"""Takes findings, gives them one frozen type, one order and one exception."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from speccompile.model.documents import Run
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.origin import Override
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


class CompileError(Exception):
    """The input has errors; `diagnostics` holds all that was found, in source order."""

    def __init__(
        self, diagnostics: Iterable[Diagnostic], run: Run | None = None, overrides: Iterable[Override] = ()
    ) -> None:
        self.diagnostics = in_order(diagnostics)
        self.run = run
        """The run that does not compile, if it could be read."""
        self.overrides = tuple(overrides)
        """What profile and platform did to its values, if it got so far."""
        super().__init__(self.diagnostics)

    def __repr__(self) -> str:
        return f"CompileError({', '.join(found.code for found in self.diagnostics)})"

    def __str__(self) -> str:
        from speccompile.report.findings_text import as_text  # rendering is wanted by whoever prints, only

        return as_text(self.diagnostics).rstrip("\n")

    def _repr_html_(self) -> str:
        from speccompile.report.notebook import findings_html  # wanted by notebooks, only

        return findings_html(self.diagnostics)


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings in source order, each once; none repeats what an excerpt of its line would not show."""
    found = tuple(diagnostics)
    if not found:
        return ()
    from speccompile.model.redaction import masked  # it knows findings, too

    told = map(masked, found)
    return tuple(told) if len(found) == 1 else tuple(sorted(dict.fromkeys(told), key=lambda found: found.order))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(found.severity is Severity.ERROR for found in diagnostics)


def stop_if_any(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings, if none of them is an error; otherwise all of them are raised together."""
    found = tuple(diagnostics)
    if has_errors(found):
        raise CompileError(found)
    return found


def shown(value: object, longest: int = _SHOWN) -> str:
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
