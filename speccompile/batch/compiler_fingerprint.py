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
def local_stamp() -> bytes | None:
    """Another one after any change to the compiler or to the packages around it; None if it is not made of files.

    Nothing is read: a file that was replaced has another time of change, whatever its other times say.
    """
    digest = blake2b(digest_size=16)
    number = 0
    for name, path in _files():
        try:
            told = path.stat()
        except OSError:
            # Somebody is at work on it.
            return None
        digest.update(f"{name}\0{told.st_size}\0{told.st_mtime_ns}\0{told.st_ctime_ns}\0{told.st_ino}\n".encode())
        number += 1
    for folder in sys.path:
        if folder.endswith(_LIBRARIES) and Path(folder).is_dir():
            digest.update(f"{folder}\0{Path(folder).stat().st_mtime_ns}\n".encode("utf-8", "surrogateescape"))
    digest.update(f"{_PACKAGE}\0{sys.implementation.cache_tag}".encode("utf-8", "surrogateescape"))
    return digest.digest() if number else None


@cache
def text_digest() -> str:
    """The same on all machines that have the very same compiler, however it is installed."""
    digest = blake2b(digest_size=16)
    for name, path in _files():
        text = path.read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name}\0{len(text)}\n".encode() + text)
    return digest.hexdigest()


def _files() -> Iterator[tuple[str, Path]]:
    """What the compiler is made of, by names that do not hang on where it is installed, in order."""
    bundled = _PACKAGE / _BUNDLED
    beside = bundled if bundled.is_dir() else _PACKAGE.parent
    tops = ((_PACKAGE, "speccompile"), *((beside / name, name) for name in _FOLDERS))
    for top, name in tops:
        yield from _below(top, name)


def _below(folder: Path, name: str) -> Iterator[tuple[str, Path]]:
    try:
        with os.scandir(folder) as listed:
            entries = sorted(listed, key=lambda entry: entry.name)
    except OSError:
        # An installation read from a zip archive.
        return
    for entry in entries:
        inner = f"{name}/{entry.name}"
        if entry.is_dir() and entry.name != _BUNDLED:
            yield from _below(Path(entry.path), inner)
        elif entry.name.endswith(_SUFFIXES) and entry.is_file():
            yield inner, Path(entry.path)
