"""Bundled and custom targets: what runs become under them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from helpers.paths import ROOT
from helpers.plain_data import paths, with_change
from helpers.work import at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from ruamel.yaml import YAML

from speccompile import CompileError, compile_run
from speccompile.cli.main import main
from speccompile.compiler.bundled_library import bundled_library, with_templates
from speccompile.compiler.choose_manifests import actions_of, applicable_fields
from speccompile.compiler.documents.admin_config import Setting, prepare
from speccompile.compiler.documents.targets import targets_of
from speccompile.compiler.pipeline import compile_document
from speccompile.editor_schema.narrow import narrowed_schema
from speccompile.model.input_texts import TemplateFile
from speccompile.model.source import Layer, Source
from speccompile.model.spec import Target
from speccompile.schema.library import Library
from speccompile.yaml_text.from_python import wrap

Data = dict[str, Any]

ABOUT = """\
fields: [image, labels]
workloads:
- name: long
  actions: [job]
  with: [queue.priority]
  name_pattern: job
  max_name_length: 20
  letter_first: true
  requires: [image]
- {name: short, actions: [job], where: {queue.name: [a, b]}, name_pattern: job}
manifests:
- {kind: Queued, api_version: acme.example/v1, template: queued.yaml.j2, workloads: [long]}
- {kind: Quick, template: quick.yaml.j2, workloads: [short], unless: {image: none}}
- {kind: Label, template: label.yaml.j2, each: {field: queue.names, where: {kind: big}}}
reject:
- {workloads: [long], above: [queue.priority, queue.most], message: too urgent, help: lower it}
- {run_sets: [queue.most], message: not for you, help: leave it out}
"""
FIELDS = """\
{"properties": {"queue": {
  "type": "object", "description": "The queue.", "x-merge": "map", "examples": [{"name": "a"}],
  "properties": {
    "name": {"type": "string", "description": "Its name."},
    "priority": {"type": "integer", "description": "Its priority."},
    "most": {"type": "integer", "description": "The largest priority."},
    "names": {"type": "array", "description": "More.", "items": {"type": "object", "properties": {
      "kind": {"type": "string", "description": "Its kind."}, "name": {"type": "string", "description": "Its name."}}}}
  },
  "additionalProperties": false}}}
