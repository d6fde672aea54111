"""Bounds on work that do not depend on how busy the machine is: function calls, or CPU time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn


class Calls:
    """Counter of function calls, of Python and of C."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.count = 0

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> None:
        if event in {"call", "c_call"}:
            self.count += 1
            if self.count == self.limit + 1:
                raise AssertionError(self.message)

    @property
    def message(self) -> str:
        return f"more than {self.limit} calls"


@contextmanager
def at_most_calls(limit: int) -> Iterator[Calls]:
    """Fail as soon as the body has made more than this many function calls.

    One call of C may take any time: bound patterns and arithmetic on large values by CPU time instead.
    """
    calls = Calls(limit)
    before = sys.getprofile()
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)
    # The body may have caught the error.
    assert calls.count <= limit, calls.message


@contextmanager
def at_most_cpu_seconds(limit: float) -> Iterator[None]:
    """Fail as soon as the body has taken more CPU time. Choose a limit far above what it takes: CPUs differ."""

    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        raise AssertionError(f"more than {limit} seconds of CPU time")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def calls_of(body: Callable[[], object]) -> int:
    """The number of function calls that the body makes."""
    with at_most_calls(sys.maxsize) as calls:
        body()
    return calls.count


def assert_near_linear(work: Callable[[int], object], size: int, *, growth: float = 1.5) -> None:
    """Fail if four times the input takes more than `growth` times four times the calls."""
    work(size)  # fills caches that do not depend on the size
    small, large = (calls_of(lambda number=number: work(number)) for number in (size, 4 * size))  # type: ignore[misc]
    assert large <= 4 * growth * small, f"{small} calls for {size}, {large} calls for {4 * size}"
