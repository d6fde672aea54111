"""`speccompile validate`: report what is wrong with runs, profiles and platform file."""

from __future__ import annotations

import argparse
from contextlib import closing
from typing import TextIO

from speccompile.batch.disk_spool import Ledger
from speccompile.cli.changed import read_changed_work
from speccompile.cli.findings import (
    FindingCollector,
    assign_severities,
    print_findings,
    report_success,
    severities_of,
    stream_for,
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
)
from speccompile.compiler.compile_files import compile_files
from speccompile.files.call_inputs import CallError
from speccompile.files.work import Work
from speccompile.model.findings import CompileError
from speccompile.model.severity import STRICT

DONE, INPUT = 0, 1
_EXAMPLES = """\
examples:
  speccompile validate run.yaml                        check one run
  speccompile validate runs/ --profiles profiles/      check a folder of runs with these profiles
  speccompile validate                                 check all runs of the project
"""


def add_validate(commands: Commands) -> None:
    """Add the command `validate`."""
    parser = add_command(commands, "validate", COMMANDS["validate"].summary, _EXAMPLES)
    parser.set_defaults(run=run_validate)
    add_paths(parser)
    add_inputs(parser)
    add_format(parser)
    add_findings(parser)
    add_changed(parser)


def run_validate(arguments: argparse.Namespace, stdout: TextIO, stderr: TextIO) -> int:
    """Validate runs and return the exit code; findings go to stderr, or to stdout in a format for programs."""
    stream = stream_for(arguments.format, stdout, stderr)
    try:
        return _validate(arguments, read_changed_work(arguments, stderr), stream, stderr)
    except CallError as error:
        arguments.refuse(str(error))
    except CompileError as error:
        findings = assign_severities((), severities_of(arguments), stopping=error.diagnostics)
        print_findings(findings, stream, arguments.format, quiet=arguments.quiet, verbose=arguments.verbose)
    except OSError as error:
        # Inputs have their own messages; this error concerns temporary files.
        where = error.filename or "temporary files"
        stderr.write(f"speccompile: cannot validate: {where}: {error.strerror or error}\n")
    return INPUT


def _validate(arguments: argparse.Namespace, work: Work, stream: TextIO, stderr: TextIO) -> int:
    severities = severities_of(arguments, work.inputs.severity, STRICT)
    collector = FindingCollector(arguments, severities, work.setting.findings, stream)
    with closing(Ledger()) as ledger:
        for result in compile_files(work.texts, work.setting, ledger):
            collector.add(result)
    collector.print(stderr)
    if collector.has_errors:
        return INPUT
    if not collector.runs:
        report_success("no runs affected", arguments, stderr)
    elif not collector.skipped:
        report_success("1 run valid" if collector.runs == 1 else f"{collector.runs} runs valid", arguments, stderr)
    return DONE
