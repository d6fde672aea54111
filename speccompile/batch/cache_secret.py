"""The secret key that signs cache entries.

It is a file outside of the cache's folder, so that someone who replaces the cache, for example by a saved cache of
another CI job, cannot sign entries.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from speccompile.batch.private_files import open_private

_FILE: Final = "cache.key"
_LENGTH: Final = 32


def read_secret(folder: Path, cache: Path) -> bytes:
    """The user's secret, made on first use. Raises OSError if it could not be kept from others."""
    # realpath, because a link may lead into the cache.
    if Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(cache)):
        raise PermissionError(1, "it is part of the cache", str(folder))
    handle = open_private(folder / _FILE, refused=stat.S_IRWXG | stat.S_IRWXO)
    try:
        secret = os.read(handle, _LENGTH + 1)
        if len(secret) != _LENGTH:
            # New, or damaged: entries that were signed with another secret are ignored.
            secret = os.urandom(_LENGTH)
            os.lseek(handle, 0, os.SEEK_SET)
            os.truncate(handle, 0)
            os.write(handle, secret)
    finally:
        os.close(handle)
    return secret
