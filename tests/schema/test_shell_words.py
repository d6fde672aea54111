"""Words of a command line."""

from __future__ import annotations

import pytest

from speccompile.schema.shell_words import shell_words


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--epochs 3", ["--epochs", "3"]),
        ("python -c 'print(1)'", ["python", "-c", "print(1)"]),
        ("echo 'open", None),
        ("", []),
    ],
)
def test_a_line_is_split_as_a_shell_does(line: str, words: list[str] | None) -> None:
    assert shell_words(line) == words


def test_a_long_line_is_not_split() -> None:
    """Splitting takes quadratic time: 40 seconds for a word of one megabyte."""
    assert shell_words("a" * 1_000_000) is None