"""
HEAD = "apiVersion: acme.example/v1\nkind: {kind}\nmetadata:\n  name: {name}\n"
FILES = {
    "queued/target.yaml": ABOUT,
    "queued/fields.schema.json": FIELDS,
    "queued/queued.yaml.j2": HEAD.format(kind="Queued", name="{{ names.workload }}")
    + "spec:\n  priority: {{ spec.queue.priority }}\n  image: {{ spec.image }}\n",
    "queued/quick.yaml.j2": HEAD.format(kind="Quick", name="{{ names.workload }}")
    + "  labels: {{ labels }}\nspec:\n  name: {{ spec.queue.name }}\n  most: {{ spec.queue.most }}\n",
    "queued/label.yaml.j2": HEAD.format(kind="Label", name="{{ item.name }}"),
}
PROFILE = {"id": "default", "target": "queued"}


class Answer(NamedTuple):
    code: int
    stdout: str
    stderr: str


@pytest.fixture
def targets_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(FILES)
    return Path("own")


def write(texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        path = Path("own", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


@pytest.fixture
def call(targets_folder: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    Path("profiles").mkdir()
    Path("profiles/default.yaml").write_text(json.dumps(PROFILE))

    def answer(*arguments: str) -> Answer:
        code = main([*arguments, "--profiles", "profiles", "--templates", str(targets_folder)])
        return Answer(code, *capsys.readouterr())

    return answer


def render(targets_folder: Path, profile: Data = PROFILE, **fields: Any) -> list[str]:
    """What comes of a job: kinds and names, or codes of errors."""
    run = {"name": "train", "action": "job", **fields}
    try:
        compiled = compile_run(run, profiles=[profile], templates=targets_folder)
    except CompileError as error:
        return [finding.code for finding in error.diagnostics]
    return [f"{manifest.kind} {manifest.name}" for manifest in compiled.manifests]


def test_the_first_workload_with_satisfied_conditions_applies(targets_folder: Path) -> None:
    assert render(targets_folder, image="a:1", queue={"priority": 1, "name": "a"}) == ["Queued train"]
    assert render(targets_folder, queue={"name": "b"}) == ["Quick train"]
    assert render(targets_folder, queue={"name": "c"}) == ["run/foreign-action"]


def test_manifests_are_rendered_if_conditions_are_satisfied_and_for_each_item(targets_folder: Path) -> None:
    some = [{"kind": "big", "name": "x"}, {"kind": "small", "name": "y"}, {"kind": "big", "name": "z"}]
    assert render(targets_folder, queue={"name": "a", "names": some}) == ["Quick train", "Label x", "Label z"]
    assert render(targets_folder, image="none", queue={"name": "a", "names": some}) == ["Label x", "Label z"]


@pytest.mark.parametrize("pattern", ["x.*", "(?i)X.*"])
def test_a_line_end_does_not_prevent_a_match(targets_folder: Path, pattern: str) -> None:
    row = f"- {{matches: {{queue.name: {pattern!r}}}, message: not this name, help: use another one}}\n"
    write({"queued/target.yaml": ABOUT + row})
    for name in ("xy", "xy\n", "x\ny"):
        assert render(targets_folder, image="x", queue={"priority": 1, "name": name}) == ["target/refused"]


def test_no_value_keeps_a_pattern_busy(targets_folder: Path) -> None:
    slow = "(a+)(?#)+$"
    row = f"- {{matches: {{queue.name: {slow!r}}}, message: not this name, help: use another one}}\n"
    pattern = f'"name": {{"type": "string", "pattern": "^{slow}", "description"'
    write({"queued/target.yaml": ABOUT + row})
    with at_most_cpu_seconds(20):
        for length in (200, 50_000):
            other, refused = ({"priority": 1, "name": "a" * length + end} for end in ("!", ""))
            assert render(targets_folder, image="x", queue=other) == ["Queued train"]
            assert render(targets_folder, image="x", queue=refused) == ["target/refused"]
        write({"queued/fields.schema.json": FIELDS.replace('"name": {"type": "string", "description"', pattern, 1)})
        for length in (200, 50_000):
            assert render(targets_folder, queue={"name": "a" * length + "!"}) == ["schema/pattern"]


@pytest.mark.parametrize("pattern", [r"(a)\\1", "(x)?(?(1)a|b)", "(?!.*x)a"])
def test_patterns_that_cannot_be_matched_in_linear_time_are_refused(targets_folder: Path, pattern: str) -> None:
    keyword = f'"name": {{"type": "string", "pattern": "{pattern}", "description"'
    write({"queued/fields.schema.json": FIELDS.replace('"name": {"type": "string", "description"', keyword, 1)})
    assert "target/fault" in render(targets_folder, queue={"name": "a"})


def test_missing_and_rejected_values_are_errors(targets_folder: Path) -> None:
    assert render(targets_folder, queue={"priority": 1}) == ["policy/no-image"]
    assert render(targets_folder, {**PROFILE, "queue": {"most": 3}}, image="a:1", queue={"priority": 4}) == [
        "target/refused"
    ]
    assert render(targets_folder, {**PROFILE, "queue": {"most": 3}}, image="a:1", queue={"priority": 3}) == [
        "Queued train"
    ]
    assert render(targets_folder, image="a:1", queue={"priority": 1, "most": 2}) == ["target/refused"]


def test_fields_that_it_does_not_use_are_errors_of_runs_and_notices_of_profiles(targets_folder: Path) -> None:
    assert render(targets_folder, image="a:1", queue={"priority": 1}, args=["a"]) == ["run/foreign-field"]
    run = {"name": "train", "action": "job", "image": "a:1", "queue": {"priority": 1}}
    compiled = compile_run(run, profiles=[{**PROFILE, "args": ["a"]}], templates=targets_folder)
    assert [finding.code for finding in compiled.diagnostics] == ["profile/foreign-field"]


def test_names_follow_the_limits_of_the_target(targets_folder: Path) -> None:
    (found,) = render(targets_folder, name="7-is-a-number-and-this-is-long", image="a:1", queue={"priority": 1})
    name = found.removeprefix("Queued ")
    assert len(name) <= 20
    assert name[0].isalpha()


def test_rules_bans_and_precedence_reach_its_fields(targets_folder: Path) -> None:
    profile = {**PROFILE, "queue": {"priority": 2}, "rules": {"queue.name": {"options": ["a"]}}, "forbid": ["labels"]}
    run = {"name": "train", "action": "job", "image": "a:1", "queue": {"priority": 9, "name": "a"}}
    compiled = compile_run(run, profiles=[profile], templates=targets_folder)
    assert compiled.manifests[0].data["spec"]["priority"] == 2
    assert [finding.code for finding in compiled.diagnostics] == ["merge/overridden"]
    assert render(targets_folder, profile, image="a:1", queue={"name": "b"}) == ["rule/options"]
    assert render(targets_folder, profile, image="a:1", labels={"a": "b"}) == ["rule/forbidden"]


def test_base_documents_go_under_its_kinds_but_not_under_those_of_another_target(targets_folder: Path) -> None:
    base = {"apiVersion": "acme.example/v1", "kind": "Queued", "spec": {"image": "base:1", "room": 7}}
    run = {"name": "train", "action": "job", "image": "a:1", "queue": {"priority": 1}}
    (manifest,) = compile_run(run, profiles=[[PROFILE, base]], templates=targets_folder).manifests
    assert manifest.data["spec"] == {"priority": 1, "image": "a:1", "room": 7}
    server = {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": "Server", "spec": {}}
    compiled = compile_run(run, profiles=[[PROFILE, server]], templates=targets_folder)
    assert [finding.code for finding in compiled.diagnostics] == ["profile/unused-base"]


def test_a_child_has_the_target_of_its_parents_unless_it_names_one(targets_folder: Path) -> None:
    parent = {"id": "parent", "target": "queued"}
    run = {"name": "train", "action": "job", "image": "a:1", "profile": "child"}
    heir, other = {"id": "child", "extends": "parent"}, {"id": "child", "extends": "parent", "target": "kubernetes"}
    found = compile_run({**run, "queue": {"priority": 1}}, profiles=[parent, heir], templates=targets_folder)
    assert [manifest.kind for manifest in found.manifests] == ["Queued"]
    assert [one.kind for one in compile_run(run, profiles=[parent, other], templates=targets_folder).manifests] == [
        "Job"
    ]


def test_a_resolved_profile_has_its_target(call: Callable[..., Answer]) -> None:
    assert "target: queued" in call("profiles", "show", "default").stdout


def test_the_cache_notices_a_changed_target(call: Callable[..., Answer]) -> None:
    Path("run.yaml").write_text("name: train\naction: job\nimage: a:1\nqueue: {priority: 1}\n")
    assert "kind: Queued" in call("render", "run.yaml").stdout
    assert "kind: Queued" in call("render", "run.yaml").stdout
    write(
        {
            "queued/target.yaml": ABOUT.replace(
                "workloads: [long]}\n- {kind: Quick", "workloads: [short]}\n- {kind: Quick"
            )
        }
    )
    assert "kind: Queued" not in call("render", "run.yaml").stdout
    write({"queued/target.yaml": ABOUT, "queued/fields.schema.json": FIELDS.replace('"integer"', '"string"')})
    assert call("render", "run.yaml").code == 1


def test_an_error_in_a_custom_default_target_is_a_finding(call: Callable[..., Answer]) -> None:
    write({"kubernetes/target.yaml": "description: x\n"})
    for command in ("render", "validate", "explain"):
        answer = call(command, "run.yaml")
        assert (answer.code, "missing `workloads`" in answer.stderr) == (1, True)


def test_other_processes_know_the_target(call: Callable[..., Answer]) -> None:
    Path("run.yaml").write_text(
        "\n---\n".join(f"name: train-{n}\naction: job\nimage: a:1\nqueue: {{priority: {n}}}" for n in range(1, 9))
    )
    assert call("render", "run.yaml", "--jobs", "2", "--no-cache").stdout.count("kind: Queued") == 8


def setting_with(library: Library, profile: Data) -> Setting:
    return prepare([wrap(profile, Source("<profile>", "", Layer.PROFILE))], None, library)


def test_the_schema_for_editors_has_what_the_target_takes() -> None:
    setting = setting_with(bundled_library(), {"id": "m", "target": "seldon", "server": {"config": "mlserver"}})
    check = Draft7Validator(narrowed_schema(setting.profiles["m"], setting))
    run = {"name": "iris", "action": "serve", "profile": "m", "serve": {"uri": "gs://a/b"}}
    assert check.is_valid(run)
    assert not check.is_valid({**run, "service_ports": [{"port": 80}]})
    assert not check.is_valid({**run, "runtime": {}})
    assert not check.is_valid({**run, "serve": {}})
    assert not check.is_valid({"name": "iris", "action": "job", "profile": "m"})


def _reached(target: Target, library: Library) -> list[str]:
    """The templates of a target, with those that they include or extend."""
    reached = [rule.template for rule in target.manifests]
    for template in reached:
        named = re.findall(r'"([^"]+\.j2)"', library.templates[template])
        reached += [name for name in dict.fromkeys(named) if name not in reached]
    return reached


def test_every_field_of_all_targets_that_a_bundled_target_names_is_used_by_its_templates() -> None:
    """Whatever it does not name is refused, and what it names must not be dropped."""
    library = bundled_library()
    for name, target in targets_of(library).items():
        texts = [library.templates[path] for path in _reached(target, library)]
        actions = actions_of(target)
        common = [
            field
            for field in applicable_fields(target, library)
            if "x-targets" not in library.fields[field]
            and not actions.isdisjoint(library.fields[field].get("x-actions", actions))
        ]
        seen = {"labels": "labels", "annotations": "annotations"}
        seen |= dict.fromkeys(("inputs", "parameters"), "workload_annotations")
        seen["service_name"] = "item"
        unused = [field for field in common if not any(seen.get(field, f"spec.{field}") in text for text in texts)]
        rows = library.templates[f"{name}/target.yaml"]
        assert [field for field in unused if f"- with: [{field}]" not in rows] == [], name


@pytest.mark.parametrize("module", sorted((ROOT / "speccompile").rglob("*.py")), ids=lambda path: path.name)
def test_the_compiler_mentions_no_single_target(module: Path) -> None:
    """Knowledge about Seldon is only in its target's folder, and in the packages that check manifests of all kinds."""
    if "placement" not in module.parts:
        assert "seldon" not in module.read_text(encoding="utf-8").lower()


