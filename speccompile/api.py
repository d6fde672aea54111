"""Takes runs, profiles and a platform as paths, text or Python data, gives compilations: the library's front door."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from speccompile.batch import Result, compile_files
from speccompile.compiled import Compiled
from speccompile.diagnostics import CompileError, Diagnostic
from speccompile.load import expand, load
from speccompile.model import Layer, Source, Span
from speccompile.parse import Parsed, parse
from speccompile.resources import bundled_library, preset_names
from speccompile.setting import Setting, prepare
from speccompile.wrap import wrap

RunInput: TypeAlias = Mapping[str, Any] | Path | str
"""A run: Python data, a path, or YAML or JSON text."""
AdminInput: TypeAlias = Mapping[str, Any] | Path | str
"""A platform: Python data, a path, or the name of a bundled preset."""
ProfileInput: TypeAlias = AdminInput | Sequence[Mapping[str, Any]]
"""A profile: Python data, with its base documents as a list, or the path of a file or directory."""


def compile_run(
    run: RunInput, *, profiles: Iterable[ProfileInput] = (), platform: AdminInput | None = None
) -> Compiled:
    """The manifests of one run under the profiles and the platform.

    A `str` is YAML or JSON text; a `pathlib.Path` is a file. Raises CompileError with everything that is wrong.
    """
    results = list(compile_many([run], profiles=profiles, platform=platform))
    for result in results:
        if isinstance(result, CompileError):
            # Where in the compiler it was found is no help to whoever wrote the run.
            raise result.with_traceback(None)
    if len(results) != 1:
        second = results[1]
        assert isinstance(second, Compiled)
        raise CompileError(
            [
                Diagnostic(
                    code="run/several",
                    message=f"one run is expected here, and there are {len(results)}",
                    span=second.run.name.span,
                    help="use compile_many",
                )
            ]
        )
    only = results[0]
    assert isinstance(only, Compiled)
    return only


def compile_many(
    runs: Iterable[RunInput], *, profiles: Iterable[ProfileInput] = (), platform: AdminInput | None = None
) -> Iterator[Result]:
    """A result for each run, in order: its compilation, or the CompileError that says what is wrong with it.

    Faults of profiles or platform concern every run: they are raised, together with the faults of all runs.
    """
    setting = read_setting(profiles, platform)
    results = compile_files((_run(run) for run in runs), setting)
    if setting.is_broken:
        found = [finding for result in results if isinstance(result, CompileError) for finding in result.diagnostics]
        raise CompileError((*setting.findings, *found))
    yield from results


def read_setting(profiles: Iterable[ProfileInput], platform: AdminInput | None) -> Setting:
    """Profiles and platform, read and checked; a directory stands for the files in it."""
    return setting_of((parsed for profile in _listed(profiles) for parsed in _profile_files(profile)), platform)


def setting_of(files: Iterable[Parsed], platform: AdminInput | None) -> Setting:
    """As `read_setting`, with the profiles parsed already."""
    return prepare(files, None if platform is None else _platform(platform), bundled_library())


def _listed(profiles: Iterable[ProfileInput] | AdminInput) -> tuple[ProfileInput, ...]:
    """The profiles; a single one counts as a list of one, though a string could be taken letter by letter."""
    return (profiles,) if isinstance(profiles, (str, Path, Mapping)) else tuple(profiles)


def _profile_files(profile: ProfileInput) -> Iterator[Parsed]:
    if isinstance(profile, (str, Path)):
        yield from (load(path, Layer.PROFILE) for path in expand([Path(profile)]))
        return
    # Whatever is no list of documents is one, or is found to be none.
    data = profile if isinstance(profile, (list, tuple)) and profile else (profile,)
    files = [wrap(document, Source("<profile>", "", Layer.PROFILE)) for document in data]
    documents = (document for file in files for document in file.documents)
    yield Parsed(tuple(documents), tuple(finding for file in files for finding in file.findings))


def _platform(given: AdminInput) -> Parsed:
    if given in preset_names():
        given = {"preset": given}
    if isinstance(given, Mapping):
        return wrap(given, Source("<platform>", "", Layer.PLATFORM))
    return load(Path(given), Layer.PLATFORM)


def _run(run: RunInput) -> Parsed:
    if isinstance(run, Path):
        return load(run, Layer.RUN)
    if not isinstance(run, str):
        return wrap(run, Source("<run>", "", Layer.RUN))
    source = Source("<text>", run, Layer.RUN)
    if "\n" not in run and Path(run).suffix in (".yaml", ".yml", ".json"):
        finding = Diagnostic(
            code="input/path-as-text",
            message="this looks like a path, and a string is read as YAML text",
            span=Span(source, 1, 1, 1, len(run) + 1),
            help=f"pass pathlib.Path({run!r})",
        )
        return Parsed((), (finding,))
    return parse(source)


class Function:
    """A function as the platform's SDK has it: what is the same for all its runs, and a way to run it.

    `Function("train", image="python:3.12").run("job", profile="1xa100", resources={"mem": "6Gi"})`
    """

    __slots__ = ("_fields", "_platform", "_profiles")

    def __init__(  # noqa: PLR0913  the SDK's own call, all but the name by keyword
        self,
        name: str,
        *,
        image: str | None = None,
        project: str | None = None,
        command: str | list[str] | None = None,
        kind: str = "container",
        profiles: Iterable[ProfileInput] = (),
        platform: AdminInput | None = None,
    ) -> None:
        del kind  # the runtime decides nothing here: every run is a container
        self._fields = {"name": name, "image": image, "project": project, "command": command}
        self._profiles = _listed(profiles)
        self._platform = platform

    def run(self, action: str, **fields: Any) -> Compiled:
        """The compilation of one run; keyword arguments are the fields of a run. Raises CompileError."""
        data = {**self._fields, "action": action, **fields}
        return compile_run(data, profiles=self._profiles, platform=self._platform)
