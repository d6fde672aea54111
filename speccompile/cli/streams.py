"""Standard streams that never fail."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO, cast

from speccompile.terminal.display_width import for_terminal


class Stream:
    """A standard stream that never fails: after the first error, which is stored, nothing is written."""

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream = _buffered(stream)
        self.fault: Exception | None = None
        # Output is the same on every machine, whatever its locale.
        if reconfigure := getattr(stream, "reconfigure", None):
            self._attempt(lambda: reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n"))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def isatty(self) -> bool:
        return self._stream is not None and self._stream.isatty()

    def write(self, text: str) -> int:
        stream = self._stream
        if stream is not None:
            written = for_terminal(text) if self.isatty() else text
            self._attempt(lambda: stream.write(written))
        elif text:
            self.fault = ValueError("standard output is closed")
        return len(text)

    def flush(self) -> None:
        if self._stream is not None:
            self._attempt(self._stream.flush)

    def _attempt(self, action: Callable[[], object]) -> None:
        if self.fault is not None:
            return
        try:
            action()
        except (OSError, ValueError) as error:
            self.fault = error
            self._discard_buffer()

    def _discard_buffer(self) -> None:
        """Discard the buffer, which the interpreter would flush again at exit, and report the error again."""
        with suppress(OSError, ValueError, AttributeError):
            number = cast("TextIO", self._stream).fileno()
            devnull = os.open(os.devnull, os.O_WRONLY)
            os.dup2(devnull, number)
            os.close(devnull)


def _buffered(stream: TextIO | None) -> TextIO | None:
    """Add a buffer to an unbuffered stream, on which Python ignores incomplete writes."""
    raw = getattr(stream, "buffer", None)
    if not isinstance(raw, io.FileIO):
        return stream
    return io.TextIOWrapper(io.BufferedWriter(io.FileIO(raw.fileno(), "w", closefd=False)), line_buffering=True)
