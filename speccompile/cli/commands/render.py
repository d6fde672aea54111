"""Takes arguments of `speccompile render` or `validate` and streams, gives an exit code; see `cli.py`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from speccompile.cli.findings import Tally, grades_of, judged, tell, tell_left_out
from speccompile.cli.options import (
    COMMANDS,
    add_changed,
    add_command,
    add_effort,
    add_findings,
    add_format,
    add_inputs,
    add_paths,
    add_shape,
    path,
)

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.batch.disk_spool import Spool
    from speccompile.cli.options import Commands
    from speccompile.cli.work import Work
    from speccompile.compiler.compiled import Result
    from speccompile.files.call_inputs import Inputs
    from speccompile.files.write import Output
    from speccompile.model.diagnostic import Diagnostic
    from speccompile.model.severity import Grades

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
    render = _add_compiling(commands, "render", _RENDER_EXAMPLES)
    add_shape(render, "write a file for each run under DIR; - prints them")
    render.add_argument(
        "--report",
        metavar="FILE",
        type=path,
        help="write what profiles and platform replaced, added to or refused, as JSON; - prints it",
    )
    add_effort(render)
    add_changed(_add_compiling(commands, "validate", _VALIDATE_EXAMPLES))


def _add_compiling(commands: Commands, name: str, examples: str) -> argparse.ArgumentParser:
    parser = add_command(commands, name, COMMANDS[name].what, examples)
    add_paths(parser)
    add_inputs(parser)
    add_format(parser)
    add_findings(parser, "values of a run that a profile or the platform changes are errors")
    parser.set_defaults(run=run_render)
    return parser


def run_render(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; manifests go to stdout or into files, findings to stderr."""
    from speccompile.batch.work_units import ExecutorError
    from speccompile.cli.work import settle_work
    from speccompile.files.call_inputs import CallError
    from speccompile.model.findings import CompileError

    code = INPUT
    try:
        work = settle_work(arguments, stderr)
        _refuse_contradictions(arguments, work.inputs)
        code = _compile(arguments, work, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        _tell(judged((), grades_of(arguments), stopping=error.diagnostics), arguments, stdout, stderr)
    except ExecutorError as error:
        stderr.write(f"speccompile: nothing was written: {error}\n")
    except OSError as error:
        # Files that are read and written have words of their own: this is the disk for what is in between.
        where = error.filename or "temporary files"
        stderr.write(f"speccompile: nothing was written: {where}: {error.strerror or error}\n")
    return code


def _refuse_contradictions(arguments: argparse.Namespace, inputs: Inputs) -> None:
    """Raises CallError if two things cannot be had together."""
    from speccompile.files.call_inputs import STREAM, CallError
    from speccompile.files.write import is_stdout

    if arguments.command != "render":
        return
    if arguments.report and (arguments.dask or (arguments.jobs or 0) > 1):
        raise CallError("a report needs what does not travel: make it without --dask and --jobs")
    if inputs.output not in (None, STREAM):
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
    from contextlib import ExitStack, closing
    from pathlib import Path  # not for --help

    from speccompile.batch.disk_spool import Spool
    from speccompile.cli.compile_work import results_of
    from speccompile.model.findings import CompileError
    from speccompile.model.severity import STRICT

    inputs = work.inputs
    is_rendering = arguments.command == "render"
    entries: list[Mapping[str, Any]] = []
    left_out = 0
    with ExitStack() as stack:
        made = stack.enter_context(closing(Spool()))
        findings, results = stack.enter_context(results_of(work, arguments))
        account = _Account(arguments, grades_of(arguments, inputs.severity, STRICT), findings)
        for result, text in results:
            account.add(result.diagnostics)
            entries += _changes(result, arguments)
            if isinstance(result, CompileError):
                left_out += 1
            elif is_rendering:
                made.append((result.project, result.name, text))
        account.tell(left_out, stdout, stderr)
        known = [path for path in inputs.runs if isinstance(path, Path)]
        if is_rendering and arguments.report:
            failed = _write_changes(entries, arguments.report, known, stdout, stderr)
            if failed:
                return failed
        if account.has_errors:
            return INPUT
        return _write(_Made(made, arguments.shape), arguments, inputs, stdout, stderr) if is_rendering else DONE


class _Made:
    """The manifests of runs as the files they belong into, which are read from the spool one by one."""

    def __init__(self, spool: Spool, shape: str, *others: Output) -> None:
        self._spool, self._shape, self._others = spool, shape, others

    def __len__(self) -> int:
        return len(self._spool) + len(self._others)

    def __iter__(self) -> Iterator[Output]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Output:
        from speccompile.files.write import Output, path_of

        if number >= len(self._spool):
            return self._others[number - len(self._spool)]
        project, name, text = self._spool[number]
        return Output(path_of(project, name, self._shape), text)

    def with_list(self, folder: Path, *, is_whole: bool) -> _Made:
        """The same with the list that Kustomize reads. Raises OSError."""
        from speccompile.files.write import listing

        return _Made(self._spool, self._shape, listing((output.path for output in self), folder, is_whole=is_whole))


def _write(made: _Made, arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    from pathlib import Path

    from speccompile.files.write import nothing_written, write

    folder = inputs.output
    if arguments.kustomization and folder is not None:
        try:
            made = made.with_list(Path(folder), is_whole=inputs.is_whole)
        except OSError as error:
            stderr.write(nothing_written(error, folder))
            return INPUT
    return write(made, folder, inputs.files, stdout, stderr, shape=arguments.shape)


class _Account:
    """The findings of a call, as severe as it says, until they are told."""

    def __init__(self, arguments: argparse.Namespace, grades: Grades, stopping: Sequence[Diagnostic]) -> None:
        self._arguments, self._grades, self._stopping = arguments, grades, stopping
        # A format for programs has all findings in it, so that they have to be at hand.
        self._tally = Tally(grades, stopping) if arguments.format == "text" else None
        self._found: list[Diagnostic] = []
        self.has_errors = False

    def add(self, findings: Sequence[Diagnostic]) -> None:
        if self._tally is None:
            self._found += findings
        else:
            self._tally.add(findings)

    def tell(self, left_out: int, stdout: TextIO, stderr: TextIO) -> None:
        """Tells the findings, and how many runs are missing though nothing counts as an error."""
        from functools import partial

        from speccompile.model.findings import has_errors

        arguments = self._arguments
        if self._tally is not None:
            self.has_errors = self._tally.has_errors
            self._tally.tell(stderr, quiet=arguments.quiet)
            tell_left_out(0 if self.has_errors else left_out, stderr)
            return
        judge = partial(judged, self._found, self._grades, stopping=self._stopping)
        findings = judge()
        self.has_errors = has_errors(findings)
        is_short = left_out > 0 and not self.has_errors
        if is_short and arguments.command == "render" and arguments.format in _DOCUMENTS:
            # A program reads this stream, so what it reads has to say that runs are missing.
            tell(judge(keeps_errors=True), stderr, arguments.format)
        else:
            _tell(findings, arguments, stdout, stderr)
            tell_left_out(left_out if is_short else 0, stderr)


def _changes(result: Result, arguments: argparse.Namespace) -> Iterable[Mapping[str, Any]]:
    """What the admin did to the values of a run, if somebody wants a report of it."""
    if arguments.command != "render" or not arguments.report:
        return ()
    from speccompile.report.overrides_json import override_entries
    from speccompile.schema.bundled import bundled_codes

    return override_entries(result, bundled_codes())


def _write_changes(
    entries: Iterable[Mapping[str, Any]], file: str, known: Sequence[Path], stdout: TextIO, stderr: TextIO
) -> int:
    from speccompile.files.write import Report, write_report
    from speccompile.report.overrides_json import GENERATOR, as_overrides_json

    return write_report(Report(as_overrides_json(entries), file, GENERATOR), known, stdout, stderr)
