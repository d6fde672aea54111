"""Runs on standard input, for commands that other tools call."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TextIO

from speccompile.cli.findings import assign_severities, print_findings, severities_of
from speccompile.files.call_inputs import STREAM, CallError, Flags, Inputs, settle
from speccompile.files.read import MAX_MANIFESTS, read_stream
from speccompile.integrations.embedded_runs import STREAM_NAME
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source


def read_piped() -> Source:
    """Read standard input. Raises CallError if that fails, and CompileError if it is not text."""
    if sys.stdin is None:
        raise CallError("standard input is closed")
    try:
        read = read_stream(sys.stdin.buffer, STREAM_NAME, Layer.RUN, MAX_MANIFESTS)
    except OSError as error:
        raise CallError(f"standard input cannot be read: {error.strerror or error}") from error
    if not isinstance(read, Source):
        raise CompileError(map(_reword_for_stream, read.findings))
    return read


def _reword_for_stream(finding: Diagnostic) -> Diagnostic:
    """Reword a finding about a file: what another tool writes cannot be split or saved again by the user."""
    wordings = {
        "input/too-large": (finding.message.replace("the file", "standard input"), "pass fewer resources at a time"),
        "input/encoding": (finding.message, "write it as UTF-8"),
    }
    message, help_text = wordings.get(finding.code, (finding.message, finding.help))
    return finding._replace(message=message, help=help_text)


def resolve_piped(flags: Flags) -> Inputs:
    """Resolve the inputs of a call with runs on standard input. Raises CallError and CompileError."""
    return settle(flags._replace(paths=(STREAM,)))


def report_piped(
    arguments: argparse.Namespace,
    inputs: Inputs | None,
    findings: Iterable[Diagnostic],
    stopping: Iterable[Diagnostic],
    stderr: TextIO,
) -> tuple[Diagnostic, ...]:
    """Print the findings with the severities of this call, and return them."""
    severities = severities_of(arguments, inputs.severity if inputs else None, STRICT)
    reported = assign_severities(findings, severities, stopping=stopping)
    print_findings(reported, stderr, quiet=arguments.quiet, verbose=arguments.verbose)
    return reported
