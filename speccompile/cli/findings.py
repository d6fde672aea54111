"""Findings of a call: severities, groups and output."""

from __future__ import annotations

import argparse
import os
from collections.abc import Hashable, Iterable, Sequence
from functools import partial
from typing import TextIO

from speccompile.compiler.compiled import Result
from speccompile.compiler.duplicate_objects import HashIndex
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.finding_text import MAX_SHOWN
from speccompile.model.findings import CompileError, has_errors, in_order
from speccompile.model.severity import IGNORE, Severities, apply_severities
from speccompile.report.finding_groups import Group, cause_of, format_groups
from speccompile.report.formats import FORMATS, TEXT, as_format
from speccompile.terminal.style import Paint, coloured, plain


def severities_of(
    arguments: argparse.Namespace, severity: Severities | None = None, strict: Severities | None = None
) -> dict[str, str]:
    """Severities by code: options override `--strict`, which overrides the project file."""
    return {**(severity or {}), **((strict or {}) if arguments.strict else {}), **dict(arguments.severities)}


def assign_severities(
    findings: Iterable[Diagnostic],
    severities: Severities,
    *,
    stopping: Iterable[Diagnostic] = (),
    keeps_errors: bool = False,
) -> tuple[Diagnostic, ...]:
    """Apply severities, and sort the findings.

    Errors among `stopping` stay errors: the call ends with them, and has to report why. With `keeps_errors`, errors
    that are ignored become notices.
    """
    ordinary, stops = list(findings), list(stopping)
    fixed = [finding for finding in stops if finding.severity is Severity.ERROR]
    others = [finding for finding in stops if finding.severity is not Severity.ERROR]
    errors = [finding for finding in ordinary if finding.severity is Severity.ERROR] if keeps_errors else []
    ignored = [error._replace(severity=Severity.NOTICE) for error in errors if severities.get(error.code) == IGNORE]
    return in_order((*fixed, *ignored, *apply_severities((*others, *ordinary), severities)))


def print_findings(
    findings: Iterable[Diagnostic], stream: TextIO, form: str = TEXT, *, quiet: bool = False, verbose: bool = False
) -> None:
    """Print the findings in one of the formats; a format for programs is printed even if there are none."""
    if form == TEXT and not verbose:
        groups = GroupedFindings({}, quiet=quiet)
        groups.add(findings)
        groups.print(stream)
        return
    reported = [finding for finding in findings if finding.severity is Severity.ERROR or not quiet]
    stream.write(as_format(form, reported, paint_for(stream)))
    stream.flush()


