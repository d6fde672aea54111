"""Public Python API: compile runs from paths, text or Python data."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, suppress
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.batch.disk_spool import Ledger
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Compiled, Explanations, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.entities import read_entities
from speccompile.compiler.documents.entity_run import known_keys
from speccompile.compiler.duplicate_objects import refuse_duplicates
from speccompile.files.admin_texts import (
    AdminInput,
    ProfileInput,
    as_profiles,
    data_text,
    file_text,
    path_fault,
    read_admin,
)
from speccompile.files.load_admin_config import parse_text, read_setting, setting_from
from speccompile.files.save import save
from speccompile.integrations.digitalhub_sdk import EntityInput, as_data, entities_of, objects_as_keys, without_unused
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

RunInput: TypeAlias = EntityInput | Path | str
"""A run: Python data, a run of DigitalHub's SDK, a path, or YAML or JSON text."""
FunctionInput: TypeAlias = EntityInput | Path | str
"""Functions and tasks: Python data, a function of DigitalHub's SDK, or the path of a file or directory."""


def compile_run(  # noqa: PLR0913  what a run is compiled with
    run: RunInput,
    *,
    profiles: Iterable[ProfileInput] = (),
    platform: AdminInput | None = None,
    templates: Path | str | None = None,
    functions: Iterable[FunctionInput] = (),
    project: str | None = None,
) -> Compiled:
    """Compile one run with profiles and a platform, with the bundled or with custom templates.

    A `str` is YAML or JSON text; a `pathlib.Path` is a file; an object with a method `to_dict`, such as a run of
    DigitalHub's SDK, is what that returns. `functions` are the functions and tasks that exported runs name: paths of
    files and directories, Python data, or objects of the SDK. `project` is the run's project, whatever it names
    itself. Raises CompileError with all findings.
    """
    inputs: dict[str, Any] = {"profiles": profiles, "platform": platform, "templates": templates}
    results = list(compile_many([run], **inputs, functions=functions, project=project))
    for result in results:
        if isinstance(result, CompileError):
            # The traceback through the compiler does not help the author of the run.
            raise result.with_traceback(None)
    if not results:
        raise CompileError([_NO_RUN])
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
    functions: Iterable[FunctionInput] = (),
    project: str | None = None,
    executor: Executor | None = None,
) -> Iterator[Result]:
    """Compile runs, and iterate over a result for each in order: a Compiled, or a CompileError with its findings.

    `project` is the project of every run, whatever they name themselves. With an executor, runs are compiled in
    parallel, with the same results; it is not shut down. The iterator raises ExecutorError if it fails. Raises
    CompileError at once if profiles or platform have errors, with the findings of all runs. Their warnings are among
    the findings of the first result.
    """
    # Anything else is one run, and refused as such.
    runs = runs if isinstance(runs, Iterable) else (runs,)
    files = read_admin(profiles, platform, templates, project, _function_files(functions))
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


_NO_RUN = Diagnostic(
    code="run/unknown-form",
    message="expected a run, found a function or task",
    span=Span(Source("<run>", "", Layer.RUN)),
    help="pass functions and tasks with `functions=`",
)


def _function_files(functions: Iterable[FunctionInput] | FunctionInput | None) -> Iterator[AdminInput]:
    """The paths and data of functions; a single function becomes a list of one."""
    if functions is None:
        return
    is_one = isinstance(functions, (str, Path, Mapping)) or hasattr(functions, "to_dict")
    items: Iterable[Any] = (functions,) if is_one or not isinstance(functions, Iterable) else functions
    for one in items:
        yield from (one,) if isinstance(one, (str, Path)) else entities_of(one)


def _with_findings(result: Result, findings: tuple[Diagnostic, ...]) -> Result:
    if isinstance(result, CompileError):
        return CompileError((*findings, *result.diagnostics), result.run, result.overrides)
    return result.with_findings(findings)


