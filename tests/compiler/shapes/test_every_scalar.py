"""Every scalar of a run is replaced by others, and the page of its shape gives what the ordinary path gives."""

from __future__ import annotations

import pytest
from helpers.shapes import SCALARS, Page, scalars_in

from speccompile.files.load_admin_config import read_setting
from speccompile.testing.plain_data import Data

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
    "volumes": [{"name": "shared", "volume_type": "empty_dir", "mount_path": "/cache/"}],
}
ADMINS: list[tuple[Data, Data | None]] = [
    ({"id": "big"}, None),
    (BIG, {"names": {"service": "{name}-{project}"}, "own_envs": {"RUN_NAME": "run {name} of {project}"}}),
    (BIG | {"defaults": {"resources": {"limits": {"cpu": 4}}}}, {"disk": {"as": "volume", "mount_path": "/scratch"}}),
    (
        {"id": "big", "rules": {"envs.MODE": {"options": ["fast", "a"]}}},
        {"memory_limit_factor": 2, "cpu_limit_factor": 1},
    ),
    (
        {"id": "big", "forbid": ["priority_class"], "command": ["python"]},
        {"ceilings": {"cpu": 3, "pvc": "20Gi"}, "allowed_registries": ["ghcr.io/acme", "docker.io/library"]},
    ),
    ({"id": "big"}, {"ceilings": {"pvc": "2Ti"}, "disk": {"as": "volume"}}),
    ({"id": "big", "resources": {"limits": {"ephemeral-storage": "2Ti", "cpu": 4000, "memory": "2Ti"}}}, None),
    ({"id": "big"}, {"reserved_names": {"Service": ["web*"], "Job": ["a"]}, "service_type": "NodePort"}),
    ({"id": "big"}, {"project_profiles": {"vision": ["big"], "*": ["big"]}, "project": "vision"}),
]


@pytest.mark.parametrize("text", [SERVER, JOB], ids=["server", "job"])
@pytest.mark.parametrize(("profile", "platform"), ADMINS)
def test_every_scalar_may_be_any_other(text: str, profile: Data, platform: Data | None) -> None:
    """Each scalar of a run is replaced by many others, one at a time, after the shape of the run is known."""
    page = Page(text, read_setting([profile], platform))
    assert page.exists
    scalars = page.split.scalars
    others = dict.fromkeys([*SCALARS, *scalars, *scalars_in(profile), *scalars_in(platform)])
    for number in range(len(scalars)):
        for changed in page.with_others(number, others):
            page.assert_same(changed)
