"""Public Python API: compile runs from paths, text or Python data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.batch.disk_spool import Ledger
from speccompile.compiler.bundled_library import bundled_library
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
from speccompile.integrations.digitalhub_sdk import Entity, as_data, objects_as_keys, without_unused
from speccompile.integrations.run_signature import run_docstring, run_signature
from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError, stop_if_any
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

RunInput: TypeAlias = Entity | Path | str
"""A run: Python data, a run of DigitalHub's SDK, a path, or YAML or JSON text."""


def compile_run(
    run: RunInput,
    *,
    profiles: Iterable[ProfileInput] = (),
    platform: AdminInput | None = None,
    templates: Path | str | None = None,
    project: str | None = None,
) -> Compiled:
    """Compile one run with profiles and a platform, with the bundled or with custom templates.

    A `str` is YAML or JSON text; a `pathlib.Path` is a file; an object with a method `to_dict`, such as a run of
    DigitalHub's SDK, is what that returns. `project` is the run's project, whatever it names itself.
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
    return wrap(as_data(run), Source("<run>", "", Layer.RUN))


def _text(run: RunInput) -> Text | Parsed:
    """A run as text that can be sent to workers, or the findings if there is none."""
    if isinstance(run, Path):
        return file_text(run, Layer.RUN)
    if not isinstance(run, str):
        return data_text((as_data(run),), Source("<run>", "", Layer.RUN))
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
    """A function as in DigitalHub's SDK: the fields that its runs share, and a method to compile one.

    `Function("train", image="python:3.12").run("job", profile="1xa100", resources={"mem": "6Gi"})`
    """

    __slots__ = ("_fields", "_is_opaque", "_platform", "_profiles", "_templates")

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
        """Raises CompileError if profiles, platform or templates have errors."""
        del kind  # accepted for compatibility: every run is a container
        self._fields: dict[str, Any] = {"name": name, "image": image, "project": project, "command": command}
        self._profiles = as_profiles(profiles)
        self._platform = platform
        self._templates = templates
        # A mistake in a path is reported here, and not with every run.
        setting = read_setting(self._profiles, platform, templates)
        if setting.is_broken:
            raise CompileError(map(for_python, setting.findings))
        # By known field, whether it may have any content, such as objects of the SDK.
        self._is_opaque = {name: bool(schema.get("x-opaque")) for name, schema in setting.library.fields.items()}
        _describe_run()

    @classmethod
    def from_file(
        cls,
        path: Path | str,
        *,
        profiles: Iterable[ProfileInput] = (),
        platform: AdminInput | None = None,
        templates: Path | str | None = None,
    ) -> Function:
        """Read a function that DigitalHub exported. Raises CompileError."""
        entity = _read_function(Path(path))
        admin: dict[str, Any] = {"profiles": profiles, "platform": platform, "templates": templates}
        function = cls(entity["name"], project=entity.get("project"), kind=entity["kind"], **admin)
        function._fields |= entity["spec"]
        return function

    # `_describe_run` replaces signature and docstring. Positional-only, so that a second action is among the keywords.
    def run(self, action: str | None = None, /, **fields: Any) -> Compiled:
        """Compile one run; keyword arguments are its fields. Raises CompileError."""
        if action is not None and fields.get("action") is not None:
            raise CompileError([_second_action(action, fields["action"])])
        shared = {**self._fields, "action": action}
        # None, the default of every keyword, leaves what the function sets.
        keywords = {name: value for name, value in fields.items() if value is not None or name not in shared}
        used, warnings = without_unused({**shared, **keywords}, self._is_opaque)
        run = self._run_data(used)
        try:
            compiled = compile_run(run, profiles=self._profiles, platform=self._platform, templates=self._templates)
        except CompileError as error:
            raise CompileError((*error.diagnostics, *warnings), error.run, error.overrides) from None
        return compiled.with_findings(warnings)

    def _run_data(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The run as the compiler reads it."""
        return {name: objects_as_keys(value) if self._is_opaque.get(name) else value for name, value in fields.items()}


@cache
def _describe_run() -> None:
    """Give `Function.run` its signature and docstring, which take schemas that `import speccompile` does not read."""
    library = bundled_library()
    Function.run.__signature__ = run_signature(library)  # type: ignore[attr-defined]
    Function.run.__doc__ = run_docstring(library)


def _second_action(first: object, second: object) -> Diagnostic:
    return Diagnostic(
        code="schema/duplicate-spelling",
        message=f"the action is passed twice: {quote(first)} and {quote(second)}",
        span=Span(Source("<run>", "", Layer.RUN)),
        path=("action",),
        help="pass it once, as the first argument or as `action=`",
    )


def _read_function(path: Path) -> Mapping[str, Any]:
    parsed = parse_text(file_text(path, Layer.RUN))
    stop_if_any(parsed.findings)
    match [document.root.plain() for document in parsed.documents]:
        case [{"kind": str(kind), "name": str(), "spec": {}} as entity] if "+" not in kind:
            return dict(entity)
    finding = Diagnostic(
        code="input/wrong-document",
        message="expected one exported function, with `kind`, `name` and `spec`",
        span=Span(Source(str(path), "", Layer.RUN)),
        help="write the file with `function.export()` of DigitalHub's SDK",
    )
    raise CompileError([finding])
