"""Takes paths, gives the documents behind them, or why they cannot be read."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from speccompile.diagnostics import Diagnostic
from speccompile.model import Layer, Source, Span
from speccompile.parse import Parsed, parse

MAX_BYTES = 1024 * 1024
"""The largest file that is read; about a thousand runs."""
SUFFIXES = (".yaml", ".yml", ".json")


class Unlisted(NamedTuple):
    """A directory whose files cannot be told, and why; no error means that it holds none."""

    path: Path
    error: OSError | None = None


def load(entry: Path | Unlisted, layer: Layer) -> Parsed:
    """The documents of a file, or a finding that says why there are none; nothing raises."""
    if isinstance(entry, Unlisted) and entry.error is None:
        message = f"there are no {', '.join(SUFFIXES)} files in this directory"
        return _failed(
            "input/empty-directory", message, Source(str(entry.path), "", layer), "name another one, or a file"
        )
    if isinstance(entry, Unlisted):
        return _unreadable(entry.path, layer, entry.error or OSError())
    try:
        with entry.open("rb") as stream:
            return load_stream(stream, str(entry), layer)
    except (OSError, ValueError) as error:
        # ValueError: the name holds a null character.
        return _unreadable(entry, layer, error)


def load_stream(stream: BinaryIO, name: str, layer: Layer) -> Parsed:
    """As `load`, for a stream that is open already."""
    data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return _failed(
            "input/too-large",
            f"the file is larger than {MAX_BYTES // 1024 // 1024} MiB",
            Source(name, "", layer),
            "split it into several files",
        )
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = re.split(r"\r\n|\r|\n", data[: error.start].decode("utf-8", "replace"))
        line, column = len(before), len(before[-1]) + 1
        shown_text = data.decode("utf-8", "replace")
        return _failed(
            "input/encoding",
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            Source(name, shown_text, layer),
            "save the file as UTF-8",
            (line, column),
        )
    return parse(Source(name, text, layer))


def _failed(code: str, message: str, source: Source, help_text: str, at: tuple[int, int] = (0, 0)) -> Parsed:
    line, column = at
    span = Span(source, line, column, line, column + 1)
    return Parsed((), (Diagnostic(code=code, message=message, span=span, help=help_text),))


def _unreadable(path: Path, layer: Layer, error: OSError | ValueError) -> Parsed:
    source = Source(str(path), "", layer)
    if isinstance(error, FileNotFoundError):
        if path.is_symlink():
            target = path.readlink()
            return _failed(
                "input/missing-file",
                f"the link points to `{target}`, which does not exist",
                source,
                "mend the link",
            )
        return _failed("input/missing-file", "there is no such file", source, "check the path")
    if isinstance(error, IsADirectoryError):
        return _failed("input/not-a-file", "this is a directory, and a file is expected", source, "name a file in it")
    reason = str(getattr(error, "strerror", None) or error or type(error).__name__).lower()
    return _failed(
        "input/unreadable",
        f"the file cannot be read: {reason}",
        source,
        "check its permissions and that it is a file",
    )


def expand(paths: Iterable[Path]) -> Iterator[Path | Unlisted]:
    """The paths with every directory replaced by the YAML and JSON files below it, in the order of their names."""
    for path in paths:
        if not _is_folder(path):
            yield path
            continue
        errors: list[OSError] = []
        found: list[Path | Unlisted] = []
        for folder, folders, files in os.walk(path, onerror=errors.append):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            found += (
                Path(folder) / name for name in sorted(files) if name.endswith(SUFFIXES) and not name.startswith(".")
            )
        found += (Unlisted(Path(error.filename or path), error) for error in errors)
        yield from found or [Unlisted(path)]


def _is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        # Whatever is wrong with the name, opening it will tell.
        return False
