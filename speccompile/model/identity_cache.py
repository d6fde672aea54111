"""Memoise a pure function by the identity of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")
if TYPE_CHECKING:
    from typing import TypeVarTuple, Unpack

    Ts = TypeVarTuple("Ts")


def by_identity(most: int) -> Callable[[Callable[[Unpack[Ts]], T]], Callable[[Unpack[Ts]], T]]:
    """Remembers as many results as said. Values are told apart by identity, text by what it says.

    Comparing a platform or a profile would cost more than the work it saves; the same one comes with every run.
    """

    def remembering(function: Callable[[Unpack[Ts]], T]) -> Callable[[Unpack[Ts]], T]:
        # The arguments are kept as well: as long as they live, no other value has their identity.
        kept: dict[tuple[object, ...], tuple[Any, T]] = {}

        @wraps(function)
        def remembered(*given: *Ts) -> T:
            key = tuple([one if one.__class__ is str else id(one) for one in given])
            found = kept.get(key)
            if found is None:
                if len(kept) >= most:
                    # All at once, which no other thread can see half done.
                    kept.clear()
                found = kept[key] = (given, function(*given))
            return found[1]

        return remembered

    return remembering
