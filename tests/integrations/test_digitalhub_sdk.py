"""Calls as DigitalHub's documentation writes them, and objects as its SDK passes them."""

from __future__ import annotations

import inspect
import pydoc
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from speccompile import Compiled, CompileError, Function, Severity, compile_many, compile_run
from speccompile.compiler.bundled_library import bundled_library
from speccompile.integrations.digitalhub_sdk import _CONTROL_KEYWORDS, _RUNTIME_KEYWORDS, entities_of

FUNCTION = {
    "profiles": [{"id": "1xa100"}, {"id": "1xa100-80GB"}],
    "platform": {"defaults": {"service_ports": [{"port": 80}]}},
}
PORTS = [{"port": 9998, "target_port": 9998}]
VOLUME = {
    "volume_type": "persistent_volume_claim",
    "name": "volume-llmpa",
    "mount_path": "/local/data",
    "spec": {"size": "100Gi"},
}
SUPERNODE = {"superlink": "x", "node_config": {"partition-id": 1, "num-partitions": 3}}

# Arguments of `run`, and the keywords that are reported.
COMPILED: list[tuple[tuple[str, ...], dict[str, Any], list[str]]] = [
    ((), {"action": "serve"}, []),
    (("serve",), {"wait": True}, []),
    (("serve",), {"profile": "1xa100-80GB", "wait": True}, []),
    (("serve",), {"service_ports": PORTS, "wait": True}, []),
    (("serve",), {"init_parameters": {"dataitem": "b"}, "wait": True}, ["init_parameters"]),
    ((), {"action": "serve", "profile": "1xa100", "args": ["--enable-prefix-caching", "--max-model-len=8192"]}, []),
    ((), {"action": "serve", "profile": "1xa100", "max_length": "5000", "envs": {"A": "b"}}, ["max_length"]),
    (("job",), {"inputs": {"di": "store://demo/dataitem/table/di"}, "parameters": {"url": "b"}, "wait": True}, []),
    (("job",), {"local_execution": True, "log_info": False, "extensions": [{"kind": "x"}]}, []),
    (("job",), {"init_parameters": None, "source": {}, "backend": ""}, []),
    ((), {"action": "job", "parameters": {"eval_steps": 100}, "secrets": ["HF_TOKEN"], "volumes": [VOLUME]}, []),
    ((), {"action": "deploy", "insecure": True}, ["insecure"]),
    ((), {"action": "deploy", **SUPERNODE}, ["node_config", "superlink"]),
]
REFUSED: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    (("build",), {"wait": True}),
    (("build",), {"instructions": ["pip3 install torch'<2.6.0' darts==0.30.0"], "wait": True}),
    (("pipeline",), {"parameters": {"url": "b"}, "wait": True}),
    (("transform",), {"inputs": {"employees": "b"}, "outputs": {"output_table": "department-50"}}),
    (("train",), {"superlink": "x", "parameters": {"fraction-sample": 1.0}}),
    (("pipeline",), {"action": "build", "wait": True}),
    (("job",), {"action": "job"}),
    ((), {"wait": True}),
]


class Item:
    """An entity of the SDK that has a key."""

    key = "store://demo/dataitem/table/di"


class Table:
    """An object without a key."""

    def __str__(self) -> str:
        return "a table"


