"""Progress counter on a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TextIO, TypeVar

T = TypeVar("T")
_EVERY = 20
_WORTH_SHOWING = 100


def counted(items: Iterable[T], total: int, stream: TextIO) -> Iterator[T]:
    """Yield the items, and count them on a terminal if there are many; the counter is erased at the end."""
    if total < _WORTH_SHOWING or not stream.isatty():
        yield from items
        return
    for index, item in enumerate(items):
        if index % _EVERY == 0:
            stream.write(f"\rcompiling {index} of {total} files")
            stream.flush()
        yield item
    stream.write("\r\x1b[K")
    stream.flush()
