"""The function for Kustomize and kpt: runs become manifests in place, whatever else is in the list stays as it is."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from helpers.command_line import Answer, piped
from helpers.paths import ROOT
from helpers.programs import program
from hypothesis import given
from hypothesis import strategies as st

from speccompile import compile_run

BUILD = ("build", "--enable-alpha-plugins", "--enable-exec")
VERSION = "speccompile.dev/v1alpha1"


def run(name: str = "train", *, metadata: Mapping[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, **(metadata or {})}
    return {
        "apiVersion": VERSION,
        "kind": "Run",
        "metadata": metadata,
        "spec": {"action": "job", "image": "a", **fields},
    }


def listed(*items: Mapping[str, Any], config: Mapping[str, Any] | None = None) -> dict[str, Any]:
    more = {"functionConfig": config} if config else {}
    return {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList", "items": list(items), **more}


HEAD = "apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n"


def item(data: Mapping[str, Any], lead: str = "") -> str:
    """One resource as an item of a list in block style."""
    inner = yaml.safe_dump(data, sort_keys=False, allow_unicode=True).rstrip("\n").replace("\n", f"\n{lead}  ")
    return f"{lead}- {inner}\n"


def configured(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": VERSION, "kind": "Compile", "metadata": {"name": "compile"}, "spec": spec}


def manifests(written: Mapping[str, Any], **setting: Any) -> list[dict[str, Any]]:
    return [manifest.data for manifest in compile_run(written, **setting).manifests]


CONFIG_MAP = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"answer": "no"}}
PROFILE = {"id": "small", "resources": {"mem": "1Gi"}}


def called(text: str | bytes, *arguments: str) -> Answer:
    """The function called with the text on standard input."""
    return piped(text, "krm", *arguments)


def answer(*items: Mapping[str, Any], config: Mapping[str, Any] | None = None, arguments: Sequence[str] = ()) -> Answer:
    return called(yaml.safe_dump(listed(*items, config=config), sort_keys=False), *arguments)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def built(folder: Path) -> list[dict[str, Any]]:
    """What the real Kustomize makes of a folder."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [program("kustomize"), *BUILD, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env={**os.environ, "PATH": path})
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def by_name(objects: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def example(name: str) -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((ROOT / "examples" / "kustomize" / name).read_text(encoding="utf-8")))


EXAMPLES: dict[str, Any] = {
    "profiles": [ROOT / "examples" / "profiles"],
    "platform": ROOT / "examples" / "platform.yaml",
}


def test_kustomize_generates_what_render_renders() -> None:
    (generator,) = example("generator/train.yaml")
    (compile_config,) = example("generator/compile.yaml")
    inline = compile_config["spec"]["runs"][1]
    rendered = [
        *manifests(generator, **EXAMPLES),
        *(made.data for made in compile_run(ROOT / "examples" / "runs" / "sentiment.yaml", **EXAMPLES).manifests),
        *manifests(inline, **EXAMPLES),
    ]
    for manifest in rendered:
        manifest["metadata"]["namespace"] = "research"  # set by the kustomization, after the generators
    assert by_name(built(ROOT / "examples" / "kustomize" / "generator")) == by_name(rendered)


def test_kustomize_transforms_runs_with_the_name_namespace_and_labels_it_gives_them() -> None:
    rendered: list[dict[str, Any]] = []
    for written in example("transformer/runs.yaml"):
        name = f"dev-{written['metadata']['name']}"
        metadata = {"name": name, "namespace": "research", "labels": {"team": "vision"}}
        rendered += manifests({**written, "metadata": metadata}, **EXAMPLES)
    found = by_name(built(ROOT / "examples" / "kustomize" / "transformer"))
    settings = found.pop(("ConfigMap", "dev-settings"))
    assert settings["data"] == {"greeting": "hello"}
    assert found == by_name(rendered)


