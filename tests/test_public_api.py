"""The names users import, and nothing else."""

from __future__ import annotations

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import speccompile
from speccompile import (
    Compiled,
    CompileError,
    Diagnostic,
    Explanation,
    Function,
    Layer,
    Line,
    Note,
    Origin,
    Overridden,
    Severity,
    Span,
    compile_many,
    compile_run,
)
from speccompile.cli.main import main

RUN = {"name": "train", "action": "job", "image": "python:3.12"}


def test_all_is_sorted_complete_and_importable() -> None:
    assert list(speccompile.__all__) == sorted(speccompile.__all__)
    assert dir(speccompile) == sorted(speccompile.__all__)
    assert all(getattr(speccompile, name).__name__ == name for name in speccompile.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="nonsense"):
        _ = speccompile.nonsense


def test_a_run_is_a_mapping_a_path_or_text(tmp_path: Path) -> None:
    text = "name: train\naction: job\nimage: python:3.12\n"
    path = tmp_path / "run.yaml"
    path.write_text(text)
    results = {compile_run(run).to_yaml() for run in (RUN, path, text)}
    assert len(results) == 1


def test_a_profile_is_a_mapping_a_file_or_a_folder(tmp_path: Path) -> None:
    (tmp_path / "fast.yaml").write_text("id: fast\npriority_class: fast\n")
    run = {**RUN, "profile": "fast"}
    given = ({"id": "fast", "priority_class": "fast"}, str(tmp_path / "fast.yaml"), tmp_path / "fast.yaml", tmp_path)
    results = {compile_run(run, profiles=[profile]).to_yaml() for profile in given}
    assert len(results) == 1


def test_errors_carry_diagnostics_and_read_well() -> None:
    with pytest.raises(CompileError) as raised:
        compile_run({**RUN, "resources": {"mem": "8GB"}})
    (found,) = raised.value.diagnostics
    assert (found.code, found.severity, found.path) == ("schema/quantity", Severity.ERROR, ("resources", "mem"))
    assert "write `8G`" in str(raised.value)
    assert "resources.mem" in str(raised.value)


def test_compile_many_gives_a_result_for_each_run_in_order() -> None:
    results = list(compile_many([RUN, {"name": "broken"}, {**RUN, "name": "second"}]))
    assert [type(result) for result in results] == [Compiled, CompileError, Compiled]


def test_compile_many_refuses_two_runs_of_one_project_and_name() -> None:
    _, second = compile_many([RUN, RUN])
    assert isinstance(second, CompileError)
    assert [found.code for found in second.diagnostics] == ["run/duplicate"]


def test_faults_of_profiles_are_raised_together_with_those_of_runs() -> None:
    with pytest.raises(CompileError) as raised:
        list(compile_many([{"name": "broken"}], profiles=[{"id": "x", "imag": "y"}]))
    assert {found.code for found in raised.value.diagnostics} == {"schema/unknown-key", "schema/missing-key"}


@pytest.mark.parametrize("profiles", [["nope"], "nope", [Path("nope.yaml")], [{"id": "x", "imag": "y"}]])
def test_faults_of_profiles_are_raised_at_the_call(profiles: Any) -> None:
    calls: list[Callable[[], object]] = [
        lambda: compile_run(RUN, profiles=profiles),
        lambda: compile_many([], profiles=profiles),
        lambda: Function("train", image="python:3.12", profiles=profiles),
    ]
    for call in calls:
        with pytest.raises(CompileError) as raised:
            call()
        (found,) = raised.value.diagnostics
        assert found.code in ("input/missing-file", "schema/unknown-key")


@pytest.mark.parametrize("profiles", [[], (), iter(()), {"id": "x"}])
def test_a_call_needs_no_profiles(profiles: Any) -> None:
    assert list(compile_many([], profiles=profiles)) == []
    assert Function("train", image="python:3.12", profiles=profiles).run("job").name == "train"


