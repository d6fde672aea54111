"""Refuse runs that repeat a run, or make an object that another run makes."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Protocol

from speccompile.compiler.compiled import Compiled, CreatedObject, Result
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Span

_ROOM = 64
_WORD = 2**64 - 1


class RunClaim(NamedTuple):
    """What a run took for itself."""

    project: str
    name: str
    place: Span
    objects: tuple[CreatedObject, ...]


class ClaimStore(Protocol):
    """Where the runs that were there before are kept, by number; a list will do."""

    def append(self, known: RunClaim, /) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> RunClaim: ...


class HashIndex:
    """Numbers below 2**32 by the hash of what they stand for: thirty bytes each; a dictionary takes two hundred.

    Two things may have one hash, so whoever finds a number has to look whether it is the right one.
    """

    __slots__ = ("_count", "_hashes", "_numbers")

    def __init__(self, room: int = _ROOM) -> None:
        self._count = 0
        self._hashes = array("Q", (0,)) * room
        self._numbers = array("I", (0,)) * room

    def settle(self, key: int, number: int) -> int | None:
        """The number that stands for the hash already; if there is none, it is this one from now on."""
        # Nought is an empty place.
        key = (key & _WORD) or 1
        slot = self._slot(key)
        if self._hashes[slot]:
            return self._numbers[slot]
        self._hashes[slot], self._numbers[slot] = key, number
        self._count += 1
        if 3 * self._count > 2 * len(self._hashes):
            self._grow()
        return None

    def _slot(self, key: int) -> int:
        """The place of the hash, or the empty one that it would take."""
        hashes, last = self._hashes, len(self._hashes) - 1
        slot = key & last
        while hashes[slot] and hashes[slot] != key:
            slot = (slot + 1) & last
        return slot

    def _grow(self) -> None:
        hashes, numbers = self._hashes, self._numbers
        self._hashes = array("Q", (0,)) * (2 * len(hashes))
        self._numbers = array("I", (0,)) * (2 * len(numbers))
        for key, number in zip(hashes, numbers, strict=True):
            if key:
                slot = self._slot(key)
                self._hashes[slot], self._numbers[slot] = key, number


def refuse_duplicates(results: Iterable[Result], memory: ClaimStore | None = None) -> Iterator[Result]:
    """The results in order; of two runs that clash, the second is an error that points at the first."""
    known: ClaimStore = [] if memory is None else memory
    seen = HashIndex()
    for result in results:
        found = () if isinstance(result, CompileError) else tuple(_clashes(result, known, seen))
        yield CompileError(found) if found else result


def _clashes(compiled: Compiled, known: ClaimStore, seen: HashIndex) -> Iterator[Diagnostic]:
    """What was there before: the run itself, or else those of its objects that were."""
    mine = RunClaim(compiled.project, compiled.name, compiled.place, compiled.objects)
    number = len(known)
    first = _first((mine.project, mine.name), number, known, seen)
    if first is not None:
        yield Diagnostic(
            code="run/duplicate",
            message=f"run {quote(mine.name)} of project {quote(mine.project)} stands here again",
            span=mine.place,
            path=("name",),
            notes=(Note("first here", first),),
            help="rename one of the two",
        )
        return
    known.append(mine)
    own: dict[tuple[str, ...], Span] = {}
    for made in mine.objects:
        first = own.get(made[:3]) or _first(made[:3], number, known, seen)
        own.setdefault(made[:3], made.place)
        if first is not None:
            yield Diagnostic(
                code="run/duplicate-object",
                message=f"{made.kind} {quote(made.name)} would be made a second time",
                span=made.place,
                notes=(Note("first here", first),),
                help="rename one of the two",
            )


def _first(identity: tuple[str, ...], number: int, known: ClaimStore, seen: HashIndex) -> Span | None:
    """Where the same stands first; if nowhere, it stands in the run of this number from now on."""
    salt = 0
    while (held := seen.settle(hash((salt, identity)), number)) is not None:
        place = None if held == number else _place(identity, known[held])
        if place is not None:
            return place
        salt += 1
    return None


def _place(identity: tuple[str, ...], known: RunClaim) -> Span | None:
    """Where a run says that it is, or makes, this; None if another thing has the same hash."""
    if identity == (known.project, known.name):
        return known.place
    return next((made.place for made in known.objects if made[:3] == identity), None)
