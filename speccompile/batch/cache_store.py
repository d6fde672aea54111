"""Signed key-value cache in SQLite, which drops entries instead of failing."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from speccompile.batch.cache_secret import read_secret
from speccompile.batch.fast_hash import blake2b
from speccompile.batch.private_files import open_private, user_folder

try:
    import sqlite3
except ImportError:
    # Some builds of Python have no SQLite.
    _HAS_SQLITE = False
else:
    _HAS_SQLITE = True

MAX_CACHE_BYTES: Final = 512 * 1024 * 1024
"""The size limit on disk; a run takes about five thousand bytes."""
_FILE = "store-2.sqlite"
"""The number changes with the layout."""
_DAY = 24 * 60 * 60
_BATCH = 100
"""Entries that are written together."""
_WAIT = 0.2
"""Seconds to wait for another process; after that, the run is compiled, and not cached."""
_SIGN = 16
_TABLES = ("results", "skeletons")
_LAYOUT: Mapping[str, str] = {
    table: f"CREATE TABLE {table} (key BLOB NOT NULL UNIQUE, day INTEGER NOT NULL, value BLOB NOT NULL)"
    for table in _TABLES
}
_READ: Mapping[str, str] = {table: f"SELECT day, value FROM {table} WHERE key = ?" for table in _TABLES}  # noqa: S608
_WRITE: Mapping[str, str] = {table: f"INSERT OR REPLACE INTO {table} VALUES (?, ?, ?)" for table in _TABLES}  # noqa: S608
_TOUCH: Mapping[str, str] = {table: f"UPDATE {table} SET day = ? WHERE key = ?" for table in _TABLES}  # noqa: S608
_EVICT = tuple(
    f"DELETE FROM {table} WHERE rowid IN "  # noqa: S608
    f"(SELECT rowid FROM {table} ORDER BY day, rowid LIMIT (SELECT 1 + count(*) / 4 FROM {table}))"
    for table in _TABLES
)


def cache_key(*parts: bytes) -> bytes:
    """The key of an entry that depends on these parts only."""
    digest = blake2b(digest_size=16)
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


class CacheStore:
    """A cache on disk. On any error it drops entries; it never raises, and never returns changed values.

    Entries are signed with the user's secret, so that damaged and forged ones are ignored. Several processes can use it
    at the same time.
    """

    __slots__ = ("_connection", "_file", "_secret", "_today", "_touched", "_waiting")

    def __init__(
        self, connection: sqlite3.Connection | None, secret: bytes = b"", file: Path = Path(), today: int = 0
    ) -> None:
        self._connection = connection
        self._secret = secret
        self._file = file
        self._today = today
        self._waiting: dict[str, dict[bytes, bytes]] = {table: {} for table in _TABLES}
        self._touched: dict[str, list[bytes]] = {table: [] for table in _TABLES}

    def get(self, key: bytes, table: str = "skeletons") -> bytes | None:
        """The value of the key, if it is still cached."""
        if self._connection is None:
            return None
        try:
            row = self._connection.execute(_READ[table], (key,)).fetchone()
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            self._disable(error)
            return None
        if row is None or not isinstance(row[1], bytes):
            return None
        day, signed = row
        value: bytes = signed[_SIGN:]
        if self._signature(table, key, value) != signed[:_SIGN]:
            return None
        if day != self._today:
            self._touched[table].append(key)
        return value

    def put(self, key: bytes, value: bytes, table: str = "skeletons") -> None:
        """Cache the value, if possible, until it is evicted because it was not used for long."""
        if self._connection is None:
            return
        self._waiting[table][key] = value
        if sum(map(len, self._waiting.values())) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Write pending entries, or drop them if another process holds the lock for too long."""
        connection, waiting, touched = self._connection, self._waiting, self._touched
        self._waiting = {table: {} for table in _TABLES}
        self._touched = {table: [] for table in _TABLES}
        if connection is None or not any((*waiting.values(), *touched.values())):
            return
        try:
            connection.execute("BEGIN IMMEDIATE")
            for table in _TABLES:
                rows = (
                    (key, self._today, self._signature(table, key, value) + value)
                    for key, value in waiting[table].items()
                )
                connection.executemany(_WRITE[table], rows)
                connection.executemany(_TOUCH[table], ((self._today, key) for key in touched[table]))
            _evict(connection)
            connection.execute("COMMIT")
        except sqlite3.OperationalError:
            # Another process is writing, or the disk is full.
            if connection.in_transaction:
                _quietly(connection, "ROLLBACK")
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            self._disable(error)

    def close(self) -> None:
        self.flush()
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _signature(self, table: str, key: bytes, value: bytes) -> bytes:
        digest = blake2b(
            len(key).to_bytes(8, "little") + key, key=self._secret, person=table.encode(), digest_size=_SIGN
        )
        digest.update(value)
        return digest.digest()

    def _disable(self, error: Exception) -> None:
        """Close the cache for the rest of the call, and remove it if it is damaged."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
        if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.OperationalError):
            _remove(self._file)


NO_CACHE: Final = CacheStore(None)
"""A cache without entries."""


@contextmanager
def open_cache(*, wanted: bool = True) -> Iterator[CacheStore]:
    """The user's cache, or an empty one if it is not wanted or cannot be opened."""
    store = _open_store() if wanted else NO_CACHE
    try:
        yield store
    finally:
        store.close()