def print_result(findings: Iterable[Diagnostic], arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> None:
    """Print the findings of a command that prints nothing else, as its options say."""
    stream = stream_for(arguments.format, stdout, stderr)
    print_findings(findings, stream, arguments.format, quiet=arguments.quiet, verbose=arguments.verbose)


def report_success(text: str, arguments: argparse.Namespace, stderr: TextIO) -> None:
    """Print one line about what was done, unless `--quiet`, or a program reads findings from stderr."""
    if not arguments.quiet and arguments.format == TEXT:
        stderr.write(f"{text}\n")


def stream_for(form: str, stdout: TextIO, stderr: TextIO) -> TextIO:
    """The stream for findings of a command that prints nothing else: stdout for programs, stderr for text."""
    return stderr if form == TEXT else stdout


class GroupedFindings:
    """Findings of any number of runs, counted and grouped by cause; the most severe groups are printed.

    With `quiet`, only errors. Memory is bounded, except for a few bytes per finding to recognize equal ones. A group
    that was dropped for more severe ones and comes back lists its later findings only; the total is always right.
    """

    def __init__(self, severities: Severities, stopping: Iterable[Diagnostic] = (), *, quiet: bool = False) -> None:
        self._severities = severities
        self._quiet = quiet
        self._ranks = {severity: rank for rank, severity in enumerate(Severity)}
        self._seen = HashIndex()
        self._number = 0
        self._counts = dict.fromkeys(Severity, 0)
        self._groups: dict[Hashable, Group] = {}
        self._add(assign_severities((), severities, stopping=stopping), "")

    def add(self, findings: Iterable[Diagnostic], run: str = "") -> None:
        """Add findings that are redacted already, as those of results are, of the run of this name."""
        self._add(apply_severities(findings, self._severities), run)

    @property
    def has_errors(self) -> bool:
        return self._counts[Severity.ERROR] > 0

    def print(self, stream: TextIO) -> None:
        """Print the groups, and how many findings there are."""
        groups = sorted(self._most_severe().values(), key=lambda group: group.order)
        stream.write(format_groups(groups, self._counts, paint_for(stream)))
        stream.flush()

    def _add(self, findings: Iterable[Diagnostic], run: str) -> None:
        for finding in findings:
            if self._quiet and finding.severity is not Severity.ERROR:
                continue
            # Equal findings of several runs are one. Two digests of 96 bits are never equal by chance.
            first, second = _digest(finding)
            if self._seen.settle(first, second) == second:
                continue
            self._number += 1
            self._counts[finding.severity] += 1
            cause = cause_of(finding)
            group = self._groups.get(cause)
            if group is None:
                self._groups[cause] = Group(finding, run, self._number)
            else:
                group.add(finding, run, self._number)
        if len(self._groups) > 2 * MAX_SHOWN:
            self._groups = self._most_severe()

    def _most_severe(self) -> dict[Hashable, Group]:
        def rank(item: tuple[Hashable, Group]) -> tuple[object, ...]:
            return (self._ranks[item[1].first.severity], *item[1].order)

        return dict(sorted(self._groups.items(), key=rank)[:MAX_SHOWN])


class FindingCollector:
    """The findings of a call, collected run by run, until they are printed."""

    def __init__(
        self, arguments: argparse.Namespace, severities: Severities, stopping: Sequence[Diagnostic], stream: TextIO
    ) -> None:
        self._arguments, self._severities, self._stopping, self._stream = arguments, severities, stopping, stream
        # Formats for programs and --verbose print all findings, so all are collected.
        is_grouped = arguments.format == TEXT and not arguments.verbose
        self._groups = GroupedFindings(severities, stopping, quiet=arguments.quiet) if is_grouped else None
        self._findings: list[Diagnostic] = []
        self.runs = 0
        self.skipped = 0
        """Runs with errors, which have no manifests, even if the errors are reported as less."""
        self.has_errors = False

    def add(self, result: Result) -> None:
        """Add the findings of a run."""
        # The name of a run with errors is not known if workers or the cache return it.
        name = "" if isinstance(result, CompileError) else result.name
        self.runs += 1
        self.skipped += isinstance(result, CompileError)
        if self._groups is None:
            self._findings += result.diagnostics
        else:
            self._groups.add(result.diagnostics, name)

    def print(self, stderr: TextIO) -> None:
        """Print the findings, and the number of runs that are skipped although nothing is reported as an error."""
        arguments = self._arguments
        if self._groups is not None:
            self.has_errors = self._groups.has_errors
            self._groups.print(stderr)
            report_skipped(0 if self.has_errors else self.skipped, stderr)
            return
        assign = partial(assign_severities, self._findings, self._severities, stopping=self._stopping)
        findings = assign()
        self.has_errors = has_errors(findings)
        is_short = self.skipped > 0 and not self.has_errors
        if is_short and self._stream is stderr and FORMATS[arguments.format].is_document:
            # No other text may be written to this stream, so the document itself reports the errors.
            print_findings(assign(keeps_errors=True), stderr, arguments.format)
        else:
            print_findings(findings, self._stream, arguments.format, quiet=arguments.quiet, verbose=arguments.verbose)
            report_skipped(self.skipped if is_short else 0, stderr)


def _digest(finding: Diagnostic) -> tuple[int, int]:
    """96 bits that identify the finding within this process; `hashlib` is slow to import."""
    spans = (finding.span, *(note.span for note in finding.notes))
    # The hash of a source text is computed once; its repr would take most of the time.
    places = [(*span[1:], span.source.name, hash(span.source.text)) if span else None for span in spans]
    words = (finding.code, finding.message, finding.path, finding.severity.value, finding.help)
    identity = repr((words, [note.message for note in finding.notes], places))
    return hash(identity), hash(f".{identity}") & 0xFFFF_FFFF


def report_skipped(count: int, stderr: TextIO) -> None:
    """Print how many runs are skipped, if any are: their errors may be reported as notices, or not at all."""
    if count:
        runs = "1 run" if count == 1 else f"{count} runs"
        stderr.write(f"speccompile: skipped {runs} with errors; changing the severity of an error does not fix it\n")


def paint_for(stream: TextIO) -> Paint:
    """Colour on a terminal, unless it is dumb or NO_COLOR is set."""
    has_colour = stream.isatty() and os.environ.get("TERM") != "dumb"
    return coloured if has_colour and not os.environ.get("NO_COLOR") else plain
