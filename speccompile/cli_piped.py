"""Takes standard input of another tool and the options of a call, gives the text, the setting and what was found."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from speccompile.cli_findings import grades_of, judged, tell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from speccompile.diagnostics import Diagnostic
    from speccompile.inputs import Inputs
    from speccompile.model import Source

MAX_STREAM = 16 * 1024 * 1024
"""The most that is read of a stream, of which runs may be a small part."""


def piped() -> Source:
    """What stands on standard input. Raises CallError if it cannot be read, and CompileError if it is no text."""
    from speccompile.diagnostics import CompileError
    from speccompile.inputs import CallError
    from speccompile.load import read_stream
    from speccompile.model import Layer, Source
    from speccompile.pieces import STREAM_NAME

    if sys.stdin is None:
        raise CallError("standard input is closed")
    try:
        read = read_stream(sys.stdin.buffer, STREAM_NAME, Layer.RUN, MAX_STREAM)
    except OSError as error:
        raise CallError(f"standard input cannot be read: {error.strerror or error}") from error
    if not isinstance(read, Source):
        raise CompileError(read.findings)
    return read


def settled(profiles: Sequence[str], platform: str | None, project: str | None) -> Inputs:
    """What a call works on whose runs stand on standard input. Raises CallError and CompileError."""
    from speccompile.inputs import STREAM, Flags, settle

    return settle(Flags((STREAM,), profiles, platform, None, project))


def told(
    arguments: argparse.Namespace,
    inputs: Inputs | None,
    findings: Iterable[Diagnostic],
    stopping: Iterable[Diagnostic],
    stderr: TextIO,
) -> tuple[Diagnostic, ...]:
    """The findings, as severe as this call has them, once they are printed."""
    from speccompile.grades import STRICT

    grades = grades_of(arguments, inputs.severity if inputs else None, STRICT)
    found = judged(findings, grades, stopping=stopping)
    tell(found, stderr, quiet=arguments.quiet)
    return found
