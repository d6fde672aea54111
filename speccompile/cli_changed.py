"""Takes the arguments of a call, gives the work that it asks for: all runs, or those that a change concerns."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TextIO

if TYPE_CHECKING:
    from pathlib import Path

    from speccompile.affected import Affected, IsTouched, Subject
    from speccompile.inputs import Inputs
    from speccompile.parse import Parsed
    from speccompile.setting import Setting


class Work(NamedTuple):
    """What one call compiles."""

    inputs: Inputs
    setting: Setting
    files: Iterable[Parsed]
    chosen: Affected | None = None
    """The runs to compile, if not all."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing that concerns a run has changed."""
        return self.chosen is not None and not self.chosen.total and not self.chosen.unread


def settle_work(arguments: argparse.Namespace, stderr: TextIO) -> Work:
    """Raises CallError, or CompileError with what is wrong with the project file."""
    from speccompile.api import read_setting
    from speccompile.inputs import Flags, run_files, settle
    from speccompile.progress import counted

    told = vars(arguments)
    changed = arguments.paths if told.get("changed") else None
    paths = arguments.paths if changed is None else ()
    inputs = settle(Flags(paths, arguments.profiles, arguments.platform, told.get("output"), arguments.project))
    setting = read_setting(inputs.profiles, inputs.platform)
    # Where the setting is broken nothing compiles, so there is nothing to choose.
    chosen = (
        None if changed is None or setting.is_broken else _chosen(changed, inputs, setting, told.get("shape", "yaml"))
    )
    if chosen is None:
        return Work(inputs, setting, counted(run_files(inputs), len(inputs.runs), stderr))
    from speccompile.affected import only

    runs = tuple(path for path in inputs.runs if str(path) in chosen.documents)
    files = only(counted(run_files(inputs._replace(runs=runs)), len(runs), stderr), chosen)
    return Work(inputs, setting, files, chosen)


def _chosen(changed: Sequence[str], inputs: Inputs, setting: Setting, shape: str) -> Affected | None:
    """The runs that the change concerns; None is all of them."""
    import os
    from pathlib import Path

    from speccompile.affected import Affected, affected
    from speccompile.inputs import run_files
    from speccompile.output import path_of
    from speccompile.revisions import removed_files

    gone = removed_files(inputs.project.parent)
    if gone is None:
        return None
    gone = (*gone, *(Path(path) for path in changed if not os.path.lexists(path)))
    is_touched = _touches((*changed, *map(str, gone)))
    of_all = (inputs.project, inputs.platform)
    if any(is_touched(str(path)) for path in of_all if path) or _are_below(gone, inputs.profiles):
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
