"""Warnings about values that are valid and likely a mistake."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import piped

from speccompile import Compiled, compile_many, compile_run

RUN = {"name": "train", "action": "job", "image": "python:3.12"}
TOKEN = "hf_9876543210ponmlkjihgfedcba"  # noqa: S105  not a real one
FORMS = ("text", "json", "sarif", "github")


def codes(**fields: Any) -> list[str]:
    return [finding.code for finding in compile_run({**RUN, **fields}).diagnostics]


@pytest.mark.parametrize(
    "resources",
    [
        {"mem": 32},
        {"mem": "512m"},
        {"mem": 0.5},
        {"mem": "1023Ki"},
        {"mem": {"limits": "1e3"}},
        {"requests": {"memory": 1}},
        {"limits": {"ephemeral-storage": "10k"}},
        {"disk": 10},
        {"cpu": "4Gi"},
        {"cpu": 1001},
        {"cpu": {"limits": "2M"}},
        {"requests": {"cpu": "1000001m"}},
    ],
)
def test_an_unlikely_amount_is_reported_once(resources: dict[str, Any]) -> None:
    assert codes(resources=resources) == ["policy/unlikely-amount"]


@pytest.mark.parametrize("resources", [{"mem": "1Mi"}, {"mem": "2Mi"}, {"cpu": 1000}, {"cpu": "1m"}, {"gpu": 1}])
def test_a_plausible_amount_is_not_reported(resources: dict[str, Any]) -> None:
    assert codes(resources=resources) == []


@pytest.mark.parametrize(
    ("resource", "amount", "advice"),
    [
        ("cpu", "4Gi", "write `4`, without `Gi`"),
        ("cpu", "2k", "write `2`, without `k`"),
        ("cpu", "2000", "write `2000m`, which is 2 cores"),
        ("cpu", "2000000m", "write `4` for four cores, or `500m` for half a core"),
        ("cpu", "2000000", "write `4` for four cores, or `500m` for half a core"),
        ("mem", "32", "write `32Gi` or `32Mi`"),
        ("mem", "0.5", "write `0.5Gi` or `0.5Mi`"),
        ("mem", "4096", "write `4096Mi`"),
        ("mem", "512m", "write `512Mi`; `m` means thousandths"),
        ("mem", "+5", "write a unit, such as `Mi` or `Gi`"),
    ],
)
def test_the_help_shows_what_was_probably_meant(resource: str, amount: str, advice: str) -> None:
    (finding,) = compile_run({**RUN, "resources": {resource: amount}}).diagnostics
    assert finding.help == advice


def test_the_default_size_is_reported_for_runs_only() -> None:
    volume = {"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data"}
    assert codes(volumes=[volume]) == ["policy/default-size"]
    assert codes(volumes=[{**volume, "spec": {"size": "10Gi"}}]) == []
    assert codes(volumes=[{**volume, "volume_type": "empty_dir"}]) == []
    compiled = compile_run({**RUN, "profile": "a"}, profiles=[{"id": "a", "volumes": [volume]}])
    assert compiled.diagnostics == ()


def test_the_default_size_is_not_reported_for_claims_that_become_ephemeral() -> None:
    volume = {"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data"}
    compiled = compile_run({**RUN, "volumes": [volume]}, platform={"pvc": {"as": "ephemeral"}})
    assert [finding.code for finding in compiled.diagnostics] == ["policy/ephemeral-claim"]


def test_a_secret_that_shells_cannot_read_is_not_quoted() -> None:
    compiled = compile_run({**RUN, "secrets": ["HF_TOKEN", "my-secret-key", "a.b"]})
    assert [finding.code for finding in compiled.diagnostics] == ["policy/secret-name"]
    assert "my-secret-key" not in repr(compiled.diagnostics)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("severity", ["warning", "ignore"])
def test_a_credential_is_in_no_report(form: str, severity: str) -> None:
    envs = f"envs:\n  HF_TOKEN: {TOKEN}\n  KEY: '{TOKEN}'\n"
    run = f"name: train\naction: job\nimage: python:3.12\nresources: {{mem: 1}}\nprofile: nothing\n{envs}"
    for text in (run, run.replace("profile: nothing\n", "")):
        answer = piped(text, "validate", "-", "--format", form, f"--{severity}", "policy/credential")
        assert TOKEN not in answer.stdout + answer.stderr


def test_a_credential_that_is_overridden_or_breaks_a_rule_is_in_no_report(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(
        "id: a\nenvs: {TOKEN: other}\nrules:\n  envs.OTHER: {pattern: '[a-z]+'}\n", encoding="utf-8"
    )
    run = f"name: train\naction: job\nimage: python:3.12\nprofile: a\nenvs:\n  TOKEN: {TOKEN}\n"
    overridden = piped(run, "explain", "-", "--profiles", str(tmp_path))
    assert overridden.code == 0
    assert TOKEN not in overridden.stdout + overridden.stderr
    refused = piped(f"{run}  OTHER: {TOKEN}\n", "validate", "-", "--profiles", str(tmp_path))
    assert refused.code == 1
    assert TOKEN not in refused.stdout + refused.stderr


def test_values_of_a_profile_are_reported_once(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("id: a\nresources: {mem: 4}\n", encoding="utf-8")
    run = "name: {}\naction: job\nimage: python:3.12\nprofile: a\n"
    answer = piped(
        "---\n".join(map(run.format, "abc")), "validate", "-", "--profiles", str(tmp_path), "--format", "json"
    )
    findings = json.loads(answer.stderr or answer.stdout)["findings"]
    assert [finding["code"] for finding in findings] == ["policy/unlikely-amount"]
    answer = piped("", "profiles", "lint", "--profiles", str(tmp_path))
    assert "[policy/unlikely-amount]" in answer.stdout + answer.stderr


def test_a_changed_name_is_reported_with_every_object() -> None:
    volumes = [{"volume_type": "config_map", "name": "a", "mount_path": "/a", "spec": {"data": {"b": "c"}}}]
    (finding,) = compile_run({**RUN, "name": "My_Train", "volumes": volumes}).diagnostics
    assert finding.code == "run/changed-name"
    assert finding.message.startswith("`My_Train` is not a Kubernetes name, so the Job is named `my-train-x")
    assert [note.message.split(" `")[0] for note in finding.notes] == ["the ConfigMap is named"]
    assert finding.help == "name the run `my-train`"
    assert codes(name="my-train") == []


@pytest.mark.parametrize("name", ["---", "ß", "3d", "A" * 253, "a" * 64, "train-x0123456789", "A-x0123456789", "a--b"])
def test_every_changed_name_has_a_reason(name: str) -> None:
    volumes = [{"volume_type": "config_map", "name": "a-b", "mount_path": "/a", "spec": {"data": {"b": "c"}}}]
    compiled = compile_run({**RUN, "name": name, "volumes": volumes})
    changed = any(created.name[-12:-10] == "-x" for created in compiled.objects)
    assert [finding.code for finding in compiled.diagnostics] == ["run/changed-name"] * changed
    assert all(finding.help for finding in compiled.diagnostics)


def test_workers_report_the_same() -> None:
    run = {**RUN, "name": "My_Train", "resources": {"mem": 1}, "secrets": ["a-b"], "envs": {"A": TOKEN}}
    runs: list[dict[str, Any] | str] = [run, json.dumps({**run, "name": "Other"}) + "\n"]
    with ThreadPoolExecutor(1) as executor:
        elsewhere = [*compile_many(runs, executor=executor)]
    here = [*compile_many(runs)]
    assert all(isinstance(result, Compiled) and len(result.diagnostics) == 4 for result in here)
    assert [result.diagnostics for result in here] == [result.diagnostics for result in elsewhere]
