"""The work of one call: its runs, and the admin's configuration."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, TextIO

from speccompile.files.admin_texts import AdminFiles, read_admin_of
from speccompile.files.call_inputs import CallError, Flags, Inputs, settle
from speccompile.files.find import Unlisted
from speccompile.files.read import MAX_FILE_BYTES, read_file, read_stream
from speccompile.model.source import Layer, Source
from speccompile.terminal.progress import counted
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.compiler.documents.admin_config import Setting


class Work:
    """The runs of a call and the admin's texts; runs are read, and the texts parsed, on first use."""

    def __init__(self, inputs: Inputs, admin_texts: AdminFiles, stderr: TextIO) -> None:
        self.inputs: Final = inputs
        self.admin_texts: Final = admin_texts
        self.stderr: Final = stderr
        """The stream for progress."""

    @cached_property
    def setting(self) -> Setting:
        from speccompile.files.load_admin_config import setting_from

        return setting_from(self.admin_texts)

    @property
    def files(self) -> Iterator[Parsed]:
        """The run files, parsed. Raises CallError if standard input is needed and closed."""
        from speccompile.files.run_files import run_files

        return counted(run_files(self.inputs), len(self.inputs.runs), self.stderr)

    @property
    def texts(self) -> Iterator[Source | Parsed]:
        """The run files as texts, or findings. Raises CallError if standard input is needed and closed."""
        return counted(map(_text, self.inputs.runs), len(self.inputs.runs), self.stderr)


def read_work(flags: Flags, stderr: TextIO) -> Work:
    """Resolve the flags over the project file, and read the admin's texts.

    Raises CallError, or CompileError if the project file has errors.
    """
    inputs = settle(flags)
    return Work(inputs, read_admin_of(inputs), stderr)


def _text(path: Path | Unlisted | None) -> Source | Parsed:
    """The text of a run file; None is standard input."""
    if path is not None:
        return read_file(path, Layer.RUN, MAX_FILE_BYTES)
    if sys.stdin is None:
        raise CallError("standard input is closed")
    return read_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, MAX_FILE_BYTES)
