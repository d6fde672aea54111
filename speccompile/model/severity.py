"""Severities of findings as a project and a command line set them, by code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Severity

IGNORE = "ignore"
Grades: TypeAlias = Mapping[str, str]
"""For each code a severity, or `ignore`."""
STRICT: Grades = {"merge/overridden": Severity.ERROR, "merge/extended": Severity.ERROR}
"""What `--strict` makes of what a profile or the platform does to a user's values."""


def graded(findings: Iterable[Diagnostic], grades: Grades) -> tuple[Diagnostic, ...]:
    """The findings with the severity that is given for their code; without those that are to be ignored.

    Whether a run compiles does not hang on it: a run that has errors has no manifests, whatever they are called.
    """
    return tuple(_regraded(found, grades) for found in findings if grades.get(found.code) != IGNORE)


def _regraded(finding: Diagnostic, grades: Grades) -> Diagnostic:
    grade = grades.get(finding.code)
    return finding if grade in (None, finding.severity) else finding._replace(severity=Severity(str(grade)))
