"""`verify` on the command line: what is verified against what, streams, exit codes, the table."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from helpers.command_line import Answer, Call, run_text
from helpers.work import at_most_calls
from jsonschema import Draft202012Validator

from speccompile import compile_run, load_project
from speccompile.files.read import MAX_MANIFESTS
from speccompile.model.node import Node
from speccompile.terminal.style import coloured
from speccompile.verify import kubernetes_api as apis
from speccompile.verify.kubernetes_api import versions
from speccompile.verify.table import MAX_OBJECTS_SHOWN, version_table
from speccompile.verify.verify import Api, LocatedObject, run_objects, verify_object

NEWEST = versions()[-1]
MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: settings}\ndata: {a: b}\n"
BAD_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: faulty}\ndate: {a: b}\n"
WIDGET = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: main}\nspec: {size: 1}\n"
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: widgets, kind: Widget}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
          spec: {type: object, properties: {size: {type: integer}}}
"""


def ok(title: str, version: str = NEWEST) -> str:
    return f"{'MANIFEST'.ljust(len(title))}  {version}\n{title}  ok\n"


def valid(title: str, version: str = NEWEST) -> Answer:
    return Answer(0, ok(title, version), f"1 manifest valid for Kubernetes {version}\n")


# What is verified.


def test_the_manifests_of_a_run_are_verified(call: Call) -> None:
    Path("run.yaml").write_text(run_text())
    assert call("verify", "run.yaml") == valid("run.yaml: Job train")


def test_manifests_are_verified_as_they_are(call: Call) -> None:
    Path("map.yaml").write_text(MAP)
    assert call("verify", "map.yaml") == valid("map.yaml: ConfigMap settings")


def test_what_render_prints_can_be_piped_into_verify(call: Call) -> None:
    Path("run.yaml").write_text(run_text())
    rendered = call("render", "run.yaml").stdout
    assert call("verify", "-", stdin=rendered) == valid("<stdin>: Job train")
    assert call("verify", "-", stdin=run_text()) == valid("<stdin>: Job train")


def test_runs_and_manifests_may_be_in_one_file(call: Call) -> None:
    Path("both.yaml").write_text(f"{run_text()}\n---\n{BAD_MAP}")
    answer = call("verify", "both.yaml")
    assert (answer.code, answer.stdout.splitlines()) == (
        1,
        [
            f"MANIFEST                     {NEWEST}",
            "both.yaml: ConfigMap faulty  1 error",
            "both.yaml: Job train         ok",
            "",
            f"2 manifests for Kubernetes {NEWEST}: 1 valid, 1 invalid",
        ],
    )
    assert "--> both.yaml:6:1" in answer.stderr


def test_without_a_path_the_runs_of_the_project_are_verified(call: Call) -> None:
    Path("speccompile.yaml").write_text("runs: [runs]\noutput: manifests\nkubernetes: ['1.33']\n")
    for folder in ("runs", "manifests"):
        Path(folder).mkdir()
    Path("runs/train.yaml").write_text(run_text())
    Path("manifests/old.yaml").write_text(BAD_MAP)
    assert call("verify") == valid("runs/train.yaml: Job train", "1.33")
    assert call("verify", "manifests").code == 1


def test_a_fault_of_a_run_points_at_the_line_that_caused_it(call: Call) -> None:
    Path("run.yaml").write_text(run_text(profile="gpu"))
    Path("gpu.yaml").write_text("id: gpu\n---\napiVersion: batch/v1\nkind: Job\nspec:\n  backofLimit: 3\n")
    answer = call("verify", "run.yaml", "--profiles", "gpu.yaml")
    assert answer.code == 1
    assert "error[api/violation]: unknown key `backofLimit`\n  --> gpu.yaml:6:3\n" in answer.stderr
    assert "run.yaml: Job train  1 error\n" in answer.stdout