def copied(folder: Path) -> Path:
    """The folder with the example of a transformer in it, but for its runs."""
    for name in ("kustomization.yaml", "compile.yaml", "config.yaml"):
        (folder / name).write_bytes((ROOT / "examples" / "kustomize" / "transformer" / name).read_bytes())
    script = folder / "speccompile-krm"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m speccompile krm "$@"\n')
    script.chmod(0o755)
    return folder


HARD = [
    "no",
    "y",
    "012",
    "0x1F",
    "1:30",
    "1e3",
    "1_000",
    "null",
    "~",
    "2024-01-01",
    " x ",
    "a: b",
    "# c",
    "a\n b\n",
    "\U0001f600",
    "",
]


def test_kustomize_keeps_texts_that_look_like_something_else(tmp_path: Path) -> None:
    written = run(args=HARD, envs={f"V{index}": text for index, text in enumerate(HARD)})
    folder = copied(tmp_path)
    (folder / "runs.yaml").write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")
    metadata = {"name": "dev-train", "namespace": "research", "labels": {"team": "vision"}}
    (job,) = manifests({**written, "metadata": metadata})
    assert by_name(built(folder))["Job", "dev-train"] == job


def test_kustomize_shows_the_findings_and_builds_nothing(tmp_path: Path) -> None:
    copied(tmp_path)
    (tmp_path / "runs.yaml").write_text(yaml.safe_dump(run(resources={"mem": "8GB"})))
    command = [program("kustomize"), *BUILD, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert "error[schema/quantity]: `8GB` does not end in a known suffix\n  --> Run dev-train:" in done.stderr


def test_runs_are_replaced_by_their_manifests() -> None:
    served = run("web", action="serve", service_ports=[{"port": 80}])
    found = answer(CONFIG_MAP, run(), CONFIG_MAP, served)
    assert (found.code, found.stderr) == (0, "")
    assert found.data == listed(CONFIG_MAP, *manifests(run()), CONFIG_MAP, *manifests(served))


def test_a_list_without_runs_is_unchanged() -> None:
    text = (
        'kind: ResourceList # ours\r\napiVersion: config.kubernetes.io/v1\r\nitems:\r\n-   {kind: X, a: no, "b": 012}'
    )
    assert called(text) == (0, text, "")


def test_text_around_a_run_is_unchanged() -> None:
    head = (
        "# head\napiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n  # x\n  - kind: X # y\n    a: on\n"
    )
    written = "".join(f"    {line}\n" for line in yaml.safe_dump(run()).splitlines())
    tail = "  # behind\n  -\n    kind: Y\n    text: |\n      - kind: Run\n\n# end\n"
    found = called(f"{head}  -   # the run\n{written}{tail}")
    assert found.code == 0
    assert found.stdout.startswith(head)
    assert found.stdout.endswith(tail)
    assert found.data["items"][1:-1] == manifests(run())


def test_the_run_that_is_the_function_config_is_generated_once() -> None:
    generated = listed(*manifests(run()), config=run())
    assert answer(config=run()).data == generated
    local = {"annotations": {"config.kubernetes.io/local-config": "true"}}
    assert answer(run(metadata=local), config=run()).data == generated
    assert answer(run("other"), config=run()).data["items"] == [*manifests(run("other")), *manifests(run())]
    found = answer(run(), config=run(image="b"))
    assert (found.code, found.data["items"]) == (1, [run()])
    assert "error[run/duplicate]" in found.stderr


@pytest.mark.parametrize("items", ["", "items:\n", "items: []\n", "items: null # none\n", "items: [ ]"])
@pytest.mark.parametrize("lead", ["", "  "])
def test_generated_items_are_added_to_a_list_without_items(items: str, lead: str) -> None:
    lines = ["apiVersion: config.kubernetes.io/v1", "kind: ResourceList", f"functionConfig: {json.dumps(run())}", items]
    found = called("\n".join(lead + line for line in "\n".join(lines).split("\n")))
    assert found.code == 0
    assert found.data["items"] == manifests(run())


@pytest.mark.parametrize("items", [{}, {"items": []}, {"items": None}, {"items": [CONFIG_MAP]}])
def test_json_is_answered_with_json(items: dict[str, Any]) -> None:
    resources = {**listed(config=run()), "items": None} | items
    found = called(json.dumps({key: value for key, value in resources.items() if key in items or key != "items"}))
    assert found.code == 0
    assert json.loads(found.stdout)["items"] == [*(items.get("items") or ()), *manifests(run())]


@pytest.mark.parametrize(
    "config",
    [
        configured(profiles=["profiles"], platform="platform.yaml"),
        configured(profiles=[PROFILE], platform={"namespace": "ai-jobs"}),
        configured(project="other.yaml"),
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"profiles": "profiles\n", "platform": "platform.yaml"}},
        {"apiVersion": "v1", "kind": "ConfigMap", "data": {"project": "other.yaml"}},
    ],
)
def test_the_function_config_sets_profiles_and_platform(config: Mapping[str, Any]) -> None:
    Path("profiles").mkdir()
    Path("profiles/small.yaml").write_text(yaml.safe_dump(PROFILE))
    Path("platform.yaml").write_text("namespace: ai-jobs\n")
    Path("other.yaml").write_text("profiles: [profiles]\nplatform: platform.yaml\n")
    written = run(profile="small")
    expected = manifests(written, profiles=["profiles"], platform={"namespace": "ai-jobs"})
    assert answer(written, config=config).data["items"] == expected


