"""Runs that look like others of their shape and are not."""

from __future__ import annotations

import pytest
from helpers.shapes import assert_same

from speccompile.files.load_admin_config import read_setting
from speccompile.testing.plain_data import Data

JOB = "name: {name}\naction: job\nprofile: big\nimage: x:1\n"
FILES = """\
volumes:
- spec:
    data:
      x: |
{value}  name: files
  volume_type: config_map
  mount_path: /files
"""
VOLUME: Data = {"name": "data", "volume_type": "persistent_volume_claim", "mount_path": "/data"}
CLAIM = "volumes: [{{name: data, volume_type: persistent_volume_claim, mount_path: /data, spec: {{size: {value}}}}}]\n"
GPU_KEYS: Data = {"gpu_keys": {"a100": "nvidia.com/gpu", "mig": "nvidia.com/mig-1g.5gb"}}
RUNS: dict[str, tuple[str, list[str], Data, Data | None]] = {
    "lines of a block that are keys": (
        JOB + FILES,
        ["        a: b\n", "        a: c\n", "        a: d\n", "      a: d\n"],
        {},
        None,
    ),
    "a number like a marker, of the profile": (
        JOB + 'args: ["{value}", "{value}", "{value}"]\n',
        ["41005", "41005", "41005", "0"],
        {"run_as_user": 41005},
        None,
    ),
    "a number like a marker, of a scalar that does not vary": (
        JOB + "parameters: {{a: {value}, b: 41001}}\n",
        ["a", "b", "c"],
        {},
        None,
    ),
    "a text like a marker": (
        JOB + "args: [{value}]\nnode_selector: {{zone: zq4qz}}\n",
        ["zq4qz", "zq4qz", "zq4qz", "x"],
        {},
        None,
    ),
    "a project like a marker": (
        "name: {value}\nproject: zq0qz\naction: job\nprofile: big\nimage: x:1\n",
        ["zq0qz", "zq0qz", "zq0qz", "a"],
        {},
        {"project_profiles": {"*": ["big"]}},
    ),
    "a gap in a message": (
        JOB + "annotations: {{note: {value}}}\n",
        ["a", "b", "c", "d"],
        {"annotations": {"note": "x\1y"}},
        None,
    ),
    "a secret that is a word of a message": (
        JOB + "annotations: {{app-secret: {value}}}\n",
        ["big", "big", "big", "other"],
        {"annotations": {"app-secret": "x"}},
        None,
    ),
    "a part of the profile's secret": (
        JOB + "annotations: {{note: {value}}}\n",
        ["a", "b", "c", "hunt"],
        {"annotations": {"note": "x", "app-secret": "hunter2"}},
        None,
    ),
    "a project that is the value of the platform's variable": (
        "project: {value}\n" + JOB + "envs: {{PROJECT: a}}\n",
        ["x", "y", "z", "a"],
        {},
        {"own_envs": {"PROJECT": "{project}"}},
    ),
    "the project that the platform fixes": (
        "project: {value}\n" + JOB,
        ["x", "y", "z", "a"],
        {},
        {"project": "a"},
    ),
    "a request above the profile's limit": (
        JOB + "resources: {{cpu: {value}}}\n",
        ["2", "3", "4", "901"],
        {"resources": {"limits": {"cpu": 900}}},
        None,
    ),
    "an empty value": (
        JOB + "annotations: {{note: {value}}}\n",
        ["a", "b", "c", "''"],
        {"annotations": {"note": "x"}},
        None,
    ),
    "a secret in a text": (
        JOB + "annotations: {{note: {value}}}\n",
        ["a", "b", "c", "'{secret: hunter2}'"],
        {"annotations": {"note": "x"}},
        None,
    ),
    "a password in a short text": (
        JOB + "annotations: {{note: {value}}}\n",
        ["a", "b", "c", "a://u:pass@h"],
        {"annotations": {"note": "x"}},
        None,
    ),
    "a port of the profile": (
        JOB.replace("job", "serve") + "service_ports: [{{port: 80, target_port: {value}}}]\n",
        ["1", "2", "3", "9091"],
        {"service_ports": [{"port": 9090, "target_port": 9091}]},
        None,
    ),
    "a port of the run": (
        JOB.replace("job", "serve") + "service_ports: [{{port: 80, target_port: {value}}}, {{port: 81}}]\n",
        ["1", "2", "3", "81"],
        {},
        None,
    ),
    "a request above the run's limit": (
        JOB + "resources: {{cpu: {value}, mem: {{limits: 4Gi}}, limits: {{cpu: 900}}}}\n",
        ["2", "3", "4", "901"],
        {},
        None,
    ),
    "a quote in parameters": (
        JOB + "parameters: {{a: {value}}}\n",
        ["a", "b", "c", "'a\"b'"],
        {},
        None,
    ),
    "a long value in a message": (
        JOB + "annotations: {{note: {value}}}\n",
        ["a", "b", "c", "a" * 90],
        {"annotations": {"note": "x"}},
        None,
    ),
    "the amount of another device, which the profile sets": (
        JOB + "resources: {{gpu: {value}}}\n",
        ["2", "3", "4", "1"],
        {"resources": {"gpu": {"mig": 1}}},
        GPU_KEYS,
    ),
    "the amount of another device, which the platform enforces": (
        JOB + "resources: {{gpu: {value}}}\n",
        ["3", "4", "5", "2"],
        {},
        {**GPU_KEYS, "enforce": {"resources": {"limits": {"nvidia.com/mig-1g.5gb": 2}}}},
    ),
    "a marker that is the profile's amount in another spelling": (
        JOB + "resources: {{mem: {value}}}\n",
        ["731004.0Mi", "731004.0Mi", "8Gi", "9Gi"],
        {"resources": {"mem": "731004.0Mi"}},
        None,
    ),
    "a marker that is the profile's amount in other units": (
        JOB + "resources: {{mem: {value}}}\n",
        ["731004.0Mi", "731004.0Mi", "8Gi", "9Gi"],
        {"resources": {"mem": 766513250304}},
        None,
    ),
    "a name in a block, with a dash": (
        JOB.replace("{name}", "|-\n  {value}")
        + "volumes: [{{name: d, volume_type: persistent_volume_claim, mount_path: /d}}]\n",
        ["ab", "cd", "ef", "a-b"],
        {},
        None,
    ),
    "a project in a block, with a dash": (
        "project: |-\n  {value}\n" + JOB,
        ["ab", "cd", "ef", "a-b"],
        {},
        {"names": {"job": "{project}-{name}"}},
    ),
    "the profile's size, as a number": (
        JOB + CLAIM,
        ["20000000", "30000000", "40000000", "10485760"],
        {"volumes": [{**VOLUME, "spec": {"size": 10485760}}]},
        None,
    ),
    "the profile's size, in another notation": (
        JOB + CLAIM,
        ["20000000", "30000000", "40000000", "0xA00000"],
        {"volumes": [{**VOLUME, "spec": {"size": "10485760"}}]},
        None,
    ),
    "a disk below the profile's request": (
        JOB + "resources: {{disk: {value}}}\n",
        ["2Ti", "3Ti", "4Ti", "5Gi"],
        {"resources": {"requests": {"ephemeral-storage": "10Gi"}}},
        None,
    ),
}


@pytest.mark.parametrize("case", RUNS)
def test_similar_runs(case: str) -> None:
    text, values, profile, platform = RUNS[case]
    setting = read_setting([{"id": "big", **profile}], platform)
    assert_same([text.format(name=f"a{number}", value=value) for number, value in enumerate(values)], setting)


@pytest.mark.parametrize("pattern", ["run\n{name}", "run\nkey: {name}", "run\n- {name}\n", "{name}\n"])
def test_a_name_in_lines_of_text(pattern: str) -> None:
    """A name that must be quoted as a value of its own is not quoted in a block."""
    setting = read_setting([{"id": "big"}], {"own_envs": {"NAME": pattern}})
    assert_same([JOB.format(name=name) for name in ("a", "b", "c", '"true"')], setting)


def test_runs_of_other_forms_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "apiVersion: speccompile.dev/v1alpha1\nkind: Run\nmetadata: {{name: a{}}}\n"
        "spec: {{action: job, profile: big, image: x:1}}\n"
    )
    monkeypatch.setattr("speccompile.compiler.shapes.known_shapes.validate", lambda *_: pytest.fail("it was validated"))
    assert_same([text.format(number) for number in range(4)], read_setting([{"id": "big"}], None))
