"""Runs that are compiled by the page of their shape give what the ordinary path gives."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

import pytest
from helpers.shapes import SCALARS, Page, assert_same, marked_scalars, scalars_in, with_scalars
from hypothesis import given
from hypothesis import strategies as st

from speccompile.compiler.shapes.split_text import split_text
from speccompile.compiler.shapes.varying import AMOUNT, COUNT, NAME, PATH, PORT, TEXT
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import attempted
from speccompile.testing.plain_data import Data
from speccompile.yaml_text.serialize import serialize

JOB: Data = {
    "name": "train",
    "action": "job",
    "profile": "big",
    "image": "ghcr.io/acme/train:1",
    "project": "vision",
    "command": "python",
    "args": ["--lr", "0.1"],
    "envs": {"MODE": "fast", "HOME": "/tmp/a"},
    "labels": [{"name": "team", "value": "blue"}],
    "annotations": {"example.com/note": "x", "controller.kubernetes.io/pod-deletion-cost": "5"},
    "resources": {"cpu": 2, "mem": "4Gi", "gpu": 1, "disk": "5Gi"},
    "node_selector": {"zone": "eu-1", "pool": "batch"},
    "parameters": {"rate": "0.1", "deep": [{"a": "b"}]},
    "volumes": [
        {
            "name": "data",
            "volume_type": "persistent_volume_claim",
            "mount_path": "/data",
            "spec": {"size": "10Gi", "access_mode": "ReadWriteMany"},
        },
        {"name": "tmp", "volume_type": "empty_dir", "mount_path": "/tmp", "spec": {"size_limit": "1Gi"}},
        {"name": "files", "volume_type": "config_map", "mount_path": "/files", "spec": {"data": {"a": "b\nc\n"}}},
    ],
}
SERVER: Data = {
    **JOB,
    "action": "serve",
    "command": ["python", "-m", "serve"],
    "envs": [{"name": "MODE", "value": "fast"}, {"name": "HOME", "value": "/tmp/a"}],
    "labels": {"team": "blue"},
    "node_selector": [{"key": "zone", "value": "eu-1"}, {"key": "pool", "value": "batch"}],
    "replicas": 3,
    "service_name": "site",
    "service_ports": [{"port": 80, "target_port": 8080}, {"port": 81}],
}
RULES: Data = {
    "image": {"pattern": "ghcr.io/.*"},
    "envs.MODE": {"options": ["fast", "slow"]},
    "labels.team": {"pattern": "[a-z]+"},
    'annotations["example.com/*"]': {"pattern": "[a-z]*"},
    "resources.cpu": {"options": [1, 2, "4"]},
    "resources.mem": {"min": "1Gi", "max": "2Ti"},
    "resources.gpu": {"max": 2},
}
LAYER: Data = {
    "image": "ghcr.io/acme/fixed:1",
    "command": ["run"],
    "args": ["--fixed"],
    "envs": {"MODE": "admin", "EXTRA": "m1"},
    "labels": {"team": "green"},
    "annotations": {"example.com/note": "y"},
    "resources": {"requests": {"memory": "8Gi", "ephemeral-storage": "1Gi"}, "limits": {"cpu": 4000, "memory": "2Ti"}},
    "node_selector": {"pool": "gpu", "disk": "ssd"},
    "replicas": 2,
    "volumes": [{"name": "shared", "volume_type": "empty_dir", "mount_path": "/cache/"}],
    "service_ports": [{"port": 9090, "target_port": 9091}],
}
GPU_KEYS: Data = {"a100": "nvidia.com/gpu", "mig": "nvidia.com/mig-1g.5gb"}
AMOUNTS: list[Data] = [
    {"gpu": 1, "mem": "1025Mi"},
    {"gpu": "3", "mem": "1.0Gi"},
    {"limits": {"nvidia.com/gpu": 3, "amd.com/gpu": 1}},
    {"limits": {"amd.com/gpu": 1}},
    {"disk": "5Gi", "requests": {"memory": "1Gi"}},
]
"""Amounts of a profile, some of which runs repeat."""
SETTINGS: Data = {
    "allowed_registries": ["ghcr.io/acme", "docker.io/library"],
    "ceilings": {"cpu": 4000, "mem": "3Ti", "disk": "3Ti", "pvc": "2Ti"},
    "cpu_limit_factor": 2,
    "memory_limit_factor": 1.5,
    "project": "fixed",
    "project_profiles": {"vision": ["big"]},
    "own_envs": {"RUN": "{project}/{name}"},
    "names": {"job": "{project}-{name}", "service": "{name}-{project}", "volume": "{name}-{volume}"},
    "reserved_names": {"Service": ["web*"], "Job": ["a"]},
    "disk": {"as": "volume", "mount_path": "/scratch"},
    "pvc": {"as": "ephemeral"},
    "volumes": {"empty_dir_size": "2Gi"},
    "forbid": ["envs.TOKEN", "tolerations"],
    "namespace": "ai-jobs",
    "overrides": "warning",
}
"""Fields, rules and settings that read values of these runs; each of them accepts the runs as they are."""
AIMED: Mapping[str, str] = {
    TEXT: """a x7 docker.io/x:1 ghcr.io/x:1 "$(HOME)" "$(EXTRA)" true 'a b' hf_abcdefghijklmnop1 my-secret""",
    NAME: f"a b-c web1 kubernetes vision x-x0123456789 {'a' * 40} {'a' * 41}",
    PATH: "/cache /cache/ /scratch /data /tmp /files /b",
    PORT: "80 81 1 65535 9092",
    COUNT: "0 1 2 4 41001",
    AMOUNT: "0 1 3 500m 0.5 64 1Mi 1Gi 1025Mi 3Ti 4001",
}
"""Scalars by kind that have an effect under some of them."""


def in_flow(run: Data) -> str:
    """The run with each field on one line."""
    return "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in run.items())


def _nearby(scalars: Iterable[str]) -> list[str]:
    """The scalars, and those with the next number before and after each number at their beginning."""
    numbers = [(match, one) for one in scalars if (match := re.match("[0-9]+", one))]
    others = [f"{int(match[0]) + step}{one[match.end() :]}" for match, one in numbers for step in (1, -1)]
    return [*scalars, *others]


@st.composite
def _variants(draw: st.DrawFn, text: str, admin: AdminConfig) -> list[str]:
    """The text a few times, with other scalars, mostly where the schemas mark them."""
    split = split_text(text)
    if split is None or not split.scalars:
        return [text, text]
    marked = marked_scalars(text, admin.setting.library)
    known = _nearby(dict.fromkeys([*split.scalars, *scalars_in(admin.files), *scalars_in(admin.platform)]))
    anything = st.sampled_from(SCALARS) | st.sampled_from([f"{one}7" for one in split.scalars])
    numbers = st.sampled_from([*(marked or range(len(split.scalars)))]) | st.integers(0, len(split.scalars) - 1)
    texts = [text, text, text]
    for _ in range(draw(st.integers(2, 6))):
        changed = list(split.scalars)
        for number in draw(st.lists(numbers, min_size=1, max_size=3)):
            aimed = st.sampled_from(AIMED[marked[number][0]].split(" ")) if number in marked else anything
            changed[number] = draw(aimed | st.sampled_from(known) | anything)
        texts.append(with_scalars(split, changed))
    return [*texts, text]


WRITERS: tuple[Callable[[Data], str], ...] = (lambda run: serialize([run]), in_flow)


@st.composite
def hostile_sequences(draw: st.DrawFn) -> tuple[list[str], AdminConfig]:
    """Variants of a run that tries to bypass its admin."""
    run, admin = draw(attempted())
    return draw(_variants(draw(st.sampled_from(WRITERS))(run), admin)), admin


READERS: list[tuple[Data, Data]] = [
    *(({}, {name: value}) for name, value in SETTINGS.items()),
    *(({"rules": {name: value}}, {}) for name, value in RULES.items()),
    *(({name: value}, {}) for name, value in LAYER.items()),
    *(({"defaults": {name: value}}, {}) for name, value in LAYER.items()),
    *(({"resources": amounts}, {}) for amounts in AMOUNTS),
    *(({"resources": amounts, "defaults": {"resources": {"gpu": 3}}}, {}) for amounts in AMOUNTS),
    *(({"resources": amounts}, {"enforce": {"resources": {"gpu": 3}}}) for amounts in AMOUNTS),
    *(({"resources": {"gpu": amount}}, {"gpu_keys": GPU_KEYS}) for amount in (1, {"mig": 1}, {"a100": 1, "mig": 3})),
]
"""Profiles and platforms that each read some values of the runs."""


def admin_of(reader: tuple[Data, Data]) -> AdminConfig:
    profile, platform = reader
    return AdminConfig((({"id": "big", **profile},),), platform)


@given(hostile_sequences())
def test_law_a_page_gives_what_the_ordinary_path_gives(sequence: tuple[list[str], AdminConfig]) -> None:
    texts, admin = sequence
    assert_same(texts, admin.setting)


@pytest.mark.parametrize("run", [JOB, SERVER], ids=["job", "server"])
@pytest.mark.parametrize("reader", READERS)
def test_a_page_is_not_used_for_values_that_are_read(run: Data, reader: tuple[Data, Data]) -> None:
    """Each value that may vary is replaced by others, mostly such that have an effect under one of the readers."""
    setting = admin_of(reader).setting
    text = serialize([run])
    page, known = Page(text, setting), _nearby(dict.fromkeys(scalars_in(reader)))
    # Without a page, variants would be compiled by the ordinary path.
    assert page.exists
    assert Page(in_flow(run), setting).exists
    for number, (kind, _) in marked_scalars(text, setting.library).items():
        for scalars in page.with_others(number, dict.fromkeys((*AIMED[kind].split(" "), *known))):
            page.assert_same(scalars)
