"""`speccompile check`: find manifest files that are out of date, missing or left over."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from speccompile.cli.changed import ChangedWork, read_changed_work
from speccompile.cli.findings import (
    assign_severities,
    paint_for,
    print_findings,
    print_result,
    report_skipped,
    report_success,
    severities_of,
)
from speccompile.cli.options import (
    COMMANDS,
    Commands,
    add_changed,
    add_command,
    add_findings,
    add_format,
    add_inputs,
    add_paths,
    add_shape,
)
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled
from speccompile.diff.drift import Committed, as_diff, field_drift, linked, missing, orphan, stale
from speccompile.files.call_inputs import STREAM, CallError, Inputs
from speccompile.files.find import identity
from speccompile.files.manifest_text import TEXTS
from speccompile.files.orphans import orphans
from speccompile.files.replace_files import Output, write_failure
from speccompile.files.write import (
    has_text,
    is_file_name,
    kustomization_output,
    manifest_path,
    read_text,
    write_files,
)
from speccompile.integrations.helm_chart import from_chart_template
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.finding_text import findings_as_text
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source, Span
from speccompile.report.formats import TEXT
from speccompile.terminal.display_width import printable
from speccompile.terminal.style import Paint, plain

DONE, INPUT, DRIFT = 0, 1, 4
_EXAMPLES = """\
examples:
  speccompile check                                    the manifests of all runs of the project
  speccompile check runs/ -o manifests/                those of a directory
  speccompile check --semantic                         compare fields, and show who sets each one
  speccompile check --fix                              update, write and remove files
  speccompile check --format github                    for CI; also json and sarif

