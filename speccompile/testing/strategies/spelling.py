"""Documents in another spelling of their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.testing.strategies.building_blocks import Data

_USERS_OWN = frozenset(
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
"""Mappings whose keys are not ours to spell."""
_spellings = st.sampled_from((0, 2**64 - 1)) | st.integers(0, 2**64 - 1)


@st.composite
def respellings(draw: st.DrawFn, data: Data, nulls: tuple[str, ...] = ()) -> Data:
    """The same document with some keys in their other spelling, and some of the absent ones null."""
    coins = draw(_spellings)
    tossed = 0

    def heads() -> bool:
        nonlocal tossed
        tossed += 1
        return bool(coins >> tossed % 64 & 1)

    def spelling(key: str) -> str:
        return key if heads() else camel_case(key) if "_" in key else snake_case(key)

    written: Data = respelled(data, spelling)
    return written | {name: None for name in nulls if name not in data and heads()}


def respelled(value: Any, spelling: Callable[[str], str]) -> Any:
    """The tree with every key of ours in another spelling; keys of the user's own stay."""
    if isinstance(value, list):
        return [respelled(item, spelling) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        spelling(key): child if key in _USERS_OWN and isinstance(child, dict) else respelled(child, spelling)
        for key, child in value.items()
    }