@pytest.mark.parametrize(
    ("option", "config", "is_fixed"),
    [
        ("--platform", configured(platform="platform.yaml"), True),
        ("--platform", configured(profiles=[PROFILE]), False),
        ("--profiles", configured(platform={"enforce": {"resources": {"gpu": 8}}}), True),
        ("--profiles", configured(profiles=[PROFILE]), True),
        ("--project", configured(profiles=[PROFILE]), True),
        ("--project", configured(project="other.yaml"), True),
    ],
)
def test_the_function_config_cannot_set_what_the_command_line_fixes(
    option: str, config: Mapping[str, Any], is_fixed: bool
) -> None:
    Path("file.yaml").write_text(yaml.safe_dump(PROFILE) if option == "--profiles" else "{}\n")
    found = answer(run(), config=config, arguments=[option, "file.yaml"])
    assert (found.code, "the command line fixes" in found.stderr) == (int(is_fixed), is_fixed)


def test_the_function_config_names_runs_of_any_form() -> None:
    Path("runs").mkdir()
    Path("runs/a.yaml").write_text("name: a\naction: job\nimage: x\n---\nname: b\naction: job\nimage: x\n")
    flat = {"name": "c", "action": "job", "image": "x"}
    names = [one["metadata"]["name"] for one in answer(run(), config=configured(runs=["runs", flat])).data["items"]]
    assert names == ["train", "a", "b", "c"]


def test_a_strict_function_config_turns_overrides_into_errors() -> None:
    written = run(profile="small", resources={"mem": "2Gi"})
    lenient, strict = (answer(written, config=configured(profiles=[PROFILE], strict=on)) for on in (False, True))
    assert (lenient.code, lenient.data["results"][0]["severity"]) == (0, "info")
    assert (strict.code, strict.data["results"][0]["severity"]) == (1, "error")
    assert strict.data["items"] == [written]


def test_annotations_of_tools_never_reach_manifests() -> None:
    tools = {
        "config.kubernetes.io/function": "exec: {path: ./x}",
        "internal.config.kubernetes.io/index": "0",
        "config.k8s.io/id": "1",
        "kustomize.config.k8s.io/id": "x",
        "internal.kpt.dev/upstream-identifier": "x",
    }
    found = answer(run(metadata={"annotations": {**tools, "example.com/own": "yes"}}))
    assert (found.code, found.stderr) == (0, "")
    assert found.data["items"] == manifests(run(metadata={"annotations": {"example.com/own": "yes"}}))


