"""Basic strategies that the others are composed of, each made once: making one costs more than drawing from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, TypeAlias

from hypothesis import strategies as st

Data: TypeAlias = dict[str, Any]


@lru_cache(maxsize=None, typed=True)
def integers(least: int, most: int) -> st.SearchStrategy[int]:
    return st.integers(least, most)


@lru_cache(maxsize=None, typed=True)
def among(*choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


def mapping(
    required: Mapping[str, st.SearchStrategy[Any]] | None = None,
    optional: Mapping[str, st.SearchStrategy[Any]] | None = None,
) -> st.SearchStrategy[Data]:
    return st.fixed_dictionaries(dict(required or {}), optional=dict(optional or {}))


coins = st.booleans()
seldom = st.sampled_from((False, False, True))
often = st.sampled_from((False, True, True, True))
