"""Natural sort order, in which `train-2` comes before `train-10`."""

from __future__ import annotations

import re


def natural_key(text: str) -> list[tuple[int, str]]:
    """A sort key that compares runs of digits as numbers, of any length."""
    parts = re.split("([0-9]+)", text)
    # Odd parts are digits; a longer number without leading zeros is larger.
    return [(len(part.lstrip("0")), part.lstrip("0")) if at % 2 else (0, part) for at, part in enumerate(parts)]
