"""Plain data by number, in memory while small and on disk when large."""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Iterator
from functools import lru_cache
from io import BytesIO
from typing import IO, Any

from speccompile.compiler.compiled import CreatedObject
from speccompile.compiler.duplicate_objects import RunClaim
from speccompile.model.source import Layer, Source, Span

_IN_MEMORY = 256 * 1024
_RECENT_FILES = 8


class Spool:
    """Plain data by number, on disk if it is large; the file has no name, so that it never remains.

    Raises OSError if the disk is full.
    """

    __slots__ = ("_ends", "_file", "_is_at_end", "_is_on_disk")

    def __init__(self) -> None:
        self._ends = array("Q", (0,))
        self._file: IO[bytes] = BytesIO()
        self._is_on_disk = False
        self._is_at_end = True

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, data: Any) -> None:
        start = self._ends[-1]
        if start > _IN_MEMORY and not self._is_on_disk:
            self._move()
        if not self._is_at_end:
            # Each call would write what is buffered.
            self._file.seek(start)
            self._is_at_end = True
        self._ends.append(start + self._file.write(marshal.dumps(data)))

    def __getitem__(self, number: int) -> Any:
        start, end = self._ends[number], self._ends[number + 1]
        self._is_at_end = False
        self._file.seek(start)
        return marshal.loads(self._file.read(end - start))  # noqa: S302  written by this process

    def __iter__(self) -> Iterator[Any]:
        return (self[number] for number in range(len(self)))

    def close(self) -> None:
        self._file.close()

    def _move(self) -> None:
        from tempfile import TemporaryFile  # most calls never need it

        memory = self._file
        assert isinstance(memory, BytesIO)
        self._file = TemporaryFile()  # noqa: SIM115  closed with the spool
        self._file.write(memory.getbuffer())
        self._is_on_disk = True


class Ledger:
    """The objects that runs create, by number, to find clashes; on disk if there are many."""

    __slots__ = ("_claims", "_files", "_last", "_source")

    def __init__(self) -> None:
        self._claims, self._files = Spool(), Spool()
        self._last: Source | None = None
        # The runs of one file share one source: reading its text for each clash would take quadratic time and memory.
        self._source = lru_cache(maxsize=_RECENT_FILES)(self._read_source)

    def __len__(self) -> int:
        return len(self._claims)

    def append(self, claim: RunClaim) -> None:
        source = claim.place.source
        if source is not self._last:
            self._last = source
            self._files.append((source.name, source.text, source.layer.value))
        objects = tuple((*created[:3], created.place[1:]) for created in claim.objects)
        self._claims.append((len(self._files) - 1, claim.project, claim.name, claim.place[1:], objects))

    def __getitem__(self, number: int) -> RunClaim:
        file, project, name, place, objects = self._claims[number]
        source = self._source(file)
        created = (CreatedObject(kind, of, namespace, Span(source, *at)) for kind, of, namespace, at in objects)
        return RunClaim(project, name, Span(source, *place), tuple(created))

    def _read_source(self, number: int) -> Source:
        name, text, layer = self._files[number]
        return Source(name, text, Layer(layer))

    def close(self) -> None:
        self._claims.close()
        self._files.close()
