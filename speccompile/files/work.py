"""The work of one call: which runs it compiles, and under what."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, TextIO

from speccompile.files.admin_texts import Written, read_admin
from speccompile.files.call_inputs import CallError, Flags, Inputs, settle
from speccompile.files.find import Unlisted
from speccompile.files.read import MAX_BYTES, read_file, read_stream
from speccompile.model.source import Layer, Source
from speccompile.terminal.progress import counted
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.compiler.documents.admin_config import Setting


class Work:
    """What one call compiles; no run is read, and nothing of the admin's is parsed, before it is asked for."""

    def __init__(self, inputs: Inputs, written: Written, stderr: TextIO) -> None:
        self.inputs: Final = inputs
        self.written: Final = written
        """What the admin wrote."""
        self.stderr: Final = stderr
        """Where progress is shown."""

    @cached_property
    def setting(self) -> Setting:
        from speccompile.files.load_admin_config import setting_from

        return setting_from(self.written)

    @property
    def files(self) -> Iterator[Parsed]:
        """The files of runs, parsed. Raises CallError if standard input is wanted and closed."""
        from speccompile.files.run_files import run_files

        return counted(run_files(self.inputs), len(self.inputs.runs), self.stderr)

    @property
    def texts(self) -> Iterator[Source | Parsed]:
        """All files as texts, or why they cannot be read. Raises CallError if standard input is wanted and closed."""
        return counted(map(_text, self.inputs.runs), len(self.inputs.runs), self.stderr)


def read_work(flags: Flags, stderr: TextIO) -> Work:
    """The work of a call: flags over the project file, and the admin's texts.

    Raises CallError, or CompileError with what is wrong with the project file.
    """
    inputs = settle(flags)
    return Work(inputs, read_admin(inputs.profiles, inputs.platform, inputs.templates), stderr)


def _text(path: Path | Unlisted | None) -> Source | Parsed:
    """The text of a file of runs; None is standard input."""
    if path is not None:
        return read_file(path, Layer.RUN, MAX_BYTES)
    if sys.stdin is None:
        raise CallError("standard input is closed")
    return read_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, MAX_BYTES)
