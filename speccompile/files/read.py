"""Read files and streams as text, and say why one cannot be read."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from speccompile.files.find import ANYTHING, SUFFIXES, TEMPLATE_SUFFIX, Identity, Unlisted, is_folder, matching
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.source import Layer, Source, Span
from speccompile.yaml_text.parsed import Parsed

MAX_BYTES = 1024 * 1024
"""The largest file that is read; about a thousand runs."""
_USUAL = 64 * 1024
MAX_MANIFESTS = 8 * MAX_BYTES
"""The same for what others wrote and nobody can split: a chart's whole output, the definitions of a cluster.

Text that is nothing but faults takes ten seconds and 250 MB a MiB.
"""


def read_file(entry: Path | Unlisted, layer: Layer, most: int) -> Source | Parsed:
    """The text of a file, or why it cannot be read."""
    if isinstance(entry, Unlisted) and entry.error is None:
        return empty_directory(str(entry.path), layer)
    if isinstance(entry, Unlisted):
        return _unreadable(entry.path, layer, entry.error or OSError())
    try:
        with entry.open("rb") as stream:
            return read_stream(stream, str(entry), layer, most)
    except (OSError, ValueError) as error:
        # ValueError: the name holds a null character.
        return _unreadable(entry, layer, error)


def read_stream(stream: BinaryIO, name: str, layer: Layer, most: int) -> Source | Parsed:
    """The text of a stream that has no more than so many bytes, or why it cannot be read."""
    # Room for the largest file is not worth making for each small one.
    data = stream.read(min(most + 1, _USUAL))
    data += stream.read(most + 1 - len(data)) if len(data) == _USUAL else b""
    if len(data) > most:
        return too_large(name, layer, most)
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
    return Source(name, text, layer)


def too_large(name: str, layer: Layer, most: int | None = None) -> Parsed:
    return _failed(
        "input/too-large",
        f"the file is larger than {(most or MAX_BYTES) // 1024 // 1024} MiB",
        Source(name, "", layer),
        "split it into several files",
    )


def no_templates(name: str, error: OSError | ValueError | None) -> Parsed:
    """Why a directory gives no templates."""
    source = Source(name, "", Layer.TEMPLATE)
    if isinstance(error, FileNotFoundError):
        return _failed("input/missing-file", "there is no such directory", source, "check the path")
    if isinstance(error, NotADirectoryError):
        return _failed(
            "input/unreadable", "this is a file, and a directory of templates is expected", source, _TARGET_FOLDER
        )
    if error is not None:
        return _unreadable(Path(name), Layer.TEMPLATE, error)
    return _failed(
        "input/empty-directory",
        f"there are no {TEMPLATE_SUFFIX} files in the folders of this directory, and no targets",
        source,
        _TARGET_FOLDER,
    )


_TARGET_FOLDER = "name the directory above the folder of the target, as `own` for own/kubernetes/_env.j2"


def empty_directory(name: str, layer: Layer) -> Parsed:
    return _failed(
        "input/empty-directory",
        f"there are no {', '.join(SUFFIXES)} files in this directory",
        Source(name, "", layer),
        "name another one, or a file",
    )


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
    # C libraries word this one differently.
    if getattr(error, "errno", None) == errno.ELOOP:
        reason = "too many levels of symbolic links"
    else:
        reason = str(getattr(error, "strerror", None) or error or type(error).__name__).lower()
    return _failed(
        "input/unreadable",
        f"the file cannot be read: {reason}",
        source,
        "check its permissions and that it is a file",
    )


def expand(paths: Iterable[Path], passed_over: frozenset[Identity] = frozenset()) -> Iterator[Path | Unlisted]:
    """The paths with every directory replaced by the YAML and JSON files below it, in the order of their names."""
    for path in paths:
        if is_folder(path):
            yield from tuple(matching(path, ANYTHING, passed_over)) or (Unlisted(path),)
        else:
            yield path
