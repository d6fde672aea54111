"""Stand-in for `re2`, which has no wheel for WebAssembly: as much of it as the patterns of golden cases need."""

from __future__ import annotations

import re
from types import SimpleNamespace

Options = SimpleNamespace
error = re.error


class _Program:
    programsize = 100

    def __init__(self, pattern: bytes) -> None:
        self.search = re.compile(pattern).search


def compile(pattern: bytes, _: Options) -> _Program:  # noqa: A001  the name that it stands in for
    return _Program(pattern)
