"""Inputs of a call: command-line flags over the project file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from speccompile.files.find import PROJECT_FILE, Identity, Unlisted, identity, template_files
from speccompile.files.find_project import Project, find_project, locate, own_files, platform_of
from speccompile.files.read import expand
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Span

STREAM = "-"


class Flags(NamedTuple):
    """The arguments that name files; None and nothing mean that the project file may say."""

    paths: Sequence[str] = ()
    profiles: Sequence[str] = ()
    platform: str | None = None
    output: str | None = None
    project: str | None = None
    searches: bool = True
    """Whether a project file is looked for if none is named."""
    templates: str | None = None


class Inputs(NamedTuple):
    """What one call works on."""

    project: Path
    """The project file, or where there might be one."""
    runs: tuple[Path | Unlisted | None, ...]
    """The files of runs, in order; None is standard input."""
    profiles: Sequence[Path]
    platform: Path | str | None
    templates: Path | None
    output: Path | str | None
    """Where manifests are written; None and a dash are standard output."""
    home: Path | None
    """Where the project file says that its manifests are, even if this call names runs and prints theirs."""
    is_whole: bool
    """Whether the call is about all runs of a project."""
    severity: Mapping[str, str]
    """What the project file makes of codes."""
    kubernetes: Mapping[str, Span]
    """The versions that the project file wants manifests verified against, and where it says so."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read, which nothing may ever be written to."""
        templates = template_files(self.templates) if self.templates else ()
        listed = (*self.runs, *expand(self.profiles), self.platform, *templates, self.project)
        return tuple(path for path in listed if isinstance(path, Path))


class CallError(Exception):
    """The command line cannot be understood; the message says what to write instead."""


def settle(flags: Flags, *, wants_runs: bool = True) -> Inputs:
    """Raises CallError, or CompileError with what is wrong with the project file.

    A call that wants no runs is one about profiles and platform.
    """
    project = _project(flags) if wants_runs else _project_of_an_admin(flags)
    profiles = tuple(map(Path, flags.profiles)) or project.profiles
    platform = platform_of(flags.platform, Path()) if flags.platform else project.platform
    templates = Path(flags.templates) if flags.templates else project.templates
    # What this call takes for profiles, platform and templates is no run, whoever names it.
    chosen = project._replace(profiles=profiles, platform=platform, templates=templates)
    own = own_files(project) | own_files(chosen)
    return Inputs(
        project=project.path,
        runs=tuple(_runs(flags.paths, project, own)),
        profiles=profiles,
        platform=platform,
        templates=templates,
        output=flags.output or (None if flags.paths else project.output),
        home=project.output,
        is_whole=identity(project.path) is not None and all(_is_same(path, project.path) for path in flags.paths),
        severity=project.severity,
        kubernetes=project.kubernetes,
    )


def _project(flags: Flags) -> Project:
    found = _found(flags.paths) if flags.searches and not flags.project else None
    file = locate(Path(flags.project)) if flags.project else found
    if file is None and not flags.paths:
        raise CallError(
            f"no PATH given, and no {PROJECT_FILE} here or in a parent directory; "
            "name a PATH, or create a project with `speccompile init`"
        )
    if file is None:
        return Project(path=Path(PROJECT_FILE))
    wants_runs = not flags.paths or any(_is_same(path, file) for path in flags.paths)
    given = {
        "runs": () if wants_runs else flags.paths,
        "profiles": flags.profiles,
        "platform": (flags.platform,) if flags.platform else (),
        "templates": (flags.templates,) if flags.templates else (),
        "output": (flags.output,) if flags.output else (),
    }
    project = _read(file, {key: tuple(map(Path, paths)) for key, paths in given.items() if paths})
    if wants_runs and not project.runs:
        raise CallError(f"{project.path} has no `runs`; add them there, or give a PATH")
    return project


def _project_of_an_admin(flags: Flags) -> Project:
    file = locate(Path(flags.project)) if flags.project else _found(())
    if file is None and not flags.profiles and not flags.platform:
        raise CallError(
            f"no --profiles given, and no {PROJECT_FILE} here or in a parent directory; "
            "give --profiles PATH, or create a project with `speccompile init`"
        )
    if file is None:
        return Project(path=Path(PROJECT_FILE))
    given = {
        "runs": ("",),
        "profiles": flags.profiles,
        "platform": (flags.platform,) if flags.platform else (),
        "templates": (flags.templates,) if flags.templates else (),
    }
    return _read(file, {key: tuple(map(Path, paths)) for key, paths in given.items() if paths})


def _found(paths: Sequence[str]) -> Path | None:
    """The one project file that all paths lead to."""
    starts = [Path() if path == STREAM else Path(path) for path in paths] or [Path()]
    found = {identity(file) or file: file for start in starts if (file := find_project(start))}
    if len(found) > 1:
        first, second, *_ = found.values()
        raise CallError(f"the paths belong to two projects, {first} and {second}; choose one with --project FILE")
    return next(iter(found.values()), None)


def _runs(paths: Sequence[str], project: Project, own: frozenset[Identity]) -> Iterator[Path | Unlisted | None]:
    """The files of runs; the project file itself stands for all runs of the project."""
    if not paths:
        yield from project.runs
        return
    for path in paths:
        if path == STREAM:
            yield None
        elif project.runs and _is_same(path, project.path):
            yield from project.runs
        else:
            yield from expand([Path(path)], own)


def _is_same(path: str, file: Path) -> bool:
    return path != STREAM and identity(Path(path)) == identity(file)


def _read(file: Path, given: Mapping[str, tuple[Path, ...]]) -> Project:
    from speccompile.files.project_file import read_project

    return read_project(file, given)
