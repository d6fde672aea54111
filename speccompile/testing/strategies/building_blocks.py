"""Basic strategies, cached because creating a strategy costs more than drawing from it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from hypothesis import strategies as st

from speccompile.testing.plain_data import Data


@lru_cache(maxsize=None, typed=True)
def integers(minimum: int, maximum: int) -> st.SearchStrategy[int]:
    return st.integers(minimum, maximum)


@lru_cache(maxsize=None, typed=True)
def among(*choices: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(choices)


def fixed_mappings(
    required: Mapping[str, st.SearchStrategy[Any]] | None = None,
    optional: Mapping[str, st.SearchStrategy[Any]] | None = None,
) -> st.SearchStrategy[Data]:
    return st.fixed_dictionaries(dict(required or {}), optional=dict(optional or {}))


coins = st.booleans()
seldom = st.sampled_from((False, False, True))
often = st.sampled_from((False, True, True, True))
