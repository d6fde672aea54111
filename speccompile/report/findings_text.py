"""Findings as text, all of them in full, with a last line that counts them."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.finding_text import count_by_severity, count_text, findings_as_text
from speccompile.terminal.style import Paint


def format_findings(findings: Sequence[Diagnostic], paint: Paint) -> str:
    return findings_as_text(findings, paint, limit=len(findings)) + count_text(count_by_severity(findings))