def test_function_runs_as_the_sdk_does() -> None:
    function = Function("train", image="python:3.12", project="vision", command="python")
    compiled = function.run("job", args=["main.py"], resources={"mem": "6Gi"})
    (job,) = compiled.manifests
    container = job.data["spec"]["template"]["spec"]["containers"][0]
    assert (job.kind, job.name, compiled.project) == ("Job", "train", "vision")
    assert container["command"] == ["python"]
    assert container["resources"] == {"requests": {"memory": "6Gi"}}


def test_every_leaf_tells_its_origin_by_path() -> None:
    compiled = compile_run(RUN)
    (job,) = compiled.manifests
    origin = compiled.origin(job, "spec.template.spec.containers[0].image")
    assert (origin.layer, origin.span.source.name) == ("run", "<run>")
    label = compiled.origin(job, 'metadata.labels["app.kubernetes.io/name"]')
    assert label.layer == "run"
    assert compiled.origin(job, ("kind",)).layer == "template"
    with pytest.raises(KeyError, match="has no value at"):
        compiled.origin(job, "spec.nonsense")
    with pytest.raises(ValueError, match="not a path"):
        compiled.origin(job, "a b")


def test_a_diagnostic_is_what_it_always_was() -> None:
    """Other people's programs read these; what stands here changes with a major version only."""
    assert Diagnostic._fields == ("code", "message", "span", "path", "severity", "notes", "help", "secret")
    assert Note._fields == ("message", "span")
    assert Span._fields == ("source", "line", "column", "end_line", "end_column")
    assert [str(severity) for severity in Severity] == ["error", "warning", "notice"]
    assert [str(layer) for layer in Layer] == ["run", "task", "function", "profile", "platform", "template"]


def test_an_explanation_is_made_of_typed_values() -> None:
    compiled = compile_run({**RUN, "profile": "p", "replicas": None}, profiles=[{"id": "p", "image": "python:3.13"}])
    (told,) = compiled.explain("image")
    assert isinstance(told, Explanation)
    (line,) = told.lines
    assert isinstance(line, Line)
    assert isinstance(line.origin, Origin)
    (overridden,) = line.overridden
    assert isinstance(overridden, Overridden)
    assert (line.value.value, line.origin.layer, overridden.value.value, overridden.origin.layer) == (
        *("python:3.13", Layer.PROFILE),
        *("python:3.12", Layer.RUN),
    )


