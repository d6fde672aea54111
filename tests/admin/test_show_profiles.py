"""Profiles as a table, annotated YAML and JSON data."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given

from speccompile.admin.show_profiles import TABLE_WIDTH, profile_data, profile_table, profile_yaml, summary_data
from speccompile.files.load_admin_config import read_setting
from speccompile.model.documents import Profile
from speccompile.testing.strategies.documents import Case, cases

PARENT = """\
id: gpu
description: All GPU nodes
tolerations:
- {key: nvidia.com/gpu, operator: Exists}
defaults: {resources: {cpu: 4}}
rules:
  resources.mem: {max: 64Gi, required: true, reason: small nodes}
  image_pull_policy: {options: [Always, Never]}
forbid: [affinity]
---
apiVersion: batch/v1
kind: Job
spec: {backoffLimit: 2}
"""
CHILD = """\
id: 1xa100
name: One A100
extends: [gpu]
node_selector: {gpu: a100}
envs:
  TEXT: |
    two
    lines
resources: {gpu: 1}
"""


def files(folder: Path) -> dict[str, Profile]:
    (folder / "gpu.yaml").write_text(PARENT)
    (folder / "child.yaml").write_text(CHILD)
    setting = read_setting([folder], None)
    assert setting.findings == ()
    return dict(setting.profiles)


def test_a_table_has_a_row_for_each_profile(tmp_path: Path) -> None:
    """The golden case `profiles-list` contains a whole table."""
    lines = profile_table(files(tmp_path).values()).splitlines()
    assert lines[0].split() == ["ID", "DESCRIPTION", "EXTENDS", "FIXES", "DEFAULTS", "RULES", "FORBIDS"]
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["ID", "1xa100", "gpu"]
    assert max(map(len, lines)) <= TABLE_WIDTH
    column = lines[0].index("RULES")
    assert "resources.requests.memory" in {line[column:].split(" ")[0] for line in lines}


def test_words_break_only_as_a_last_resort() -> None:
    profile = {"id": "q" * 60, "name": "b" * 80, "image": "x:1"}
    table = profile_table(read_setting([profile], None).profiles.values())
    assert max(map(len, table.splitlines())) <= TABLE_WIDTH
    assert table.count("q") == 60
    assert table.count("b") == 80


def test_empty_columns_are_omitted() -> None:
    profiles = read_setting([{"id": "a"}, {"id": "b", "image": "x:1"}], None).profiles
    assert profile_table(profiles.values()) == "ID  FIXES\na\nb   image\n"
    assert profile_table([]) == "no profiles\n"


def test_the_data_of_a_row(tmp_path: Path) -> None:
    child = files(tmp_path)["1xa100"]
    assert summary_data(child) == {
        "id": "1xa100",
        "name": "One A100",
        "description": None,
        "where": f"{tmp_path}/child.yaml:1",
        "extends": ["gpu"],
        "fixes": ["envs", "resources", "node_selector", "tolerations"],
        "defaults": ["resources"],
        "rules": [
            {"path": "image_pull_policy", "options": ["Always", "Never"]},
            {"path": "resources.requests.memory", "max": "64Gi", "required": True, "reason": "small nodes"},
        ],
        "forbid": ["affinity"],
        "bases": ["Job"],
    }


def test_every_value_has_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The golden case `profiles-show` contains a whole profile."""
    monkeypatch.chdir(tmp_path)
    files(Path())
    profile = read_setting([Path()], None).profiles["1xa100"]
    lines = profile_yaml(profile).splitlines()
    comments = {line.split("  # ")[0].rstrip(): line.split("  # ")[1] for line in lines if "  # " in line}
    assert comments["  value: |"] == "child.yaml:6"
    assert comments["- key: nvidia.com/gpu"] == "gpu.yaml:4"
    assert comments["  backoffLimit: 2"] == "gpu.yaml:13"
    assert [line for line in lines if "two" in line] == ["    two"]
    assert len({line.index("#") for line in lines if "  # " in line}) == 1


def test_the_data_of_a_profile_has_origins_by_path(tmp_path: Path) -> None:
    data = profile_data(files(tmp_path)["1xa100"])
    assert (data["id"], data["extends"]) == ("1xa100", ["gpu"])
    own, base = data["documents"]
    assert own["data"]["node_selector"] == {"gpu": "a100"}
    assert own["origins"]["node_selector.gpu"] == {
        "layer": "profile",
        "where": f"{tmp_path}/child.yaml:4:22",
        "derived": None,
    }
    assert own["origins"]["tolerations[0].key"]["where"] == f"{tmp_path}/gpu.yaml:4:9"
    assert base["data"]["kind"] == "Job"
    assert base["origins"]["spec.backoffLimit"]["where"] == f"{tmp_path}/gpu.yaml:13:22"


def test_the_name_of_a_file_cannot_break_out_of_its_comment(tmp_path: Path) -> None:
    (tmp_path / "a\nimage: evil.yaml").write_text("id: a\n")
    profile = read_setting([tmp_path], None).profiles["a"]
    assert profile_yaml(profile).count("\n") == 1


def test_a_gpu_key_is_resolved() -> None:
    platform = {"gpu_keys": {"a100": "nvidia.com/a100"}}
    profile = read_setting([{"id": "a", "gpu_key": "a100"}], platform).profiles["a"]
    assert "gpu_key: nvidia.com/a100  # <profile> (the platform's `a100`)\n" in profile_yaml(profile)


@given(cases())
def test_property_the_table_fits_and_is_printable(case: Case) -> None:
    setting = read_setting([case.profile] if case.profile else [], case.platform)
    lines = profile_table(setting.profiles.values()).split("\n")
    assert all(len(line) <= TABLE_WIDTH and line.isprintable() and line == line.rstrip() for line in lines)