def test_a_run_that_does_not_compile_hides_no_other(call: Call) -> None:
    Path("runs.yaml").write_text(f"{run_text()}\n---\n{run_text('faulty', resources={'mem': '8GB'})}\n")
    answer = call("verify", "runs.yaml")
    assert (answer.code, answer.stdout) == (
        1,
        f"{ok('runs.yaml: Job train')}\n1 manifest valid for Kubernetes {NEWEST}\n",
    )
    assert "error[schema/quantity]" in answer.stderr
    ignored = call("verify", "runs.yaml", "--ignore", "schema/quantity")
    assert (ignored.code, ignored.stderr.count("skipped 1 run")) == (0, 1)


def test_what_is_wrong_with_profiles_is_no_matter_of_plain_manifests(call: Call) -> None:
    Path("map.yaml").write_text(MAP)
    Path("profile.yaml").write_text("id: [1]\n")
    assert call("verify", "map.yaml", "--profiles", "profile.yaml").code == 0
    Path("run.yaml").write_text(run_text())
    assert call("verify", "map.yaml", "run.yaml", "--profiles", "profile.yaml").code == 1


def test_what_kustomize_reads_is_passed_over(call: Call) -> None:
    Path("base").mkdir()
    Path("base/kustomization.yaml").write_text("resources: [map.yaml]\n")
    Path("base/map.yaml").write_text(MAP)
    assert call("verify", "base") == valid("base/map.yaml: ConfigMap settings")
    Path("Kustomization").write_text("resources: [base]\n")
    assert call("verify", "Kustomization") == Answer(0, "", "")


def test_manifests_may_be_larger_than_runs(call: Call) -> None:
    large = MAP.replace("{a: b}", "{a: " + "b" * 900_000 + "}")
    names = [f"settings-{number}" for number in range(3)]
    stream = "---\n".join(large.replace("settings", name) for name in names)
    answer = call("verify", "-", stdin=stream)
    assert (answer.code, answer.stderr) == (0, f"3 manifests valid for Kubernetes {NEWEST}\n")
    answer = call("verify", "-", stdin="a" * (MAX_MANIFESTS + 1))
    assert (answer.code, "larger than 8 MiB" in answer.stderr) == (1, True)


# Secrets.

HIDDEN = "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n"


@pytest.mark.parametrize(
    "text",
    [
        f"{HIDDEN}stringData:\n  pin: 98765\ndata:\n  key: hunter2!\n",
        f"{HIDDEN}stringData: {{pin: 0123}}\n",
        f"{HIDDEN}stringData: hunter2\n",
        f"{HIDDEN}stringData: [hunter2]\n",
        f"{HIDDEN}stringdata: {{pin: hunter2}}\n",
        f"{HIDDEN}data: {{pin: aHVudGVyMg==}}\nimmutable: hunter2\n",
        f"{HIDDEN}stringData:\n  pin: hunter2\n  pin: 98765\n",
        f"{HIDDEN}stringData:\n  0123: hunter2\n  null: 98765\n",
        f"{HIDDEN}stringData:\n  pin: !mine hunter2\n",
        f"{HIDDEN}stringData:\n  pin: 98765{'0' * 20}\n",
        f'{HIDDEN}stringData:\n  pin: "hunter2\\u0007"\n',
        f"{HIDDEN}stringData:\n  pin: &a [hunter2, *a]\n",
        f"{HIDDEN}stringData:\n  pin: *hunter2\n",
        f'{HIDDEN}stringData:\n  pin: "hunter2\n',
        'apiVersion: v1\nstringData:\n  pin: "hunter2",\n  a: b\nkind: Secret\n',
        'apiVersion: v1\nstringData:\n  pin: "hunter2\nkind: Secret\n',
        "x: &x {pin: 98765}\napiVersion: v1\nkind: Secret\nstringData: *x\n",
        f"{HIDDEN}stringData:\n  <<: hunter2\n",
        "{apiVersion: v1, kind: Secret, metadata: {name: a, colour: 1}, stringData: {pin: hunter2}}",
        "{apiVersion: v1, kind: Secret, stringData: {pin: hunter2}}",
        "{apiVersion: v2, kind: Secret, stringData: {pin: hunter2}}",
        "{apiVersion: v1, kind: secret, metadata: {name: a}, stringData: {pin: hunter2}}",
        "{apiVersion: v1, kind: SecretList, items: [{metadata: {name: a}, stringData: {pin: 0123}}]}",
        "apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: a}\n  stringData: {pin: 98765}\n",
        f"apiVersion: v1\nkind: List\nitems:\n- {HIDDEN.replace(chr(10), chr(10) + '  ')}stringData: {{pin: 0123}}\n",
        (
            "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Secret, metadata: {name: a}, stringData: {pin:"
            " hunter2}}, {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, date: {}}]}"
        ),
        f"{run_text()}\n---\n{HIDDEN}stringData:\n  pin: 0123\n",
        f"{run_text(colour='red')}\n---\n{HIDDEN}stringdata:\n  pin: hunter2\n",
        f"{HIDDEN}stringData:\n  pin: hunter2\n  a: b\u0085\n",
    ],
)
@pytest.mark.parametrize("form", ["text", "json", "sarif", "github"])
def test_values_of_secrets_are_never_shown(form: str, text: str, call: Call) -> None:
    answer = call("verify", "-", "--format", form, stdin=text)
    assert answer.code == 1
    assert not [value for value in ("98765", "hunter2", "0123", "aHVudGVyMg") if value in answer.stdout + answer.stderr]


