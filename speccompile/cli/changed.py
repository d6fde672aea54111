"""The runs that changed files affect, for `--changed`."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, TextIO

from speccompile.cli.inputs import flags_of
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.entities import split_entities
from speccompile.diff.affected_runs import IsTouched, RunKey, affected
from speccompile.diff.chosen_runs import Affected, only
from speccompile.files.call_inputs import CallError, Inputs, NoProjectError
from speccompile.files.find import PROJECT_FILE, template_files
from speccompile.files.git_revision import load_removed, removed_files
from speccompile.files.run_files import run_files
from speccompile.files.work import Work, read_work
from speccompile.files.write import manifest_path
from speccompile.model.source import Source
from speccompile.terminal.progress import counted
from speccompile.yaml_text.parsed import Parsed


class ChangedWork(Work):
    """The work of a call with `--changed`: the affected runs, or all runs."""

    def __init__(self, work: Work, chosen: Affected | None = None) -> None:
        super().__init__(work.inputs, work.admin_texts, work.stderr)
        self.chosen: Final = chosen
        """The runs to compile; None for all."""

    @property
    def texts(self) -> Iterator[Source | Parsed]:
        """The files with runs to compile, without their other runs. Raises CallError."""
        if self.chosen is None:
            return super().texts
        runs = tuple(path for path in self.inputs.runs if str(path) in self.chosen.documents)
        return only(counted(run_files(self.inputs._replace(runs=runs)), len(runs), self.stderr), self.chosen)

    @property
    def is_idle(self) -> bool:
        """Whether no run is affected."""
        return self.chosen is not None and not self.chosen.total and not self.chosen.unread


def read_changed_work(arguments: argparse.Namespace, stderr: TextIO) -> ChangedWork:
    """Read the work of a call; with `--changed`, only the runs that the named files affect.

    Raises CallError, or CompileError with the findings of the project file.
    """
    if not arguments.changed:
        return ChangedWork(read_work(flags_of(arguments), stderr))
    try:
        work = read_work(flags_of(arguments)._replace(paths=()), stderr)
    except NoProjectError:
        raise CallError(
            f"--changed needs a project, and there is no {PROJECT_FILE} here or in a parent directory; "
            "pass --project FILE, or create a project with `speccompile init`"
        ) from None
    # With broken profiles or platform nothing compiles, so there is nothing to choose.
    if work.setting.is_broken:
        return ChangedWork(work)
    shape = getattr(arguments, "shape", "yaml")
    return ChangedWork(work, _chosen(arguments.paths, work.inputs, work.setting, shape))


def _chosen(changed: Sequence[str], inputs: Inputs, setting: Setting, shape: str) -> Affected | None:
    """Find the affected runs; None means all."""
    gone = removed_files(inputs.project.parent)
    if gone is None:
        return None
    gone = (*gone, *(Path(path) for path in changed if not os.path.lexists(path)))
    is_touched = _touches((*changed, *map(str, gone)))
    templates = () if inputs.templates is None else (inputs.templates,)
    custom = (entry for folder in templates for entry in template_files(folder) if isinstance(entry, Path))
    # Any of these may affect every manifest.
    functions = dict.fromkeys(one.place.source.name for found in setting.entities.values() for one in found)
    shared = (inputs.project, inputs.platform, *templates, *custom, *functions)
    folders = (*inputs.profiles, *inputs.functions, *templates)
    if any(is_touched(str(path)) for path in shared if path) or _are_below(gone, folders):
        return None
    folder = Path(inputs.output or inputs.home or "")
    # Manifests, which may be many, have no functions.
    manifests = [folder] if inputs.output else []
    if _had_functions([path for path in gone if not _are_below([path], manifests)]):
        return None
    if not gone and not any(is_touched(str(path)) for path in inputs.files) and not _are_below(changed, [folder]):
        return Affected({}, frozenset(), 0, ())

    def output_of(run: RunKey) -> str:
        return str(folder / manifest_path(run.project, run.name, shape))

    return affected(run_files(inputs), setting, is_touched, output_of)


def _had_functions(gone: Sequence[Path]) -> bool:
    """Whether a deleted file had functions or tasks, which runs of any file may name; true if there are too many."""
    if len(gone) > _MOST_READ:
        return True
    return any(split_entities(parsed.documents)[1] for parsed in load_removed(gone))


_MOST_READ = 20
"""The most deleted files that are read; each takes several calls of git."""


def _touches(files: Iterable[str]) -> IsTouched:
    changed = {Path(os.path.realpath(file)) for file in files}

    @cache
    def is_touched(name: str) -> bool:
        # A changed directory, such as a submodule or a link, changes all files in it.
        file = Path(os.path.realpath(name))
        return not changed.isdisjoint((file, *file.parents))

    return is_touched


def _are_below(files: Iterable[Path | str], folders: Iterable[Path]) -> bool:
    """Whether one of the files is, or was, in one of the folders."""
    tops = {Path(os.path.realpath(folder)) for folder in folders}
    # A folder of many files is resolved once.
    inside = {Path(os.path.realpath(Path(file).parent)) for file in files}
    return any(not tops.isdisjoint((folder, *folder.parents)) for folder in inside)
