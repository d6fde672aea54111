"""Read files and streams as text, and report why one cannot be read."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from speccompile.files.find import (
    ANYTHING,
    SUFFIXES,
    TEMPLATE_SUFFIX,
    Allowance,
    Identity,
    TooManyEntriesError,
    Unlisted,
    is_folder,
    kind_of_file,
    matching,
)
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.source import Layer, Source, Span
from speccompile.yaml_text.parsed import Parsed

MAX_FILE_BYTES = 1024 * 1024
"""The size limit of a file; about a thousand runs fit in it."""
_FIRST_READ = 64 * 1024
_STREAMS = ("/dev/stdin", "/dev/fd/", "/proc/self/fd/")
"""Streams of this process, which a shell names for `<(command)`."""
_FLAGS: int = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
MAX_MANIFESTS = 8 * MAX_FILE_BYTES
"""The size limit of files from other tools that users cannot split: the output of a chart, the CRDs of a cluster.

In the worst case, text full of errors takes ten seconds and 250 MB per MiB.
"""


class NotAFileError(OSError):
    """A path is something other than a file, such as `a pipe`."""


def read_file(entry: Path | Unlisted, layer: Layer, max_bytes: int) -> Source | Parsed:
    """The text of a file, or why it cannot be read."""
    if isinstance(entry, Unlisted) and entry.error is None:
        return empty_directory(str(entry.path), layer)
    if isinstance(entry, Unlisted):
        return _unreadable(entry.path, layer, entry.error or OSError())
    try:
        if is_stream(entry):
            with entry.open("rb") as stream:
                return read_stream(stream, str(entry), layer, max_bytes)
        return _as_text(_read_regular(entry, max_bytes), str(entry), layer, max_bytes)
    except (OSError, ValueError) as error:
        # ValueError: the name contains a null character.
        return _unreadable(entry, layer, error)


def _read_regular(path: Path, max_bytes: int) -> bytes:
    """Read a file, up to one byte more than the limit; opening or reading anything else could block. Raises OSError."""
    # A third of the time that a file object takes, and calls read thousands of small files.
    descriptor = os.open(path, _FLAGS)
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError
        if not stat.S_ISREG(status.st_mode):
            raise NotAFileError(kind_of_file(status.st_mode))
        data = os.read(descriptor, min(status.st_size, max_bytes) + 1)
        # Files of the system report no size, and some file systems return less than was requested.
        while len(data) != status.st_size and len(data) <= max_bytes:
            more = os.read(descriptor, max_bytes + 1 - len(data))
            if not more:
                break
            data += more
        return data
    finally:
        os.close(descriptor)


def is_stream(path: Path) -> bool:
    """Whether the path is a stream of this process, which can be read once."""
    return str(path).startswith(_STREAMS)


def read_stream(stream: BinaryIO, name: str, layer: Layer, max_bytes: int) -> Source | Parsed:
    """The text of a stream, or a finding if it cannot be read or is larger than `max_bytes`."""
    # Allocating a buffer for the largest file would be wasteful for small ones.
    data = stream.read(min(max_bytes + 1, _FIRST_READ))
    data += stream.read(max_bytes + 1 - len(data)) if len(data) == _FIRST_READ else b""
    return _as_text(data, name, layer, max_bytes)


def _as_text(data: bytes, name: str, layer: Layer, max_bytes: int) -> Source | Parsed:
    if len(data) > max_bytes:
        return too_large(name, layer, max_bytes)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = re.split(r"\r\n|\r|\n", data[: error.start].decode("utf-8", "replace"))
        line, column = len(before), len(before[-1]) + 1
        replaced = data.decode("utf-8", "replace")
        return _finding(
            "input/encoding",
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            Source(name, replaced, layer),
            "save the file as UTF-8",
            (line, column),
        )
    return Source(name, text, layer)


def too_large(name: str, layer: Layer, max_bytes: int | None = None) -> Parsed:
    return _finding(
        "input/too-large",
        f"the file is larger than {(max_bytes or MAX_FILE_BYTES) // 1024 // 1024} MiB",
        Source(name, "", layer),
        "split it into several files",
    )


def no_templates(name: str, error: OSError | ValueError | None) -> Parsed:
    """The finding for a directory without templates."""
    source = Source(name, "", Layer.TEMPLATE)
    if isinstance(error, FileNotFoundError):
        return _finding("input/missing-file", "no such directory", source, "check the path")
    if isinstance(error, NotADirectoryError):
        return _finding("input/unreadable", "expected a directory of templates, found a file", source, _TARGET_FOLDER)
    if error is not None:
        return _unreadable(Path(name), Layer.TEMPLATE, error)
    return _finding(
        "input/empty-directory",
        f"no {TEMPLATE_SUFFIX} files and no targets in the subdirectories",
        source,
        _TARGET_FOLDER,
    )


_TARGET_FOLDER = "name the parent of the target's directory, such as `templates` for templates/kubernetes/_env.j2"


def empty_directory(name: str, layer: Layer) -> Parsed:
    return _finding(
        "input/empty-directory",
        f"no {', '.join(SUFFIXES)} files in this directory",
        Source(name, "", layer),
        "name another directory, or a file",
    )


def _finding(code: str, message: str, source: Source, help_text: str, at: tuple[int, int] = (0, 0)) -> Parsed:
    line, column = at
    span = Span(source, line, column, line, column + 1)
    return Parsed((), (Diagnostic(code=code, message=message, span=span, help=help_text),))


def _unreadable(path: Path, layer: Layer, error: OSError | ValueError) -> Parsed:
    source = Source(str(path), "", layer)
    if isinstance(error, FileNotFoundError):
        if path.is_symlink():
            target = path.readlink()
            return _finding(
                "input/missing-file",
                f"the link points to `{target}`, which does not exist",
                source,
                "fix the link",
            )
        return _finding("input/missing-file", "no such file", source, "check the path")
    if isinstance(error, IsADirectoryError):
        return _finding("input/not-a-file", "expected a file, found a directory", source, "name a file in it")
    if isinstance(error, NotAFileError):
        return _finding("input/not-a-file", f"expected a file, found {error}", source, "name a file, or remove it")
    if isinstance(error, TooManyEntriesError):
        return _finding("input/too-large", str(error.strerror), source, "name directories with fewer files")
    # The text of this error differs between C libraries.
    if getattr(error, "errno", None) == errno.ELOOP:
        reason = "too many levels of symbolic links"
    else:
        reason = str(getattr(error, "strerror", None) or error or type(error).__name__).lower()
    return _finding(
        "input/unreadable",
        f"the file cannot be read: {reason}",
        source,
        "check its permissions and that it is a file",
    )


def expand(paths: Iterable[Path], skipped: frozenset[Identity] = frozenset()) -> Iterator[Path | Unlisted]:
    """The paths, with every directory replaced by the YAML and JSON files below it, sorted by name."""
    allowance = Allowance()
    for path in paths:
        if is_folder(path):
            yield from matching(path, ANYTHING, skipped, allowance=allowance) or (Unlisted(path),)
        else:
            yield path