def test_a_fault_in_a_secret_is_reported(call: Call) -> None:
    answer = call("verify", "-", stdin=f"{HIDDEN}stringdata: {{pin: hunter2}}\ndata: {{pin: 1}}\n")
    assert "unknown key `stringdata`\n" in answer.stderr
    assert "help: did you mean `stringData`?\n" in answer.stderr
    assert (
        "error[api/violation]: expected a string or null, found the number `(not shown)`\n  --> <stdin>:5:13\n"
        in answer.stderr
    )


def test_a_definition_beside_a_secret_shows_none_of_it(call: Call) -> None:
    crd = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {"group": 1}}
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"pin": "hunter2"}}
    Path("crd.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [secret, crd]}))
    answer = call("verify", "-", "--crd", "crd.json", stdin=MAP)
    assert (answer.code, "error[api/violation]" in answer.stderr, "hunter2" in answer.stderr) == (1, True, False)


def test_a_warning_in_a_line_with_secrets_is_not_a_syntax_error(call: Call) -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers: [{name: a, image: a}]\n"
        "  volumes: [{name: a, secret: {secretName: a, defaultMode: 0400}}]\n"
    )
    answer = call("verify", "-", stdin=text)
    assert answer.code == 0
    assert "`(not shown)` has different meanings in YAML 1.1 and YAML 1.2\n" in answer.stderr


# Against which versions.


@pytest.mark.parametrize("version", ["1.33", "1.33.0", "v1.33", "1.33.9"])
def test_a_version_is_known_by_all_its_names(version: str, call: Call) -> None:
    Path("map.yaml").write_text(MAP)
    answer = call("verify", "map.yaml", "--kubernetes", version, "--kubernetes", "1.33")
    assert answer == valid("map.yaml: ConfigMap settings", "1.33")


def test_versions_are_sorted(call: Call) -> None:
    Path("map.yaml").write_text(MAP)
    answer = call("verify", "map.yaml", "--kubernetes", "1.33", "--kubernetes", "1.29")
    assert answer.stdout.splitlines()[0].split() == ["MANIFEST", "1.29", "1.33"]


def test_the_command_line_overrides_the_project_file(call: Call) -> None:
    Path("speccompile.yaml").write_text("kubernetes: ['1.31', '1.32']\n")
    Path("map.yaml").write_text(MAP)
    assert call("verify", "map.yaml").stderr == "1 manifest valid for Kubernetes 1.31 and 1.32\n"
    assert call("verify", "map.yaml", "--kubernetes", "1.30").stderr.endswith("for Kubernetes 1.30\n")
    assert [*load_project(".").kubernetes] == ["1.31", "1.32"]


def test_an_unknown_version_is_a_wrong_call_that_lists_the_near_ones_first(call: Call) -> None:
    answer = call("verify", "-", "--kubernetes", "1.2", stdin=MAP)
    assert (answer.code, answer.stdout) == (2, "")
    assert f"no API schemas for Kubernetes `1.2`; available: {', '.join(versions())}\n" in answer.stderr


