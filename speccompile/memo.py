"""Takes a pure function, gives one that remembers what it gave for the very same values: the admin's, in a batch."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def by_identity(most: int) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Remembers as many results as said. Values are told apart by identity, text by what it says.

    Comparing a platform or a profile would cost more than the work it saves; the same one comes with every run.
    """

    def remembering(function: Callable[P, T]) -> Callable[P, T]:
        # The arguments are kept as well: as long as they live, no other value has their identity.
        kept: dict[tuple[object, ...], tuple[Any, T]] = {}

        @wraps(function)
        def remembered(*given: P.args, **_: P.kwargs) -> T:
            key = tuple([one if one.__class__ is str else id(one) for one in given])
            found = kept.get(key)
            if found is None:
                found = kept[key] = (given, function(*given))  # type: ignore[call-arg]
                if len(kept) > most:
                    kept.pop(next(iter(kept)), None)
            return found[1]

        return remembered

    return remembering
