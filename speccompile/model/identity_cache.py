"""Memoize a pure function by the identity of its arguments."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar

ReturnT = TypeVar("ReturnT")
if TYPE_CHECKING:
    from typing import TypeVarTuple, Unpack

    Ts = TypeVarTuple("Ts")


def by_identity(most: int) -> Callable[[Callable[[Unpack[Ts]], ReturnT]], Callable[[Unpack[Ts]], ReturnT]]:
    """Cache up to `most` results; arguments are compared by identity, strings by value.

    Comparing platforms or profiles would cost more than the cache saves, and every run has the same ones.
    """

    def decorate(function: Callable[[Unpack[Ts]], ReturnT]) -> Callable[[Unpack[Ts]], ReturnT]:
        # The arguments are stored too: while they exist, no other value has their identity.
        cache: dict[tuple[object, ...], tuple[Any, ReturnT]] = {}

        @wraps(function)
        def cached(*arguments: *Ts) -> ReturnT:
            key = tuple([one if one.__class__ is str else id(one) for one in arguments])
            entry = cache.get(key)
            if entry is None:
                if len(cache) >= most:
                    # A single call, so that no other thread sees it half done.
                    cache.clear()
                entry = cache[key] = (arguments, function(*arguments))
            return entry[1]

        return cached

    return decorate
