"""The files of runs of a call, loaded one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from speccompile.files.call_inputs import CallError, Inputs
from speccompile.files.load import load, load_stream
from speccompile.model.source import Layer
from speccompile.yaml_text.parsed import Parsed


def run_files(inputs: Inputs, most: int | None = None) -> Iterator[Parsed]:
    """The files of runs, read one after the other. Raises CallError if standard input is wanted and closed.

    With `most`, files may have so many bytes, and not only as many as runs may.
    """
    for path in inputs.runs:
        if path is not None:
            yield load(path, Layer.RUN, most)
        elif sys.stdin is None:
            raise CallError("standard input is closed")
        else:
            yield load_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, most)
