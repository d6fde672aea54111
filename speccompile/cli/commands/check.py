"""`speccompile check`: find manifest files that are stale, missing or left over."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TextIO

from speccompile.cli.changed import ChangedWork, read_changed_work
from speccompile.cli.findings import judged, paint_for, severities_of, stream_for, tell, tell_left_out
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
from speccompile.files.write import Output, has_text, listing, nothing_written, path_of, read_text, write_files
from speccompile.integrations.helm_chart import from_chart_template
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.finding_text import as_text
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
  speccompile check --semantic                         by field, and who says what it should be
  speccompile check --fix                              mend what is found
  speccompile check --format github                    for CI; also json and sarif

exit codes: 0 all is as the specs give it, 4 something was not (even if --fix has mended it), 1 a spec has errors
"""


class Drift(NamedTuple):
    """What is wrong with one file, and what mends it."""

    findings: tuple[Diagnostic, ...]
    diff: str = ""
    """For people, below the findings."""
    written: Output | None = None
    removed: Path | None = None


class Checked(NamedTuple):
    """What became of the runs."""

    findings: tuple[Diagnostic, ...]
    hindrances: tuple[Diagnostic, ...]
    """Why files could not be compared."""
    drifts: tuple[Drift, ...]
    files: frozenset[Path]
    """Those that should be there."""
    left_out: int
    """How many runs have errors, and therefore no manifests to compare."""


def add_check(commands: Commands) -> None:
    """Gives the command line its `check`."""
    parser = add_command(commands, "check", COMMANDS["check"].what, _EXAMPLES)
    parser.set_defaults(run=run_check)
    add_paths(parser)
    add_inputs(parser)
    add_shape(parser, "the folder of manifests; else the project's `output`")
    parser.add_argument("--fix", action="store_true", help="write what is missing or stale, remove what is left")
    parser.add_argument("--semantic", action="store_true", help="compare fields and not lines; layout does not count")
    add_changed(parser)
    add_format(parser)
    add_findings(parser, "values of a run that a profile or the platform changes are errors")


