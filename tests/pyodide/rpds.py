"""Stand-in for `rpds`, which has no wheel for WebAssembly: as much of it as jsonschema and referencing use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


class HashTrieMap(Mapping[K, V]):
    def __init__(self, entries: Mapping[K, V] | Iterable[tuple[K, V]] = ()) -> None:
        self._entries = dict(entries)

    @staticmethod
    def convert(entries: Mapping[K, V] | Iterable[tuple[K, V]]) -> HashTrieMap[K, V]:
        return entries if isinstance(entries, HashTrieMap) else HashTrieMap(entries)

    def __getitem__(self, key: K) -> V:
        return self._entries[key]

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def insert(self, key: K, value: V) -> HashTrieMap[K, V]:
        return HashTrieMap({**self._entries, key: value})

    def remove(self, key: K) -> HashTrieMap[K, V]:
        rest = dict(self._entries)
        del rest[key]
        return HashTrieMap(rest)

    def update(self, entries: Mapping[K, V]) -> HashTrieMap[K, V]:
        return HashTrieMap({**self._entries, **entries})


class HashTrieSet(frozenset[K]):
    def insert(self, value: K) -> HashTrieSet[K]:
        return HashTrieSet(self | {value})

    def discard(self, value: K) -> HashTrieSet[K]:
        return HashTrieSet(self - {value})

    def update(self, values: Iterable[K]) -> HashTrieSet[K]:
        return HashTrieSet(self.union(values))


class List(tuple[K, ...]):
    __slots__ = ()

    def push_front(self, value: K) -> List[K]:
        return List((value, *self))
