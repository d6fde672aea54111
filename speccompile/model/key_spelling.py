"""Keys in snake_case and camelCase, resolved to the schema's spelling."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])", re.ASCII)
_JOINT = re.compile(r"_([a-z0-9])", re.ASCII)


def spelled(key: str, known: Mapping[str, Mapping[str, Any]]) -> str:
    """The known key for another spelling or an alias (`x-aliases`); the key itself if there is none."""
    if key in known:
        return key
    snake, camel = _spellings(key)
    if snake in known:
        return snake
    if camel in known:
        return camel
    return next((name for name, schema in known.items() if key in schema.get("x-aliases", ())), key)


@lru_cache(maxsize=1024)
def _spellings(key: str) -> tuple[str, str]:
    return snake_case(key), camel_case(key)


def snake_case(key: str) -> str:
    return _CAPITAL.sub(lambda match: f"_{match.group(1).lower()}", key)


def camel_case(key: str) -> str:
    return _JOINT.sub(lambda match: match.group(1).upper(), key)
