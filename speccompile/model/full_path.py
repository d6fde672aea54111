"""Switch for `render --plain`: parse, validate and render without shortcuts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FULL_PATH: ContextVar[bool] = ContextVar("full_path", default=False)
"""Whether the fast parser, the fast validator and all skeletons are bypassed; the results are the same."""


@contextmanager
def full_path(*, enabled: bool = True) -> Iterator[None]:
    """Take the full path through ruamel.yaml, jsonschema and Jinja within the block."""
    token = FULL_PATH.set(enabled)
    try:
        yield
    finally:
        FULL_PATH.reset(token)
