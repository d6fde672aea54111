"""Bounds on work that do not depend on how busy the machine is: function calls, or CPU time."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
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
