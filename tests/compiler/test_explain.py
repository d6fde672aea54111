"""Explanations: the origin of every line, the values it overrides, and their text output."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.cases import compiled as compiled_of
from helpers.paths import ROOT
from hypothesis import given, reject
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML

from speccompile import Compiled, CompileError, Layer, compile_run
from speccompile.cli.findings import paint_for
from speccompile.compiler.explain import STRONGER, Explanation, Line, explain, unseen_overrides
from speccompile.model.key_path import format_path
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node, Part
from speccompile.model.origin import origin_of
from speccompile.model.source import BUILT_IN
from speccompile.report.explain_html import as_page
from speccompile.report.explain_json import as_explained_json
from speccompile.report.explain_text import MAX_COLUMNS, as_answer, as_listing, brief
from speccompile.terminal.style import coloured
from speccompile.testing.strategies.documents import Case, cases
from speccompile.yaml_text.serialize import serialize

RUN: dict[str, Any] = {"name": "train", "action": "job", "image": "python:3.12", "profile": "p"}
HOSTILE = st.text(max_size=30) | st.sampled_from(
    [
        "# no comment",
        "a: b",
        "- a",
        "a\n# b\n\nc\n",
        "\n",
        " lead",
        "{{ x }}",
        "--- ",
        "\u202eabc",
        "漢字\n漢",
        "'\"",
        "x" * 200,
    ]
)


def line_at(compiled: Compiled, path: str) -> Line:
    (part,) = compiled.explain(path)
    return part.lines[0]


def trees(leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(HOSTILE, inner, max_size=3), max_leaves=12
    )


def manifest_of(data: dict[str, Any]) -> Manifest:
    def node(value: Any) -> Node:
        if isinstance(value, dict):
            return Node({key: node(child) for key, child in value.items()}, BUILT_IN)
        if isinstance(value, list):
            return Node(tuple(map(node, value)), BUILT_IN)
        return Node(value, BUILT_IN)

    return Manifest(node(data))


# Lines.


@given(cases())
def test_the_lines_are_what_the_compiler_writes(case: Case) -> None:
    compiled = compiled_of(case)
    for explanation in compiled.explain():
        assert "\n".join(line.text for line in explanation.lines) + "\n" == serialize([explanation.manifest.data])


@given(st.dictionaries(HOSTILE, trees(HOSTILE | st.booleans() | st.integers()), min_size=1, max_size=4))
def test_the_lines_of_any_manifest_show_its_values(data: dict[str, Any]) -> None:
    """With nested lists, multi-line strings and keys of any kind."""
    try:
        text = serialize([data])
    except ValueError:
        reject()
    explanation = explain(manifest_of(data))
    assert "\n".join(line.text for line in explanation.lines) + "\n" == text
    for line in explanation.lines:
        value: Any = data
        for step in line.path:
            value = value[step]
        assert line.value.plain() == value


@given(cases())
def test_every_leaf_has_a_line_with_its_origin(case: Case) -> None:
    compiled = compiled_of(case)
    for explanation in compiled.explain():
        leaves = {path: node for path, node in explanation.manifest.tree.walk() if node.is_scalar or not node.value}
        lines = {line.path: line.origin for line in explanation.lines if line.origin}
        assert lines == {path: origin_of(node) for path, node in leaves.items()}


@given(cases())
def test_overridden_values_are_at_the_overriding_line(case: Case) -> None:
    """Except if the overriding value, such as an empty list, has no line in the manifests."""
    compiled = compiled_of(case)
    for override in unseen_overrides(compiled.replaced, compiled.manifests):
        assert override.overriding.value in ((), {}) or override.path[0] in ("secrets", "volumes")


@given(cases())
def test_every_override_has_a_specific_rule(case: Case) -> None:
    compiled = compiled_of(case)
    rules = {
        overridden.rule
        for explanation in compiled.explain()
        for line in explanation.lines
        for overridden in line.overridden
    }
    assert STRONGER not in rules


# Overridden values and rules


def test_an_overridden_value_is_at_its_path() -> None:
    compiled = compile_run(
        {**RUN, "node_selector": {"gpu": "v100"}}, profiles=[{"id": "p", "node_selector": {"gpu": "a100"}}]
    )
    line = line_at(compiled, "nodeSelector.gpu")
    assert line.origin
    assert (line.value.value, line.origin.layer) == ("a100", Layer.PROFILE)
    (overridden,) = line.overridden
    assert (overridden.value.value, overridden.origin.layer) == ("v100", Layer.RUN)
    assert overridden.rule == "a profile overrides the run and the defaults"


def test_overridden_values_are_ordered_by_precedence() -> None:
    compiled = compile_run(
        {**RUN, "priority_class": "run", "profile": "child"},
        profiles=[
            {"id": "child", "extends": "parent", "priority_class": "child"},
            {"id": "parent", "priority_class": "parent", "defaults": {"priority_class": "parent-default"}},
        ],
        platform={"defaults": {"priority_class": "default"}, "enforce": {"priority_class": "enforced"}},
    )
    line = line_at(compiled, "priorityClassName")
    assert line.origin
    assert (line.value.value, line.origin.who) == ("enforced", "platform")
    assert [(overridden.value.value, overridden.origin.who) for overridden in line.overridden] == [
        ("child", "profile"),
        ("parent", "profile"),
        ("run", "run"),
        ("parent-default", "profile default"),
        ("default", "platform default"),
    ]


def test_a_run_overrides_a_default() -> None:
    profile = {"id": "p", "defaults": {"priority_class": "high"}}
    line = line_at(compile_run({**RUN, "priority_class": "low"}, profiles=[profile]), "priorityClassName")
    assert [(overridden.value.value, overridden.rule) for overridden in line.overridden] == [
        ("high", "a run overrides the defaults")
    ]


def test_a_run_overrides_a_default_list_as_a_whole() -> None:
    profile = {"id": "p", "defaults": {"tolerations": [{"key": "y", "operator": "Exists"}]}}
    run = {**RUN, "tolerations": [{"key": "x", "operator": "Exists"}]}
    line = line_at(compile_run(run, profiles=[profile]), "tolerations")
    assert line.origin is None
    assert [(overridden.value.plain(), overridden.origin.who) for overridden in line.overridden] == [
        ([{"key": "y", "operator": "Exists"}], "profile default")
    ]


def test_an_equal_final_value_is_not_overridden() -> None:
    """The profile overrides the run, and the platform sets the value of the run again."""
    compiled = compile_run(
        {**RUN, "priority_class": "low"},
        profiles=[{"id": "p", "priority_class": "high"}],
        platform={"enforce": {"priority_class": "low"}},
    )
    line = line_at(compiled, "priorityClassName")
    assert [overridden.value.value for overridden in line.overridden] == ["high"]
    assert compiled.overrides == ()


def test_base_documents_override_the_template_and_runs_override_them() -> None:
    base = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "spec": {"backoffLimit": 3, "template": {"spec": {"priorityClassName": "base"}}},
    }
    compiled = compile_run({**RUN, "priority_class": "mine"}, profiles=[[{"id": "p"}, base]])
    limit, priority = line_at(compiled, "backoffLimit"), line_at(compiled, "priorityClassName")
    assert limit.origin
    assert limit.origin.part is Part.BASE
    assert [one.rule for one in limit.overridden] == ["a base document overrides the template"]
    assert [(overridden.origin.part, overridden.rule) for overridden in priority.overridden] == [
        (Part.BASE, "a base document applies unless another layer sets the value")
    ]


def test_an_overridden_item_is_at_the_differing_value() -> None:
    compiled = compile_run(
        {**RUN, "envs": {"HOME": "/a", "MODE": "x"}}, profiles=[{"id": "p", "envs": {"HOME": "/b", "MODE": "x"}}]
    )
    (explanation,) = compiled.explain()
    (line,) = explanation.overridden
    assert (format_path(line.path), line.value.value) == ("spec.template.spec.containers[0].env[0].value", "/b")
    assert [overridden.value.value for overridden in line.overridden] == ["/a"]


def volume(size: str, **more: Any) -> dict[str, Any]:
    kind = {"volume_type": "persistent_volume_claim", "mount_path": "/data", "spec": {"size": size}}
    return {"name": "data", **kind, **more}


def test_an_overridden_volume_is_at_each_differing_value() -> None:
    compiled = compile_run(
        {**RUN, "volumes": [volume("5Gi")]}, profiles=[{"id": "p", "volumes": [volume("9Gi", mount_path="/d")]}]
    )
    storage, mount = line_at(compiled, "storage"), line_at(compiled, "mountPath")
    assert [overridden.value.value for overridden in storage.overridden] == ["5Gi"]
    assert [overridden.value.value for overridden in mount.overridden] == ["/data"]
    assert unseen_overrides(compiled.replaced, compiled.manifests) == ()


def test_values_of_a_volume_without_a_line_are_at_its_name() -> None:
    other = {"name": "data", "volume_type": "empty_dir", "mount_path": "/other"}
    cases = ((other, {"volume_type": "empty_dir", "spec": {}}), (volume("5Gi", read_only=True), {"read_only": True}))
    for overridden, rest in cases:
        compiled = compile_run({**RUN, "volumes": [overridden]}, profiles=[{"id": "p", "volumes": [volume("9Gi")]}])
        assert [one.value.plain() for one in line_at(compiled, "volumeMounts[0].name").overridden] == [rest]
        assert unseen_overrides(compiled.replaced, compiled.manifests) == ()
    assert [one.value.value for one in line_at(compiled, "storage").overridden] == ["5Gi"]


def test_a_preset_is_below_the_platform_file(tmp_path: Path) -> None:
    platform = tmp_path / "platform.yaml"
    platform.write_text("preset: digitalhub\nservice_type: LoadBalancer\n")
    run = {**RUN, "profile": None, "action": "serve", "service_ports": [{"port": 80}], "service_type": "ClusterIP"}
    line = line_at(compile_run(run, platform=platform), "spec.type")
    assert [overridden.value.value for overridden in line.overridden] == ["LoadBalancer", "NodePort"]


def test_an_equal_base_document_hides_no_override() -> None:
    bases = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": {"spec": {"priorityClassName": name}}}}
        for name in ("same", "other")
    ]
    profiles: list[list[dict[str, Any]]] = [[{"id": "p", "extends": "q"}, bases[0]], [{"id": "q"}, bases[1]]]
    compiled = compile_run({**RUN, "action": "deploy", "priority_class": "same"}, profiles=profiles)
    assert [overridden.value.value for overridden in line_at(compiled, "priorityClassName").overridden] == ["other"]


def test_a_setting_has_the_lowest_precedence(tmp_path: Path) -> None:
    platform = tmp_path / "platform.yaml"
    platform.write_text("pvc: {size: 1Gi}\n")
    profile = {"id": "p", "volumes": [volume("9Gi")]}
    compiled = compile_run({**RUN, "volumes": [volume("5Gi")]}, profiles=[profile], platform=platform)
    assert [overridden.value.value for overridden in line_at(compiled, "storage").overridden] == ["5Gi", "1Gi"]


def test_overridden_parameters_are_at_their_annotation() -> None:
    compiled = compile_run({**RUN, "parameters": {"a": 1}}, profiles=[{"id": "p", "parameters": {"a": 2}}])
    line = line_at(compiled, 'metadata.annotations["speccompile.dev/parameters"]')
    assert [overridden.value.plain() for overridden in line.overridden] == [{"a": 1}]


@pytest.mark.parametrize(
    ("setting", "fields", "path"),
    [
        ("service_type: NodePort", {"service_type": "LoadBalancer"}, "spec.type"),
        ("pvc: {size: 7Gi}", {"volumes": [volume("5Gi")]}, "storage"),
    ],
)
def test_an_overridden_setting_is_shown(setting: str, fields: dict[str, Any], path: str, tmp_path: Path) -> None:
    platform = tmp_path / "platform.yaml"
    platform.write_text(f"{setting}\n")
    run = {**RUN, "profile": None, "action": "serve", "service_ports": [{"port": 80}], **fields}
    line = line_at(compile_run(run, platform=platform), path)
    assert [(overridden.origin.who, overridden.rule) for overridden in line.overridden] == [
        ("platform setting", "a platform setting applies unless another layer sets the value")
    ]
    assert line_at(compile_run(run), path).overridden == (), "nobody wrote what the built-in platform has"


def test_the_platform_file_overrides_its_preset(tmp_path: Path) -> None:
    platform = tmp_path / "platform.yaml"
    platform.write_text("preset: digitalhub\nservice_type: ClusterIP\n")
    run = {**RUN, "profile": None, "action": "serve", "service_ports": [{"port": 80}]}
    line = line_at(compile_run(run, platform=platform), "spec.type")
    assert [
        (overridden.value.value, overridden.origin.span.source.name, overridden.rule) for overridden in line.overridden
    ] == [("NodePort", "presets/digitalhub.yaml", "the platform file overrides its preset")]


def test_platform_values_for_every_run_override_enforced_ones() -> None:
    platform = {"own_envs": {"RUN": "{name}"}, "enforce": {"envs": {"RUN": "x"}}}
    line = line_at(compile_run({**RUN, "profile": None}, platform=platform), "env[0].value")
    assert [overridden.rule for overridden in line.overridden] == [
        "values the platform sets for every run override all others"
    ]


def test_a_run_overrides_a_default_list_that_the_platform_extends() -> None:
    toleration = [{"key": "x", "operator": "Exists"}]
    profile = {"id": "p", "defaults": {"tolerations": [{"key": "d", "operator": "Exists"}]}}
    platform = {"enforce": {"tolerations": [{"key": "e", "operator": "Exists"}]}}
    line = line_at(
        compile_run({**RUN, "tolerations": toleration}, profiles=[profile], platform=platform), "tolerations"
    )
    assert [overridden.rule for overridden in line.overridden] == ["a run overrides the defaults"]


def test_an_overridden_default_without_a_line_is_listed() -> None:
    profile = {"id": "p", "defaults": {"secrets": ["D"]}}
    compiled = compile_run({**RUN, "secrets": ["S"]}, profiles=[profile])
    (override,) = unseen_overrides(compiled.replaced, compiled.manifests)
    assert override.overridden.plain() == ["D"]
    assert '# ✗ secrets: ["D"]  # profile default  <profile>' in as_listing(compiled)


def test_the_template_sets_the_kind() -> None:
    base = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"backoffLimit": 3}}
    for more in ({}, {"schedule": "0 3 * * *"}):
        compiled = compile_run({**RUN, **more}, profiles=[[{"id": "p"}, base]])
        kind = line_at(compiled, "kind")
        assert kind.origin
        assert (kind.origin.layer, kind.origin.derived, kind.overridden) == (Layer.TEMPLATE, None, ())


def test_an_overridden_derived_value_shows_its_derivation() -> None:
    limits = {"name": "main", "resources": {"limits": {"memory": "7Gi"}}}
    base = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"containers": [limits]}}}}
    compiled = compile_run(
        {**RUN, "resources": {"mem": "3Gi"}}, profiles=[[{"id": "p"}, base]], platform={"memory_limit_factor": 2}
    )
    (overridden,) = line_at(compiled, "limits.memory").overridden
    assert (overridden.value.value, overridden.origin.derived) == ("6Gi", "the memory request × 2")
    assert "#   = the memory request × 2, with <platform>\n" in as_listing(compiled)
    assert "the memory request × 2" in as_page([compiled])


# Derived values


def test_a_derived_value_names_its_inputs(tmp_path: Path) -> None:
    run, platform = tmp_path / "run.yaml", tmp_path / "platform.yaml"
    run.write_text("name: train\naction: job\nimage: python:3.12\nresources:\n  mem: 4Gi\n")
    platform.write_text("namespace: x\nmemory_limit_factor: 1.5\n")
    line = line_at(compile_run(run, platform=platform), "limits.memory")
    assert line.origin
    assert (line.value.value, line.origin.derived) == ("6Gi", "the memory request × 1.5")
    assert [(inner.layer, inner.span.line) for inner in line.origin.derived_from] == [("platform", 2)]
    assert line.origin.span.line == 5


def test_a_hashed_name_names_its_inputs(tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        "name: Train_1\naction: job\nimage: python:3.12\nvolumes:\n"
        "- {name: data, volume_type: persistent_volume_claim, mount_path: /data}\n"
    )
    compiled = compile_run(run)
    claim = line_at(compiled, "claimName")
    assert claim.origin
    assert claim.origin.derived == "made by the pattern `{name}-{volume}` and hashed"
    assert [(inner.layer, inner.span.line) for inner in claim.origin.derived_from] == [("run", 1), ("platform", 0)]
    assert compiled.manifests[0].name == claim.value.value


# One path


def test_the_end_of_a_path_is_enough() -> None:
    compiled = compile_run({**RUN, "profile": None, "action": "serve", "service_ports": [{"port": 80}]})
    assert [(part.manifest.kind, format_path(part.path)) for part in compiled.explain("ports[0]")] == [
        ("Deployment", "spec.template.spec.containers[0].ports[0]"),
        ("Service", "spec.ports[0]"),
    ]
    assert [format_path(part.path) for part in compiled.explain("metadata.name")] == ["metadata.name", "metadata.name"]
    assert len(compiled.explain(("spec", "type"))) == 1
    with pytest.raises(KeyError, match="no manifest"):
        compiled.explain("spec.nonsense")
    with pytest.raises(ValueError, match="not a path"):
        compiled.explain("a b")


# Text output


def both_readers(text: str) -> Iterator[list[Any]]:
    yield list(yaml.safe_load_all(text))
    yield list(YAML(typ="safe", pure=True).load_all(text))


@given(cases())
def test_a_listing_is_yaml_with_the_same_data(case: Case) -> None:
    compiled = compiled_of(case)
    for read in both_readers(as_listing(compiled)):
        assert read == [manifest.data for manifest in compiled.manifests]


@given(HOSTILE, HOSTILE, HOSTILE)
def test_no_value_can_break_out_of_its_line(value: str, fixed: str, key: str) -> None:
    try:
        compiled = compile_run(
            {**RUN, "envs": {"A": value, "B": fixed}, "args": [value], "annotations": {"a": value}},
            profiles=[{"id": "p", "envs": {"A": fixed}, "args": [fixed, key], "annotations": {"a": fixed}}],
        )
    except CompileError:
        reject()
    text = as_listing(compiled)
    assert not {*text} & {*"\r\t\x1b\x07\u202e\u2028\x85"}
    for read in both_readers(text):
        assert read == [manifest.data for manifest in compiled.manifests]


@given(cases())
def test_a_listing_keeps_to_its_width(case: Case) -> None:
    """Only a single long value or file name exceeds it."""
    compiled = compiled_of(case)
    longest = {line for explanation in compiled.explain() for one in explanation.lines for line in one.text.split("\n")}
    for line in as_listing(compiled).splitlines()[1:]:
        assert len(line) <= MAX_COLUMNS or line in longest or line.partition("  # ")[0].rstrip() in longest


def test_origins_are_aligned() -> None:
    compiled = compile_run({**RUN, "profile": None, "args": ["x" * 70], "priority_class": "high"})
    marked = [line for line in as_listing(compiled).splitlines() if "  # " in line]
    assert len({line.index("  # ") for line in marked}) == 1


def test_a_terminal_gets_colours_and_struck_values() -> None:
    compiled = compile_run({**RUN, "priority_class": "low"}, profiles=[{"id": "p", "priority_class": "high"}])
    text = as_listing(compiled, coloured)
    assert "\x1b[9mpriorityClassName: low\x1b[0m" in text
    assert "\x1b" not in as_listing(compiled)


def test_an_overridden_secret_is_not_shown(tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        "name: t\naction: job\nimage: a\nprofile: p\nenvs:\n  CLIENT_SECRET: hunter2\nargs: [{secret}]\n".replace(
            "{secret}", "x"
        )
    )
    compiled = compile_run(run, profiles=[{"id": "p", "envs": {"CLIENT_SECRET": "none"}}])
    answers = [as_answer(compiled, compiled.explain("value")), as_explained_json([(compiled, compiled.explain())])]
    for text in (as_listing(compiled), *answers, compiled._repr_html_()):
        assert "hunter2" not in text
        assert "CLIENT_SECRET" in text or "not shown" in text


def test_an_overridden_secret_in_a_multi_line_string_is_not_shown(tmp_path: Path) -> None:
    run = tmp_path / "run.yaml"
    run.write_text(
        "name: t\naction: job\nimage: a\nprofile: p\nenvs:\n  CONFIG: |\n    user: me\n    secret: hunter2\n"
    )
    compiled = compile_run(run, profiles=[{"id": "p", "envs": {"CONFIG": "none"}}])
    for text in (as_listing(compiled), as_explained_json([(compiled, compiled.explain())]), as_page([compiled])):
        assert "hunter2" not in text
        assert "user: me" not in as_listing(compiled)


def test_a_single_value_is_shown_with_its_source_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text("name: train\naction: job\nimage: a\nprofile: p\nresources:\n  gpu: 2\n")
    Path("p.yaml").write_text("id: p\nresources:\n  gpu: 1\n")
    compiled = compile_run(Path("run.yaml"), profiles=["p.yaml"])
    text = as_answer(compiled, compiled.explain('limits["nvidia.com/gpu"]'))
    assert "set by profile\n  --> p.yaml:3:8\n    |\n  3 |   gpu: 1\n    |        ^\n" in text
    assert "overridden: run (a profile overrides the run and the defaults)" in text
    assert "  --> run.yaml:6:8\n    |\n  6 |   gpu: 2\n    |        ^\n" in text


@pytest.mark.parametrize(
    ("value", "key", "expected"),
    [
        ("a", "b", "b: a"),
        ("2", None, '"2"'),
        ("x\ny", "k", 'k: "x\\ny"'),
        ([1, {"a": "b"}], "k", 'k: [1, {"a": "b"}]'),
        ("x" * 100, None, "x" * 60 + "…"),
        (True, "nvidia.com/gpu", "nvidia.com/gpu: true"),
    ],
)
def test_brief_is_one_short_line(value: Any, key: str | None, expected: str) -> None:
    assert brief(manifest_of({"x": value}).tree.fields["x"], key) == expected


# JSON


@pytest.fixture(scope="module")
def schema() -> Draft202012Validator:
    path = ROOT / "schemas" / "reports" / "explain.schema.json"
    found = json.loads(path.read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(found)
    return Draft202012Validator(found)


@given(case=cases())
def test_the_json_is_valid(schema: Draft202012Validator, case: Case) -> None:
    compiled = compiled_of(case)
    data = json.loads(as_explained_json([(compiled, compiled.explain())]))
    assert list(schema.iter_errors(data)) == []
    values = [value for manifest in data["runs"][0]["manifests"] for value in manifest["values"]]
    leaves = [value for value in values if value["origin"]]
    assert len(leaves) == sum(bool(line.origin) for explanation in compiled.explain() for line in explanation.lines)


def test_an_explanation_has_manifest_and_path() -> None:
    (explanation,) = compile_run({**RUN, "profile": None}).explain()
    assert isinstance(explanation, Explanation)
    assert (explanation.manifest.kind, explanation.path) == ("Job", ())
    assert explanation.at(("spec", "template")).lines[0].text.strip() == "template:"
    assert explanation.at(("nowhere",)).lines == ()


def test_streams_without_a_terminal_get_no_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    assert paint_for(io.StringIO())("x", "run") == "x"
    assert paint_for(Terminal())("x", "run") == "\x1b[34mx\x1b[0m"
    monkeypatch.setenv("NO_COLOR", "1")
    assert paint_for(Terminal())("x", "run") == "x"
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert paint_for(Terminal())("x", "run") == "x"
