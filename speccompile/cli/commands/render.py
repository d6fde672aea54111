"""`speccompile render`: print the manifests of runs, or write a file for each run."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from speccompile.batch.disk_spool import Ledger, Spool
from speccompile.batch.executor_error import ExecutorError
from speccompile.cli.findings import Account, judged, report_success, severities_of, tell
from speccompile.cli.inputs import flags_of
from speccompile.cli.options import (
    COMMANDS,
    Commands,
    add_command,
    add_effort,
    add_findings,
    add_format,
    add_inputs,
    add_paths,
    add_shape,
    path,
)
from speccompile.compiler.compiled import Results
from speccompile.files.call_inputs import STREAM, CallError, Inputs
from speccompile.files.work import Work, read_work
from speccompile.files.write import (
    DONE,
    Output,
    WriteCounts,
    is_file_name,
    kustomization_output,
    manifest_path,
    nothing_written,
    write,
)
from speccompile.model.findings import CompileError
from speccompile.model.severity import STRICT
from speccompile.terminal.display_width import printable

if TYPE_CHECKING:
    from speccompile.cli.override_report import OverrideReport

INPUT = 1
_EXAMPLES = """\
examples:
  speccompile render run.yaml                          print the manifests
  speccompile render runs/ --profiles profiles/        a folder of runs, under the admin's profiles
  speccompile render runs/ -o manifests/               a file for each run, written all or none
  speccompile render                                   all runs that speccompile.yaml names
  cat run.yaml | speccompile render - | kubectl apply -f -
"""


def add_render(commands: Commands) -> None:
    """Gives the command line its `render`."""
    parser = add_command(commands, "render", COMMANDS["render"].what, _EXAMPLES)
    parser.set_defaults(run=run_render)
    add_paths(parser)
    add_inputs(parser)
    add_format(parser)
    add_findings(parser, "values of a run that a profile or the platform changes are errors")
    add_shape(parser, "a file per run under DIR, or one FILE.yaml; - prints")
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=path,
        help="write what profiles and platform replaced, added to or refused, as JSON; - prints it",
    )
    add_effort(parser)


def run_render(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """The exit code of one call; manifests go to stdout or into files, findings to stderr."""
    code = INPUT
    try:
        work = read_work(flags_of(arguments), stderr)
        report = _new_report(arguments.report) if arguments.report else None
        _refuse_contradictions(arguments, work.inputs, report)
        code = _render(arguments, work, report, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        found = judged((), severities_of(arguments), stopping=error.diagnostics)
        tell(found, stderr, arguments.format, quiet=arguments.quiet)
    except ExecutorError as error:
        stderr.write(f"speccompile: nothing was written: {error}\n")
    except OSError as error:
        # Files that are read and written have words of their own: this is the disk for what is in between.
        where = error.filename or "temporary files"
        stderr.write(f"speccompile: nothing was written: {where}: {error.strerror or error}\n")
    return code


def _refuse_contradictions(arguments: argparse.Namespace, inputs: Inputs, report: OverrideReport | None) -> None:
    """Raises CallError if two things cannot be had together."""
    if report and (arguments.dask or (arguments.jobs or 0) > 1):
        raise CallError("a report needs what does not travel: make it without --dask and --jobs")
    if inputs.output is not None and inputs.output != STREAM:
        if is_file_name(inputs.output):
            _refuse_one_file(arguments, inputs.output)
        return
    if report and report.is_printed:
        raise CallError("the manifests go to standard output: give --report a file, or write them with -o DIR")
    if arguments.kustomization:
        raise CallError("--kustomization lists the files in a folder: say which with -o DIR")


def _refuse_one_file(arguments: argparse.Namespace, target: Path | str) -> None:
    """Raises CallError if one file cannot be what is asked for."""
    name = printable(str(target))
    if arguments.kustomization:
        raise CallError(
            f"--kustomization lists the files of a folder, and {name} is a file: write to a folder with -o DIR"
        )
    is_json = name.endswith(".json")
    if is_json and arguments.shape != "json":
        raise CallError(f"{name} would contain YAML: add --json, or name a .yaml file")
    if not is_json and arguments.shape == "json":
        raise CallError(f"{name} would contain JSON: remove --json, or name a .json file")


def _render(
    arguments: argparse.Namespace, work: Work, report: OverrideReport | None, stdout: TextIO, stderr: TextIO
) -> int:
    """Compile all runs, print what was found, and write the manifests unless anything is an error."""
    inputs = work.inputs
    with ExitStack() as stack:
        made = stack.enter_context(closing(Spool()))
        findings, results = _compiled(arguments, work, stack)
        account = Account(arguments, severities_of(arguments, inputs.severity, STRICT), findings, stderr)
        for result, text in results:
            account.add(result)
            if report:
                report.add(result)
            if not isinstance(result, CompileError):
                made.append((result.project, result.name, text))
        account.tell(stderr)
        if report:
            known = [path for path in inputs.runs if isinstance(path, Path)]
            failed = report.write(known, stdout, stderr)
            if failed:
                return failed
        if account.has_errors:
            return INPUT
        return _write(_Made(made, arguments.shape), arguments, inputs, stdout, stderr)


def _compiled(arguments: argparse.Namespace, work: Work, stack: ExitStack) -> Results:
    """What is wrong with the admin's files, and each run compiled, as it comes."""
    is_single = arguments.jobs == 1 or len(work.inputs.runs) == 1
    # A report needs trees, which neither the cache nor workers hand back.
    if arguments.report or (arguments.no_cache and not arguments.dask and is_single):
        from speccompile.batch.straight import compile_here

        return compile_here(work, arguments.shape, stack.enter_context(closing(Ledger())))
    from speccompile.batch.accelerate import Effort, accelerated

    effort = Effort(arguments.shape, arguments.jobs, arguments.dask, not arguments.no_cache)
    return stack.enter_context(accelerated(work, effort))


