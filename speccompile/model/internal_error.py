"""Tracebacks of internal errors."""

from __future__ import annotations

from collections.abc import Iterator


def traceback_text(error: BaseException) -> str:
    """The traceback of an error and its causes, without their messages, which may quote a secret."""
    return "".join(_stack(error))


def _stack(error: BaseException) -> Iterator[str]:
    from traceback import format_tb  # only internal errors need it

    cause = error.__cause__ or error.__context__
    if cause is not None:
        yield from _stack(cause)
        yield "\nthen:\n"
    yield "Traceback (most recent call last):\n"
    yield from format_tb(error.__traceback__)
    yield f"{type(error).__name__}\n"
