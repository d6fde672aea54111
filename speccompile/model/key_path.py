"""Format and parse field paths: `resources.limits["nvidia.com/gpu"]`, `args[2]`."""

from __future__ import annotations

import re
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]

_PLAIN_STEP = r"[A-Za-z_][A-Za-z0-9_-]*"

_STEP = rf'\.?({_PLAIN_STEP})|\[([0-9]+)\]|\["((?:[^"\\]|\\.)*)"\]'


def format_path(path: KeyPath) -> str:
    """Format a path: `resources.limits["nvidia.com/gpu"]`, `args[2]`."""
    parts: list[str] = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif re.fullmatch(_PLAIN_STEP, step):
            parts.append(f".{step}" if parts else step)
        else:
            escaped = step.replace("\\", "\\\\").replace('"', '\\"')
            parts.append(f'["{escaped}"]')
    return "".join(parts)


def parse_path(text: str) -> KeyPath:
    """Parse a path; the inverse of `format_path`. Raises ValueError."""
    path: list[str | int] = []
    steps = re.compile(_STEP)
    position = 0
    while position < len(text):
        match = steps.match(text, position)
        if match is None:
            raise ValueError(f"not a path: {text!r}")
        name, index, quoted = match.groups()
        path.append(int(index) if index else name or re.sub(r"\\(.)", r"\1", quoted))
        position = match.end()
    return tuple(path)