def _open_store() -> CacheStore:
    # An empty HOME would resolve to /.
    home = os.path.expanduser("~") if os.environ.get("HOME") != "" else ""  # noqa: PTH111  Path raises
    folder, secrets = (user_folder(purpose, sys.platform, os.environ, home) for purpose in ("cache", "state"))
    if folder is None or secrets is None or not _HAS_SQLITE:
        return NO_CACHE
    today = int(time.time()) // _DAY
    file = folder / _FILE
    # A file that is not a database is replaced, once.
    for _ in range(2):
        try:
            os.close(open_private(file))
            secret = read_secret(secrets, folder)
            return CacheStore(_connect(file), secret, file, today)
        except sqlite3.OperationalError:
            return NO_CACHE
        except sqlite3.DatabaseError:
            _remove(file)
        except (OSError, ValueError):
            return NO_CACHE
    return NO_CACHE


def _connect(file: Path) -> sqlite3.Connection:
    # Without a journal on disk; SQLite would obey one that was placed there, and delete the file that it names.
    _journal(file).unlink(missing_ok=True)
    connection = sqlite3.connect(file, timeout=_WAIT, isolation_level=None)
    try:
        connection.execute("PRAGMA journal_mode = MEMORY")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -512")
        _check_layout(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _check_layout(connection: sqlite3.Connection) -> None:
    """Create the tables. Raises DatabaseError if the file defines anything else: views and triggers can do any work."""
    layout = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    if not layout:
        connection.execute("BEGIN IMMEDIATE")
        for statement in _LAYOUT.values():
            # Another process may have created it in the meantime.
            connection.execute(statement.replace("TABLE", "TABLE IF NOT EXISTS", 1))
        connection.execute("COMMIT")
    elif layout != [*_LAYOUT.items()]:
        raise sqlite3.DatabaseError("unexpected tables")


def _evict(connection: sqlite3.Connection) -> None:
    """Remove the least recently used quarter of the entries if the file exceeds its limit."""
    free, pages, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("freelist_count", "page_count", "page_size")
    )
    if (pages - free) * size > MAX_CACHE_BYTES:
        for statement in _EVICT:
            connection.execute(statement)


def _journal(file: Path) -> Path:
    return Path(f"{file}-journal")


def _remove(file: Path) -> None:
    for path in (file, _journal(file)):
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return


def _quietly(connection: sqlite3.Connection, statement: str) -> None:
    try:
        connection.execute(statement)
    except sqlite3.Error:
        return
