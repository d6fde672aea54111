"""Standard input of other tools."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from speccompile.cli.findings import judged, severities_of, tell
from speccompile.files.call_inputs import STREAM, CallError, Flags, Inputs, settle
from speccompile.files.read import MAX_MANIFESTS, read_stream
from speccompile.integrations.embedded_runs import STREAM_NAME
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError
from speccompile.model.severity import STRICT
from speccompile.model.source import Layer, Source


def piped() -> Source:
    """What stands on standard input. Raises CallError if it cannot be read, and CompileError if it is no text."""
    if sys.stdin is None:
        raise CallError("standard input is closed")
    try:
        read = read_stream(sys.stdin.buffer, STREAM_NAME, Layer.RUN, MAX_MANIFESTS)
    except OSError as error:
        raise CallError(f"standard input cannot be read: {error.strerror or error}") from error
    if not isinstance(read, Source):
        raise CompileError(map(_of_a_stream, read.findings))
    return read


def _of_a_stream(finding: Diagnostic) -> Diagnostic:
    """A finding about a file in words that are true of what another tool writes, which nobody can split or save."""
    words = {
        "input/too-large": (finding.message.replace("the file", "standard input"), "give it fewer resources at a time"),
        "input/encoding": (finding.message, "write it as UTF-8"),
    }
    message, cure = words.get(finding.code, (finding.message, finding.help))
    return finding._replace(message=message, help=cure)


def settled(profiles: Sequence[str], platform: str | None, project: str | None, templates: str | None) -> Inputs:
    """What a call works on whose runs stand on standard input. Raises CallError and CompileError."""
    return settle(Flags((STREAM,), profiles, platform, None, project, templates=templates))


def told(
    arguments: argparse.Namespace,
    inputs: Inputs | None,
    findings: Iterable[Diagnostic],
    stopping: Iterable[Diagnostic],
    stderr: TextIO,
) -> tuple[Diagnostic, ...]:
    """The findings, as severe as this call has them, once they are printed."""
    severities = severities_of(arguments, inputs.severity if inputs else None, STRICT)
    found = judged(findings, severities, stopping=stopping)
    tell(found, stderr, quiet=arguments.quiet)
    return found