def test_results_have_message_place_and_severity() -> None:
    annotations = {"internal.config.kubernetes.io/path": "team/run.yaml", "internal.config.kubernetes.io/index": "3"}
    metadata = {"namespace": "dev", "annotations": annotations}
    written = run(metadata=metadata, nodeSelector={"a": 1}, resources={"mem": "8GB"})
    found = answer(CONFIG_MAP, written)
    assert found.code == 1
    assert found.data["items"] == [CONFIG_MAP, written]
    common = {
        "severity": "error",
        "resourceRef": {"apiVersion": VERSION, "kind": "Run", "name": "train", "namespace": "dev"},
        "file": {"path": "team/run.yaml", "index": 3},
    }
    quantity = next(one for one in found.data["results"] if one["tags"] == {"code": "schema/quantity"})
    assert quantity == {
        **common,
        "message": "`8GB` does not end in a known suffix; write `8G` (powers of ten) or `8Gi` (powers of two)",
        "field": {"path": "spec.resources.mem"},
        "tags": {"code": "schema/quantity"},
    }
    assert {one["field"]["path"] for one in found.data["results"]} == {"spec.nodeSelector.a", "spec.resources.mem"}
    assert "--> team/run.yaml (Run train):" in found.stderr


def test_results_name_the_right_one_of_two_runs_with_one_name() -> None:
    spaces = ("dev", "prod", "test")
    written = [
        run(metadata={"namespace": space}, project=space, resources={"mem": "8GB" if space == "dev" else "8Gi"})
        for space in spaces
    ]
    (result,) = answer(*written).data["results"]
    assert (result["resourceRef"]["namespace"], result["field"]) == ("dev", {"path": "spec.resources.mem"})


def test_results_about_a_missing_key_name_what_it_is_missing_in() -> None:
    (result,) = answer(run(volumes=[{"mount_path": "/x", "name": "v"}])).data["results"]
    assert (result["tags"], result["field"]) == ({"code": "schema/missing-key"}, {"path": "spec.volumes[0]"})
    (result,) = answer({**run(), "spec": {"image": "a"}}).data["results"]
    assert result["tags"] == {"code": "schema/missing-key"}
    assert "field" not in result


def test_results_of_profiles_name_their_file() -> None:
    Path("small.yaml").write_text("id: small\nresources: {mem: 1Gb}\n")
    found = answer(run(), arguments=["--profiles", "small.yaml"])
    assert found.code == 1
    (result,) = found.data["results"]
    assert (result["file"], result["tags"]) == ({"path": "small.yaml"}, {"code": "schema/quantity"})


def test_results_are_appended() -> None:
    text = yaml.safe_dump({**listed(run(resources={"mem": "8GB"})), "results": [{"message": "before"}]})
    messages = [result["message"] for result in called(text).data["results"]]
    assert messages[0] == "before"
    assert messages[1].startswith("`8GB` ")


def test_all_errors_of_all_runs_are_reported_at_once_and_no_run_is_replaced() -> None:
    items = [run("a"), run("b", imge="x"), run("c", resources={"cpu": "x"}), run("a")]
    found = answer(*items)
    assert (found.code, found.data["items"]) == (1, items)
    codes = sorted(result["tags"]["code"] for result in found.data["results"])
    assert codes == ["run/duplicate", "schema/quantity", "schema/unknown-key"]


def test_a_run_with_an_ignored_error_still_fails() -> None:
    found = answer(run(resources={"mem": "8GB"}), arguments=["--ignore", "schema/quantity"])
    assert (found.code, found.data["results"][0]["severity"]) == (1, "error")


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "yaml/empty"),
        ("a: [", "yaml/syntax"),
        ("- a", "schema/wrong-type"),
        ("kind: ResourceList", "schema/missing-key"),
        ("apiVersion: v1\nkind: List\nitems: []", "schema/wrong-value"),
        ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: {}", "schema/wrong-type"),
        ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: [1]", "schema/wrong-type"),
        ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nx: &x []\nitems: *x", "schema/wrong-type"),
        ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems: []\nitems: []", "yaml/duplicate-key"),
        ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\n---\na: 1", "yaml/syntax"),
        ("apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nfunctionConfig: x", "schema/wrong-type"),
        (f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nx: {'[' * 99_999}", "yaml/too-deep"),
        (b"\xff", "input/encoding"),
        (b"# " + b"x" * 17_000_000, "input/too-large"),
    ],
)
def test_anything_but_a_resource_list_is_refused(text: str | bytes, code: str) -> None:
    found = called(text)
    assert (found.code, found.stdout) == (1, "")
    assert f"error[{code}]" in found.stderr