@pytest.mark.parametrize("parts", [[], ["image"], ["metadata.name"]])
def test_an_explanation_prints_what_the_command_prints(
    parts: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    profile = {"id": "p", "image": "python:3.13"}
    (tmp_path / "profile.json").write_text(json.dumps(profile))
    (tmp_path / "run.json").write_text(json.dumps({**RUN, "action": "deploy", "profile": "p"}, indent=1))
    compiled = compile_run(Path("run.json"), profiles=["profile.json"])
    main(["explain", "run.json", *parts, "--profiles", "profile.json"])
    explanations = compiled.explain(*parts)
    assert f"{explanations}\n" == capsys.readouterr().out
    assert str(pickle.loads(pickle.dumps(explanations))) == str(explanations)  # noqa: S301  our own bytes


def test_manifests_are_plain_data() -> None:
    compiled = compile_run({**RUN, "action": "serve", "service_ports": [{"port": 80}]})
    assert compiled.to_dicts() == list(yaml.safe_load_all(compiled.to_yaml()))
    assert [manifest["kind"] for manifest in compiled.to_dicts()] == ["Deployment", "Service"]


def test_manifests_are_saved_to_a_file_or_directory(tmp_path: Path) -> None:
    compiled = compile_run({**RUN, "project": "vision"})
    for path in (tmp_path / "new" / "out.yaml", str(tmp_path / "out.yml"), tmp_path / "out.yml"):
        assert compiled.save(path) == Path(path)
        assert Path(path).read_text() == compiled.to_yaml()
    saved = compiled.save(tmp_path)
    assert saved == tmp_path / "vision" / "train.yaml"
    assert saved.read_text() == compiled.to_yaml()
    assert compile_run(RUN).save(tmp_path / "manifests") == tmp_path / "manifests" / "train.yaml"


def test_saving_replaces_only_manifests(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("name: train\n")
    compiled = compile_run(RUN)
    with pytest.raises(FileExistsError):
        compiled.save(file)
    with pytest.raises(ValueError, match="would contain YAML"):
        compiled.save(tmp_path / "out.json")
    assert [path.name for path in tmp_path.iterdir()] == ["run.yaml"]
    assert file.read_text() == "name: train\n"


def test_compilations_are_values_and_can_be_sent() -> None:
    """Equal if they came of the same; with trees and origins after a way through another process."""
    data = {"name": "train", "action": "job", "image": "python:3.12"}
    one, two = compile_run(data), compile_run(data)
    assert one == two
    assert hash(one) == hash(two)
    assert one != compile_run({**data, "image": "python:3.13"})
    sent = pickle.loads(pickle.dumps(one))  # noqa: S301  our own bytes
    assert sent == one
    assert sent.to_yaml() == one.to_yaml()
    assert [str(line) for part in sent.explain() for line in part.lines] == [
        str(line) for part in one.explain() for line in part.lines
    ]


class SdkFunction:
    """A function of the SDK whose tasks are not what they should be."""

    _tasks = 5

    def to_dict(self) -> dict[str, Any]:
        return {"kind": "container", "project": "demo", "name": "tool", "spec": {"image": "a/b:1"}}


ANY: Any = 5
WRONG: dict[str, Callable[[], object]] = {
    "profiles": lambda: compile_run({"name": "a", "action": "job", "image": "a/b:1"}, profiles=ANY),
    "platform": lambda: compile_run({"name": "a", "action": "job", "image": "a/b:1"}, platform=ANY),
    "templates": lambda: compile_run({"name": "a", "action": "job", "image": "a/b:1"}, templates=ANY),
    "profiles of a function": lambda: Function("a", profiles=ANY),
    "platform of a function": lambda: Function("a", platform=ANY),
    "templates of a function": lambda: Function("a", templates=ANY),
    "functions": lambda: compile_run({"name": "a", "action": "job", "image": "a/b:1"}, functions=ANY),
    "path": lambda: Function.from_file(None),  # type: ignore[arg-type]
    "kind": lambda: Function("a", kind=[], image="a/b:1").run("job"),  # type: ignore[arg-type]
    "code": lambda: Function("a", kind="python", platform="digitalhub", source={"code": "\ud800"}).run("job"),
    "object": lambda: Function("a", image="a/b:1").run("job", parameters={"a": object()}),
    "function": lambda: Function("a", image="a/b:1").run("job", inputs={"a": [lambda: None]}),
    "bytes": lambda: Function("a", image="a/b:1").run("job", parameters={"a": b"a"}),
    "set": lambda: Function("a", image="a/b:1").run("job", parameters={"a": {"b": {"c"}}}),
}


@pytest.mark.parametrize("call", WRONG.values(), ids=WRONG)
def test_wrong_types_are_findings(call: Callable[[], object]) -> None:
    with pytest.raises(CompileError):
        call()


def test_what_is_no_run_is_a_finding() -> None:
    values: list[Any] = [None, 5]
    for runs in values:
        (result,) = compile_many(runs)
        assert isinstance(result, CompileError)


def test_none_means_no_profiles_and_odd_tasks_no_tasks() -> None:
    run = {"name": "a", "action": "job", "image": "a/b:1"}
    nothing: Any = None
    odd: Any = SdkFunction()
    plain = compile_run(run).to_yaml()
    assert compile_run(run, profiles=nothing, functions=[odd]).to_yaml() == plain
    assert Function("a", image="a/b:1", profiles=nothing).run("job").name == "a"


def test_a_function_without_a_project_belongs_to_the_one_that_the_platform_fixes() -> None:
    platform = {"project": "demo"}
    assert Function("a", image="a/b:1", platform=platform).run("job").project == "demo"
    with pytest.raises(CompileError, match="function/reference"):
        Function("a", image="a/b:1", project="other", platform=platform).run("job")