class Exported:
    """An entity of the SDK that can be exported."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def to_dict(self) -> dict[str, Any]:
        return self.fields


@pytest.fixture(scope="module")
def function() -> Function:
    return Function("f", image="python:3.12", **FUNCTION)  # type: ignore[arg-type]


@pytest.mark.parametrize(("arguments", "keywords", "reported"), COMPILED)
def test_calls_of_the_documentation_compile(
    function: Function, arguments: tuple[str, ...], keywords: dict[str, Any], reported: list[str]
) -> None:
    compiled = function.run(*arguments, **keywords)
    unused = [one for one in compiled.diagnostics if one.code in ("run/unused-keyword", "run/not-reproduced")]
    assert [finding.path[-1] for finding in unused] == reported
    assert {finding.severity for finding in compiled.diagnostics} <= {Severity.WARNING}


@pytest.mark.parametrize(("arguments", "keywords"), REFUSED)
def test_other_actions_are_one_error(function: Function, arguments: tuple[str, ...], keywords: dict[str, Any]) -> None:
    with pytest.raises(CompileError) as raised:
        function.run(*arguments, **keywords)
    (error,) = [finding for finding in raised.value.diagnostics if finding.severity is Severity.ERROR]
    assert error.code in ("run/not-compiled", "schema/duplicate-spelling", "schema/missing-key")
    assert "action" in error.message or error.path == ("action",)


def test_none_leaves_what_the_function_sets(function: Function) -> None:
    assert function.run("job", image=None, action=None, name=None) == function.run("job")


def test_errors_come_with_the_warnings_about_keywords(function: Function) -> None:
    with pytest.raises(CompileError) as raised:
        function.run("build", superlink="server:9092")
    assert {finding.code for finding in raised.value.diagnostics} == {"run/not-compiled", "run/unused-keyword"}


def test_a_misspelt_keyword_is_an_error(function: Function) -> None:
    with pytest.raises(CompileError) as raised:
        function.run("job", profil="1xa100", wait=True)
    assert [finding.help for finding in raised.value.diagnostics] == ["did you mean `profile`?"]


def test_a_keyword_of_another_runtime_may_be_a_misspelt_field(function: Function) -> None:
    (finding,) = function.run("job", env={"A": "b"}).diagnostics
    assert (finding.code, finding.help) == ("run/unused-keyword", "did you mean `envs`?")


def test_no_keyword_of_the_sdk_is_unknown(function: Function) -> None:
    keywords = dict.fromkeys(_CONTROL_KEYWORDS | _RUNTIME_KEYWORDS, "x")
    reported = {finding.path[-1] for finding in function.run("job", **keywords).diagnostics}
    assert reported == _RUNTIME_KEYWORDS


def test_inputs_and_parameters_may_hold_objects(function: Function) -> None:
    compiled = function.run("job", inputs={"di": Item()}, parameters={"tables": [Table(), 3, None, {"di": Item()}]})
    (job,) = compiled.to_dicts()
    annotations = job["metadata"]["annotations"]
    assert annotations["speccompile.dev/inputs"] == '{"di":"store://demo/dataitem/table/di"}'
    expected = '{"tables":["a table",3,null,{"di":"store://demo/dataitem/table/di"}]}'
    assert annotations["speccompile.dev/parameters"] == expected


def test_objects_elsewhere_are_refused(function: Function) -> None:
    with pytest.raises(CompileError, match="a value of type `Item` is not JSON data"):
        function.run("job", args=[Item()])


def test_inputs_without_end_are_refused(function: Function) -> None:
    circle: list[Any] = []
    circle.append(circle)
    wide: list[Any] = []
    for _ in range(40):
        wide = [wide] * 10
    for inputs, code in ((circle, "yaml/too-deep"), (wide, "yaml/expansion")):
        with pytest.raises(CompileError) as raised:
            function.run("job", inputs={"a": inputs})
        assert [finding.code for finding in raised.value.diagnostics] == [code]


# Objects of the SDK.

RUN = {
    "kind": "container+job:run",
    "name": "58104cc7",
    "project": "demo",
    "spec": {"image": "python:3.12", "args": ["a"]},
}


def test_a_run_of_the_sdk_is_compiled_as_exported() -> None:
    run = Exported(**RUN)
    expected = compile_run(RUN)
    assert compile_run(run) == expected
    with ThreadPoolExecutor(1) as executor:
        (result,) = compile_many([run], executor=executor)
    assert isinstance(result, Compiled)
    assert result.to_yaml() == expected.to_yaml()


def test_a_function_of_the_sdk_is_not_a_run() -> None:
    with pytest.raises(CompileError, match="expected a run, found a function or task"):
        compile_run(Exported(kind="container", name="tool", spec={"image": "python:3.12"}))


@pytest.mark.parametrize("tasks", [{"job": Exported(kind="container+job")}, [Exported(kind="container+job")]])
def test_a_function_of_the_sdk_brings_its_tasks(tasks: object) -> None:
    function = Exported(kind="container", name="tool")
    function._tasks = tasks  # type: ignore[attr-defined]
    assert entities_of(function) == ({"kind": "container", "name": "tool"}, {"kind": "container+job"})


def test_an_exported_function_is_itself() -> None:
    function = {"kind": "container", "name": "tool"}
    assert entities_of(function) == (function,)


def test_times_of_entities_may_be_objects() -> None:
    """PyYAML reads times without quotes as `datetime`."""
    early, late = (datetime(2026, 11, day, tzinfo=UTC) for day in (1, 2))
    functions = [
        {"kind": "container", "project": "demo", "name": "tool", "id": id_, "metadata": {"created": time}, "spec": spec}
        for id_, time, spec in (("1", late, {"image": "new:1"}), ("2", early, {"image": "old:1"}))
    ]
    times = {"metadata": {"created": early}, "status": {"transitions": [{"time": late, "day": late.date()}]}}
    run = {**RUN, **times, "spec": {"function": "container://demo/tool"}}
    (manifest,) = compile_run(run, functions=functions).to_dicts()
    assert manifest["spec"]["template"]["spec"]["containers"][0]["image"] == "new:1"
    with pytest.raises(CompileError, match="a value of type `datetime` is not JSON data"):
        compile_run({**RUN, "spec": {"image": "a:1", "args": [early]}})


# Exported functions.

TOOL = """\
kind: container
metadata: {project: demo, name: tool}
spec:
  image: ghcr.io/acme/tool:1.2
  command: /bin/tool
  source: {}