scalars = st.none() | st.booleans() | st.integers(-3, 99) | st.sampled_from(["job", "image", "a.b", "", "x/y", "é"])
trees = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["workloads", "manifests", "reject", "with", "where", "each", "name", "properties", "type"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=8,
)


GOOD = {name: FILES[f"queued/{name}"] for name in ("target.yaml", "fields.schema.json")}


@given(st.data(), st.sampled_from(sorted(GOOD)))
def test_any_content_of_its_files_is_read_or_reported_at_its_position(data: st.DataObject, name: str) -> None:
    good = YAML(typ="safe", pure=True).load(GOOD[name])
    wrong = with_change(good, data.draw(st.sampled_from(paths(good))), data.draw(trees))
    texts = {**FILES, f"queued/{name}": json.dumps(wrong)}
    library = with_templates(
        bundled_library(), [TemplateFile(path, f"own/{path}", text) for path, text in texts.items()]
    )
    setting = setting_with(library, PROFILE)
    spans = [finding.span for finding in setting.findings]
    assert all(place and place.source.name.startswith("own/") for place in spans)
    run = {"name": "train", "action": "job", "image": "a:1", "queue": {"priority": 1, "name": "a"}}
    document = wrap(run, Source("<run>", "", Layer.RUN)).documents[0]
    with suppress(CompileError):
        compile_document(document, setting)