def _run(run: RunInput) -> Source | Parsed:
    if isinstance(run, (str, Path)):
        text = _text(run)
        return text if isinstance(text, Parsed) else Source(text.name, text.text, Layer.RUN)
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

    __slots__ = ("_admin", "_default_project", "_entity", "_file", "_is_opaque", "_name")

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
        **spec: Any,
    ) -> None:
        """`spec` are further fields of the function. Raises CompileError if profiles or platform have errors."""
        spec = {"image": image, "command": command, **spec}
        match spec.get("source"):
            case {"code": str(code), **source} if "base64" not in source:
                # As the SDK does.
                # What cannot be encoded is left for the compiler to refuse.
                with suppress(UnicodeEncodeError):
                    spec["source"] = {**source, "base64": b64encode(code.encode()).decode("ascii")}
        self._name = name
        # A reference to the function must be valid, whatever its name is.
        function = re.sub(r"[/:\s]", "-", str(name))
        self._entity = {"kind": kind, "name": function, "project": project, "spec": _without_unset(spec)}
        self._file: Path | None = None
        self._admin: dict[str, Any] = {"profiles": as_profiles(profiles), "platform": platform, "templates": templates}
        # A mistake in a path is reported here, and not with every run.
        setting = read_setting(**self._admin)
        if setting.is_broken:
            raise CompileError(map(for_python, setting.findings))
        fixed = setting.platform.settings.fields.get("project")
        self._default_project = str(fixed.value) if fixed else "default"
        # By known field, whether it may have any content, such as objects of the SDK.
        known = known_keys(str(kind), setting.platform, setting.library)
        self._is_opaque = {name: bool(schema.get("x-opaque")) for name, schema in known.items()}
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
        stop_if_any(filter(None, (path_fault(path, "a file", Layer.FUNCTION),)))
        entity = _read_function(Path(path))
        function = cls(**entity, profiles=profiles, platform=platform, templates=templates)
        # Origins then show the lines of the file.
        function._file = Path(path)
        return function

    # `_describe_run` replaces signature and docstring. Positional-only, so that a second action is among the keywords.
    def run(self, action: str | None = None, /, **fields: Any) -> Compiled:
        """Compile one run; keyword arguments are its fields. Raises CompileError."""
        if action is not None and fields.get("action") is not None:
            raise CompileError([_second_action(action, fields["action"])])
        used, warnings = without_unused({"action": action, **_without_unset(fields)}, self._is_opaque)
        run = self._run_data(used)
        try:
            compiled = compile_run(run, functions=[self._file or self._entity], **self._admin)
        except CompileError as error:
            raise CompileError((*error.diagnostics, *warnings), error.run, error.overrides) from None
        return compiled.with_findings(warnings)

    def _run_data(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The run as DigitalHub would export it."""
        values = {
            name: objects_as_keys(value) if self._is_opaque.get(name) else value for name, value in fields.items()
        }
        kind, function = self._entity["kind"], self._entity["name"]
        action, name = values.pop("action", None), values.pop("name", self._name)
        project = values.pop("project", self._entity["project"])
        if not isinstance(action, str) or not re.fullmatch("[a-z]+", action):
            # The compiler reports the missing or wrong action of a run in flat form.
            return {**values, "action": action, "name": name, "project": project}
        reference = f"{kind}://{project or self._default_project}/{function}"
        return {
            "kind": f"{kind}+{action}:run",
            "name": name,
            "project": project,
            "spec": {**values, "function": reference},
        }


def _without_unset(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields without None, which is the default of every keyword."""
    return {name: value for name, value in fields.items() if value is not None}


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
    """Kind, name and project of the function in a file."""
    entities, findings = read_entities([parse_text(file_text(path, Layer.FUNCTION))], bundled_library())
    stop_if_any(map(for_python, findings))
    match [one for found in entities.values() for one in found if one.layer is Layer.FUNCTION]:
        case [function]:
            return {"kind": function.kind, "name": function.name, "project": function.project or None}
    finding = Diagnostic(
        code="input/wrong-document",
        message="expected one exported function, with `kind`, `name` and `spec`",
        span=Span(Source(str(path), "", Layer.FUNCTION)),
        help="write the file with `function.export()` of DigitalHub's SDK",
    )
    raise CompileError([finding])
