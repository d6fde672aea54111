"""The failure of an executor."""

from __future__ import annotations


class ExecutorError(RuntimeError):
    """An executor failed; the runs may be valid."""
