"""Patterns of CustomResourceDefinitions, matched by RE2, which has the syntax of Go."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple

_MEMORY = 512 * 1024
"""Bytes for one pattern; with RE2's default of 8 MiB, some patterns take more than a minute to compile."""
_UNCOMPILED_SIZE = 5_000
"""Instructions that are assumed for a pattern above that limit."""
_MAX_TOTAL_SIZE = 100_000
"""Instructions of all patterns of a definition; compiling them takes less than two seconds."""


class CompiledPattern(NamedTuple):
    """A compiled pattern."""

    program: Any
    size: int
    """Instructions of the program."""

    def matches(self, text: str) -> bool:
        """Whether the text has a match anywhere."""
        return self.program.search(_encoded(text)) is not None

    def cost(self, text: str) -> int:
        """Work to compile the pattern and match the text, in units of about 4 µs."""
        return 10 + (len(text) + 50) * self.size // 500


class UnusablePattern(NamedTuple):
    """A pattern that cannot be matched, and why."""

    reason: str
    is_invalid: bool = False
    """Whether the API server rejects the pattern, too."""
    size: int = 0
    """Instructions that are assumed for it."""


MISSING = UnusablePattern("the package `google-re2` is not installed")
_TOO_LARGE = UnusablePattern("it takes too much memory", size=_UNCOMPILED_SIZE)
_TOO_MANY = UnusablePattern("the patterns of this definition take too much memory")


class Patterns:
    """The patterns of one definition, compiled within a shared limit."""

    def __init__(self) -> None:
        self._problems: dict[str, UnusablePattern | None] = {}
        self._size = 0

    def problem(self, pattern: str) -> UnusablePattern | None:
        """Why the pattern cannot be matched; None if it can."""
        if pattern not in self._problems:
            result = compile_pattern(pattern) if self._size < _MAX_TOTAL_SIZE else _TOO_MANY
            self._size += result.size
            self._problems[pattern] = result if isinstance(result, UnusablePattern) else None
        return self._problems[pattern]


@lru_cache(maxsize=128)
def compile_pattern(pattern: str) -> CompiledPattern | UnusablePattern:
    try:
        import re2  # an optional dependency without wheels for some platforms
    except ImportError:
        return MISSING
    options = re2.Options()
    options.max_mem = _MEMORY
    options.never_capture = True
    options.log_errors = False
    try:
        program = re2.compile(_encoded(pattern), options)
    except re2.error as error:
        return _unusable(error.args[0].decode(errors="replace"))
    return CompiledPattern(program, program.programsize)


def _unusable(message: str) -> UnusablePattern:
    reason, _, detail = message.partition(": ")
    if reason.startswith("pattern too large"):
        return _TOO_LARGE
    # Go has more Unicode classes than RE2.
    if reason == "invalid character class range" and detail.startswith((r"\p", r"\P")):
        return UnusablePattern(f"RE2 has no character class {quote(detail)}")
    return UnusablePattern(f"{reason}: {quote(detail)}" if detail else reason, is_invalid=True)


def _encoded(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        # Go reads a lone surrogate as U+FFFD.
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