def test_a_stream_that_is_too_large_is_refused() -> None:
    found = called(b"# " + b"x" * 17_000_000)
    assert "standard input is larger than" in found.stderr
    assert "file" not in found.stderr


def test_a_number_is_not_a_string() -> None:
    assert "found the number `5`" in called(f"{HEAD}functionConfig: 5\n").stderr
    assert "found the string `5`" in called(f"{HEAD}functionConfig: '5'\n").stderr


@pytest.mark.parametrize(
    ("config", "code"),
    [
        ({"apiVersion": "example.com/v1", "kind": "Other"}, "schema/wrong-value"),
        ({"apiVersion": VERSION, "kind": "Compile", "spec": {"profile": []}}, "schema/unknown-key"),
        ({"apiVersion": VERSION, "kind": "Compile", "spec": {"runs": [[]]}}, "schema/wrong-type"),
        ({"apiVersion": VERSION, "kind": "Compile", "spec": {"profiles": ["nowhere"]}}, "input/missing-file"),
        ({"apiVersion": VERSION, "kind": "Compile", "spec": {"platform": {"namspace": "x"}}}, "schema/unknown-key"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "data": {"profles": "x"}}, "schema/unknown-key"),
        ({"apiVersion": "v1", "kind": "ConfigMap", "data": []}, "schema/wrong-type"),
        ({"apiVersion": VERSION, "kind": "Rnu", "metadata": {"name": "x"}, "spec": {}}, "schema/wrong-value"),
    ],
)
def test_a_faulty_function_config_is_reported_and_the_items_are_unchanged(config: Mapping[str, Any], code: str) -> None:
    found = answer(run(), config=config)
    assert (found.code, found.data["items"]) == (1, [run()])
    assert f"error[{code}]" in found.stderr
    assert code in [result["tags"]["code"] for result in found.data["results"]]


@pytest.mark.parametrize("config", ["{a: *b}", "*b", "{a: !x 1}", "{a: {b: 1, b: 2}}"])
def test_an_unreadable_function_config_is_reported_and_the_items_are_unchanged(config: str) -> None:
    found = called(f"{HEAD}items:\n{item(run())}functionConfig: {config}\n")
    assert found.code == 1
    assert found.stdout.startswith(f"{HEAD}items:\n{item(run())}")
    assert "\nresults:\n- message: " in found.stdout


def test_an_unknown_kind_is_reported_with_the_nearest_one() -> None:
    for wrong, right in (("Compil", "Compile"), ("Rnu", "Run"), ("Thing", "Run")):
        found = answer(config={"apiVersion": VERSION, "kind": wrong, "metadata": {"name": "x"}, "spec": {}})
        assert f"expected `{right}`, found the string `{wrong}`" in found.stderr


@pytest.mark.parametrize("beside", [{"bogus": 1}, {"platform": {"bogus": 1}}, {"profiles": [{"bogus": 1}]}, {}])
def test_secrets_of_inline_runs_are_never_shown(beside: dict[str, Any]) -> None:
    inline = {"name": "a", "action": "job", "image": "x", "secrets": {"A": "hunter2hunter2"}}
    found = called(json.dumps(listed(config=configured(runs=[inline], **beside))))
    assert found.code == 1
    assert "hunter2" not in found.stderr
    assert "hunter2" not in str(found.data["results"])


# Ways of writing lists that Kustomize does not have, and other tools do.


