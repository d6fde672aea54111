"""Public Python API: compile runs from paths, text or Python data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.batch.disk_spool import Ledger
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled, Explanations, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.duplicate_objects import refuse_duplicates
from speccompile.files.admin_texts import (
    AdminInput,
    ProfileInput,
    as_profiles,
    data_text,
    file_text,
    read_admin,
)
from speccompile.files.load_admin_config import parse_text, read_setting, setting_from
from speccompile.files.save import save
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import CompileError
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.source import Layer, Source, Span
from speccompile.report.explain_text import explanations_text
from speccompile.report.notebook import compiled_html, error_html
from speccompile.report.python_help import for_python, result_for_python
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parsed import Parsed

if TYPE_CHECKING:
    from concurrent.futures import Executor

# These methods are set here because only this module imports results as well as reports and files.
Compiled._repr_html_ = compiled_html  # type: ignore[assignment]
Compiled.save = save
CompileError._repr_html_ = error_html  # type: ignore[assignment]
Explanations.__str__ = explanations_text  # type: ignore[method-assign,assignment]

RunInput: TypeAlias = Mapping[str, Any] | Path | str
"""A run: Python data, a path, or YAML or JSON text."""


def compile_run(
    run: RunInput,
    *,
    profiles: Iterable[ProfileInput] = (),
    platform: AdminInput | None = None,
    templates: Path | str | None = None,
    project: str | None = None,
) -> Compiled:
    """Compile one run with profiles and a platform, with the bundled or with custom templates.

    A `str` is YAML or JSON text; a `pathlib.Path` is a file. `project` is the run's project, whatever it names itself.
    Raises CompileError with all findings.
    """
    results = list(compile_many([run], profiles=profiles, platform=platform, templates=templates, project=project))
    for result in results:
        if isinstance(result, CompileError):
            # The traceback through the compiler does not help the author of the run.
            raise result.with_traceback(None)
    if len(results) != 1:
        second = results[1]
        assert isinstance(second, Compiled)
        raise CompileError(
            [
                Diagnostic(
                    code="run/several",
                    message=f"expected one run, found {len(results)}",
                    span=second.run.name.span,
                    help="use compile_many",
                )
            ]
        )
    only = results[0]
    assert isinstance(only, Compiled)
    return only


def compile_many(  # noqa: PLR0913  what a run is compiled with
    runs: Iterable[RunInput],
    *,
    profiles: Iterable[ProfileInput] = (),
    platform: AdminInput | None = None,
    templates: Path | str | None = None,
    project: str | None = None,
    executor: Executor | None = None,
) -> Iterator[Result]:
    """Compile runs, and iterate over a result for each in order: a Compiled, or a CompileError with its findings.

    `project` is the project of every run, whatever they name themselves. With an executor, runs are compiled in
    parallel, with the same results; it is not shut down. The iterator raises ExecutorError if it fails. Raises
    CompileError at once if profiles or platform have errors, with the findings of all runs. Their warnings are among
    the findings of the first result.
    """
    files = read_admin(profiles, platform, templates, project)
    setting = setting_from(files)
    if setting.is_broken:
        refused = compile_files(map(_run, runs), setting)
        findings = [found for result in refused if isinstance(result, CompileError) for found in result.diagnostics]
        raise CompileError(map(for_python, (*setting.findings, *findings)))
    assert files.admin is not None
    # A generator of its own, because the body of a generator, and its errors, would wait for the first result.
    return _compile(runs, files.admin, setting, executor)


def _compile(
    runs: Iterable[RunInput], admin: AdminTexts, setting: Setting, executor: Executor | None
) -> Iterator[Result]:
    with closing(Ledger()) as ledger:
        results: Iterator[Result]
        if executor is None:
            results = compile_files(map(_run, runs), setting, ledger)
        else:
            from speccompile.batch.with_executor import compile_texts

            compiled = compile_texts(map(_text, runs), admin, setting, executor)
            results = refuse_duplicates(compiled, lambda: setting.platform, ledger)
        for first in islice(results, 1):
            yield result_for_python(_with_findings(first, setting.findings))
        yield from map(result_for_python, results)


def _with_findings(result: Result, findings: tuple[Diagnostic, ...]) -> Result:
    if isinstance(result, CompileError):
        return CompileError((*findings, *result.diagnostics), result.run, result.overrides)
    return result.with_findings(findings)


def _run(run: RunInput) -> Parsed:
    if isinstance(run, (str, Path)):
        return parse_text(_text(run))
    return wrap(run, Source("<run>", "", Layer.RUN))


def _text(run: RunInput) -> Text | Parsed:
    """A run as text that can be sent to workers, or the findings if there is none."""
    if isinstance(run, Path):
        return file_text(run, Layer.RUN)
    if not isinstance(run, str):
        return data_text((run,), Source("<run>", "", Layer.RUN))
    source = Source("<text>", run, Layer.RUN)
    if "\n" not in run and Path(run).suffix in (".yaml", ".yml", ".json"):
        finding = Diagnostic(
            code="input/path-as-text",
            message="this string looks like a path, but strings are parsed as YAML",
            span=Span(source, 1, 1, 1, len(run) + 1),
            help=f"pass pathlib.Path({run!r})",
        )
        return Parsed((), (finding,))
    return Text(source.name, source.text)


class Function:
    """A function as in the platform's SDK: the fields that its runs share, and a method to compile one.

    `Function("train", image="python:3.12").run("job", profile="1xa100", resources={"mem": "6Gi"})`
    """

    __slots__ = ("_fields", "_platform", "_profiles", "_templates")

    def __init__(  # noqa: PLR0913  the signature of the SDK
        self,
        name: str,
        *,
        image: str | None = None,
        project: str | None = None,
        command: str | list[str] | None = None,
        kind: str = "container",
        profiles: Iterable[ProfileInput] = (),
        platform: AdminInput | None = None,
        templates: Path | str | None = None,
    ) -> None:
        del kind  # accepted for compatibility: every run is a container
        self._fields = {"name": name, "image": image, "project": project, "command": command}
        self._profiles = as_profiles(profiles)
        self._platform = platform
        self._templates = templates
        # A mistake in a path is reported here, and not with every run.
        setting = read_setting(self._profiles, platform, templates)
        if setting.is_broken:
            raise CompileError(map(for_python, setting.findings))

    def run(self, action: str, **fields: Any) -> Compiled:
        """Compile one run; keyword arguments are its fields. Raises CompileError."""
        data = {**self._fields, "action": action, **fields}
        return compile_run(data, profiles=self._profiles, platform=self._platform, templates=self._templates)
