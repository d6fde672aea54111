"""Files in the user's folders that no other user can write."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Final

_FOLDERS: Final[Mapping[tuple[str, str], tuple[str, str]]] = {
    ("cache", "win32"): ("LOCALAPPDATA", ""),
    ("cache", "darwin"): ("XDG_CACHE_HOME", "Library/Caches"),
    ("cache", ""): ("XDG_CACHE_HOME", ".cache"),
    ("state", "win32"): ("APPDATA", ""),
    ("state", "darwin"): ("XDG_STATE_HOME", "Library/Application Support"),
    ("state", ""): ("XDG_STATE_HOME", ".local/state"),
}
"""The variable that names a folder, and the folder below the home where it is unset, by purpose and system."""
_WRITABLE: Final = stat.S_IWGRP | stat.S_IWOTH


def user_folder(purpose: str, system: str, environment: Mapping[str, str], home: str) -> Path | None:
    """This program's folder for the purpose; None if there is no home and no variable for it."""
    variable, below_home = _FOLDERS.get((purpose, system)) or _FOLDERS[purpose, ""]
    parents = (environment.get(variable, ""), os.path.join(home, below_home) if below_home else "")  # noqa: PTH118
    # A relative path would be another folder in every working directory.
    return next((Path(path) / "speccompile" for path in parents if path and os.path.isabs(path)), None)  # noqa: PTH117


def open_private(file: Path, refused: int = _WRITABLE) -> int:
    """Open a file for reading and writing, and create it if it is missing. Raises OSError if it is not private.

    `refused` are the permissions of others that the file must not have.
    """
    folder = file.parent
    # Root with the HOME of a user must not create files that the user could not write.
    nearest = next(parent for parent in (folder, *folder.parents) if parent.exists())
    if hasattr(os, "geteuid") and nearest.stat().st_uid != os.geteuid():
        raise PermissionError(1, "it belongs to another user", str(nearest))
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    handle = os.open(file, flags | getattr(os, "O_BINARY", 0), 0o600)
    status = os.fstat(handle)
    is_private = _is_private(status, refused) and _is_private(folder.stat(), _WRITABLE)
    if not stat.S_ISREG(status.st_mode) or not is_private:
        os.close(handle)
        raise PermissionError(1, "other users can access it", str(file))
    return handle


def _is_private(status: os.stat_result, refused: int) -> bool:
    """Whether it is the user's alone; Windows protects the folders of a user, and WebAssembly has one user."""
    return not hasattr(os, "geteuid") or (status.st_uid == os.geteuid() and not status.st_mode & refused)