@pytest.mark.parametrize("head", ["items: &all", "items: !!seq", "items: !!seq &all # why", "&key items:", '"items":'])
@pytest.mark.parametrize("lead", ["", "    "])
def test_anchors_and_tags_damage_no_resource(head: str, lead: str) -> None:
    other = f"{lead}- kind: X\n"
    found = called(f"{HEAD}{head}\n{other}{item(run(), lead)}{other}")
    assert found.code == 0, found.stderr
    assert found.stdout.startswith(f"{HEAD}{head}\n{other}{lead}- apiVersion: batch/v1\n")
    assert found.stdout.endswith(f"\n{other}")
    assert len(found.data["items"]) == 3
    added = called(f"{HEAD}functionConfig: {json.dumps(run())}\n{head}\n{other}")
    assert added.data["items"] == [{"kind": "X"}, *manifests(run())]


@pytest.mark.parametrize(
    "text",
    [
        "items:\n- &r\n{run}- kind: X\n  copy: *r\n",
        "items:\n- &r {{{flow}}}\n- kind: X\n  copy: [*r]\n",
        "items: [&r {{{flow}}}, {{kind: X, copy: *r}}]\n",
        "items: [&r {{{flow}}}, *r]\n",
        "items: [{{{other}}}, &r {{{flow}}}, {{{third}}}, {{kind: X, copy: *r}}]\n",
        "items: [&r {{{flow}}}, {{{other}}}, {{kind: X, copy: *r}}]\n",
        "items: &a\n- {{{flow}}}\nx: *a\n",
        "items: &a []\nfunctionConfig: {{{flow}}}\nx: *a\n",
        "functionConfig: {{{flow}}}\nitems: &a\n- kind: X\nx: {{y: *a}}\n",
        "? items\n: - {{{flow}}}\n",
        "? items\n: []\nfunctionConfig: {{{flow}}}\n",
        "? x\n: y\nitems:\n- {{{flow}}}\n",
        "functionConfig: {{{flow}}}\n? |\n  x\n: y\n",
    ],
)
def test_a_list_that_cannot_be_edited_safely_is_refused_and_unchanged(text: str) -> None:
    block = "".join(f"  {line}\n" for line in yaml.safe_dump(run()).splitlines())
    flow, other, third = (json.dumps(run(name))[1:-1] for name in ("train", "other", "third"))
    given = HEAD + text.format(run=block, flow=flow, other=other, third=third)
    found = called(given)
    assert found.code == 1
    assert found.stdout.startswith(given)
    assert {**found.data, "results": None} == {**yaml.safe_load(given), "results": None}
    assert re.search(r"error\[yaml/(unknown-alias|uneditable)\].*\n  --> <stdin>:\d+:\d+\n", found.stderr)
    assert "write " in found.stderr


def test_a_wrong_edit_is_never_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    for broken in ("- kind: A\n- kind: B\n", "# nothing\n", "- [\n", "", "- kind: A\n---\n"):
        monkeypatch.setattr("speccompile.yaml_text.edit_in_place._block", lambda *_, broken=broken: broken)
        given = f"{HEAD}items:\n{item(run())}- kind: X\n"
        found = called(given)
        assert (found.code, found.stdout) == (1, given)
        assert "error[yaml/uneditable]: this ResourceList cannot be edited safely" in found.stderr


def test_an_item_that_is_an_alias_of_something_unseen_is_refused() -> None:
    for text in (f"functionConfig: &r {json.dumps(run())}\nitems:\n- *r\n", "items: [*nothing]\n"):
        found = called(HEAD + text)
        assert (found.code, found.stdout) == (1, "")
        assert "expected a resource, found an alias" in found.stderr
    twice = f"{HEAD}items:\n- &x {{kind: X}}\n- *x\n"
    assert called(f"{twice}{item(run())}").stdout.startswith(twice)


