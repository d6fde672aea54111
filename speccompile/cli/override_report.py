"""The report of `render --report`: every value that an admin replaced, added to or refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from speccompile.compiler.compiled import Result
from speccompile.files.write_report import Report, write_report
from speccompile.report.overrides_json import GENERATOR, as_overrides_json, override_entries
from speccompile.schema.bundled import bundled_codes


class OverrideReport:
    """What the admin did to the values of runs, collected run by run."""

    def __init__(self) -> None:
        self._entries: list[Mapping[str, Any]] = []

    def add(self, result: Result) -> None:
        self._entries += override_entries(result, bundled_codes())

    def write(self, file: str, known: Sequence[Path], stdout: TextIO, stderr: TextIO) -> int:
        """Write the report as JSON; an exit code other than 0 if that fails."""
        return write_report(Report(as_overrides_json(self._entries), file, GENERATOR), known, stdout, stderr)
