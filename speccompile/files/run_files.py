"""Load the run files of a call, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from speccompile.files.call_inputs import CallError, Inputs
from speccompile.files.load import load, load_stream
from speccompile.model.source import Layer
from speccompile.yaml_text.parsed import Parsed


def run_files(inputs: Inputs, max_bytes: int | None = None) -> Iterator[Parsed]:
    """Load the run files one after the other. Raises CallError if standard input is needed and closed.

    `max_bytes` replaces the usual size limit of a file.
    """
    for path in inputs.runs:
        if path is not None:
            yield load(path, Layer.RUN, max_bytes)
        elif sys.stdin is None:
            raise CallError("standard input is closed")
        else:
            yield load_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, max_bytes)