def test_a_comment_in_a_template_does_not_use_a_field(call: Callable[..., Answer]) -> None:
    Path("run.yaml").write_text("name: train\naction: job\nimage: a:1\nqueue: {priority: 1}\n")
    write({"queued/queued.yaml.j2": "{# spec.queue.gone #}\n" + FILES["queued/queued.yaml.j2"]})
    assert call("validate", "run.yaml").code == 0


WORDS = """\
{"properties": {
  "size": {"type": ["string", "integer"], "description": "A word or a number."},
  "most": {"type": "number", "description": "A number."},
  "parts": {"type": "array", "description": "By key.", "x-merge": "keyed", "x-key": "k", "items": {
    "type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string"}}, "required": ["k"]}},
  "tags": {"type": "array", "description": "Both.", "x-merge": "union"}}}
"""


def render_fields(targets_folder: Path, profile: Data, **fields: Any) -> list[str]:
    about = "workloads: [{name: a, actions: [job], name_pattern: job}]\n"
    about += "manifests: [{kind: Quick, template: quick.yaml.j2}]\n"
    head = FILES["queued/quick.yaml.j2"].partition("  labels")[0]
    spec = "spec:\n  a: {{ spec.size }}\n  b: {{ spec.most }}\n  c: {{ spec.parts }}\n  d: {{ spec.tags }}\n"
    about += "reject: [{above: [most, most], message: never, help: never}]\n"
    write({"queued/target.yaml": about, "queued/fields.schema.json": WORDS, "queued/quick.yaml.j2": head + spec})
    # The templates of the other workloads remain.
    return [one for one in render(targets_folder, {**PROFILE, **profile}, **fields) if one != "template/unused"]