def test_an_unknown_version_in_the_project_file_is_reported_at_its_line(call: Call) -> None:
    Path("speccompile.yaml").write_text("runs: [run.yaml]\nkubernetes:\n- '1.33'\n- '1.2'\n- 1.30\n")
    Path("run.yaml").write_text(run_text())
    answer = call("verify")
    assert answer.code == 1
    assert 'help: quote it: "1.30"' in answer.stderr
    Path("speccompile.yaml").write_text("runs: [run.yaml]\nkubernetes:\n- '1.33'\n- '1.2'\n")
    answer = call("verify")
    assert (answer.code, answer.stdout) == (1, "")
    assert "error[api/unknown-version]" in answer.stderr
    assert "--> speccompile.yaml:4:3" in answer.stderr
    assert call("validate").code == 0


def test_without_the_extra_there_is_a_clear_word(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("run.yaml").write_text(run_text())
    apis._folders.cache_clear()  # what was found before is found no more
    with monkeypatch.context() as without:
        # As Python reports a missing package.
        without.setitem(sys.modules, "kubernetes_validate", None)
        answer = call("verify", "run.yaml")
    assert (answer.code, answer.stdout) == (2, "")
    assert answer.stderr.endswith("the API schemas are not installed; install speccompile with the `verify` extra\n")


# Custom kinds.


def test_a_custom_kind_needs_its_definition(call: Call) -> None:
    Path("widget.yaml").write_text(WIDGET)
    Path("crds").mkdir()
    Path("crds/widget.yaml").write_text(f"{MAP}---\n{CRD}")
    Path("crds/other.json").write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": []}))
    answer = call("verify", "widget.yaml")
    assert (answer.code, "no such kind" in answer.stdout, "--crd" in answer.stderr) == (1, True, True)
    assert call("verify", "widget.yaml", "--crd", "crds") == valid("widget.yaml: Widget main")
    Path("widget.yaml").write_text(WIDGET.replace("size: 1", "size: big"))
    assert "found the string `big`\n  --> widget.yaml:4:14\n" in call("verify", "widget.yaml", "--crd", "crds").stderr


def test_definitions_may_be_a_list_as_kubectl_prints_it(call: Call) -> None:
    listed = "apiVersion: v1\nkind: List\nitems:\n- " + CRD.rstrip("\n").replace("\n", "\n  ") + "\n"
    Path("crds.yaml").write_text(listed)
    assert call("verify", "-", "--crd", "crds.yaml", stdin=WIDGET).code == 0


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (MAP, "api/bad-definition"),
        (CRD.replace("type: integer", "$ref: a"), "api/bad-definition"),
        (CRD.replace("  scope: Namespaced\n", ""), "api/violation"),
        (CRD.replace("k8s.io/v1", "k8s.io/v1beta1"), "api/unknown-kind"),
        ("a: [", "yaml/syntax"),
        ("", "yaml/empty"),
        (None, "input/missing-file"),
    ],
)
def test_a_definition_at_fault_ends_the_call(text: str | None, code: str, call: Call) -> None:
    if text is not None:
        Path("crd.yaml").write_text(text)
    answer = call("verify", "-", "--crd", "crd.yaml", "--ignore", code, stdin=WIDGET)
    assert (answer.code, answer.stdout) == (1, "")
    assert f"error[{code}]" in answer.stderr
    assert "crd.yaml" in answer.stderr


def test_a_definition_in_json_is_reported_at_its_line(call: Call) -> None:
    crd = yaml.safe_load(CRD)
    Path("crd.json").write_text(json.dumps(crd, indent=1))
    assert call("verify", "-", "--crd", "crd.json", stdin=WIDGET).code == 0
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["type"] = "thing"
    Path("crd.json").write_text(json.dumps(crd, indent=1))
    assert re.search(r"--> crd\.json:[0-9]+:[0-9]+\n", call("verify", "-", "--crd", "crd.json", stdin=WIDGET).stderr)


