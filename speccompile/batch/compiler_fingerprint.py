"""Fingerprint of this compiler: changes whenever its code, schemas or templates do."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from speccompile.batch.fast_hash import blake2b

_PACKAGE = Path(__file__).resolve().parent.parent
_BUNDLED = "_bundled"
_FOLDERS = ("schemas", "templates", "presets")
_SUFFIXES = (".py", ".json", ".j2", ".yaml", ".toml")
_LIBRARIES = ("site-packages", "dist-packages")


@cache
def local_fingerprint() -> bytes | None:
    """A hash that differs after any change of the compiler or its packages; None if it is not installed as files.

    Files are not read: one that was replaced has another change time.
    """
    digest = blake2b(digest_size=16)
    number = 0
    for name, path in _files():
        try:
            status = path.stat()
        except OSError:
            # It is being replaced.
            return None
        digest.update(
            f"{name}\0{status.st_size}\0{status.st_mtime_ns}\0{status.st_ctime_ns}\0{status.st_ino}\n".encode()
        )
        number += 1
    for folder in sys.path:
        if folder.endswith(_LIBRARIES) and Path(folder).is_dir():
            digest.update(f"{folder}\0{Path(folder).stat().st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    digest.update(f"{_PACKAGE}\0{sys.implementation.cache_tag}".encode("utf-8", "surrogateescape"))
    return digest.digest() if number else None


@cache
def text_digest() -> str:
    """A hash of the compiler's text, equal on all machines, however it is installed."""
    digest = blake2b(digest_size=16)
    for name, path in _files():
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(text)}\n".encode() + text)
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, Path]]:
    """The files of the compiler, sorted, by names that do not depend on where it is installed."""
    bundled = _PACKAGE / _BUNDLED
    folder = bundled if bundled.is_dir() else _PACKAGE.parent
    tops = ((_PACKAGE, "speccompile"), *((folder / name, name) for name in _FOLDERS))
    for top, name in tops:
        yield from _below(top, name)


def _below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(folder) as scanned:
            entries = sorted(scanned, key=lambda entry: entry.name)
    except OSError:
        # Installed in a zip archive.
        return
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.is_dir() and entry.name != _BUNDLED:
            yield from _below(Path(entry.path), inner)
        elif entry.name.endswith(_SUFFIXES) and entry.is_file():
            yield inner, Path(entry.path)
