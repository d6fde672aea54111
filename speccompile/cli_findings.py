"""Takes findings and the options of a call, gives the findings as it asks for them; see `cli.py`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from speccompile.diagnostics import Diagnostic
    from speccompile.paint import Paint


def judged(
    findings: Iterable[Diagnostic],
    arguments: argparse.Namespace,
    severity: Mapping[str, str],
    strict: Mapping[str, str],
) -> tuple[Diagnostic, ...]:
    """The findings in order, as severe as the project file says, then `--strict`, then the other options."""
    from speccompile.diagnostics import in_order
    from speccompile.grades import graded

    grades = {**severity, **(strict if arguments.strict else {}), **dict(arguments.grades)}
    return in_order(graded(findings, grades))


def tell(findings: Iterable[Diagnostic], stream: TextIO, form: str = "text", *, quiet: bool = False) -> None:
    """Writes the findings in one of the formats; one for programs is written even if there are none."""
    from speccompile.diagnostics import Severity
    from speccompile.report import as_format

    shown = [finding for finding in findings if finding.severity is Severity.ERROR or not quiet]
    try:
        stream.write(as_format(form, shown, paint_for(stream)))
        stream.flush()
    except BrokenPipeError:
        # Nobody reads on, but what was found stays found; see `cli.main`.
        sys.stderr = None


def paint_for(stream: TextIO) -> Paint:
    """Colour on a terminal that can show it, unless NO_COLOR is set to anything."""
    from speccompile.paint import coloured, plain

    can = stream.isatty() and os.environ.get("TERM") != "dumb"
    return coloured if can and not os.environ.get("NO_COLOR") else plain