@pytest.mark.parametrize(
    "text", ["{" + '"a": [' * 5_000, '{"a": NaN}', '{"a": "\\ud800"}', '{"a": 1' + "0" * 5_000 + "}", '{"a": "\x9b"}']
)
def test_hostile_json_is_no_way_round_the_reader(text: str, call: Call) -> None:
    Path("crd.json").write_text(text, encoding="utf-8")
    answer = call("verify", "-", "--crd", "crd.json", stdin=WIDGET)
    code = "api/bad-definition" if "NaN" in text else "yaml/"
    assert (answer.code, f"error[{code}" in answer.stderr, "\x9b" in answer.stderr) == (1, True, False)


@pytest.mark.parametrize("version", ["1.29", NEWEST])
def test_a_definition_at_fault_is_one_as_a_manifest_too(version: str, call: Call) -> None:
    text = CRD.replace("{type: integer}", "{type: integer, items: [{type: string}]}")
    answer = call("verify", "-", "--kubernetes", version, stdin=text)
    assert (answer.code, "error[api/bad-definition]" in answer.stderr, "1 error" in answer.stdout) == (1, True, True)
    assert call("verify", "-", "--kubernetes", version, stdin=CRD).code == 0


def test_an_unchecked_object_is_reported_and_not_valid(call: Call) -> None:
    Path("crd.yaml").write_text(CRD.replace("size: {type: integer}", f"size: {{allOf: [{', '.join(['{}'] * 3_000)}]}}"))
    many = WIDGET.replace("{size: 1}", "{size: 1}\n---\n")
    assert call("verify", "-", "--crd", "crd.yaml", stdin=many).code == 0
    items = CRD.replace(
        "size: {type: integer}", f"size: {{type: array, items: {{allOf: [{', '.join(['{}'] * 3_000)}]}}}}"
    )
    Path("crd.yaml").write_text(items)
    answer = call(
        "verify", "-", "--crd", "crd.yaml", stdin=WIDGET.replace("size: 1", f"size: [{', '.join('1' * 1_000)}]")
    )
    assert (answer.code, "warning[api/not-judged]" in answer.stderr) == (0, True)
    assert answer.stdout.splitlines()[1:] == [
        "<stdin>: Widget main  not checked",
        "",
        f"1 manifest for Kubernetes {NEWEST}: 0 valid, 0 invalid, 1 not checked",
    ]


# Output.


@pytest.mark.parametrize("severity", ["--ignore", "--warning"])
def test_the_table_agrees_with_the_exit_code(severity: str, call: Call) -> None:
    answer = call("verify", "-", severity, "api/unknown-kind", stdin=WIDGET)
    assert answer.code == 0
    assert answer.stdout.endswith("0 valid, 0 invalid, 1 not checked\n")
    assert call("verify", "-", stdin=WIDGET).stdout.endswith("0 valid, 1 invalid\n")