project: demo
name: tool
id: 3415c3e3b0954c0d8a0a3e65ca9822b4
"""


def test_a_function_is_read_from_its_export(tmp_path: Path) -> None:
    file = tmp_path / "tool.yaml"
    file.write_text(TOOL)
    compiled = Function.from_file(file, profiles=[{"id": "low", "priority_class": "low"}]).run("job", profile="low")
    container = compiled.to_dicts()[0]["spec"]["template"]["spec"]["containers"][0]
    assert (compiled.project, compiled.name, compiled.diagnostics) == ("demo", "tool", ())
    assert (container["image"], container["command"]) == ("ghcr.io/acme/tool:1.2", ["/bin/tool"])
    image = compiled.origin(compiled.manifests[0], "spec.template.spec.containers[0].image")
    assert str(image) == f"function {file}:4:10"


def test_a_function_overrides_its_runs_as_on_the_platform(tmp_path: Path) -> None:
    file = tmp_path / "tool.yaml"
    file.write_text(TOOL)
    compiled = Function.from_file(str(file)).run("job", image="python:3.12")
    assert compiled.to_dicts()[0]["spec"]["template"]["spec"]["containers"][0]["image"] == "ghcr.io/acme/tool:1.2"
    (notice,) = compiled.diagnostics
    assert notice.message == "`image`: the function overrides `python:3.12` with `ghcr.io/acme/tool:1.2`"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "kind: container\nname: tool\n",
        TOOL.replace("kind: container", "kind: container+job"),
        f"{TOOL}---\n{TOOL}",
    ],
)
def test_another_file_is_not_a_function(text: str, tmp_path: Path) -> None:
    file = tmp_path / "tool.yaml"
    file.write_text(text)
    with pytest.raises(CompileError) as raised:
        Function.from_file(file)
    (finding,) = raised.value.diagnostics
    assert finding.span is not None
    assert finding.span.source.name == str(file)


def test_a_missing_function_or_profile_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "tool.yaml").write_text(TOOL)
    for name, profiles in (("nope.yaml", []), ("tool.yaml", ["nope"])):
        with pytest.raises(CompileError, match="input/missing-file"):
            Function.from_file(tmp_path / name, profiles=profiles)


# Help and completion.


def test_help_lists_every_field_with_its_description(function: Function) -> None:
    text = pydoc.plain(pydoc.render_doc(function.run))
    lines = [line.strip() for line in text.splitlines()]
    assert "image: The image of the main container." in lines
    core = bundled_library().core.fields
    assert [name for name in core if not any(line.startswith(f"{name}: ") for line in lines)] == []


def test_the_signature_has_a_keyword_for_every_field(function: Function) -> None:
    parameters = inspect.signature(function.run).parameters
    assert next(iter(parameters)) == "action"
    assert parameters.keys() >= bundled_library().core.fields.keys() | {"name", "project", "profile"}
    keywords = [one for one in parameters.values() if one.kind is inspect.Parameter.KEYWORD_ONLY]
    assert {one.default for one in keywords} == {None}
    assert parameters["command"].annotation == str | list[str] | None
    assert parameters["envs"].annotation == list[dict] | dict | None  # type: ignore[type-arg]
    assert parameters["suspend"].annotation == bool | None


@pytest.mark.parametrize("use_jedi", [True, False])
def test_tab_completes_fields(function: Function, use_jedi: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    shell = InteractiveShell.instance()
    monkeypatch.setitem(shell.user_ns, "function", function)
    completer = shell.Completer
    assert completer is not None
    monkeypatch.setattr(completer, "use_jedi", use_jedi)
    for text, expected in (("function.run(", "image="), ("function.run('job', prof", "profile=")):
        with provisionalcompleter():
            assert expected in [found.text for found in completer.completions(text, len(text))]
