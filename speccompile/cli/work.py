"""Takes the arguments of a call, gives the work that it asks for: all runs, or those that a change concerns."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.compiler.documents.admin_config import Setting
    from speccompile.diff.affected_runs import Affected, IsTouched, Subject
    from speccompile.files.call_inputs import Inputs
    from speccompile.files.find import Unlisted
    from speccompile.files.load_admin_config import Written
    from speccompile.model.source import Source
    from speccompile.yaml_text.parse import Parsed


class Work:
    """What one call compiles; no run is read, and nothing of the admin's understood, before somebody asks."""

    def __init__(self, inputs: Inputs, written: Written, stderr: TextIO, chosen: Affected | None = None) -> None:
        self.inputs: Final = inputs
        self.written: Final = written
        """What the admin wrote."""
        self.chosen: Final = chosen
        """The runs to compile, if not all."""
        self._stderr: Final = stderr

    @cached_property
    def setting(self) -> Setting:
        return self.written.setting()

    @property
    def files(self) -> Iterator[Parsed]:
        """The files that have runs to compile, with nothing but these. Raises CallError."""
        from speccompile.files.call_inputs import run_files
        from speccompile.terminal.progress import counted

        if self.chosen is None:
            return counted(run_files(self.inputs), len(self.inputs.runs), self._stderr)
        from speccompile.diff.affected_runs import only

        runs = tuple(path for path in self.inputs.runs if str(path) in self.chosen.documents)
        return only(counted(run_files(self.inputs._replace(runs=runs)), len(runs), self._stderr), self.chosen)

    @property
    def texts(self) -> Iterator[Source | Parsed]:
        """All files as texts, or why they cannot be read. Raises CallError if standard input is wanted and closed."""
        from speccompile.terminal.progress import counted

        return counted(map(_text, self.inputs.runs), len(self.inputs.runs), self._stderr)

    @property
    def is_idle(self) -> bool:
        """Whether nothing that concerns a run has changed."""
        return self.chosen is not None and not self.chosen.total and not self.chosen.unread


def settle_work(arguments: argparse.Namespace, stderr: TextIO) -> Work:
    """Raises CallError, or CompileError with what is wrong with the project file."""
    from speccompile.files.call_inputs import Flags, settle
    from speccompile.files.load_admin_config import read_admin

    told = vars(arguments)
    changed = arguments.paths if told.get("changed") else None
    paths = arguments.paths if changed is None else ()
    flags = Flags(paths, arguments.profiles, arguments.platform, told.get("output"), arguments.project)
    inputs = settle(flags._replace(templates=arguments.templates))
    work = Work(inputs, read_admin(inputs.profiles, inputs.platform, inputs.templates), stderr)
    # Where the setting is broken nothing compiles, so there is nothing to choose.
    if changed is None or work.setting.is_broken:
        return work
    chosen = _chosen(changed, inputs, work.setting, told.get("shape", "yaml"))
    return Work(inputs, work.written, stderr, chosen)


def _text(path: Path | Unlisted | None) -> Source | Parsed:
    """The text of a file of runs; None is standard input."""
    import sys

    from speccompile.files.call_inputs import CallError
    from speccompile.files.read import MAX_BYTES, read_file, read_stream
    from speccompile.model.source import Layer

    if path is not None:
        return read_file(path, Layer.RUN, MAX_BYTES)
    if sys.stdin is None:
        raise CallError("standard input is closed")
    return read_stream(sys.stdin.buffer, "<stdin>", Layer.RUN, MAX_BYTES)


def _chosen(changed: Sequence[str], inputs: Inputs, setting: Setting, shape: str) -> Affected | None:
    """The runs that the change concerns; None is all of them."""
    import os
    from pathlib import Path

    from speccompile.diff.affected_runs import Affected, affected
    from speccompile.files.call_inputs import run_files
    from speccompile.files.find import template_files
    from speccompile.files.git_revision import removed_files
    from speccompile.files.write import path_of

    gone = removed_files(inputs.project.parent)
    if gone is None:
        return None
    gone = (*gone, *(Path(path) for path in changed if not os.path.lexists(path)))
    is_touched = _touches((*changed, *map(str, gone)))
    templates = () if inputs.templates is None else (inputs.templates,)
    # A template can be part of any manifest.
    own = (entry for folder in templates for entry in template_files(folder) if isinstance(entry, Path))
    of_all = (inputs.project, inputs.platform, *templates, *own)
    if any(is_touched(str(path)) for path in of_all if path) or _are_below(gone, (*inputs.profiles, *templates)):
        return None
    folder = Path(inputs.output or inputs.home or "")
    if not gone and not any(is_touched(str(path)) for path in inputs.files) and not _are_below(changed, [folder]):
        return Affected({}, frozenset(), 0, ())

    def output_of(subject: Subject) -> str:
        return str(folder / path_of(subject.project, subject.name, shape))

    return affected(run_files(inputs), setting, is_touched, output_of)


def _touches(files: Iterable[str]) -> IsTouched:
    import os
    from functools import cache
    from pathlib import Path

    changed = {Path(os.path.realpath(file)) for file in files}

    @cache
    def is_touched(name: str) -> bool:
        # A directory that changed, as a submodule does, or a link to one, is all that is in it.
        file = Path(os.path.realpath(name))
        return not changed.isdisjoint((file, *file.parents))

    return is_touched


def _are_below(files: Iterable[Path | str], folders: Iterable[Path]) -> bool:
    """Whether one of the files is, or was, in one of the folders."""
    import os
    from pathlib import Path

    tops = {Path(os.path.realpath(folder)) for folder in folders}
    # Of many files in one folder, the folder is looked up once.
    inside = {Path(os.path.realpath(Path(file).parent)) for file in files}
    return any(not tops.isdisjoint((folder, *folder.parents)) for folder in inside)
