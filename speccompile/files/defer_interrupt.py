"""Defer signals during a critical section."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any


@contextmanager
def defer_interrupt() -> Iterator[None]:
    """Defer Ctrl-C to the end of the block; threads and processes started inside it ignore Ctrl-C."""
    import signal

    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP to the end of the block, whichever thread of the process receives them."""
    import signal

    received: list[int] = []
    names = ("SIGINT", "SIGTERM", "SIGHUP")
    numbers = [
        number for name in names if (number := getattr(signal, name, None)) and signal.getsignal(number) is not None
    ]
    before: dict[int, Any] = {}
    try:
        # Only the main thread can set handlers, and only it is interrupted.
        with suppress(ValueError):
            for number in numbers:
                before[number] = signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    # After an error, the call ends anyway, and its message matters more.
    for number in received:
        signal.raise_signal(number)