def test_a_run_inside_a_list_is_refused() -> None:
    for inner in (run(), {"apiVersion": "v1", "kind": "List", "items": [run()]}):
        found = answer({"apiVersion": "v1", "kind": "List", "items": [CONFIG_MAP, inner]})
        assert found.code == 1
        assert "error[run/unknown-form]: a run in a `List` is not compiled" in found.stderr
    harmless = {"apiVersion": "v1", "kind": "List", "items": [{**CONFIG_MAP, "x": [run()]}]}
    assert answer(harmless).data["items"] == [harmless]


@pytest.mark.parametrize("items", ["", "items: [],", "items: [{kind: X},],", "items: [{kind: X,},{kind: Y}, ] ,"])
def test_trailing_commas_do_not_double(items: str) -> None:
    head = "apiVersion: config.kubernetes.io/v1, kind: ResourceList"
    for written in (run(), run(profile="small")):
        text = f"{{{head}, {items} functionConfig: {json.dumps(written)},}}"
        found = called(text, "--notice", "profile/unknown")
        others = yaml.safe_load(text).get("items") or []
        assert found.data.get("items", []) == [*others, *(() if found.code else manifests(written))]
        assert bool(found.code) == ("results" in found.data)


def test_text_that_contains_a_run_is_not_a_run() -> None:
    inner = "".join(f"      {line}\n" for line in yaml.safe_dump(run()).splitlines())
    text = f"{HEAD}x: &x 1\nitems:\n- kind: ConfigMap\n  number: *x\n  data:\n    text: |\n{inner}"
    assert called(text) == (0, text, "")
    flow = f"{HEAD}x: &x 1\nitems:\n- {{kind: X, number: *x, y: {json.dumps(run())}}}\n"
    assert called(flow) == (0, flow, "")
    for broken in (f"- {json.dumps(run())[:-1]}, y: *x}}\n", f"{item(run())}  y: *x\n"):
        assert "error[yaml/unknown-alias]" in called(f"{HEAD}x: &x 1\nitems:\n{broken}").stderr


def test_alias_bombs_of_other_resources_pass() -> None:
    doubled = "".join(f"  b{level}: &a{level + 1} [*a{level}, *a{level}]\n" for level in range(99))
    text = f"apiVersion: config.kubernetes.io/v1\nkind: ResourceList\nitems:\n- kind: X\n  a: &a0 []\n{doubled}"
    found = called(f"{text}- {json.dumps(run())}\n")
    assert (found.code, found.stdout[: len(text)]) == (0, text)


_TEXTS = st.text(st.characters(exclude_categories=["C", "Z"], exclude_characters="\x85\u2028\u2029\ufeff"), max_size=8)
_LINES = st.lists(_TEXTS, max_size=3).map("\n".join)
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | _LINES | st.sampled_from(["no", "- kind: Run", "# x", "---", "|"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXTS, inner, max_size=2),
    max_leaves=5,
)
_FOREIGN = st.fixed_dictionaries(
    {"kind": _TEXTS, "metadata": st.dictionaries(_TEXTS, _VALUES, max_size=2), "x": _VALUES}
)
_MINE = st.integers(0, 999).map(lambda number: run(f"run-{number}", args=[f"{number}"]))
_ITEMS = st.lists(_FOREIGN | _MINE, max_size=5, unique_by=lambda item: str(item["metadata"]))
_WRITERS = st.sampled_from(
    [
        json.dumps,
        lambda data: json.dumps(data, indent=2),
        lambda data: yaml.safe_dump(data, sort_keys=False),
        lambda data: yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=20),
        lambda data: yaml.safe_dump(data, default_flow_style=True, width=30),
        lambda data: yaml.safe_dump(data, default_style='"', explicit_start=True, explicit_end=True),
        lambda data: yaml.safe_dump(data, sort_keys=False).replace("\n", "\r\n"),
    ]
)