def _new_report(file: str) -> OverrideReport:
    from speccompile.cli.override_report import OverrideReport

    return OverrideReport(file)


class _Made:
    """The manifests of runs as the files they belong into, which are read from the spool one by one."""

    def __init__(self, spool: Spool, shape: str, *others: Output) -> None:
        self._spool, self._shape, self._others = spool, shape, others

    def __len__(self) -> int:
        return len(self._spool) + len(self._others)

    def __iter__(self) -> Iterator[Output]:
        return map(self.__getitem__, range(len(self)))

    def __getitem__(self, number: int) -> Output:
        if number >= len(self._spool):
            return self._others[number - len(self._spool)]
        project, name, text = self._spool[number]
        return Output(manifest_path(project, name, self._shape), text)

    def with_list(self, folder: Path, *, is_whole: bool) -> _Made:
        """The same with the list that Kustomize reads. Raises OSError."""
        files = (output.path for output in self)
        return _Made(self._spool, self._shape, kustomization_output(files, folder, is_whole=is_whole))


def _write(made: _Made, arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    target = inputs.output
    try:
        if arguments.kustomization and target is not None:
            made = made.with_list(Path(target), is_whole=inputs.is_whole)
        counts = write(made, target, inputs.files, stdout, shape=arguments.shape)
    except OSError as error:
        if target is None or target == STREAM:
            raise
        stderr.write(nothing_written(error, target))
        return INPUT
    if counts and target is not None:
        report_success(_success(counts, target), arguments, stderr)
    return DONE


def _success(counts: WriteCounts, target: Path | str) -> str:
    """`wrote 2 files to manifests/ (3 unchanged)`."""
    name = printable(str(target))
    if is_file_name(target):
        return f"wrote {name}" if counts.written else f"wrote nothing: {name} is unchanged"
    folder = f"{name.rstrip('/')}/"
    if not counts.written:
        return f"wrote nothing: {_files(counts.unchanged)} unchanged in {folder}"
    unchanged = f" ({counts.unchanged} unchanged)" if counts.unchanged else ""
    return f"wrote {_files(counts.written)} to {folder}{unchanged}"


def _files(count: int) -> str:
    return "1 file" if count == 1 else f"{count} files"