def test_formats_for_programs_go_to_stdout_alone(call: Call, root: Path) -> None:
    Path("map.yaml").write_text(BAD_MAP)
    answer = call("verify", "map.yaml", "--format", "json")
    schema = json.loads((root / "schemas" / "reports" / "findings.schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(answer.stdout))
    assert (answer.code, answer.stderr) == (1, "")
    sarif = call("verify", "map.yaml", "--format", "sarif")
    assert json.loads(sarif.stdout)["runs"][0]["results"][0]["ruleId"] == "api/violation"
    assert call("verify", "map.yaml", "--format", "github").stdout.startswith("::error file=map.yaml,line=4")


def test_options_set_the_severity_of_codes(call: Call) -> None:
    Path("map.yaml").write_text(BAD_MAP)
    assert call("verify", "map.yaml", "--ignore", "api/violation") == valid("map.yaml: ConfigMap faulty")
    warned = call("verify", "map.yaml", "--warning", "api/violation")
    assert (warned.code, warned.stdout) == (0, ok("map.yaml: ConfigMap faulty"))
    assert "warning[api/violation]" in warned.stderr


def test_of_many_manifests_only_those_at_fault_are_listed(call: Call) -> None:
    Path("maps.yaml").write_text("---\n".join([*[MAP] * MAX_OBJECTS_SHOWN, BAD_MAP]))
    assert call("verify", "maps.yaml").stdout.splitlines() == [
        f"MANIFEST                     {NEWEST}",
        "maps.yaml: ConfigMap faulty  1 error",
        "",
        f"{MAX_OBJECTS_SHOWN + 1} manifests for Kubernetes {NEWEST}: {MAX_OBJECTS_SHOWN} valid, 1 invalid",
    ]
    Path("maps.yaml").write_text("---\n".join([MAP] * (MAX_OBJECTS_SHOWN + 1)))
    answer = call("verify", "maps.yaml")
    assert (answer.stdout, answer.stderr) == ("", f"{MAX_OBJECTS_SHOWN + 1} manifests valid for Kubernetes {NEWEST}\n")


def test_the_table_is_aligned_with_wide_letters_and_in_colour() -> None:
    (subject,) = run_objects(compile_run({"name": "a", "action": "job", "image": "python:3.12"}))
    named = {"apiVersion": Node("v1", subject.place), "kind": Node("訓練", subject.place)}
    other = LocatedObject(subject.tree.with_fields(named), subject.place)
    verdicts = [verify_object(one, [Api("1.33")]) for one in (subject, other)]
    table = version_table(verdicts, ["1.33"], {})
    assert table.text.splitlines() == ["MANIFEST      1.33", "<run>: Job a  ok", "<run>: 訓練   no such kind"]
    assert "\x1b[1;31mno such kind\x1b[0m" in version_table(verdicts, ["1.33"], {}, coloured).text


# Whatever the input.


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: v1\nkind: Pod\nspec: " + "{a: " * 98 + "1" + "}" * 98,
        "apiVersion: v1\nkind: Pod\nspec: " + "[" * 200 + "]" * 200,
        "apiVersion: v1\nkind: Pod\nmetadata: 1" + "0" * 400,
        "apiVersion: v1\nkind: Pod\nmetadata: .nan",
        "apiVersion: v1\nkind: Pod\nmetadata: 1e999",
        "apiVersion: v1\nkind: Pod\n? [a]\n: b",
        'apiVersion: v1\nkind: "Pod\\u202e\\u0301"',
        "apiVersion: {}\nkind: []",
        "apiVersion: v1\nkind: List\nitems: {a: b}",
        "apiVersion: v1\nkind: Pod\nmetadata: {name: [a], generateName: {}}",
        "apiVersion: v1\nkind: Secret\ndata: no\nstringData: [no]",
        "a: &a [x]\nb: &b [*a, *a]\napiVersion: v1\nkind: Pod",
        "apiVersion: v1\nkind: Pod\nspec: {containers: [1, null, {resources: []}, {resources: {limits: [1]}}]}",
        "\x00",
        "",
    ],
)
def test_hostile_manifests_are_faults_like_others(text: str, call: Call) -> None:
    answer = call("verify", "-", stdin=text)
    assert answer.code == 1
    assert "error[" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_a_definition_as_deep_as_files_may_be_is_no_trouble(call: Call) -> None:
    schema, spec = "{type: integer}", "x"
    keeping = "type: object, x-kubernetes-preserve-unknown-fields: true"
    for _ in range(22):
        schema, spec = f"{{{keeping}, allOf: [{{properties: {{a: {schema}}}}}]}}", f"{{a: {spec}}}"
    head, _, _ = CRD.partition("        type: object\n")
    Path("crd.yaml").write_text(head.replace("openAPIV3Schema:\n", f"openAPIV3Schema: {schema}\n"))
    other = "{b: " * 95 + "1" + "}" * 95
    text = WIDGET.replace("spec: {size: 1}", f"{spec[1:-1]}\nb: {other}")
    answer = call("verify", "-", "--crd", "crd.yaml", stdin=text)
    assert (answer.code, answer.stderr.count("error[")) == (1, 1)
    assert "expected a whole number, found the string `x`\n" in answer.stderr


def test_the_work_for_a_thousand_jobs_is_bounded() -> None:
    jobs = [
        run_objects(compile_run(run_text(f"job-{number}", resources={"mem": "6Gi", "gpu": 1}))) for number in range(10)
    ]
    api = Api("1.33")
    with at_most_calls(1_000_000):
        for _ in range(100):
            assert all(not verify_object(subject, [api]).faults["1.33"] for job in jobs for subject in job)
