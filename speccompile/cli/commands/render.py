"""`speccompile render`: print manifests, or write them to files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from speccompile.batch.disk_spool import Ledger, Spool
from speccompile.batch.executor_error import ExecutorError
from speccompile.cli.findings import (
    FindingCollector,
    assign_severities,
    print_findings,
    report_success,
    severities_of,
)
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
from speccompile.files.replace_files import Output, write_failure
from speccompile.files.work import Work, read_work
from speccompile.files.write import (
    DONE,
    WriteCounts,
    is_file_name,
    kustomization_output,
    manifest_path,
    print_texts,
    write,
)
from speccompile.model.findings import CompileError
from speccompile.model.full_path import full_path
from speccompile.model.severity import STRICT
from speccompile.terminal.display_width import printable

if TYPE_CHECKING:
    from speccompile.cli.override_report import OverrideReport

INPUT = 1
_EXAMPLES = """\
examples:
  speccompile render run.yaml                          print the manifests of a run
  speccompile render runs/ --profiles profiles/        compile a folder of runs with these profiles
  speccompile render runs/ -o manifests/               write a file for each run, or none on errors
  speccompile render                                   compile all runs of the project
  cat run.yaml | speccompile render - | kubectl apply -f -
"""


def add_render(commands: Commands) -> None:
    """Add the command `render`."""
    parser = add_command(commands, "render", COMMANDS["render"].summary, _EXAMPLES)
    parser.set_defaults(run=run_render)
    add_paths(parser)
    add_inputs(parser)
    add_format(parser)
    add_findings(parser)
    add_shape(parser, "write to DIR, a file per run, or to one FILE.yaml")
    parser.add_argument(
        "--report",
        metavar="FILE",
        type=path,
        help="write overridden and rejected values as JSON; - prints",
    )
    add_effort(parser)


def run_render(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Compile runs and return the exit code; manifests go to stdout or to files, findings to stderr."""
    code = INPUT
    try:
        with full_path(enabled=arguments.plain):
            work = read_work(flags_of(arguments), stderr)
            report = None
            if arguments.report:
                from speccompile.cli.override_report import OverrideReport

                report = OverrideReport(arguments.report)
            _refuse_contradictions(arguments, work.inputs, report)
            code = _render(arguments, work, report, stdout, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        findings = assign_severities((), severities_of(arguments), stopping=error.diagnostics)
        print_findings(findings, stderr, arguments.format, quiet=arguments.quiet, verbose=arguments.verbose)
    except ExecutorError as error:
        stderr.write(f"speccompile: nothing was written: {error}\n")
    except OSError as error:
        # Inputs and outputs have their own messages; this error concerns temporary files.
        where = error.filename or "temporary files"
        stderr.write(f"speccompile: nothing was written: {where}: {error.strerror or error}\n")
    return code


def _refuse_contradictions(arguments: argparse.Namespace, inputs: Inputs, report: OverrideReport | None) -> None:
    """Raise CallError for options that exclude each other."""
    if report and (arguments.dask or (arguments.jobs or 0) > 1):
        raise CallError("--report cannot be combined with --dask or --jobs")
    if inputs.output is not None and inputs.output != STREAM:
        if is_file_name(inputs.output):
            _refuse_one_file(arguments, inputs.output)
        return
    if report and report.is_printed:
        raise CallError("manifests and report cannot both go to standard output; give --report a file, or use -o DIR")
    if arguments.kustomization:
        raise CallError("--kustomization needs a directory; add -o DIR")


def _refuse_one_file(arguments: argparse.Namespace, target: Path | str) -> None:
    """Raise CallError if other options contradict an output of one file."""
    name = printable(str(target))
    if arguments.kustomization:
        raise CallError(f"--kustomization lists the files of a directory, and {name} is a file: pass -o DIR")
    is_json = name.endswith(".json")
    if is_json and arguments.shape != "json":
        raise CallError(f"{name} would contain YAML: add --json, or name a .yaml file")
    if not is_json and arguments.shape == "json":
        raise CallError(f"{name} would contain JSON: remove --json, or name a .json file")


def _render(
    arguments: argparse.Namespace, work: Work, report: OverrideReport | None, stdout: TextIO, stderr: TextIO
) -> int:
    """Compile all runs, print findings, and write the manifests unless there are errors."""
    inputs = work.inputs
    with ExitStack() as stack:
        manifests = stack.enter_context(closing(Spool()))
        findings, results = _compiled(arguments, work, stack)
        collector = FindingCollector(arguments, severities_of(arguments, inputs.severity, STRICT), findings, stderr)
        for result, text in results:
            collector.add(result)
            if report:
                report.add(result)
            if not isinstance(result, CompileError):
                manifests.append((result.project, result.name, text))
        collector.print(stderr)
        if report:
            run_files = [path for path in inputs.runs if isinstance(path, Path)]
            code = report.write(run_files, stdout, stderr)
            if code:
                return code
        if collector.has_errors:
            return INPUT
        return _write(_OutputFiles(manifests, arguments.shape), arguments, inputs, stdout, stderr)


def _compiled(arguments: argparse.Namespace, work: Work, stack: ExitStack) -> Results:
    """The findings in the admin's files, and the results of the runs, compiled one by one."""
    is_single = arguments.jobs == 1 or len(work.inputs.runs) == 1
    # A report needs trees, which neither the cache nor workers return.
    if arguments.report or arguments.plain or (arguments.no_cache and not arguments.dask and is_single):
        from speccompile.batch.straight import compile_here

        return compile_here(work, arguments.shape, stack.enter_context(closing(Ledger())))
    from speccompile.batch.accelerate import Effort, accelerated

    effort = Effort(arguments.shape, arguments.jobs, arguments.dask, not arguments.no_cache)
    return stack.enter_context(accelerated(work, effort))


class _OutputFiles:
    """The manifest files of the runs, read from the spool one by one."""

    def __init__(self, spool: Spool, shape: str, *others: Output) -> None:
        self._spool, self._shape, self._others = spool, shape, others

    def __len__(self) -> int:
        return len(self._spool) + len(self._others)

    def __iter__(self) -> Iterator[Output]:
        return map(self.__getitem__, range(len(self)))

    @property
    def texts(self) -> Iterator[str]:
        """The manifests without their files."""
        return (text for _, _, text in self._spool)

    def __getitem__(self, number: int) -> Output:
        if number >= len(self._spool):
            return self._others[number - len(self._spool)]
        project, name, text = self._spool[number]
        return Output(manifest_path(project, name, self._shape), text)

    def with_kustomization(self, folder: Path, *, is_whole: bool) -> _OutputFiles:
        """The same files and a kustomization.yaml that lists them. Raises OSError."""
        files = (output.path for output in self)
        return _OutputFiles(self._spool, self._shape, kustomization_output(files, folder, is_whole=is_whole))


def _write(outputs: _OutputFiles, arguments: argparse.Namespace, inputs: Inputs, stdout: TextIO, stderr: TextIO) -> int:
    target = inputs.output
    try:
        if arguments.kustomization and target is not None:
            outputs = outputs.with_kustomization(Path(target), is_whole=inputs.is_whole)
        if target is None or target == STREAM:
            print_texts(outputs.texts, stdout, arguments.shape)
            return DONE
        counts = write(outputs, target, inputs.files, shape=arguments.shape)
    except OSError as error:
        if target is None or target == STREAM:
            stderr.write(write_failure(error, "temporary files", "only a part"))
        else:
            stderr.write(write_failure(error, target, "no manifest" if arguments.report else "nothing"))
        return INPUT
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
