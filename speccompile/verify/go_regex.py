"""Patterns of CustomResourceDefinitions, matched by RE2, which reads them as the API server's Go does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple

_MEMORY = 512 * 1024
"""Bytes for one pattern; with RE2's default of 8 MiB, some patterns take more than a minute to compile."""
_REFUSED = 5_000
"""Instructions that a pattern counts for if it does not fit into that."""
_TOGETHER = 100_000
"""Instructions of all patterns of a definition; the worst ones take less than two seconds to compile."""


class CompiledPattern(NamedTuple):
    """A compiled pattern."""

    program: Any
    size: int
    """Instructions of the program."""

    def matches(self, text: str) -> bool:
        """Whether the text has a match anywhere."""
        return self.program.search(_encoded(text)) is not None

    def cost(self, text: str) -> int:
        """Work to match the text, in units of about 4 µs, with that to compile the pattern if no cache has it."""
        return 10 + (len(text) + 50) * self.size // 500


class UnusablePattern(NamedTuple):
    """Why a pattern is not compiled."""

    reason: str
    is_invalid: bool = False
    """Whether the API server refuses the pattern, too."""
    size: int = 0
    """Instructions that it counts for."""


MISSING = UnusablePattern("the package `google-re2` is not installed")
_TOO_LARGE = UnusablePattern("it takes too much memory", size=_REFUSED)
_TOO_MANY = UnusablePattern("the patterns of this definition take too much memory")


class Patterns:
    """The patterns of one definition, compiled within limits that they share."""

    def __init__(self) -> None:
        self._known: dict[str, UnusablePattern | None] = {}
        self._size = 0

    def refusal(self, pattern: str) -> UnusablePattern | None:
        """Why the pattern cannot be matched, if so."""
        if pattern not in self._known:
            made = compile_pattern(pattern) if self._size < _TOGETHER else _TOO_MANY
            self._size += made.size
            self._known[pattern] = made if isinstance(made, UnusablePattern) else None
        return self._known[pattern]


@lru_cache(maxsize=128)
def compile_pattern(pattern: str) -> CompiledPattern | UnusablePattern:
    try:
        import re2  # an extra, which not every platform has a wheel of
    except ImportError:
        return MISSING
    options = re2.Options()
    options.max_mem = _MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        program = re2.compile(_encoded(pattern), options)
    except re2.error as error:
        return _refusal(error.args[0].decode(errors="replace"))
    return CompiledPattern(program, program.programsize)


def _refusal(message: str) -> UnusablePattern:
    reason, _, part = message.partition(": ")
    if reason.startswith("pattern too large"):
        return _TOO_LARGE
    # Go follows Unicode faster than RE2 does, and knows more names of classes.
    if reason == "invalid character class range" and part.startswith((r"\p", r"\P")):
        return UnusablePattern(f"RE2 has no character class {quote(part)}")
    return UnusablePattern(f"{reason}: {quote(part)}" if part else reason, is_invalid=True)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Go reads a lone surrogate as U+FFFD.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
