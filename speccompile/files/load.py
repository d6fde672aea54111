"""Load files and streams as parsed documents."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from speccompile.files.find import Unlisted
from speccompile.files.read import MAX_FILE_BYTES, read_file, read_stream
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


def load(entry: Path | Unlisted, layer: Layer, max_bytes: int | None = None) -> Parsed:
    """The documents of a file, or a finding if it cannot be read; never raises."""
    read = read_file(entry, layer, max_bytes or MAX_FILE_BYTES)
    return parse(read) if isinstance(read, Source) else read


def load_stream(stream: BinaryIO, name: str, layer: Layer, max_bytes: int | None = None) -> Parsed:
    """Like `load`, for an open stream."""
    read = read_stream(stream, name, layer, max_bytes or MAX_FILE_BYTES)
    return parse(read) if isinstance(read, Source) else read