def test_an_empty_expression_is_a_fault_of_the_template(targets_folder: Path) -> None:
    assert render_fields(targets_folder, {}) == ["Quick train"]
    text = (targets_folder / "queued/quick.yaml.j2").read_text()
    write({"queued/quick.yaml.j2": f"{text}  e: {{{{}}}}\n"})
    assert "template/fault" in render(targets_folder, PROFILE)


def test_values_without_a_size_break_rules_and_nothing_else(targets_folder: Path) -> None:
    assert render_fields(targets_folder, {"rules": {"size": {"max": 3}}}, size="hello") == ["rule/max"]
    assert render_fields(targets_folder, {"rules": {"size": {"min": 3}}}, size="1e400") == ["rule/min"]
    assert render_fields(targets_folder, {"rules": {"size": {"max": 3}}}, size=2) == ["Quick train"]
    assert render_fields(targets_folder, {}, most=123456789012345678901234567890.5) == ["Quick train"]


def test_lists_merged_by_key_or_as_unions_keep_all_items(targets_folder: Path) -> None:
    assert render_fields(targets_folder, {"parts": [{"k": "b"}]}, parts=[{"k": "a"}, {"k": "a"}]) == [
        "schema/duplicate-item"
    ]
    assert render_fields(targets_folder, {"tags": ["b"]}, tags=["a"]) == ["Quick train"]


# The third target, KubeAI's, in examples/targets

THIRD = ROOT / "examples" / "targets"


