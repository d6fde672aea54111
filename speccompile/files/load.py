"""Load files and streams as parsed documents."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from speccompile.files.find import Unlisted
from speccompile.files.read import MAX_BYTES, read_file, read_stream
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


def load(entry: Path | Unlisted, layer: Layer, most: int | None = None) -> Parsed:
    """The documents of a file, or a finding that says why there are none; nothing raises."""
    read = read_file(entry, layer, most or MAX_BYTES)
    return parse(read) if isinstance(read, Source) else read


def load_stream(stream: BinaryIO, name: str, layer: Layer, most: int | None = None) -> Parsed:
    """As `load`, for a stream that is open already."""
    read = read_stream(stream, name, layer, most or MAX_BYTES)
    return parse(read) if isinstance(read, Source) else read
