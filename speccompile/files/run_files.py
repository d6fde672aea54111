"""Load the run files of a call, one after the other."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from speccompile.files.call_inputs import CallError, Inputs
from speccompile.files.read import MAX_FILE_BYTES, read_file, read_stream
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


def run_files(inputs: Inputs) -> Iterator[Parsed]:
    """Load the run files one after the other. Raises CallError if standard input is needed and closed."""
    for text in run_texts(inputs):
        yield parse(text) if isinstance(text, Source) else text


def run_texts(inputs: Inputs, max_bytes: int = MAX_FILE_BYTES) -> Iterator[Source | Parsed]:
    """Like `run_files`, without parsing the files; a finding for each file that cannot be read."""
    for path in inputs.runs:
        if path is not None:
            yield read_file(path, Layer.RUN, max_bytes)
        elif sys.stdin is None:
            raise CallError("standard input is closed")
        else:
            yield read_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, max_bytes)