def test_the_manifests_of_the_example_are_those_of_its_runs(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(THIRD)
    assert main(["check"]) == 0
    assert "5 files up to date" in capsys.readouterr().err


@pytest.mark.parametrize("case", sorted((THIRD / "refused").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_example_reports_the_expected_errors(
    case: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(THIRD)
    assert main(["validate", f"refused/{case.name}"]) == 1
    assert capsys.readouterr().err == case.with_suffix(".txt").read_text(encoding="utf-8")


def test_every_reject_rule_of_the_example_is_tested() -> None:
    targets_folder = [
        TemplateFile(str(path.relative_to(THIRD)), str(path), path.read_text()) for path in THIRD.glob("kubeai/*")
    ]
    rules = targets_of(with_templates(bundled_library(), targets_folder))["kubeai"].rejects
    expected = "".join(path.read_text(encoding="utf-8") for path in THIRD.glob("refused/*.txt"))
    assert [rule.message for rule in rules if rule.message not in expected] == []


def test_editor_schemas_have_the_fields_of_a_custom_target(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "run", "--templates", str(THIRD)]) == 0
    run = json.loads(capsys.readouterr().out)
    assert Draft7Validator(run).is_valid({"name": "a", "action": "serve", "model": {"url": "hf://a/b"}})
    assert not Draft7Validator(run).is_valid({"name": "a", "action": "serve", "model": {"uri": "hf://a/b"}})
    assert main(["schema", "profile", "--templates", str(THIRD)]) == 0


@pytest.mark.parametrize("profile", ["kubeai", "text-l4", "chat-h100", "embedding-cpu", "speech-cpu"])
def test_what_profiles_of_a_target_fix_is_in_the_schema(
    profile: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(THIRD)
    assert main(["schema", "run", "--profile", profile]) == 0
    check = Draft7Validator(json.loads(capsys.readouterr().out))
    url = {"url": "hf://a/b", **({} if "cpu" in profile else {"engine": "VLLM", "features": ["TextGeneration"]})}
    run = {"name": "a", "action": "serve", "profile": profile, "model": url}
    assert check.is_valid(run) is (profile != "kubeai")
    if profile == "kubeai":
        return
    fixed = {"features": ["SpeechToText", "TextEmbedding"]} if "cpu" in profile else {"resource_profile": "cpu:9"}
    assert not check.is_valid({**run, "model": {**url, **fixed}})


# What can be wrong with a target, each at its place

WRONG = {
    "a field that no template uses": (
        "target.yaml",
        "fields: [image, labels]",
        "fields: [image, args]",
        "no template uses",
    ),
    "a custom field that no template uses": ("quick.yaml.j2", "{{ spec.queue.most }}", "1", "no template uses `queue"),
    "a misspelled field": ("queued.yaml.j2", "spec.queue.priority", "spec.queue.prority", "did you mean `priority`"),
    "another kind": ("target.yaml", "kind: Quick", "kind: Quicker", "the template has kind Quick"),
    "another version": (
        "target.yaml",
        "acme.example/v1,",
        "acme.example/v2,",
        "the template has api_version acme.example/v1",
    ),
    "no number": (
        "target.yaml",
        "above: [queue.priority,",
        "above: [queue.name,",
        "is neither a number nor a quantity",
    ),
    "a value of another type": ("target.yaml", "{queue.name: [a, b]}", "{queue.priority: [a]}", "is never `a`"),
    "one item of a list": ("target.yaml", "with: [queue.priority]", "with: [envs.HOME]", "is an item of a list"),
    "a setting that is none": (
        "target.yaml",
        "unless: {image: none}",
        "settings: {secret.x: a}",
        "unknown setting `secret.x`",
    ),
    "a base of no kind": ("target.yaml", "unless: {image: none}", "bases: [Queeud]", "did you mean `Queued`"),
    "a container that is no text": (
        "target.yaml",
        "workloads:\n",
        "container: [queue.priority]\nworkloads:\n",
        "is not a string",
    ),
    "a name that runs have": (
        "fields.schema.json",
        '"queue": {',
        '"action": {"type": "string", "description": "No."}, "queue": {',
        "`action` exists with another schema",
    ),
    "a key that need not be there": (
        "fields.schema.json",
        '"x-merge": "map"',
        '"x-merge": "keyed"',
        "merges as `keyed`",
    ),
    "two documents": (
        "fields.schema.json",
        '{"properties"',
        '{"properties": {}}\n---\n{"properties"',
        "this is the second",
    ),
    "a short form": ("target.yaml", "with: [queue.priority]", "with: [resources.mem]", "is a short form"),
}


@pytest.mark.parametrize(("file", "good", "bad", "expected"), WRONG.values(), ids=WRONG.keys())
def test_an_error_of_the_target_is_reported(
    file: str, good: str, bad: str, expected: str, call: Callable[..., Answer]
) -> None:
    Path("run.yaml").write_text("name: train\naction: job\nimage: a:1\nqueue: {priority: 1}\n")
    assert good in FILES[f"queued/{file}"]
    write({**FILES, f"queued/{file}": FILES[f"queued/{file}"].replace(good, bad)})
    found = call("validate", "run.yaml")
    assert found.code == 1
    assert expected in found.stderr