def run_check(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; what differs goes to stdout, everything else to stderr."""
    beside = stream_for(arguments.format, stdout, stderr)
    try:
        work = read_changed_work(arguments, stderr)
        return _check(arguments, work, _folder(work.inputs), stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        tell(judged((), severities_of(arguments), stopping=error.diagnostics), beside, arguments.format)
    return INPUT


def _folder(inputs: Inputs) -> Path:
    folder = inputs.output or inputs.home
    if folder is None or folder == STREAM:
        raise CallError("say where the manifests are: give -o DIR, or write `output` into speccompile.yaml")
    return Path(folder)


def _check(arguments: argparse.Namespace, work: ChangedWork, folder: Path, stdout: TextIO, stderr: TextIO) -> int:
    is_text = arguments.format == TEXT
    severities = severities_of(arguments, work.inputs.severity, STRICT)
    checked = _compared(arguments, work, folder, paint_for(stdout))
    stopping = (*work.setting.findings, *checked.hindrances)
    around: tuple[Drift, ...] = ()
    try:
        around = tuple(_around(arguments, work, folder, checked))
    except OSError as error:
        stopping = (*stopping, _hindrance(error, folder))
    findings = judged(checked.findings, severities, stopping=stopping)
    # What is merely worth a notice is told by those who look at runs; here it would hide what differs.
    findings = tuple(finding for finding in findings if finding.severity is not Severity.NOTICE)
    if has_errors(findings):
        tell(findings, stream_for(arguments.format, stdout, stderr), arguments.format, quiet=arguments.quiet)
        return INPUT
    found = (*checked.drifts, *around)
    drifts = [
        graded for drift in found if (graded := drift._replace(findings=judged(drift.findings, severities))).findings
    ]
    told = tuple(finding for drift in drifts for finding in drift.findings)
    if is_text:
        tell(findings, stderr, quiet=arguments.quiet)
        _show([] if arguments.fix else drifts, stdout, quiet=arguments.quiet)
    else:
        tell((*findings, *told), stdout, arguments.format, quiet=arguments.quiet)
    tell_left_out(checked.left_out, stderr)
    if arguments.fix and not _fix(drifts, folder, work.inputs, stdout if is_text else stderr, stderr):
        return INPUT
    if not arguments.quiet:
        stderr.write(_summary(drifts, checked, work, folder, is_fixed=arguments.fix))
    return DRIFT if has_errors(told) else DONE


def _compared(arguments: argparse.Namespace, work: ChangedWork, folder: Path, paint: Paint) -> Checked:
    """Every run against its file."""
    findings: list[Diagnostic] = []
    hindrances: list[Diagnostic] = []
    drifts: list[Drift] = []
    files: set[Path] = set()
    left_out = 0
    for result in compile_files(work.files, work.setting):
        findings += result.diagnostics
        if isinstance(result, CompileError):
            left_out += 1
            continue
        output = Output(path_of(result.project, result.name, arguments.shape), TEXTS[arguments.shape](result))
        files.add(folder / output.path)
        try:
            drifts += _drift(output, result, folder, arguments, paint)
        except OSError as error:
            hindrances.append(_hindrance(error, folder / output.path))
    return Checked(tuple(findings), tuple(hindrances), tuple(drifts), frozenset(files), left_out)


def _drift(
    output: Output, compiled: Compiled | None, folder: Path, arguments: argparse.Namespace, paint: Paint
) -> Iterator[Drift]:
    """What is wrong with the file of a run, or, without one, with the list of all files."""
    file = folder / output.path
    if file.is_symlink() or (file.parent != folder and file.parent.is_symlink()):
        yield Drift((linked(str(file), compiled),), written=output)
        return
    if has_text(file, output.text):
        return
    text = read_text(file)
    if text is None:
        yield Drift((missing(str(file), compiled),), written=output)
        return
    committed = Committed(str(file), text)
    meant = from_chart_template(text) if arguments.shape == "helm" else text
    by_field = compiled if arguments.semantic else None
    fields = field_drift(Committed(str(file), meant), by_field) if by_field and meant is not None else None
    if fields is None:
        finding = stale(committed, output.text, compiled, is_odd=by_field is not None)
        yield Drift((finding,), as_diff(committed, output.text, paint), output)
    elif fields:
        yield Drift(fields, written=output)


def _hindrance(error: OSError, file: Path) -> Diagnostic:
    span = Span(Source(str(error.filename or file), "", Layer.RUN))
    reason = str(error.strerror or error)
    if isinstance(error, FileExistsError):
        return Diagnostic(code="check/in-the-way", message=reason, span=span, help="move it out of the way")
    cure = "check its permissions and that it is a file"
    return Diagnostic(code="input/unreadable", message=f"the file cannot be read: {reason}", span=span, help=cure)


def _around(arguments: argparse.Namespace, work: ChangedWork, folder: Path, checked: Checked) -> Iterator[Drift]:
    """What is wrong with the folder beside the files of runs: what is left over, and the list of all files.

    Raises OSError if the list cannot be what it should be.
    """
    if work.is_idle:
        return
    files = checked.files | {Path(name) for name in work.chosen.outputs} if work.chosen else checked.files
    if not _unknown(work, folder, checked):
        own = frozenset(told for path in work.inputs.files if (told := identity(path)))
        for file in orphans(folder, files, own, work.setting.platform):
            yield Drift((orphan(str(file)),), removed=file)
    if arguments.kustomization:
        inside = (file.relative_to(folder) for file in files if file in checked.files or file.exists())
        output = listing(inside, folder, is_whole=not _unknown(work, folder, checked))
        yield from _drift(output, None, folder, arguments, plain)


def _unknown(work: ChangedWork, folder: Path, checked: Checked) -> str:
    """Why nobody can tell whether a file is left over; empty if one can."""
    home = work.inputs.home
    if not work.inputs.is_whole or home is None or identity(home) != identity(folder):
        return "this is not about all runs of a project and its own folder"
    if checked.left_out:
        return "runs with errors may give any file"
    unread = work.chosen.unread if work.chosen else ()
    return f"{unread[0]} cannot be read" if unread else ""


def _show(drifts: Sequence[Drift], stdout: TextIO, *, quiet: bool) -> None:
    for drift in (drift for drift in drifts if has_errors(drift.findings) or not quiet):
        stdout.write(as_text(map(_brief, drift.findings) if drift.diff else drift.findings, paint_for(stdout)))
        stdout.write(f"{drift.diff}\n" if drift.diff else "")


def _brief(finding: Diagnostic) -> Diagnostic:
    """The finding without its line, which the lines below it show."""
    return finding._replace(span=finding.span and Span(finding.span.source))


def _fix(drifts: Sequence[Drift], folder: Path, inputs: Inputs, told: TextIO, stderr: TextIO) -> bool:
    """Whether everything is mended; otherwise nothing is."""
    left = [drift.removed for drift in drifts if drift.removed]
    try:
        written = write_files([drift.written for drift in drifts if drift.written], folder, inputs.files, left)
    except OSError as error:
        stderr.write(nothing_written(error, folder))
        return False
    lines = (*(f"wrote {file}" for file in written), *(f"removed {file}" for file in left))
    told.write("".join(f"{printable(line)}\n" for line in lines))
    return True


def _summary(drifts: Sequence[Drift], checked: Checked, work: ChangedWork, folder: Path, *, is_fixed: bool) -> str:
    if work.is_idle:
        return "speccompile: nothing that concerns a run has changed\n"
    unknown = _unknown(work, folder, checked) if work.inputs.is_whole else ""
    aside = f"speccompile: files that are left over were not looked for: {printable(unknown)}\n" if unknown else ""
    if drifts:
        files, be, were = ("file", "is", "was") if len(drifts) == 1 else ("files", "are", "were")
        how = f"{were} not up to date, and now {be}" if is_fixed else f"{be} not up to date"
        return f"{aside}speccompile: {len(drifts)} {files} {how}\n"
    looked = len(checked.files)
    of_all = f" (of {work.chosen.total})" if work.chosen else ""
    return f"{aside}speccompile: up to date: the manifests of {looked} {'run' if looked == 1 else 'runs'}{of_all}\n"
