"""Documents with other spellings of their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.testing.plain_data import Data

_USER_KEYS = frozenset(
    {
        "inputs",
        "parameters",
        "labels",
        "annotations",
        "envs",
        "data",
        "matchLabels",
        "requests",
        "limits",
        "node_selector",
    }
)
"""Mappings whose keys the user chooses."""
_spellings = st.sampled_from((0, 2**64 - 1)) | st.integers(0, 2**64 - 1)


@st.composite
def respellings(draw: st.DrawFn, data: Data, nulls: tuple[str, ...] = ()) -> Data:
    """The same document with some keys in camelCase or snake_case, and some absent ones null."""
    bits = draw(_spellings)
    position = 0

    def next_bit() -> bool:
        nonlocal position
        position += 1
        return bool(bits >> position % 64 & 1)

    def spelling(key: str) -> str:
        return key if next_bit() else camel_case(key) if "_" in key else snake_case(key)

    result: Data = respelled(data, spelling)
    return result | {name: None for name in nulls if name not in data and next_bit()}


def respelled(value: Any, spelling: Callable[[str], str]) -> Any:
    """The tree with every key in another spelling, except those that the user chooses."""
    if isinstance(value, list):
        return [respelled(item, spelling) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        spelling(key): child if key in _USER_KEYS and isinstance(child, dict) else respelled(child, spelling)
        for key, child in value.items()
    }
