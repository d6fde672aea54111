"""The failure of an executor."""

from __future__ import annotations


class ExecutorError(RuntimeError):
    """An executor did not do its work, which says nothing about the runs."""
