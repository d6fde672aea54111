"""Findings as text for people, with a line that counts them."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.finding_text import as_text, summary
from speccompile.terminal.style import Paint


def format_findings(findings: Sequence[Diagnostic], paint: Paint) -> str:
    """The findings and a last line that counts them; nothing if there are none."""
    return f"{as_text(findings, paint)}speccompile: {summary(findings)}\n" if findings else ""
