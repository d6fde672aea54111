"""Findings collected: in source order, without secrets, and raised together as one exception."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Run
from speccompile.model.finding_text import findings_as_text
from speccompile.model.origin import Override
from speccompile.model.redaction import masked


class CompileError(Exception):
    """The input has errors; `diagnostics` holds all that was found, in source order."""

    _repr_html_: Callable[[], str]
    """What notebooks show; `api` sets it, because this folder knows no reports."""

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
        return findings_as_text(self.diagnostics).rstrip("\n")


def in_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """The findings in source order, each once; none repeats what an excerpt of its line would not show."""
    found = tuple(diagnostics)
    if not found:
        return ()
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
