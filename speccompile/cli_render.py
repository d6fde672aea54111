"""Takes arguments of `speccompile render` or `validate` and streams, gives an exit code; see `cli.py`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from speccompile.cli_findings import grades_of, judged, tell, tell_left_out
from speccompile.cli_options import (
    add_changed,
    add_command,
    add_findings,
    add_format,
    add_inputs,
    add_paths,
    add_shape,
    path,
)

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.batch import Result
    from speccompile.cli_changed import Work
    from speccompile.cli_options import Commands
    from speccompile.diagnostics import Diagnostic
    from speccompile.inputs import Inputs
    from speccompile.output import Output

DONE, INPUT = 0, 1
_DOCUMENTS = ("json", "sarif")
"""The formats of findings that are one document, which a sentence beside it would spoil."""

_RENDER_EXAMPLES = """\
examples:
  speccompile render run.yaml                          print the manifests
  speccompile render runs/ --profiles profiles/        a folder of runs, under the admin's profiles
  speccompile render runs/ -o manifests/               a file for each run, written all or none
  speccompile render                                   all runs that speccompile.yaml names
  cat run.yaml | speccompile render - | kubectl apply -f -
"""
_VALIDATE_EXAMPLES = """\
examples:
  speccompile validate run.yaml
  speccompile validate runs/ --profiles profiles/ --strict
  speccompile validate                                 all runs that speccompile.yaml names
"""


def add_render(commands: Commands) -> None:
    """Gives the command line its `render` and `validate`."""
    what = "print the manifests of runs, or write a file for each run"
    render = _add_compiling(commands, "render", what, _RENDER_EXAMPLES)
    add_shape(render, "write a file for each run under DIR; - prints them")
    render.add_argument(
        "--report",
        metavar="FILE",
        type=path,
        help="write what profiles and platform replaced, added to or refused, as JSON; - prints it",
    )
    what = "print what is wrong with runs, profiles and platform, and nothing else"
    add_changed(_add_compiling(commands, "validate", what, _VALIDATE_EXAMPLES))


def _add_compiling(commands: Commands, name: str, what: str, examples: str) -> argparse.ArgumentParser:
    parser = add_command(commands, name, what, examples)
    add_paths(parser)
    add_inputs(parser)
    add_format(parser)
    add_findings(parser, "values of a run that a profile or the platform changes are errors")
    parser.set_defaults(run=run_render)
    return parser


def run_render(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; manifests go to stdout or into files, findings to stderr."""
    from speccompile.cli_changed import settle_work
    from speccompile.diagnostics import CompileError
    from speccompile.inputs import CallError

    code = INPUT
    try:
        work = settle_work(arguments, stderr)
        _refuse_contradictions(arguments, work.inputs)
        code = _compile(arguments, work, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        _tell(judged((), grades_of(arguments), stopping=error.diagnostics), arguments, stdout, stderr)
    return code


def _refuse_contradictions(arguments: argparse.Namespace, inputs: Inputs) -> None:
    """Raises CallError if two things would stand on stdout, or one that is for a folder only."""
    from speccompile.inputs import STREAM, CallError
    from speccompile.output import is_stdout

    if arguments.command != "render" or inputs.output not in (None, STREAM):
        return
    if arguments.report and is_stdout(arguments.report):
        raise CallError("the manifests go to standard output: give --report a file, or write them with -o DIR")
    if arguments.kustomization:
        raise CallError("--kustomization lists the files in a folder: say which with -o DIR")


def _tell(findings: Iterable[Diagnostic], arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> None:
    """Findings go to stderr, or where programs read if they are for programs, and all that the command gives."""
    is_for_programs = arguments.command == "validate" and arguments.format != "text"
    tell(findings, stdout if is_for_programs else stderr, arguments.format, quiet=arguments.quiet)


def _compile(arguments: argparse.Namespace, work: Work, stdout: TextIO, stderr: TextIO) -> int:
    from functools import partial
    from pathlib import Path  # not for --help

    from speccompile.batch import compile_files
    from speccompile.diagnostics import CompileError, has_errors
    from speccompile.grades import STRICT
    from speccompile.output import Output

    inputs, setting = work.inputs, work.setting
    found: list[Diagnostic] = []
    outputs: list[Output] = []
    entries: list[Mapping[str, Any]] = []
    left_out = 0
    for result in compile_files(work.files, setting):
        found += result.diagnostics
        entries += _changes(result, arguments)
        if isinstance(result, CompileError):
            left_out += 1
        elif arguments.command == "render":
            outputs.append(Output.of(result, arguments.shape))
    judge = partial(judged, found, grades_of(arguments, inputs.severity, STRICT), stopping=setting.findings)
    findings = judge()
    is_short = left_out > 0 and not has_errors(findings)
    if is_short and arguments.command == "render" and arguments.format in _DOCUMENTS:
        # A program reads this stream, so what it reads has to say that runs are missing.
        tell(judge(keeps_errors=True), stderr, arguments.format)
    else:
        _tell(findings, arguments, stdout, stderr)
        tell_left_out(left_out if is_short else 0, stderr)
    known = [path for path in inputs.runs if isinstance(path, Path)]
    if arguments.command == "render" and arguments.report:
        failed = _write_changes(entries, arguments.report, known, stdout, stderr)
        if failed:
            return failed
    if has_errors(findings):
        return INPUT
    if arguments.command == "render":
        return _write(outputs, arguments, inputs, stdout, stderr)
    return DONE


def _write(
    outputs: Sequence[Output], arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO
) -> int:
    from pathlib import Path

    from speccompile.output import listing, nothing_written, write

    folder = inputs.output
    if arguments.kustomization and folder is not None:
        try:
            made = listing((output.path for output in outputs), Path(folder), is_whole=inputs.is_whole)
        except OSError as error:
            stderr.write(nothing_written(error, folder))
            return INPUT
        outputs = [*outputs, made]
    return write(outputs, folder, inputs.files, stdout, stderr, shape=arguments.shape)


def _changes(result: Result, arguments: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    """What the admin did to the values of a run, if somebody wants a report of it."""
    if arguments.command != "render" or not arguments.report:
        return ()
    from speccompile.report.overrides import override_entries
    from speccompile.resources import bundled_codes

    return override_entries(result, bundled_codes())


def _write_changes(
    entries: Iterable[Mapping[str, Any]], file: str, known: Sequence[Path], stdout: TextIO, stderr: TextIO
) -> int:
    from speccompile.output import Report, write_report
    from speccompile.report.overrides import GENERATOR, as_overrides_json

    return write_report(Report(as_overrides_json(entries), file, GENERATOR), known, stdout, stderr)
