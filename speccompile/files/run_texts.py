"""Read the run files of a call, one after the other, without parsing them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, MutableMapping

from speccompile.files.call_inputs import CallError, Inputs
from speccompile.files.read import MAX_FILE_BYTES, read_file, read_stream
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parsed import Parsed


def run_texts(
    inputs: Inputs, max_bytes: int = MAX_FILE_BYTES, known: MutableMapping[int, Source] | None = None
) -> Iterator[Source | Parsed]:
    """The texts of the run files; a finding for each that cannot be read.

    `known` has texts by their number, which are used once; their files are not read. Raises CallError if standard input
    is needed and closed.
    """
    for number, path in enumerate(inputs.runs):
        if known and number in known:
            yield known.pop(number)
        elif path is not None:
            yield read_file(path, Layer.RUN, max_bytes)
        elif sys.stdin is None:
            raise CallError("standard input is closed")
        else:
            yield read_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, max_bytes)
