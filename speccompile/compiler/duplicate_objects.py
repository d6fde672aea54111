"""Refuse runs that repeat a run or an object of another run, and warn about projects whose objects may clash."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol

from speccompile.compiler.compiled import Compiled, CreatedObject, Result
from speccompile.compiler.shared_namespaces import SharedNamespaces
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Span

_INITIAL_SLOTS = 64
_WORD = 2**64 - 1
_RECENT_CLAIMS = 64
Places = Callable[[int], Mapping[tuple[str, ...], Span]]
"""The positions of a run and its objects, by identity, for the number of the run."""


class RunClaim(NamedTuple):
    """The identity and the objects of a run."""

    project: str
    name: str
    place: Span
    objects: tuple[CreatedObject, ...]


class ClaimStore(Protocol):
    """A sequence of the runs so far; a list, or a file on disk."""

    def append(self, claim: RunClaim, /) -> None: ...
    def __len__(self) -> int: ...
    def __getitem__(self, number: int, /) -> RunClaim: ...


class HashIndex:
    """Map of hashes to numbers below 2**32: thirty bytes per entry, where a dictionary takes two hundred.

    Hashes can collide, so callers must check that the number is the right one.
    """

    __slots__ = ("_count", "_hashes", "_numbers")

    def __init__(self, slots: int = _INITIAL_SLOTS) -> None:
        self._count = 0
        self._hashes = array("Q", (0,)) * slots
        self._numbers = array("I", (0,)) * slots

    def settle(self, key: int, number: int) -> int | None:
        """The number stored for the hash; if there is none, store this one and return None."""
        # Zero marks an empty slot.
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
        """The slot of the hash, or the empty slot for it."""
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


def refuse_duplicates(
    results: Iterable[Result], platform: Callable[[], Platform], memory: ClaimStore | None = None
) -> Iterator[Result]:
    """The results in order, with an error in place of a run that repeats an earlier run or object.

    `platform` is called only if runs of several projects share a namespace.
    """
    claims: ClaimStore = [] if memory is None else memory
    index, projects = HashIndex(), SharedNamespaces(platform)

    # A run with many objects can clash with all objects of another, or many runs with the same run.
    @lru_cache(maxsize=_RECENT_CLAIMS)
    def places(number: int) -> Mapping[tuple[str, ...], Span]:
        return _places(claims[number])

    for result in results:
        if isinstance(result, CompileError):
            yield result
        elif findings := tuple(_clashes(result, claims, index, places)):
            yield CompileError(findings)
        else:
            yield result.with_findings(tuple(projects.warnings(result)))


def _clashes(compiled: Compiled, claims: ClaimStore, index: HashIndex, places: Places) -> Iterator[Diagnostic]:
    """A finding if the run was defined before, else one for each of its objects that was."""
    claim = RunClaim(compiled.project, compiled.name, compiled.place, compiled.objects)
    number = len(claims)
    first = _first((claim.project, claim.name), number, index, places)
    if first is not None:
        yield Diagnostic(
            code="run/duplicate",
            message=f"run {quote(claim.name)} of project {quote(claim.project)} is defined twice",
            span=claim.place,
            path=("name",),
            notes=(Note("first defined here", first),),
            help="pass the file only once" if first.line and first == claim.place else "rename one of the two",
        )
        return
    claims.append(claim)
    of_this_run: dict[tuple[str, ...], Span] = {}
    for created in claim.objects:
        first = of_this_run.get(created[:3]) or _first(created[:3], number, index, places)
        of_this_run.setdefault(created[:3], created.place)
        if first is not None:
            yield Diagnostic(
                code="run/duplicate-object",
                message=f"{created.kind} {quote(created.name)} would be created twice",
                span=created.place,
                notes=(Note("first created here", first),),
                help="rename one of the two",
            )


def _first(identity: tuple[str, ...], number: int, index: HashIndex, places: Places) -> Span | None:
    """Where an earlier run or object of this identity is defined; if nowhere, add it as the run of this number."""
    salt = 0
    while (earlier := index.settle(hash((salt, identity)), number)) is not None:
        # Without a place, only the hash is the same.
        place = None if earlier == number else places(earlier).get(identity)
        if place is not None:
            return place
        salt += 1
    return None


def _places(claim: RunClaim) -> Mapping[tuple[str, ...], Span]:
    objects: dict[tuple[str, ...], Span] = {}
    for created in claim.objects:
        objects.setdefault(created[:3], created.place)
    return {(claim.project, claim.name): claim.place, **objects}
