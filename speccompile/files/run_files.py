"""Load the run files of a call, one after the other."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.files.call_inputs import Inputs
from speccompile.files.run_texts import run_texts
from speccompile.model.source import Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


def run_files(inputs: Inputs) -> Iterator[Parsed]:
    """Load the run files one after the other. Raises CallError if standard input is needed and closed."""
    for text in run_texts(inputs):
        yield parse(text) if isinstance(text, Source) else text
