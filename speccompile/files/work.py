"""The work of one call: its runs, and the admin's configuration."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Final, TextIO

from speccompile.files.admin_texts import AdminFiles, read_admin_of
from speccompile.files.call_inputs import Flags, Inputs, settle
from speccompile.files.run_texts import run_texts
from speccompile.model.source import Source
from speccompile.terminal.progress import counted
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from speccompile.compiler.documents.admin_config import Setting


class Work:
    """The runs of a call and the admin's texts; runs are read, and the texts parsed, on first use."""

    def __init__(
        self, inputs: Inputs, admin_texts: AdminFiles, stderr: TextIO, known: dict[int, Source] | None = None
    ) -> None:
        self.inputs: Final = inputs
        self._known: Final = known
        """Texts of runs that were read already, by their number."""
        self.admin_texts: Final = admin_texts
        self.stderr: Final = stderr
        """The stream for progress."""

    @cached_property
    def setting(self) -> Setting:
        from speccompile.files.load_admin_config import setting_from

        return setting_from(self.admin_texts)

    @property
    def texts(self) -> Iterator[Source | Parsed]:
        """The run files as texts, or findings. Raises CallError if standard input is needed and closed."""
        return counted(run_texts(self.inputs, known=self._known), len(self.inputs.runs), self.stderr)


def read_work(flags: Flags, stderr: TextIO) -> Work:
    """Resolve the flags over the project file, and read the admin's texts.

    Raises CallError, or CompileError if the project file has errors.
    """
    inputs = settle(flags)
    known: dict[int, Source] = {}
    return Work(inputs, read_admin_of(inputs, known), stderr, known)
