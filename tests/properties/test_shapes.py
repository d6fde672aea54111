"""Runs that are compiled by the page of their shape give what the ordinary path gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile.compiler.compile_files import compile_file, source_compiler
from speccompile.compiler.compiled import Compiled, Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.shapes.known_shapes import KnownShapes, _key
from speccompile.compiler.shapes.page import ShapePage
from speccompile.compiler.shapes.split_text import split_text
from speccompile.files.load_admin_config import read_setting
from speccompile.model.source import Layer, Source
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import attempted
from speccompile.testing.plain_data import Data
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.serialize import serialize

# Scalars as written, most of which need a closer look in one field or another.
SCALARS = [
    *("a", "b-c", "a--b", "x-x0123456789", "n", "true", "null", "~", "1", "007", "1e3", "0x10", "12:30", "2026-11-18"),
    *("8080", "80", "0", "-1", "70000", "9090", "1Gi", "1024Mi", "500m", "0.5", "64", "3000", "1Ki", "2.5Gi"),
    *('"1"', '"true"', "''", '""', "'a b'", '"a, b"', "a,b", "a, b", "a b", "a:b", "a: b", "a #b", "#a", "a#b", "[a]"),
    *("{a: b}", "- a", "*a", "&a b", "!a b", "|", ">", "@a", "`a`", "%a", "?", "? a", '"a', "a\n  b", "é", "“a”"),
    *("/a", "/a/", "/scratch", "/data", "/shared", "../a", "$(HOME)", "$$", "hf_abcdefghijklmnop1", "https://u:p@h/x"),
    *(
        "my-secret",
        "webhook",
        "env: a",
        "a@b",
        "ghcr.io/acme/a:1",
        "a" * 70,
        "a" * 300,
        "zq1qz",
        "731001Mi",
        "41001",
        "%s",
        "50%",
    ),
    *(
        "name",
        "default",
        "ReadWriteMany",
        "Memory",
        "persistent_volume_claim",
        "empty_dir",
        "config_map",
        "job",
        "serve",
    ),
]


def source(text: str, name: str = "run.yaml") -> Source:
    return Source(name, text, Layer.RUN)


def outcome(result: Result) -> tuple[Any, ...]:
    """What a result shows without building trees, which the ordinary path builds in any case."""
    if not isinstance(result, Compiled):
        return (result.diagnostics, result.overrides)
    return (
        result.to_yaml(),
        result.diagnostics,
        result.name,
        result.project,
        result.place,
        result.objects,
        result.whole,
    )


def assert_same(texts: list[str], setting: Setting) -> None:
    """Compile the texts in order, and each of them alone by the ordinary path."""
    compile_source = source_compiler(setting)
    for number, text in enumerate(texts):
        one = source(text, f"run-{number}.yaml")
        expected = [outcome(result) for result in compile_file(parse(one), setting)]
        assert [outcome(result) for result in compile_source(one)] == expected, text


def in_flow(run: Data) -> str:
    """The run with each field on one line."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in run.items())


def scalars_in(data: Any) -> Iterator[str]:
    if isinstance(data, (dict, list, tuple)):
        for child in data.values() if isinstance(data, dict) else data:
            yield from scalars_in(child)
    elif data is not None:
        yield str(data)


@st.composite
def sequences(draw: st.DrawFn) -> tuple[list[str], AdminConfig]:
    """Texts of one structure, and what they are compiled with."""
    run, admin = draw(attempted())
    write = draw(st.sampled_from([lambda one: serialize([one]), in_flow]))
    text = write(run)
    split = split_text(text)
    texts = [text, text]
    if split is None or not split.scalars:
        return texts, admin
    known = [*dict.fromkeys([*split.scalars, *scalars_in(admin.files), *scalars_in(admin.platform)])]
    scalars = st.sampled_from(SCALARS) | st.sampled_from(known) | st.sampled_from([f"{one}7" for one in split.scalars])
    for _ in range(draw(st.integers(2, 5))):
        changed = list(split.scalars)
        for number in draw(st.lists(st.integers(0, len(changed) - 1), min_size=1, max_size=4)):
            changed[number] = draw(scalars)
        texts.append("".join(part for pair in zip(split.structure, (*changed, ""), strict=True) for part in pair))
    return [*texts, text], admin