exit codes: 0 everything is up to date, 4 something was not (even if --fix updated it), 1 a spec has errors
"""


class Drift(NamedTuple):
    """The difference between one file and what its run produces, and how to fix it."""

    findings: tuple[Diagnostic, ...]
    diff: str = ""
    """Shown below the findings in text output."""
    write: Output | None = None
    remove: Path | None = None


class Comparison(NamedTuple):
    """The runs compared with their files."""

    findings: tuple[Diagnostic, ...]
    file_errors: tuple[Diagnostic, ...]
    """Files that could not be compared."""
    drifts: tuple[Drift, ...]
    files: frozenset[Path]
    """The files that the runs produce."""
    skipped: int
    """Number of runs with errors, which have no manifests to compare."""


def add_check(commands: Commands) -> None:
    """Add the `check` command."""
    parser = add_command(commands, "check", COMMANDS["check"].summary, _EXAMPLES)
    parser.set_defaults(run=run_check)
    add_paths(parser)
    add_inputs(parser)
    add_shape(parser, "directory of the manifests (default: `output`)")
    parser.add_argument("--fix", action="store_true", help="update, write and remove files as needed")
    parser.add_argument("--semantic", action="store_true", help="compare fields instead of lines")
    add_changed(parser)
    add_format(parser)
    add_findings(parser)


def run_check(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Run the command; differences go to stdout, everything else to stderr."""
    try:
        work = read_changed_work(arguments, stderr)
        return _check(arguments, work, _folder(work.inputs), stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        findings = assign_severities((), severities_of(arguments), stopping=error.diagnostics)
        print_result(findings, arguments, stdout, stderr)
    return INPUT


def _folder(inputs: Inputs) -> Path:
    folder = inputs.output or inputs.home
    if folder is None or folder == STREAM:
        raise CallError("no directory to check: pass -o DIR, or set `output` in speccompile.yaml")
    if is_file_name(folder):
        name = printable(str(folder))
        raise CallError(f"check compares a directory of manifests, and {name} is a file: pass -o DIR")
    return Path(folder)


def _check(arguments: argparse.Namespace, work: ChangedWork, folder: Path, stdout: TextIO, stderr: TextIO) -> int:
    is_text = arguments.format == TEXT
    severities = severities_of(arguments, work.inputs.severity, STRICT)
    comparison = _compare(arguments, work, folder, paint_for(stdout))
    stopping = (*work.setting.findings, *comparison.file_errors)
    other_drifts: tuple[Drift, ...] = ()
    try:
        other_drifts = tuple(_other_drifts(arguments, work, folder, comparison))
    except OSError as error:
        stopping = (*stopping, _file_error(error, folder))
    findings = assign_severities(comparison.findings, severities, stopping=stopping)
    # `validate` and `render` report notices; here they would hide the differences.
    findings = tuple(finding for finding in findings if finding.severity is not Severity.NOTICE)
    if has_errors(findings):
        print_result(findings, arguments, stdout, stderr)
        return INPUT
    judged_drifts = (
        drift._replace(findings=assign_severities(drift.findings, severities))
        for drift in (*comparison.drifts, *other_drifts)
    )
    drifts = [drift for drift in judged_drifts if drift.findings]
    drift_findings = tuple(finding for drift in drifts for finding in drift.findings)
    if is_text:
        print_findings(findings, stderr, quiet=arguments.quiet, verbose=arguments.verbose)
        _show([] if arguments.fix else drifts, stdout, quiet=arguments.quiet)
    else:
        print_findings(
            (*findings, *drift_findings), stdout, arguments.format, quiet=arguments.quiet, verbose=arguments.verbose
        )
    report_skipped(comparison.skipped, stderr)
    if arguments.fix and not _fix(drifts, folder, work.inputs, stdout if is_text else stderr, stderr):
        return INPUT
    orphans_unknown = _why_orphans_are_unknown(work, folder, comparison)
    if orphans_unknown and work.inputs.is_whole and not work.is_idle and not arguments.quiet:
        stderr.write(f"speccompile: did not look for left-over files: {printable(orphans_unknown)}\n")
    if not drifts:
        report_success(_success(comparison, work), arguments, stderr)
    elif not arguments.quiet:
        stderr.write(f"speccompile: {_summary(drifts, is_fixed=arguments.fix)}\n")
    return DRIFT if has_errors(drift_findings) else DONE


def _compare(arguments: argparse.Namespace, work: ChangedWork, folder: Path, paint: Paint) -> Comparison:
    """Compare every run with its file."""
    findings: list[Diagnostic] = []
    file_errors: list[Diagnostic] = []
    drifts: list[Drift] = []
    files: set[Path] = set()
    skipped = 0
    for result in compile_files(work.texts, work.setting):
        findings += result.diagnostics
        if isinstance(result, CompileError):
            skipped += 1
            continue
        output = Output(manifest_path(result.project, result.name, arguments.shape), TEXTS[arguments.shape](result))
        files.add(folder / output.path)
        try:
            drifts += _drift(output, result, folder, arguments, paint)
        except OSError as error:
            file_errors.append(_file_error(error, folder / output.path))
    return Comparison(tuple(findings), tuple(file_errors), tuple(drifts), frozenset(files), skipped)


def _drift(
    output: Output, compiled: Compiled | None, folder: Path, arguments: argparse.Namespace, paint: Paint
) -> Iterator[Drift]:
    """The drift of the file of a run or, without a run, of the Kustomization."""
    file = folder / output.path
    if file.is_symlink() or (file.parent != folder and file.parent.is_symlink()):
        yield Drift((linked(str(file), compiled),), write=output)
        return
    if has_text(file, output.text):
        return
    text = read_text(file)
    if text is None:
        yield Drift((missing(str(file), compiled),), write=output)
        return
    committed = Committed(str(file), text)
    yaml = from_chart_template(text) if arguments.shape == "helm" else text
    by_field = compiled if arguments.semantic else None
    fields = field_drift(Committed(str(file), yaml), by_field) if by_field and yaml is not None else None
    if fields is None:
        finding = stale(committed, output.text, compiled, has_no_fields=by_field is not None)
        yield Drift((finding,), as_diff(committed, output.text, paint), output)
    elif fields:
        yield Drift(fields, write=output)


def _file_error(error: OSError, file: Path) -> Diagnostic:
    span = Span(Source(str(error.filename or file), "", Layer.RUN))
    reason = str(error.strerror or error)
    if isinstance(error, FileExistsError):
        return Diagnostic(code="check/in-the-way", message=reason, span=span, help="move it to another place")
    return Diagnostic(
        code="input/unreadable",
        message=f"the file cannot be read: {reason}",
        span=span,
        help="check its permissions and that it is a file",
    )


def _other_drifts(
    arguments: argparse.Namespace, work: ChangedWork, folder: Path, comparison: Comparison
) -> Iterator[Drift]:
    """Files that are left over, and the drift of the Kustomization.

    Raise OSError if the Kustomization cannot be read, or if speccompile did not write it.
    """
    if work.is_idle:
        return
    files = comparison.files | {Path(name) for name in work.chosen.outputs} if work.chosen else comparison.files
    orphans_unknown = _why_orphans_are_unknown(work, folder, comparison)
    if not orphans_unknown:
        inputs = frozenset(file_id for path in work.inputs.files if (file_id := identity(path)))
        for file in orphans(folder, files, inputs, work.setting.platform):
            yield Drift((orphan(str(file)),), remove=file)
    if arguments.kustomization:
        listed = (file.relative_to(folder) for file in files if file in comparison.files or file.exists())
        output = kustomization_output(listed, folder, is_whole=not orphans_unknown)
        yield from _drift(output, None, folder, arguments, plain)


def _why_orphans_are_unknown(work: ChangedWork, folder: Path, comparison: Comparison) -> str:
    """The reason why left-over files cannot be determined; empty if they can."""
    home = work.inputs.home
    if not work.inputs.is_whole or home is None or identity(home) != identity(folder):
        return "this call does not cover all runs of the project and its `output`"
    if comparison.skipped:
        return "runs with errors may produce any file"
    unread = work.chosen.unread if work.chosen else ()
    return f"{unread[0]} cannot be read" if unread else ""


def _show(drifts: Sequence[Drift], stdout: TextIO, *, quiet: bool) -> None:
    for drift in (drift for drift in drifts if has_errors(drift.findings) or not quiet):
        stdout.write(findings_as_text(map(_brief, drift.findings) if drift.diff else drift.findings, paint_for(stdout)))
        stdout.write(f"{drift.diff}\n" if drift.diff else "")


def _brief(finding: Diagnostic) -> Diagnostic:
    """The finding without its line, which the diff shows."""
    return finding._replace(span=finding.span and Span(finding.span.source))


def _fix(drifts: Sequence[Drift], folder: Path, inputs: Inputs, output: TextIO, stderr: TextIO) -> bool:
    """Fix all files, or none if that fails; return whether it succeeded."""
    removed = [drift.remove for drift in drifts if drift.remove]
    try:
        written = write_files([drift.write for drift in drifts if drift.write], folder, inputs.files, removed)
    except OSError as error:
        stderr.write(write_failure(error, folder))
        return False
    lines = (*(f"wrote {file}" for file in written), *(f"removed {file}" for file in removed))
    output.write("".join(f"{printable(line)}\n" for line in lines))
    return True


_DRIFT_WORDS = {"check/stale": "out of date", "check/missing": "missing", "check/orphan": "left over"}


def _summary(drifts: Sequence[Drift], *, is_fixed: bool) -> str:
    if is_fixed:
        return f"updated {len(drifts)} {'file' if len(drifts) == 1 else 'files'}"
    counts = Counter(drift.findings[0].code for drift in drifts)
    (count, words), *others = ((counts[code], words) for code, words in _DRIFT_WORDS.items() if counts[code])
    first = f"{count} {'file' if count == 1 else 'files'} {words}"
    return ", ".join((first, *(f"{count} {words}" for count, words in others)))


def _success(comparison: Comparison, work: ChangedWork) -> str:
    if work.is_idle:
        return "no run is affected by the changes"
    count = len(comparison.files)
    of_all = f" (checked {count} of {work.chosen.total} runs)" if work.chosen else ""
    return f"{count} {'file' if count == 1 else 'files'} up to date{of_all}"
