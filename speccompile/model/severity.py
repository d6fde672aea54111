"""Severities of findings as a project and a command line set them, by code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Severity

IGNORE = "ignore"
Severities: TypeAlias = Mapping[str, str]
"""For each code a severity, or `ignore`."""
STRICT: Severities = {"merge/overridden": Severity.ERROR, "merge/extended": Severity.ERROR}
"""What `--strict` makes of what a profile or the platform does to a user's values."""


def apply_severities(findings: Iterable[Diagnostic], severities: Severities) -> tuple[Diagnostic, ...]:
    """The findings with the severity that is given for their code; without those that are to be ignored.

    Whether a run compiles does not hang on it: a run that has errors has no manifests, whatever they are called.
    """
    return tuple(_with_severity(found, severities) for found in findings if severities.get(found.code) != IGNORE)


def _with_severity(finding: Diagnostic, severities: Severities) -> Diagnostic:
    severity = severities.get(finding.code)
    return finding if severity in (None, finding.severity) else finding._replace(severity=Severity(str(severity)))