@given(items=_ITEMS, write=_WRITERS, config=st.none() | st.just(run("own")))
def test_whatever_is_in_the_list_only_runs_change(items: list[dict[str, Any]], write: Any, config: Any) -> None:
    text = write(listed(*items, config=config))
    found = called(text)
    assert found.code == 0, found.stderr
    before = yaml.safe_load(text)["items"]
    after = [new for one in before for new in (manifests(one) if one.get("apiVersion") == VERSION else [one])]
    assert found.data["items"] == [*after, *(manifests(config) if config else ())]
    assert config is not None or any(one.get("apiVersion") == VERSION for one in items) or found.stdout == text


class Written(NamedTuple):
    """A ResourceList in some style, and what an answer may do."""

    text: str
    is_safe: bool
    """Whether no alias refers to something that changes."""


@st.composite
def _styles(draw: st.DrawFn) -> Written:
    """Anchors, tags and aliases, blocks and brackets, commas behind the last thing, comments."""
    items = draw(_ITEMS)
    texts: list[str] = []
    anchors: dict[str, bool] = {}
    for index, one in enumerate(items):
        is_run = one.get("apiVersion") == VERSION
        mark = draw(st.sampled_from(["", f"&a{index}", *(() if is_run else ("!!map", f"!!map &a{index}"))]))
        anchors.update({name: is_run for name in mark.split() if name.startswith("&")})
        text = json.dumps(one, ensure_ascii=False)
        flow = draw(st.sampled_from([f"{mark} {text}", f"{mark} {text[:-1]},}}"])).strip()
        texts.append(f"{mark} {item(one)[2:]}" if draw(st.booleans()) and not mark else f"{flow}\n")
    copies = draw(st.lists(st.sampled_from(sorted(anchors)), max_size=2)) if anchors else []
    texts += [f"{{kind: Copy, metadata: {{}}, x: [*{name[1:]}]}}\n" for name in copies]
    mark, lead = draw(st.sampled_from(["", "&all", "!!seq", "!!seq &all", "# why"])), draw(st.sampled_from(["", "   "]))
    rows = [f"{lead}- {text.strip()}".replace("\n", f"\n{lead}") for text in texts]
    written = f"items: {mark}\n" + "".join(f"{row}\n" for row in rows)
    if not rows or (mark != "# why" and all("\n" not in text.strip() for text in texts) and draw(st.booleans())):
        comma = draw(st.sampled_from(["", ",", " , # the last\n"])) if texts else ""
        written = f"items: {'' if mark == '# why' else mark} [{', '.join(text.strip() for text in texts)}{comma}]\n"
    config = draw(st.sampled_from(["", f"functionConfig: {json.dumps(run('own'))}\n"]))
    alias = "x: *all\n" if "&all" in mark and draw(st.booleans()) else ""
    changes = bool(config) or any(one.get("apiVersion") == VERSION for one in items)
    text = HEAD + draw(st.sampled_from([config + written + alias, written + alias + config, written + config + alias]))
    return Written(text, is_safe=not any(anchors[name] for name in copies) and not (alias and changes))


@given(written=_styles())
def test_however_the_list_is_written_only_runs_change(written: Written) -> None:
    before, found = yaml.safe_load(written.text), called(written.text)
    assert found.code == (not written.is_safe), found.stderr
    items = found.data["items"] or []
    if not written.is_safe:
        assert items == (before["items"] or [])
        return
    after = [
        new for one in before["items"] or () for new in (manifests(one) if one.get("apiVersion") == VERSION else [one])
    ]
    assert items == [*after, *(manifests(run("own")) if "functionConfig" in before else ())]
    assert {key: found.data[key] for key in before if key != "items"} == {
        key: before[key] for key in before if key != "items"
    }


@given(start=st.integers(0, 400), length=st.integers(0, 9), new=st.text(max_size=3), write=_WRITERS)
def test_no_text_raises(start: int, length: int, new: str, write: Any) -> None:
    text = write(listed(CONFIG_MAP, run(), config=configured(profiles=[PROFILE])))
    found = called((text[:start] + new + text[start + length :]).encode("utf-8", "surrogatepass"))
    assert found.code in (0, 1)
    assert "Traceback" not in found.stderr
