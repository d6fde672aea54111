"""The preset `digitalhub` produces what that platform produces, except for the differences in tests/digitalhub.yaml."""

from __future__ import annotations

import copy
import json
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
import yaml
from helpers.kubernetes_objects import VERSIONS, faults
from helpers.paths import ROOT

from speccompile import Compiled, CompileError, Severity, compile_run
from speccompile.cli.main import main
from speccompile.compiler.documents.admin_config import prepare
from speccompile.files.load import load
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.source import Layer
from speccompile.schema.bundled import preset_names
from speccompile.schema.library import Library

Data: TypeAlias = dict[str, Any]

REFUSED = "refused"
ID = "0123456789abcdef0123456789abcdef"
USUAL: Mapping[str, str] = {"kind": "container+job:run", "project": "demo", "id": ID, "user": "alice"}
PODS: Mapping[str, tuple[str, ...]] = {
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
}
CONFIGURED: Data = {
    "preset": "digitalhub",
    "security": {"disable_root": False},  # as without its Helm chart
    "namespace": "digitalhub",
    "registry_secret": "regcred",
    "own_envs": {"DHCORE_ENDPOINT": "http://core:8080"},
}


class Difference(NamedTuple):
    """A value in which the two platforms differ; None if absent."""

    at: str
    theirs: Any
    ours: Any


@cache
def worked_examples() -> Data:
    """Load the examples and reasons, with ids and labels filled in."""
    text = (ROOT / "tests" / "digitalhub.yaml").read_text(encoding="utf-8").replace("$ID", ID)
    return {key: _labelled(value) for key, value in yaml.safe_load(text).items()}


def _labelled(value: Any) -> Any:
    if isinstance(value, list):
        return [_labelled(item) for item in value]
    if not isinstance(value, dict):
        return value
    filled = {key: _labelled(child) for key, child in value.items() if key != "LBL"}
    return {**_labels(*value["LBL"].split(", ")), **filled} if "LBL" in value else filled


def _labels(framework: str, runtime: str) -> Data:
    return {
        "app.kubernetes.io/instance": f"dhcore-{ID}",
        "app.kubernetes.io/version": ID,
        "app.kubernetes.io/component": "dhcore-demo",
        "app.kubernetes.io/part-of": "dhcore",
        "app.kubernetes.io/managed-by": "dhcore",
        "dhcore/instance": "dhcore",
        "dhcore/project": "demo",
        "dhcore/framework": framework,
        "dhcore/runtime": runtime,
        "dhcore/run": ID,
        "dhcore/user": "alice",
        "dhcore/function": "train",
    }


EXAMPLES = pytest.mark.parametrize(
    "example", worked_examples()["examples"], ids=lambda example: str(example["example"])
)


def compiled(example: Data, folder: Path) -> Compiled:
    envelope = {key: example.get(key, usual) for key, usual in USUAL.items()}
    runtime, name = envelope["kind"].partition("+")[0], example.get("function", "train")
    spec = {"image": "python:3.12", "command": "python"} if runtime == "container" else {}
    function = {
        "kind": runtime,
        "project": envelope["project"],
        "name": name,
        "id": "1",
        "spec": spec | example.get("of_function", {}),
    }
    run = {**envelope, "spec": {"function": f"{runtime}://{envelope['project']}/{name}:1", **example["run"]}}
    for number, documents in enumerate(example.get("profiles", ())):
        text = "\n---\n".join(map(json.dumps, documents))
        (folder / f"{number}.yaml").write_text(text, encoding="utf-8")
    profiles = sorted(folder.iterdir())
    return compile_run(run, profiles=profiles, platform=_platform(example), functions=[function])


def _platform(example: Data) -> Data:
    """The preset with the example's settings; values of a preset can be replaced, and only a copy can omit them."""
    configured = {key: value for key, value in CONFIGURED.items() if key not in example.get("unset", ())}
    platform = {**configured, **example.get("platform", {})}
    if "without" in example:
        path = ROOT / "presets" / "digitalhub.yaml"
        preset = yaml.safe_load(path.read_text(encoding="utf-8"))
        kept = {key: value for key, value in preset.items() if key not in example["without"]}
        platform = {**kept, **platform, "own_envs": {**kept["own_envs"], **platform["own_envs"]}}
        del platform["preset"]
    return platform


