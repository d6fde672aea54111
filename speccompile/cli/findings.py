"""Findings of a call: their severity, and where they are printed."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TextIO

from speccompile.compiler.compiled import Result
from speccompile.compiler.duplicate_objects import HashIndex
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.finding_text import MAX_SHOWN, as_text, summed
from speccompile.model.findings import CompileError, has_errors, in_order
from speccompile.model.severity import IGNORE, Severities, apply_severities
from speccompile.model.source import Span
from speccompile.report.formats import FORMATS, TEXT, as_format
from speccompile.terminal.style import Paint, coloured, plain


def severities_of(
    arguments: argparse.Namespace, severity: Severities | None = None, strict: Severities | None = None
) -> dict[str, str]:
    """What codes count as: what the project file says, then `--strict`, then the other options."""
    return {**(severity or {}), **((strict or {}) if arguments.strict else {}), **dict(arguments.severities)}


def judged(
    findings: Iterable[Diagnostic],
    severities: Severities,
    *,
    stopping: Iterable[Diagnostic] = (),
    keeps_errors: bool = False,
) -> tuple[Diagnostic, ...]:
    """The findings in order, as severe as the grades say.

    Of what stops the whole call, errors stay errors: nobody is left with nothing and not told why.
    Where errors are to be kept, those to be ignored are notices.
    """
    found, stops = list(findings), list(stopping)
    fixed = [finding for finding in stops if finding.severity is Severity.ERROR]
    others = [finding for finding in stops if finding.severity is not Severity.ERROR]
    errors = [finding for finding in found if finding.severity is Severity.ERROR] if keeps_errors else []
    kept = [error._replace(severity=Severity.NOTICE) for error in errors if severities.get(error.code) == IGNORE]
    return in_order((*fixed, *kept, *apply_severities((*others, *found), severities)))


def tell(findings: Iterable[Diagnostic], stream: TextIO, form: str = TEXT, *, quiet: bool = False) -> None:
    """Writes the findings in one of the formats; one for programs is written even if there are none."""
    shown = [finding for finding in findings if finding.severity is Severity.ERROR or not quiet]
    stream.write(as_format(form, shown, paint_for(stream)))
    stream.flush()


def report_success(text: str, arguments: argparse.Namespace, stderr: TextIO) -> None:
    """Print one line about what was done, unless `--quiet`, or a program reads findings from stderr."""
    if not arguments.quiet and arguments.format == TEXT:
        stderr.write(f"{text}\n")


def stream_for(form: str, stdout: TextIO, stderr: TextIO) -> TextIO:
    """Where a command whose result is findings writes them: a format for programs to stdout, text to stderr."""
    return stderr if form == TEXT else stdout


class Tally:
    """Findings that are many, held as what `tell` would show of them: the worst ones, and how many there are.

    In memory are at most as many as are shown, and a few bytes for each other one.
    """

    def __init__(self, severities: Severities, stopping: Iterable[Diagnostic] = ()) -> None:
        self._severities = severities
        self._ranks = {severity: rank for rank, severity in enumerate(Severity)}
        self._seen = HashIndex()
        self._number = 0
        self._counts = dict.fromkeys(Severity, 0)
        self._worst: list[tuple[int, Diagnostic]] = []
        self._secret: dict[tuple[Severity, Span], None] = {}
        self._take(judged((), severities, stopping=stopping))

    def add(self, findings: Iterable[Diagnostic]) -> None:
        """Takes findings that are masked already, as those of results are."""
        self._take(apply_severities(findings, self._severities))

    @property
    def has_errors(self) -> bool:
        return self._counts[Severity.ERROR] > 0

    def tell(self, stream: TextIO, *, quiet: bool = False) -> None:
        """Writes what `tell` writes, had it all findings."""
        in_order = sorted(self._cut(), key=lambda numbered: (*numbered[1].order, numbered[0]))
        if len(in_order) == sum(self._counts.values()):
            tell((finding for _, finding in in_order), stream, quiet=quiet)
            return
        counts = {severity: self._counts[severity] for severity in Severity if not quiet or severity is Severity.ERROR}
        shown = [finding for _, finding in in_order if finding.severity in counts]
        if shown:
            hidden = [span for severity, span in self._secret if severity in counts]
            text = as_text(shown, paint_for(stream), total=sum(counts.values()), hidden=hidden)
            stream.write(f"{text}speccompile: {summed(counts)}\n")
        stream.flush()

    def _take(self, findings: Iterable[Diagnostic]) -> None:
        for finding in findings:
            # Two findings are one only if they say the same, and no two ever had one digest of 96 bits.
            first, second = _digest(finding)
            if self._seen.settle(first, second) == second:
                continue
            self._number += 1
            self._counts[finding.severity] += 1
            if finding.secret:
                self._secret[finding.severity, finding.secret] = None
            self._worst.append((self._number, finding))
        if len(self._worst) > 2 * MAX_SHOWN:
            self._worst = self._cut()

    def _cut(self) -> list[tuple[int, Diagnostic]]:
        def rank(numbered: tuple[int, Diagnostic]) -> tuple[object, ...]:
            number, finding = numbered
            return (self._ranks[finding.severity], *finding.order, number)

        return sorted(self._worst, key=rank)[:MAX_SHOWN]


class Account:
    """The findings of a call, as severe as it wants them, until they are printed."""

    def __init__(
        self, arguments: argparse.Namespace, severities: Severities, stopping: Sequence[Diagnostic], stream: TextIO
    ) -> None:
        self._arguments, self._severities, self._stopping, self._stream = arguments, severities, stopping, stream
        # A format for programs has all findings in it, so that they have to be at hand.
        self._tally = Tally(severities, stopping) if arguments.format == TEXT else None
        self._found: list[Diagnostic] = []
        self._left_out = 0
        self.has_errors = False

    def add(self, result: Result) -> None:
        """Take the findings of a run; one with errors has no manifests."""
        self._left_out += isinstance(result, CompileError)
        if self._tally is None:
            self._found += result.diagnostics
        else:
            self._tally.add(result.diagnostics)

    def tell(self, stderr: TextIO) -> None:
        """Print the findings, and how many runs are missing though nothing counts as an error."""
        arguments = self._arguments
        if self._tally is not None:
            self.has_errors = self._tally.has_errors
            self._tally.tell(stderr, quiet=arguments.quiet)
            tell_left_out(0 if self.has_errors else self._left_out, stderr)
            return
        judge = partial(judged, self._found, self._severities, stopping=self._stopping)
        findings = judge()
        self.has_errors = has_errors(findings)
        is_short = self._left_out > 0 and not self.has_errors
        if is_short and self._stream is stderr and FORMATS[arguments.format].is_document:
            # A program reads this stream, so what it reads has to say that runs are missing.
            tell(judge(keeps_errors=True), stderr, arguments.format)
        else:
            tell(findings, self._stream, arguments.format, quiet=arguments.quiet)
            tell_left_out(self._left_out if is_short else 0, stderr)


def _digest(finding: Diagnostic) -> tuple[int, int]:
    spans = (finding.span, finding.secret, *(note.span for note in finding.notes))
    # A hash for the text: writing it out would cost more than all the rest.
    places = [(*span[1:], span.source.name, hash(span.source.text)) if span else None for span in spans]
    words = (finding.code, finding.message, finding.path, finding.severity.value, finding.help)
    told = repr((words, [note.message for note in finding.notes], places))
    # Python's own hash has a new key in each process; `hashlib` would take longer to import than all of this.
    return hash(told), hash(f".{told}") & 0xFFFF_FFFF


def tell_left_out(count: int, stderr: TextIO) -> None:
    """Says how many runs are missing from the result, if any are: their errors may be told as less, or not at all."""
    if count:
        runs = "1 run is" if count == 1 else f"{count} runs are"
        stderr.write(
            f"speccompile: {runs} left out: what has errors has no manifests, however severe they are called\n"
        )


def paint_for(stream: TextIO) -> Paint:
    """Colour on a terminal that can show it, unless NO_COLOR is set to anything."""
    can = stream.isatty() and os.environ.get("TERM") != "dumb"
    return coloured if can and not os.environ.get("NO_COLOR") else plain
