"""The report of `render --report`: values that an admin overrode, extended or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from speccompile.compiler.compiled import Result
from speccompile.files.write_report import Report, is_stdout, write_report
from speccompile.report.overrides_json import GENERATOR, as_overrides_json, override_entries
from speccompile.schema.bundled import bundled_codes


class OverrideReport:
    """Report of overridden, extended and rejected values, collected run by run."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._entries: list[Mapping[str, Any]] = []

    @property
    def is_printed(self) -> bool:
        """Whether it goes to standard output."""
        return is_stdout(self._file)

    def add(self, result: Result) -> None:
        self._entries += override_entries(result, bundled_codes())

    def write(self, known: Sequence[Path], stdout: TextIO, stderr: TextIO) -> int:
        """Write the report as JSON, and return an exit code; `known` are files that it may not replace."""
        return write_report(Report(as_overrides_json(self._entries), self._file, GENERATOR), known, stdout, stderr)