SERVER = """\
name: serve-a
project: vision
action: serve
profile: big
image: ghcr.io/acme/serve:1.0
command: python
args: [--port, "8080", --model, m1]
labels: {team: blue}
annotations:
  acme.example/owner: me
  controller.kubernetes.io/pod-deletion-cost: "5"
envs:
  MODE: fast
  HF_HOME: /tmp/hf
  NAME: other
secrets: [HF_TOKEN]
resources:
  cpu: "2"
  mem: 4Gi
  gpu: 2
  disk: 5Gi
replicas: 2
parameters: {rate: "0.1", deep: [a, {b: c}]}
volumes:
- name: data
  volume_type: persistent_volume_claim
  mount_path: /data
  spec: {size: 10Gi, access_mode: ReadWriteMany}
- name: files
  volume_type: config_map
  mount_path: /etc/files
  spec:
    data:
      a.toml: |
        rate = 1
        name = "x"
- {name: tmp, volume_type: empty_dir, mount_path: /tmp, spec: {size_limit: 1Gi}}
service_ports:
- port: 80
  target_port: 8080
- {port: 81, target_port: 8081}
service_name: site
"""
JOB = """\
name: train
action: job
profile: big
image: python:3.12
command: [python, -m, train]
args:
- --lr
- "0.1"
envs:
- name: MODE
  value: fast
- {name: LEVEL, value: info}
labels:
- name: team
  value: blue
resources: {cpu: 2, mem: 4Gi}
node_selector: {zone: a}
schedule: "5 4 * * *"
backoff_limit: 1
volumes:
- name: data
  volume_type: ephemeral
  mount_path: /data
  spec:
    size: 10Gi
"""
BIG: Data = {
    "id": "big",
    "resources": {"gpu": 1, "mem": "8Gi"},
    "envs": {"HF_HOME": "/models", "EXTRA": "m1"},
    "labels": {"team": "green"},
    "volumes": [{"name": "shared", "volume_type": "empty_dir", "mount_path": "/cache"}],
}
ADMINS: list[tuple[Data, Data | None]] = [
    ({"id": "big"}, None),
    (BIG, {"names": {"service": "{name}-{project}"}, "own_envs": {"NAME": "run {name} of {project}"}}),
    (BIG | {"defaults": {"resources": {"limits": {"cpu": 4}}}}, {"disk": {"as": "volume", "mount_path": "/scratch"}}),
    (
        {"id": "big", "rules": {"envs.MODE": {"options": ["fast", "a"]}}},
        {"memory_limit_factor": 2, "cpu_limit_factor": 1},
    ),
    (
        {"id": "big", "forbid": ["priority_class"], "command": ["python"]},
        {"ceilings": {"cpu": 3, "pvc": "20Gi"}, "allowed_registries": ["ghcr.io/acme", "docker.io/library"]},
    ),
    ({"id": "big"}, {"reserved_names": {"Service": ["web*"], "Job": ["a"]}, "service_type": "NodePort"}),
    ({"id": "big"}, {"project_profiles": {"vision": ["big"], "*": ["big"]}, "project": "vision"}),
]


@pytest.mark.parametrize("text", [SERVER, JOB], ids=["server", "job"])
@pytest.mark.parametrize(("profile", "platform"), ADMINS)
def test_every_scalar_may_be_any_other(text: str, profile: Data, platform: Data | None) -> None:
    """Each scalar of a run is replaced by many others, one at a time, after the shape of the run is known."""
    setting = read_setting([profile], platform)
    split = split_text(text)
    assert split is not None
    others = [*dict.fromkeys([*SCALARS, *split.scalars, *scalars_in(profile), *scalars_in(platform)])]
    shapes = KnownShapes(setting, lambda one: [*compile_file(parse(one), setting)])
    for number in range(3):
        shapes.compile(source(text, f"{number}.yaml"))
    structure = shapes._structures[split.structure]
    holes = structure.holes[structure.profile_in(split)]
    assert holes is not None
    shape, _ = _key(split.scalars, holes)
    assert isinstance(shapes._shapes[shape], ShapePage)
    for number in range(len(split.scalars)):
        for other in others:
            scalars = (*split.scalars[:number], other, *split.scalars[number + 1 :])
            changed = "".join(part for pair in zip(split.structure, (*scalars, ""), strict=True) for part in pair)
            # Runs of other shapes take the ordinary path.
            if (
                (again := split_text(changed))
                and again == (split.structure, scalars)
                and _key(scalars, holes)[0] == shape
            ):
                one = source(changed)
                expected = [outcome(result) for result in compile_file(parse(one), setting)]
                assert [outcome(result) for result in shapes.compile(one)] == expected, changed


@given(sequences())
def test_law_a_page_gives_what_the_ordinary_path_gives(sequence: tuple[list[str], AdminConfig]) -> None:
    texts, admin = sequence
    assert_same(texts, admin.setting)
