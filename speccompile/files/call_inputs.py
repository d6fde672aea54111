"""Inputs of a call: command-line flags over the project file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from speccompile.files.find import PROJECT_FILE, Identity, Unlisted, identity, template_files
from speccompile.files.find_project import Project, find_project, locate, own_files, platform_of
from speccompile.files.read import expand
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Span

STREAM = "-"


class Flags(NamedTuple):
    """The arguments that name files; those left out are taken from the project file."""

    paths: Sequence[str] = ()
    profiles: Sequence[str] = ()
    platform: str | None = None
    output: str | None = None
    project: str | None = None
    searches: bool = True
    """Whether to search for a project file if none is named."""
    templates: str | None = None
    functions: Sequence[str] = ()
    untrusted: Collection[str] = ()
    """Those of `profiles`, `platform` and `project` that an application names instead of the command line."""
    trusts_found_project: bool = False
    """Whether a project file that is found is trusted like one that the command line names."""

    @property
    def names_admin_files(self) -> bool:
        """Whether the command line names files of the admin, which users cannot replace or bypass."""
        named = {"profiles": self.profiles, "platform": self.platform, "project": self.project}
        return any(value and name not in self.untrusted for name, value in named.items())

    @property
    def trusts_project(self) -> bool:
        """Whether the project file is the admin's: the command line names it, or no other file of the admin."""
        is_named = bool(self.project) and "project" not in self.untrusted
        return is_named or self.trusts_found_project or not self.names_admin_files

    @property
    def trusts_profiles(self) -> bool:
        """Whether the profiles are the admin's, wherever they are named."""
        return not self.names_admin_files or (
            "profiles" not in self.untrusted if self.profiles else self.trusts_project
        )


class Inputs(NamedTuple):
    """The files and settings that a call uses."""

    project: Path
    """The project file, or the path it would have."""
    fixes_project: bool
    """Whether the project file names the project of every run."""
    runs: tuple[Path | Unlisted | None, ...]
    """The run files, in order; None is standard input."""
    profiles: Sequence[Path]
    trusts_profiles: bool
    """Whether the profiles are the admin's; the platform restricts those of others as it does runs."""
    platform: Path | str | None
    templates: Path | None
    functions: Sequence[Path]
    """Files and directories of functions and tasks."""
    output: Path | str | None
    """The folder or file for manifests; None and a dash are standard output."""
    home: Path | None
    """The `output` of the project file, even if this call names runs and prints their manifests."""
    is_whole: bool
    """Whether the call covers all runs of a project."""
    severity: Mapping[str, str]
    """The severities of codes in the project file."""
    kubernetes: Mapping[str, Span]
    """The Kubernetes versions to verify against in the project file, and the place of each."""

    @property
    def files(self) -> tuple[Path, ...]:
        """All files that are read, and must never be overwritten."""
        templates = template_files(self.templates) if self.templates else ()
        named = (*expand(self.profiles), *expand(self.functions))
        entries = (*self.runs, *named, self.platform, *templates, self.project)
        return tuple(path for path in entries if isinstance(path, Path))


class CallError(Exception):
    """The command line is wrong; the message explains what to write instead."""


class NoProjectError(CallError):
    """A call without paths found no project file."""


def settle(flags: Flags, *, wants_runs: bool = True) -> Inputs:
    """Resolve the flags of a call over its project file.

    Without `wants_runs`, the call is about profiles and platform. Raises CallError, or CompileError if the project
    file has errors.
    """
    project = _project(flags) if wants_runs else _project_of_an_admin(flags)
    profiles = tuple(map(Path, flags.profiles)) or project.profiles
    platform = platform_of(flags.platform, Path()) if flags.platform else project.platform
    templates = Path(flags.templates) if flags.templates else project.templates
    functions = tuple(map(Path, flags.functions)) or project.functions
    # Profiles, platform, templates and functions are not runs, whether the project file or the command line names them.
    chosen = project._replace(profiles=profiles, platform=platform, templates=templates, functions=functions)
    skipped = own_files(project) | own_files(chosen)
    return Inputs(
        project=project.path,
        fixes_project=project.project is not None,
        runs=tuple(_runs(flags.paths, project, skipped)),
        profiles=profiles,
        trusts_profiles=flags.trusts_profiles,
        platform=platform,
        templates=templates,
        functions=functions,
        output=flags.output or (None if flags.paths else project.output),
        home=project.output,
        is_whole=identity(project.path) is not None and all(_is_same(path, project.path) for path in flags.paths),
        severity=project.severity,
        kubernetes=project.kubernetes,
    )


def _project(flags: Flags) -> Project:
    nearest = _search_project(flags.paths) if flags.searches and not flags.project else None
    file = locate(Path(flags.project)) if flags.project else nearest
    if file is None and not flags.paths:
        raise NoProjectError(
            f"no PATH given, and no {PROJECT_FILE} here or in a parent directory; "
            "pass a PATH, or create a project with `speccompile init`"
        )
    if file is None:
        return Project(path=Path(PROJECT_FILE))
    wants_runs = not flags.paths or any(_is_same(path, file) for path in flags.paths)
    overrides = {
        "runs": () if wants_runs else flags.paths,
        "profiles": flags.profiles,
        "platform": (flags.platform,) if flags.platform else (),
        "templates": (flags.templates,) if flags.templates else (),
        "functions": flags.functions,
        "output": (flags.output,) if flags.output else (),
    }
    project = _read(file, overrides, is_trusted=flags.trusts_project)
    if wants_runs and not project.runs:
        raise CallError(f"{project.path} has no `runs`; add them there, or pass a PATH")
    return project


def _project_of_an_admin(flags: Flags) -> Project:
    file = locate(Path(flags.project)) if flags.project else _search_project(())
    if file is None and not flags.profiles and not flags.platform:
        raise CallError(
            f"no --profiles given, and no {PROJECT_FILE} here or in a parent directory; "
            "pass --profiles PATH, or create a project with `speccompile init`"
        )
    if file is None:
        return Project(path=Path(PROJECT_FILE))
    overrides = {
        "runs": ("",),
        "profiles": flags.profiles,
        "platform": (flags.platform,) if flags.platform else (),
        "templates": (flags.templates,) if flags.templates else (),
    }
    return _read(file, overrides)


def _search_project(paths: Sequence[str]) -> Path | None:
    """The project file of all paths. Raises CallError if they belong to two."""
    starts = [Path() if path == STREAM else Path(path) for path in paths] or [Path()]
    files = {identity(file) or file: file for start in starts if (file := find_project(start))}
    if len(files) > 1:
        first, second, *_ = files.values()
        raise CallError(f"the paths belong to two projects, {first} and {second}; choose one with --project FILE")
    return next(iter(files.values()), None)


def _runs(paths: Sequence[str], project: Project, skipped: frozenset[Identity]) -> Iterator[Path | Unlisted | None]:
    """The run files; the project file itself means all runs of the project."""
    if not paths:
        yield from project.runs
        return
    for path in paths:
        if path == STREAM:
            yield None
        elif project.runs and _is_same(path, project.path):
            yield from project.runs
        else:
            yield from expand([Path(path)], skipped)


def _is_same(path: str, file: Path) -> bool:
    return path != STREAM and identity(Path(path)) == identity(file)


def _read(file: Path, overrides: Mapping[str, Sequence[str]], *, is_trusted: bool = True) -> Project:
    """Read a project file. `overrides` are the paths that the command line names, by key."""
    from speccompile.files.project_file import read_project

    named = {key: tuple(map(Path, paths)) for key, paths in overrides.items() if paths}
    return read_project(file, named, is_trusted=is_trusted)
