"""`explain` and the options about findings, on the command line: streams, exit codes, files."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.command_line import Answer, Call
from jsonschema import Draft202012Validator

from speccompile.cli.main import main
from speccompile.compiler.explain import Explanation, explain
from speccompile.model.manifest import Manifest

RUN = "name: train\naction: job\nimage: python:3.12\nprofile: gpu\nresources:\n  gpu: 2\n"
PROFILE = "id: gpu\nresources:\n  gpu: 1\n"
STRUCK = "\x1b[9m"
LEFT_OUT = "speccompile: skipped 1 run with errors; changing the severity of an error does not fix it\n"


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """The command, called in a folder with a run and a profile that overrides it."""
    monkeypatch.chdir(tmp_path)
    Path("profiles").mkdir()
    Path("run.yaml").write_text(RUN)
    Path("profiles/gpu.yaml").write_text(PROFILE)

    def answer(*arguments: str) -> Answer:
        try:
            code = main([*arguments, "--profiles", "profiles"])
        except SystemExit as stop:  # argparse ends faults of its own in this way
            code = int(stop.code or 0)
        return Answer(code, *capsys.readouterr())

    return answer


def report_schema(root: Path, name: str) -> Draft202012Validator:
    schema = json.loads((root / "schemas" / "reports" / f"{name}.schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


# Files and paths within manifests


def test_paths_and_files_in_any_order(call: Call) -> None:
    first = call("explain", "run.yaml", "limits", "--quiet")
    assert first.code == 0
    assert first == call("explain", "--quiet", "limits", "run.yaml") == call("explain", "run.yaml", "--quiet", "limits")
    assert 'nvidia.com/gpu: "1"' in first.stdout


def test_several_paths(call: Call) -> None:
    answer = call("explain", "run.yaml", "image", "kind", "--quiet")
    assert "image: python:3.12" in answer.stdout
    assert "kind: Job" in answer.stdout


def test_a_missing_file_is_not_a_path(call: Call) -> None:
    answer = call("explain", "rnu.yaml")
    assert (answer.code, answer.stdout) == (1, "")
    assert "error[input/missing-file]" in answer.stderr


def test_an_unknown_path_is_refused_with_a_suggestion(call: Call) -> None:
    answer = call("explain", "run.yaml", "containers[0].imagee")
    assert (answer.code, answer.stdout) == (2, "")
    assert "did you mean `image`?" in answer.stderr


def test_a_long_unknown_path_is_truncated(call: Call) -> None:
    answer = call("explain", "run.yaml", "x" * 10_000)
    assert answer.code == 2
    assert f"`{'x' * 40}…` is neither a file nor a path in a manifest" in answer.stderr


def test_manifests_are_explained_once_for_several_paths(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    explained: list[Manifest] = []

    def counted(manifest: Manifest) -> Explanation:
        explained.append(manifest)
        return explain(manifest)

    monkeypatch.setattr("speccompile.compiler.explain.explain", counted)
    answer = call("explain", "run.yaml", "kind", "image", "limits", "metadata.name", "--quiet")
    assert answer.stdout.count("\n# Job train: ") == 4
    assert len(explained) == 1


def test_a_run_with_errors_is_not_explained(call: Call) -> None:
    Path("run.yaml").write_text(RUN + "nonsense: 1\n")
    answer = call("explain", "run.yaml", "--html", "report.html")
    assert (answer.code, answer.stdout) == (1, "")
    assert "schema/unknown-key" in answer.stderr
    assert not Path("report.html").exists()


def test_without_files_the_project_is_explained(call: Call) -> None:
    Path("speccompile.yaml").write_text("runs: [run.yaml]\n")
    assert call("explain", "kind").stdout == call("explain", "run.yaml", "kind").stdout != ""


def test_several_runs_are_one_stream_of_yaml(call: Call) -> None:
    Path("other.yaml").write_text(RUN.replace("train", "other"))
    answer = call("explain", "run.yaml", "other.yaml", "--quiet")
    assert [manifest["metadata"]["name"] for manifest in yaml.safe_load_all(answer.stdout)] == ["train", "other"]


def test_json_is_valid_and_goes_to_stdout(call: Call, root: Path) -> None:
    answer = call("explain", "run.yaml", "--format", "json")
    data = json.loads(answer.stdout)
    assert list(report_schema(root, "explain").iter_errors(data)) == []
    (run,) = data["runs"]
    (gpu,) = [value for value in run["manifests"][0]["values"] if value["path"].endswith('.limits["nvidia.com/gpu"]')]
    assert (gpu["value"], gpu["origin"]["place"]["line"]) == ("1", 3)
    assert [(overridden["value"], overridden["origin"]["place"]["line"]) for overridden in gpu["overridden"]] == [
        ("2", 6)
    ]
    assert answer.stderr.startswith("notice[merge/overridden]")


# Codes


def test_a_code_is_explained_without_any_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.chdir(tmp_path.parent)
    answer = call("explain", "--code", "schema/quantity")
    assert (answer.code, answer.stderr) == (0, "")
    assert re.match(r"error\[schema/quantity\]\n\n.+\n\nbad:\n  .+\n\ngood:\n  .+\n\Z", answer.stdout, re.DOTALL)


@pytest.mark.parametrize("option", ["--code", "--error", "--ignore"])
def test_a_code_that_does_not_exist_gets_a_near_name(option: str, call: Call) -> None:
    answer = call("explain", "run.yaml", option, "schema/unkown-key")
    assert answer.code == 2
    assert "did you mean `schema/unknown-key`?" in answer.stderr


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--code schema/quantity run.yaml", "--code cannot be combined with `run.yaml`"),
        ("--code schema/quantity --html page.html", "--code cannot be combined with --html"),
        ("--code schema/quantity --format json", "--code cannot be combined with --format json"),
        ("run.yaml --html page.html --format json", "--html cannot be combined with --format json"),
        ("run.yaml kind --html page.html", "--html cannot be combined with `kind`"),
    ],
)
def test_contradicting_arguments_are_refused(arguments: str, reason: str, call: Call) -> None:
    answer = call("explain", *arguments.split())
    assert (answer.code, answer.stdout) == (2, "")
    assert answer.stderr.endswith(f"error: {reason}\n")
    assert not Path("page.html").exists()


# The page


def test_the_page_replaces_only_a_page(call: Call) -> None:
    assert call("explain", "run.yaml", "--html", "report.html", "--quiet") == (0, "", "")
    first = Path("report.html").read_text(encoding="utf-8")
    assert first.startswith("<!doctype html>")
    assert call("explain", "run.yaml", "--html", "report.html", "--quiet").code == 0
    assert Path("report.html").read_text(encoding="utf-8") == first
    answer = call("explain", "run.yaml", "--html", "run.yaml", "--quiet")
    assert answer.code == 1
    assert "a file that speccompile did not write is in the way" in answer.stderr
    assert Path("run.yaml").read_text() == RUN


# Severity


def test_the_exit_code_follows_the_severity(call: Call) -> None:
    assert call("validate", "run.yaml").code == 0
    assert call("validate", "run.yaml", "--error", "merge/overridden").code == 1
    ignored = call("validate", "run.yaml", "--ignore", "merge/overridden")
    assert ignored == (0, "", "1 run valid\n")
    assert "warning[merge/overridden]" in call("validate", "run.yaml", "--warning", "merge/overridden").stderr


def test_the_last_option_for_a_code_overrides_strict_and_the_project(call: Call) -> None:
    Path("speccompile.yaml").write_text("runs: [run.yaml]\nseverity: {merge/overridden: error}\n")
    assert call("validate").code == 1
    assert call("validate", "--notice", "merge/overridden").code == 0
    assert call("validate", "--strict", "--notice", "merge/overridden").code == 0
    assert call("validate", "--notice", "merge/overridden", "--error", "merge/overridden").code == 1


def test_strict_overrides_the_project(call: Call) -> None:
    Path("speccompile.yaml").write_text("runs: [run.yaml]\nseverity: {merge/overridden: ignore}\n")
    trusted = ("--project", "speccompile.yaml")
    assert call("validate", *trusted) == (0, "", "1 run valid\n")
    assert call("validate", *trusted, "--strict").code == 1


def test_a_run_with_an_ignored_error_has_no_manifests(call: Call) -> None:
    """Severity affects reports only and cannot bypass the admin."""
    Path("platform.yaml").write_text("ceilings: {mem: 1Gi}\n")
    Path("large.yaml").write_text("name: large\naction: job\nimage: python:3.12\nresources: {mem: 2Gi}\n")
    given = ("render", "large.yaml", "run.yaml", "--platform", "platform.yaml", "--quiet")
    assert call(*given).code == 1
    answer = call(*given, "--ignore", "policy/ceiling")
    assert answer.code == 0
    assert [manifest["metadata"]["name"] for manifest in yaml.safe_load_all(answer.stdout)] == ["train"]
    assert answer.stderr == LEFT_OUT


@pytest.fixture
def large(call: Call) -> tuple[str, ...]:
    """A run above a limit and a valid one, in a call that ignores the error."""
    del call  # it says in which folder
    Path("platform.yaml").write_text("ceilings: {mem: 1Gi}\n")
    Path("large.yaml").write_text("name: large\naction: job\nimage: python:3.12\nresources: {mem: 2Gi}\n")
    Path("good.yaml").write_text("name: good\naction: job\nimage: python:3.12\n")
    return ("large.yaml", "good.yaml", "--platform", "platform.yaml", "--ignore", "policy/ceiling")


@pytest.mark.parametrize(
    "command",
    [
        *("render", "render --quiet", "render --format github", "render -o out --quiet"),
        *("validate", "validate --quiet"),
        *("validate --format json", "validate --format sarif", "validate --format github"),
        *("explain", "explain kind", "explain --format json", "explain --html page.html"),
    ],
)
def test_skipped_runs_are_reported_if_errors_are_ignored(command: str, large: tuple[str, ...], call: Call) -> None:
    answer = call(*command.split(), *large)
    assert (answer.code, answer.stderr) == (0, LEFT_OUT)
    assert "large" not in answer.stdout


def test_skipped_runs_are_counted(large: tuple[str, ...], call: Call) -> None:
    Path("larger.yaml").write_text(Path("large.yaml").read_text().replace("large", "larger"))
    answer = call("validate", "larger.yaml", *large)
    assert answer == (0, "", LEFT_OUT.replace("1 run", "2 runs"))
    assert LEFT_OUT not in call("validate", "larger.yaml", *large, "--error", "policy/ceiling").stderr


@pytest.mark.parametrize("quiet", [[], ["--quiet"]], ids=["", "quiet"])
@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_report_next_to_manifests_contains_ignored_errors(
    form: str, quiet: list[str], large: tuple[str, ...], call: Call
) -> None:
    answer = call("render", *large, "--format", form, *quiet)
    assert answer.code == 0
    assert yaml.safe_load(answer.stdout)["metadata"]["name"] == "good"
    data = json.loads(answer.stderr)
    if form == "json":
        assert [(found["code"], found["severity"]) for found in data["findings"]] == [("policy/ceiling", "notice")]
    else:
        assert [(found["ruleId"], found["level"]) for found in data["runs"][0]["results"]] == [
            ("policy/ceiling", "note")
        ]


@pytest.mark.parametrize("severity", ["--ignore", "--notice"])
@pytest.mark.parametrize("more", [[], ["kind"], ["--format", "json"], ["--html", "page.html"]], ids=" ".join)
def test_errors_stay_errors_if_no_run_can_be_explained(
    more: list[str], severity: str, large: tuple[str, ...], call: Call
) -> None:
    answer = call("explain", large[0], *large[2:4], severity, "policy/ceiling", *more)
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("error[policy/ceiling]: ")
    assert answer.stderr.endswith("\nspeccompile: 1 error\n")
    assert not Path("page.html").exists()


@pytest.mark.parametrize("command", ["render", "validate", "explain", "profiles lint"])
@pytest.mark.parametrize("faulty", ["speccompile.yaml", "profiles/gpu.yaml", "platform.yaml"])
def test_errors_of_the_setting_stay_errors(faulty: str, command: str, call: Call) -> None:
    """Whatever their severity is set to: nothing can be compiled."""
    Path("platform.yaml").write_text("namespace: team\n")
    Path("speccompile.yaml").write_text(
        "runs: [run.yaml]\nplatform: platform.yaml\nseverity: {schema/unknown-key: notice}\n"
    )
    with Path(faulty).open("a") as file:
        file.write("nonsense: 1\n")
    for severity in ([], ["--ignore", "schema/unknown-key"], ["--warning", "schema/unknown-key"]):
        answer = call(*command.split(), *severity, "--quiet", "--project", "speccompile.yaml")
        assert (answer.code, answer.stdout) == (1, "")
        assert answer.stderr.startswith("error[schema/unknown-key]: ")
        assert f"  --> {faulty}:" in answer.stderr
        assert answer.stderr.endswith("\nspeccompile: 1 error\n")


def test_users_cannot_change_the_overrides_setting_of_the_platform(call: Call) -> None:
    Path("platform.yaml").write_text("overrides: error\n")
    answer = call("render", "run.yaml", "--platform", "platform.yaml", "--ignore", "merge/overridden")
    assert answer.stdout == ""


def test_severity_and_formats_of_profiles_lint(call: Call) -> None:
    Path("profiles/gpu.yaml").write_text("id: gpu\ntolerations: [{key: gpu, operator: Exists}]\n")
    assert call("profiles", "lint").code == 0
    assert call("profiles", "lint", "--strict").code == 1
    assert call("profiles", "lint", "--error", "lint/pins-nothing").code == 1
    assert call("profiles", "lint", "--strict", "--ignore", "lint/pins-nothing") == (
        0,
        "",
        "no findings in 1 profile\n",
    )
    found = json.loads(call("profiles", "lint", "--format", "json").stdout)
    assert [finding["code"] for finding in found["findings"]] == ["lint/pins-nothing"]


# Formats


@pytest.mark.parametrize("form", ["json", "sarif", "github"])
def test_formats_go_to_stdout_if_it_is_free(form: str, call: Call) -> None:
    validated, rendered = call("validate", "run.yaml", "--format", form), call("render", "run.yaml", "--format", form)
    assert validated.stderr == ""
    assert "merge/overridden" in validated.stdout
    assert validated.stdout == rendered.stderr
    assert rendered.stdout.startswith("apiVersion:")


@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_document_is_written_without_findings_too(form: str, call: Call) -> None:
    Path("run.yaml").write_text("name: train\naction: job\nimage: python:3.12\n")
    assert json.loads(call("validate", "run.yaml", "--format", form).stdout)


def test_errors_of_the_project_file_have_the_format_of_the_call(call: Call) -> None:
    Path("speccompile.yaml").write_text("runs: [run.yaml]\nnonsense: 1\n")
    found = json.loads(call("validate", "--format", "json").stdout)
    assert [finding["code"] for finding in found["findings"]] == ["schema/unknown-key"]


# The override report.


def overrides(root: Path) -> list[dict[str, Any]]:
    data = json.loads(Path("overrides.json").read_text(encoding="utf-8"))
    assert list(report_schema(root, "overrides").iter_errors(data)) == []
    found: list[dict[str, Any]] = data["overrides"]
    return found


def test_the_report_lists_replaced_and_extended_values(call: Call, root: Path) -> None:
    Path("run.yaml").write_text(RUN + "tolerations: [{key: spot, operator: Exists}]\n")
    Path("profiles/gpu.yaml").write_text(PROFILE + "tolerations: [{key: gpu, operator: Exists}]\n")
    assert call("render", "run.yaml", "--report", "overrides.json").code == 0
    replaced, extended = overrides(root)
    assert (replaced["run"], replaced["change"], replaced["value"]) == ("default/train", "replaced", "2")
    assert (replaced["path"], replaced["code"]) == ('resources.limits["nvidia.com/gpu"]', "merge/overridden")
    assert (replaced["place"]["file"], replaced["place"]["line"]) == ("run.yaml", 6)
    (by,) = replaced["by"]
    assert (by["value"], by["origin"]["layer"], by["origin"]["place"]["line"]) == ("1", "profile", 3)
    assert replaced["rule"] == "a profile overrides the run and the defaults"
    assert (extended["change"], extended["path"]) == ("extended", "tolerations")
    assert extended["value"] == [{"key": "spot", "operator": "Exists"}]
    assert extended["by"][0]["value"] == [{"key": "gpu", "operator": "Exists"}]


REFUSALS: Mapping[str, tuple[str, str]] = {
    "rule": ("rules: {resources.gpu: {max: 1, reason: GPUs are scarce}}\n", "rule/max"),
    "ban": ("forbid: [resources.gpu]\n", "rule/forbidden"),
    "ceiling": ("ceilings: {gpu: 1}\n", "policy/ceiling"),
    "registry": ("allowed_registries: [ghcr.io/acme]\n", "policy/registry"),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_the_report_lists_refused_values(what: str, call: Call, root: Path) -> None:
    platform, code = REFUSALS[what]
    Path("run.yaml").write_text(RUN.replace("profile: gpu\n", ""))
    Path("platform.yaml").write_text(platform)
    answer = call("render", "run.yaml", "--platform", "platform.yaml", "--report", "overrides.json", "-o", "out")
    assert answer.code == 1
    assert not Path("out").exists()
    (refused,) = overrides(root)
    assert (refused["change"], refused["code"], refused["run"]) == ("refused", code, "default/train")
    assert refused["place"]["file"] == "run.yaml"
    assert [by["origin"]["place"]["file"] for by in refused["by"]] == ["platform.yaml"]
    if what == "rule":
        assert refused["value"] == "2"
        assert "GPUs are scarce" in refused["rule"]


def test_an_override_that_is_an_error_is_reported_too(call: Call, root: Path) -> None:
    Path("platform.yaml").write_text("overrides: error\n")
    answer = call("render", "run.yaml", "--platform", "platform.yaml", "--report", "overrides.json")
    assert answer.code == 1
    assert [entry["change"] for entry in overrides(root)] == ["replaced"]


def test_strict_makes_overrides_errors(call: Call) -> None:
    Path("run.yaml").write_text(RUN + "tolerations: [{key: spot, operator: Exists}]\n")
    Path("profiles/gpu.yaml").write_text(PROFILE + "tolerations: [{key: gpu, operator: Exists}]\n")
    answer = call("render", "run.yaml", "--strict")
    assert (answer.code, answer.stdout) == (1, "")
    assert "error[merge/overridden]" in answer.stderr
    assert "error[merge/extended]" in answer.stderr


def test_a_report_replaces_only_a_report(call: Call) -> None:
    answer = call("render", "run.yaml", "--report", "run.yaml")
    assert (answer.code, answer.stdout) == (1, "")
    assert "run.yaml was not written" in answer.stderr
    assert Path("run.yaml").read_text() == RUN


def test_a_report_contains_no_secret(call: Call) -> None:
    Path("run.yaml").write_text(RUN + "envs:\n  CLIENT_SECRET: hunter2\n")
    Path("profiles/gpu.yaml").write_text(PROFILE + "envs:\n  CLIENT_SECRET: other\n")
    assert call("render", "run.yaml", "--report", "overrides.json").code == 0
    assert "hunter2" not in Path("overrides.json").read_text()


# A real terminal.


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """The output of the command on a terminal, both streams together."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "speccompile", *arguments]
    known = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "TERM")}
    with subprocess.Popen(command, stdout=theirs, stderr=theirs, env={**known, **environment}) as process:
        os.close(theirs)
        seen = b""
        while True:
            try:
                more = os.read(ours, 65536)
            except OSError:  # the other side is closed
                break
            if not more:
                break
            seen += more
        process.wait()
    os.close(ours)
    return seen.decode()


def test_colour_is_for_terminals_only(call: Call) -> None:
    assert "\x1b" not in "".join(map(str, call("explain", "run.yaml")))
    given = ("explain", "run.yaml", "--profiles", "profiles")
    seen = on_a_terminal(*given, TERM="xterm")
    assert f'{STRUCK}nvidia.com/gpu: "2"\x1b[0m' in seen
    assert "\x1b[1;36mnotice[merge/overridden]\x1b[0m" in seen
    assert "\x1b" not in on_a_terminal(*given, TERM="xterm", NO_COLOR="1")
    assert "\x1b" not in on_a_terminal(*given, TERM="dumb")
