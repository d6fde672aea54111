"""Severities by code, as set by a project file or the command line."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Severity

IGNORE = "ignore"
Severities: TypeAlias = Mapping[str, str]
"""A severity, or `ignore`, by code."""
STRICT: Severities = {"merge/overridden": Severity.ERROR, "merge/extended": Severity.ERROR}
"""The severities of `--strict`: overridden values of runs are errors."""


def apply_severities(findings: Iterable[Diagnostic], severities: Severities) -> tuple[Diagnostic, ...]:
    """Set the severities of findings, and drop those that are ignored.

    A run with errors has no manifests, whatever severity is set for them.
    """
    return tuple(_with_severity(finding, severities) for finding in findings if severities.get(finding.code) != IGNORE)


def _with_severity(finding: Diagnostic, severities: Severities) -> Diagnostic:
    severity = severities.get(finding.code)
    return finding if severity in (None, finding.severity) else finding._replace(severity=Severity(str(severity)))
