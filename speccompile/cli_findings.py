"""Takes the options about findings that commands share, gives findings as they ask for them; see `cli.py`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from speccompile.diagnostics import Diagnostic
    from speccompile.paint import Paint

FORMATS = ("text", "json", "sarif", "github")
_GRADES = ("error", "warning", "notice", "ignore")


def add_findings(
    parser: argparse.ArgumentParser,
    strict: str,
    formats: tuple[str, ...] = FORMATS,
    what: str = "how to print findings",
) -> None:
    """Gives a command its options about findings."""
    parser.add_argument("--format", choices=formats, default=formats[0], help=f"{what} (default: {formats[0]})")
    parser.add_argument("--strict", action="store_true", help=strict)
    for grade in _GRADES:
        parser.add_argument(
            f"--{grade}",
            dest="grades",
            action="append",
            default=[],
            metavar="CODE",
            type=_graded(grade),
            help=f"count findings of this code as {grade}s" if grade != "ignore" else "leave out findings of this code",
        )
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def _graded(grade: str) -> Callable[[str], tuple[str, str]]:
    def pair(code: str) -> tuple[str, str]:
        return known_code(code), grade

    return pair


def known_code(code: str) -> str:
    """The code, if it is one; argparse words what is raised."""
    from speccompile.resources import bundled_codes
    from speccompile.validate import near

    if code in bundled_codes():
        return code
    meant = near(code, bundled_codes())
    raise argparse.ArgumentTypeError(f"there is no code {code!r}" + (f"; did you mean {meant!r}?" if meant else ""))


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


def tell(findings: Iterable[Diagnostic], stream: TextIO, form: str = FORMATS[0], *, quiet: bool = False) -> None:
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
