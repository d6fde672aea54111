"""Find the project file."""

from __future__ import annotations

import stat
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from speccompile.files.find import PROJECT_FILE, Identity, identity, is_folder
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.bundled import preset_names

_EMPTY: Mapping[str, Any] = MappingProxyType({})


class Project(NamedTuple):
    """The contents of a project file, with paths that can be opened from the current directory."""

    path: Path
    project: str | None = None
    """The project of every run; None if runs name their own."""
    runs: tuple[Path, ...] = ()
    profiles: tuple[Path, ...] = ()
    platform: Path | str | None = None
    """A file, or the name of a bundled preset."""
    templates: Path | None = None
    """The directory of custom templates."""
    functions: tuple[Path, ...] = ()
    """Files and directories of functions and tasks."""
    output: Path | None = None
    kubernetes: Mapping[str, Span] = _EMPTY
    """The versions of Kubernetes to verify against, and the place of each."""
    severity: Mapping[str, str] = _EMPTY
    """By code: `error`, `warning`, `notice` or `ignore`."""


def locate(path: Path, within: Path | None = None) -> Path:
    """The path itself, or, if it is a directory, the project file in it or above it. Raises CompileError if none."""
    if not is_folder(path):
        return path
    found = find_project(path, within)
    if found is None:
        raise CompileError(
            [
                Diagnostic(
                    code="input/missing-file",
                    message=f"there is no {PROJECT_FILE} in this directory, nor above it",
                    span=Span(Source(str(path), "", Layer.PLATFORM)),
                    help=f"write a {PROJECT_FILE}, or name another project file",
                )
            ]
        )
    return found


def find_project(start: Path, within: Path | None = None) -> Path | None:
    """The project file in a directory, or in the directory of a file, or the nearest one above.

    `within` is a resolved directory that the search does not leave.
    """
    folder = start if is_folder(start) else start.parent
    # The parent of a link is the folder that contains it; only `..` is resolved as the operating system does.
    top = real(folder) if ".." in folder.parts else here() / folder
    folders = [at for at in (top, *top.parents) if within is None or real(at).is_relative_to(within)]
    return next((near_by(file) for at in folders if _is_file_or_link(file := at / PROJECT_FILE)), None)


def platform_of(text: str, folder: Path) -> Path | str:
    """The platform that a text names: a bundled preset, or a file relative to the folder."""
    return text if text in preset_names() else folder / text


def own_files(project: Project) -> frozenset[Identity]:
    """Files and directories of the project that are not runs."""
    named = (
        *(project.path, *project.profiles, *project.functions),
        *(project.platform, project.templates, project.output),
    )
    return identities(path for path in named if isinstance(path, Path))


def _is_file_or_link(path: Path) -> bool:
    """Whether something other than a directory exists here; a broken link counts, and is reported when it is read."""
    try:
        return not stat.S_ISDIR(path.lstat().st_mode)
    except (OSError, ValueError):
        return False


def real(path: Path) -> Path:
    """The path without links, as far as it can be resolved."""
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        # Circular links.
        return here() / path


def here() -> Path:
    """The current directory."""
    try:
        return Path.cwd()
    except OSError:
        # The current directory was removed.
        return Path()


def near_by(path: Path) -> Path:
    """The path relative to the current directory if it is below that, else as it is."""
    current = here()
    try:
        return (current / path).relative_to(current)
    except ValueError:
        return path


def identities(paths: Iterable[Path]) -> frozenset[Identity]:
    """Device and inode of each existing path."""
    return frozenset(found for path in paths if (found := identity(path)))