def view(result: Compiled) -> Data:
    """The manifests in the form that the examples use: by kind, with the pod and its main container."""
    manifests = [_with_env_map(copy.deepcopy(manifest.data)) for manifest in result.manifests]
    seen: Data = {kind: [] for kind in ("PersistentVolumeClaim", "ConfigMap", "Secret", "Service", "Model")}
    for manifest in manifests:
        if manifest["kind"] in PODS:
            pod = manifest
            for step in PODS[manifest["kind"]]:
                pod = pod[step]
            names = [container["name"] for container in pod["containers"]]
            seen |= {manifest["kind"]: manifest, "pod": pod, "container": pod["containers"][0], "containers": names}
        else:
            seen[manifest["kind"]].append(manifest)
    return seen


def _with_env_map(value: Any) -> Any:
    if isinstance(value, list):
        return [_with_env_map(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: {env["name"]: env.get("value", env.get("valueFrom")) for env in child}
        if key == "env" and isinstance(child, list)
        else _with_env_map(child)
        for key, child in value.items()
    }


def at(tree: Any, path: KeyPath) -> Any:
    for step in path:
        if isinstance(tree, list):
            tree = tree[int(step)] if int(step) < len(tree) else None
        else:
            tree = tree.get(step) if isinstance(tree, dict) else None
    return tree


def differences(theirs: Any, ours: Any, path: KeyPath) -> Iterator[Difference]:
    """Differences at the deepest level that both have."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in {**theirs, **ours}:
            yield from differences(theirs.get(key), ours.get(key), (*path, key))
    elif isinstance(theirs, list) and isinstance(ours, list):
        for index in range(max(len(theirs), len(ours))):
            yield from differences(at(theirs, (index,)), at(ours, (index,)), (*path, index))
    elif theirs != ours:
        yield Difference(format_path(path), theirs, ours)


def deviations(expected: Mapping[str, Any], result: Compiled) -> list[Difference]:
    """Differences between the manifests and the expectation, whose keys are dotted paths."""
    seen = view(result)
    steps = {key: tuple(int(step) if step.isdigit() else step for step in key.split(".")) for key in expected}
    return [
        difference
        for key, theirs in expected.items()
        for difference in differences(theirs, at(seen, steps[key]), steps[key])
    ]


@EXAMPLES
def test_an_example_produces_what_is_expected_except_for_listed_differences(example: Data, tmp_path: Path) -> None:
    if "refused" in example:
        with pytest.raises(CompileError) as raised:
            compiled(example, tmp_path)
        errors = [finding.code for finding in raised.value.diagnostics if finding.severity is Severity.ERROR]
        assert errors == example["refused"]
        return
    expected = example["gives"] if example["expect"] == REFUSED else example["expect"]
    listed = [Difference(row["at"], row["theirs"], row["ours"]) for row in example.get("differences", ())]
    assert deviations(expected, compiled(example, tmp_path)) == listed


@EXAMPLES
def test_what_is_compiled_is_valid(example: Data, tmp_path: Path) -> None:
    if "refused" in example:
        return
    for manifest in compiled(example, tmp_path).manifests:
        for version in VERSIONS if manifest.kind != "Model" else ():
            assert faults(manifest.data, version) == [], version


def reasons_of(example: Data) -> Iterator[str]:
    """Reasons for the example's differences: in acceptance, or in the listed values."""
    if ("refused" in example) != (example["expect"] == REFUSED):
        yield example["because"]
    yield from (row["because"] for row in example.get("differences", ()))


def test_every_difference_has_a_reason_and_every_reason_a_difference() -> None:
    used = {reason for example in worked_examples()["examples"] for reason in reasons_of(example)}
    assert used == set(worked_examples()["reasons"])
    assert not [
        example for example in worked_examples()["examples"] if "because" in example and not list(reasons_of(example))
    ]


def test_no_example_is_missing() -> None:
    numbers = {
        match.group() for example in worked_examples()["examples"] if (match := re.match(r"\d+", example["example"]))
    }
    assert numbers == {str(number) for number in range(1, 20)}


def table() -> str:
    """Table of the reasons, with the examples that show them."""
    where: dict[str, list[str]] = {name: [] for name in worked_examples()["reasons"]}
    for example in worked_examples()["examples"]:
        for reason in dict.fromkeys(reasons_of(example)):
            where[reason].append(example["example"])
    rows = (
        f"| {'; '.join(where[name])} | {reason['theirs']} | {reason['ours']} | {reason['why']} |"
        for name, reason in worked_examples()["reasons"].items()
    )
    return "\n".join(("| example | that platform | speccompile | why |", "|---|---|---|---|", *rows))


def test_the_page_has_the_table_of_differences(root: Path, request: pytest.FixtureRequest) -> None:
    path = root / "docs" / "digitalhub.md"
    before, start, _, end, after = re.split(r"(<!-- /?differences.*? -->)", path.read_text(encoding="utf-8"))
    page = f"{before}{start}\n{table()}\n{end}{after}"
    if request.config.getoption("--update-golden"):
        path.write_text(page, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page, "if this is intended, run pytest --update-golden and read the diff"


def test_the_page_names_settings_that_exist(root: Path, library: Library) -> None:
    """Backticks in the second column of the table of variables contain only settings of the platform file."""
    page = (root / "docs" / "digitalhub.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (`[A-Z][^|]*) \| ([^|]*) \|", page, re.MULTILINE)
    named = [setting for _, settings in rows for setting in re.findall(r"`([^`]+)`", settings)]
    assert len(rows) > 25
    assert [setting for setting in named if not _is_setting(setting, library)] == []


def _is_setting(setting: str, library: Library) -> bool:
    schema: Any = library.schemas["platform"]
    for step in setting.split("."):
        schema = library.resolve(schema)
        properties = schema.get("properties", {})
        if step not in properties and "additionalProperties" not in schema:
            return False
        schema = properties.get(step) or schema["additionalProperties"]
    return schema is not False


def test_the_page_shows_files_that_compile(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (root / "docs" / "digitalhub.md").read_text(encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name, body in re.findall(r"```yaml\n# file: (\S+)\n(.*?)```", page, re.DOTALL):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(body, encoding="utf-8")
    calls = re.findall(r"^speccompile (.*)$", page, re.MULTILINE)
    assert len(calls) > 2
    for call in calls:
        assert main(shlex.split(call)) == 0, call


RUN = {"name": "train", "action": "job", "image": "python:3.12"}


def test_a_preset_is_chosen_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(json.dumps(RUN))
    assert main(["render", "run.yaml", "--platform", "digitalhub"]) == 0
    named = compile_run(RUN, platform="digitalhub").to_yaml()
    assert named == capsys.readouterr().out
    assert named == compile_run(RUN, platform={"preset": "digitalhub"}).to_yaml()
    assert "name: j-containerjob-train" in named


def test_a_path_can_have_the_name_of_a_preset(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(json.dumps(RUN))
    Path("digitalhub").write_text("namespace: mine\n")
    assert main(["render", "run.yaml", "--platform", "./digitalhub"]) == 0
    out = capsys.readouterr().out
    assert "namespace: mine" in out
    assert compile_run(RUN, platform=Path("digitalhub")).to_yaml() == out
    assert compile_run(RUN, platform="./digitalhub").to_yaml() == out


def test_a_preset_is_not_a_profile() -> None:
    with pytest.raises(CompileError) as raised:
        compile_run(RUN, profiles=["digitalhub"])
    assert [finding.code for finding in raised.value.diagnostics] == ["input/missing-file"]


@pytest.mark.parametrize("name", preset_names())
def test_a_preset_is_a_platform_file_without_faults(name: str, root: Path, library: Library) -> None:
    """A preset is read as an admin's file here, because the reader of presets does not report findings."""
    path = root / "presets" / f"{name}.yaml"
    setting = prepare([], load(path, Layer.PLATFORM), library)
    assert setting.findings == ()
    assert library.schemas["platform"]["properties"]["preset"]["enum"] == list(preset_names())
    assert compile_run(RUN, platform=path).to_yaml() == compile_run(RUN, platform=name).to_yaml()


def test_a_platform_file_adds_variables_to_those_of_its_preset() -> None:
    text = compile_run(RUN, platform={"preset": "digitalhub", "own_envs": {"SITE": "a", "RUN_ID": "b"}}).to_yaml()
    envs = yaml.safe_load(text)["spec"]["template"]["spec"]["containers"][0]["env"]
    assert {env["name"]: env["value"] for env in envs} == {
        "DHCORE_ENDPOINT": "http://localhost:8080",
        "DHCORE_NAMESPACE": "default",
        "PROJECT_NAME": "default",
        "RUN_ID": "b",
        "SITE": "a",
    }


def test_labels_follow_the_name_of_the_application() -> None:
    platform = {"preset": "digitalhub", "application": "hub", "label_prefix": "hub"}
    run = {**RUN, "action": "deploy", "profile": "a"}
    deployment = compile_run(run, profiles=[{"id": "a"}], platform=platform).manifests[0].data
    labels, selector = deployment["metadata"]["labels"], deployment["spec"]["selector"]["matchLabels"]
    assert {**selector, "hub/template": "a"} == labels
    assert (labels["hub/function"], labels["dhcore/instance"], labels["app.kubernetes.io/part-of"]) == (
        "train",
        "hub",
        "hub",
    )
