"""Fingerprint of this compiler: changes whenever its code, schemas or templates do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache

from speccompile.batch.fast_hash import blake2b

# Not pathlib, which would take most of the time here: there are hundreds of files.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))  # noqa: PTH120
_BUNDLED = "_bundled"
_FOLDERS = ("schemas", "templates", "presets")
_SUFFIXES = (".py", ".json", ".j2", ".yaml", ".toml")
_SKIPPED = (_BUNDLED, "__pycache__")
_LIBRARIES = ("site-packages", "dist-packages")


@cache
def local_fingerprint() -> bytes | None:
    """A hash that differs after any change of the compiler or its packages; None if it is not installed as files.

    Files are not read: one that was replaced has another change time.
    """
    try:
        files = [(name, *_state(path)) for name, path in _files()]
    except OSError:
        # One of them is being replaced.
        return None
    libraries = [
        (folder, os.stat(folder).st_mtime_ns)  # noqa: PTH116
        for folder in sys.path
        if folder.endswith(_LIBRARIES) and os.path.isdir(folder)  # noqa: PTH112
    ]
    parts = (files, libraries, _PACKAGE, sys.implementation.cache_tag)
    return blake2b(repr(parts).encode(), digest_size=16).digest() if files else None


def _state(path: str) -> tuple[int, ...]:
    """What changes when the file does. Raises OSError."""
    status = os.stat(path)  # noqa: PTH116
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


@cache
def text_digest() -> str:
    """A hash of the compiler's text, equal on all machines, however it is installed."""
    digest = blake2b(digest_size=16)
    for name, path in _files():
        with open(path, "rb") as file:  # noqa: PTH123
            text = file.read().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(text)}\n".encode() + text)
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, str]]:
    """The files of the compiler, sorted, by names that do not depend on where it is installed."""
    bundled = f"{_PACKAGE}/{_BUNDLED}"
    folder = bundled if os.path.isdir(bundled) else os.path.dirname(_PACKAGE)  # noqa: PTH112, PTH120
    yield from _below(_PACKAGE, "speccompile")
    for name in _FOLDERS:
        yield from _below(f"{folder}/{name}", name)


def _below(folder: str, name: str) -> Iterator[tuple[str, str]]:
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        # Installed in a zip archive.
        return
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.name.endswith(_SUFFIXES):
            if entry.is_file():
                yield inner, entry.path
        elif entry.is_dir() and entry.name not in _SKIPPED:
            yield from _below(entry.path, inner)
