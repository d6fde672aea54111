"""Takes findings and the options of a call, gives the findings as it asks for them; see `cli.py`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from speccompile.diagnostics import Diagnostic
    from speccompile.grades import Grades
    from speccompile.paint import Paint


def grades_of(
    arguments: argparse.Namespace, severity: Grades | None = None, strict: Grades | None = None
) -> dict[str, str]:
    """What codes count as: what the project file says, then `--strict`, then the other options."""
    return {**(severity or {}), **((strict or {}) if arguments.strict else {}), **dict(arguments.grades)}


def judged(
    findings: Iterable[Diagnostic],
    grades: Grades,
    *,
    stopping: Iterable[Diagnostic] = (),
    keeps_errors: bool = False,
) -> tuple[Diagnostic, ...]:
    """The findings in order, as severe as the grades say.

    Of what stops the whole call, errors stay errors: nobody is left with nothing and not told why.
    Where errors are to be kept, those to be ignored are notices.
    """
    from speccompile.diagnostics import Severity, in_order
    from speccompile.grades import IGNORE, graded

    found, stops = list(findings), list(stopping)
    fixed = [finding for finding in stops if finding.severity is Severity.ERROR]
    others = [finding for finding in stops if finding.severity is not Severity.ERROR]
    errors = [finding for finding in found if finding.severity is Severity.ERROR] if keeps_errors else []
    kept = [error._replace(severity=Severity.NOTICE) for error in errors if grades.get(error.code) == IGNORE]
    return in_order((*fixed, *kept, *graded((*others, *found), grades)))


def tell(findings: Iterable[Diagnostic], stream: TextIO, form: str = "text", *, quiet: bool = False) -> None:
    """Writes the findings in one of the formats; one for programs is written even if there are none."""
    from speccompile.diagnostics import Severity
    from speccompile.report import as_format

    shown = [finding for finding in findings if finding.severity is Severity.ERROR or not quiet]
    stream.write(as_format(form, shown, paint_for(stream)))
    stream.flush()


def tell_left_out(count: int, stderr: TextIO) -> None:
    """Says how many runs are missing from the result, if any are: their errors may be told as less, or not at all."""
    if count:
        runs = "1 run is" if count == 1 else f"{count} runs are"
        stderr.write(
            f"speccompile: {runs} left out: what has errors has no manifests, however severe they are called\n"
        )


def paint_for(stream: TextIO) -> Paint:
    """Colour on a terminal that can show it, unless NO_COLOR is set to anything."""
    from speccompile.paint import coloured, plain

    can = stream.isatty() and os.environ.get("TERM") != "dumb"
    return coloured if can and not os.environ.get("NO_COLOR") else plain
