"""Collections of findings: sorted, without secrets, and raised together as one exception."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Run
from speccompile.model.finding_text import findings_as_text
from speccompile.model.origin import Override
from speccompile.model.redaction import redacted
from speccompile.model.source import Source


class CompileError(Exception):
    """The input has errors; `diagnostics` has all findings, in source order."""

    _repr_html_: Callable[[], str]
    """The HTML for notebooks; set by `api`, because this folder cannot import reports."""

    def __init__(
        self, diagnostics: Iterable[Diagnostic], run: Run | None = None, overrides: Iterable[Override] = ()
    ) -> None:
        self.diagnostics = in_order(diagnostics)
        self.run = run
        """The run, if it could be read."""
        self.overrides = tuple(overrides)
        """Its overridden values, if it could be merged."""
        super().__init__(self.diagnostics)

    def __repr__(self) -> str:
        return f"CompileError({', '.join(finding.code for finding in self.diagnostics)})"

    def __str__(self) -> str:
        return findings_as_text(self.diagnostics).rstrip("\n")

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython prints in place of a traceback, which would lead through the compiler."""
        return str(self).split("\n")


def in_order(
    diagnostics: Iterable[Diagnostic], *, has_secrets: bool = True, free: Source | None = None
) -> tuple[Diagnostic, ...]:
    """Sort the findings in source order, without duplicates and secrets.

    `has_secrets` is False if it is known that their sources contain none; `free` is one that does not.
    """
    findings = tuple([redacted(one, free) for one in diagnostics] if has_secrets else diagnostics)
    return findings if len(findings) <= 1 else tuple(sorted(dict.fromkeys(findings), key=lambda one: one.order))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    return any(finding.severity is Severity.ERROR for finding in diagnostics)


def stop_if_any(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the findings. Raises CompileError with all of them if any is an error."""
    findings = tuple(diagnostics)
    if has_errors(findings):
        raise CompileError(findings)
    return findings
