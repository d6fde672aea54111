"""Files that are not the admin's cannot bypass the platform, through any channel.

A team writes the run, the project file next to it, profiles with base documents, and templates; the command line names
the platform. Whatever compiles satisfies the platform, judged by facts about manifests.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.command_line import Answer, piped
from hypothesis import given
from hypothesis import strategies as st

from speccompile.testing.manifest_facts import all_containers, pod_templates, root_ids, volume_sources, weaknesses
from speccompile.testing.plain_data import Data

PLATFORM: Data = {
    "allowed_registries": ["ghcr.io/acme"],
    "ceilings": {"gpu": 1, "mem": "8Gi"},
    "rules": {"priority_class": {"options": ["low"]}, "service_type": {"options": ["ClusterIP"]}},
    "forbid": ["service_account", "tolerations"],
}
RUN: Data = {"name": "train", "profile": "team", "image": "ghcr.io/acme/train:1"}
ACTIONS: dict[str, Data] = {
    "Job": {"action": "job"},
    "CronJob": {"action": "job", "schedule": "@daily"},
    "Deployment": {"action": "deploy"},
    "Service": {"action": "serve", "service_ports": [{"port": 80, "target_port": 8080}]},
}
POD: Mapping[str, tuple[str, ...]] = {
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
    "Deployment": ("spec", "template", "spec"),
}
VERSIONS = {"Job": "batch/v1", "CronJob": "batch/v1", "Deployment": "apps/v1", "Service": "v1"}

HARMLESS_FIELDS: list[Data] = [{"resources": {"gpu": 1}}, {"priority_class": "low"}, {"node_selector": {"zone": "a"}}]
HOSTILE_FIELDS: list[Data] = [
    {"image": "docker.io/other/train:1"},
    {"resources": {"gpu": 8}},
    {"resources": {"requests": {"example.com/device": 2}, "limits": {"example.com/device": 2}}},
    {"defaults": {"resources": {"mem": "64Gi"}}},
    {"priority_class": "system-node-critical"},
    {"defaults": {"priority_class": "system-node-critical"}},
    {"service_account": "cluster-admin"},
    {"defaults": {"service_account": "cluster-admin"}},
    {"tolerations": [{"operator": "Exists"}]},
    {"run_as_user": 0},
    {"volumes": [{"volume_type": "secret", "name": "v", "mount_path": "/v", "spec": {"name": "other-secrets"}}]},
    {"volumes": [{"volume_type": "config_map", "name": "v", "mount_path": "/v", "spec": {"name": "other"}}]},
    {"volumes": [{"volume_type": "shared_volume", "name": "v", "mount_path": "/v", "spec": {"claim_name": "other"}}]},
    {"volumes": [{"volume_type": "image", "name": "v", "mount_path": "/v", "spec": {"image": "docker.io/x:1"}}]},
    {"annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
    {"target": "seldon"},
]
MAIN: Data = {"name": "main"}
HARMLESS_POD: list[Data] = [
    {"priorityClassName": "low", "nodeSelector": {"zone": "a"}},
    {"containers": [MAIN | {"resources": {"limits": {"memory": "8Gi", "nvidia.com/gpu": 1}}}]},
    {"containers": [MAIN | {"workingDir": "/work"}]},
    {"containers": [MAIN | {"livenessProbe": {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 5}}]},
]
HOSTILE_POD: list[Data] = [
    {"hostPID": True},
    {"hostIPC": True},
    {"hostNetwork": True},
    {"hostUsers": True},
    {"nodeName": "control-plane"},
    {"serviceAccountName": "cluster-admin"},
    {"serviceAccount": "cluster-admin"},
    {"automountServiceAccountToken": True},
    {"priorityClassName": "system-node-critical"},
    {"schedulerName": "other"},
    {"tolerations": [{"operator": "Exists"}]},
    {"imagePullSecrets": [{"name": "other"}]},
    {"securityContext": {"runAsNonRoot": False}},
    {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
    {"securityContext": {"sysctls": [{"name": "kernel.shm_rmid_forced", "value": "0"}]}},
    {"containers": [MAIN | {"image": "docker.io/other/train:1"}]},
    {"containers": [MAIN | {"securityContext": {"privileged": True}}]},
    {"containers": [MAIN | {"securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}}]},
    {"containers": [MAIN | {"resources": {"limits": {"nvidia.com/gpu": 8}}}]},
    {"containers": [MAIN | {"ports": [{"containerPort": 80, "hostPort": 80}]}]},
    {"containers": [MAIN | {"envFrom": [{"secretRef": {"name": "other"}}]}]},
    {"containers": [MAIN | {"env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "other", "key": "a"}}}]}]},
    {"containers": [MAIN | {"livenessProbe": {"httpGet": {"host": "169.254.169.254", "port": 80}}}]},
    {"containers": [MAIN | {"lifecycle": {"postStart": {"httpGet": {"host": "169.254.169.254", "port": 80}}}}]},
    {"containers": [{"name": "other", "image": "docker.io/other/train:1"}]},
    {"containers": [{"name": "other", "image": "ghcr.io/acme/train:1", "resources": {"limits": {"memory": "64Gi"}}}]},
    {"initContainers": [{"name": "first", "image": "ghcr.io/acme/train:1", "securityContext": {"privileged": True}}]},
    {"ephemeralContainers": [{"name": "debug", "image": "ghcr.io/acme/train:1"}]},
    {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
    {"volumes": [{"name": "token", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
    {"volumes": [{"name": "store", "secret": {"secretName": "other"}}]},
    {"unknownField": {"anything": 1}},
]
HOSTILE_SERVICE: list[Data] = [
    {"type": "LoadBalancer"},
    {"externalIPs": ["192.0.2.1"]},
    {"externalName": "example.com"},
    {"ports": [{"port": 80, "nodePort": 30080}]},
]
HOSTILE_PROJECT: list[Data] = [
    {"templates": "own"},
    {"platform": "own.yaml"},
    {"severity": {"merge/overridden": "ignore"}},
    {"severity": {"policy/default-size": "notice"}},
]
OWN_TEMPLATE = """\
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ names.workload }}
spec:
  template:
    spec:
      hostPID: true
      containers:
      - name: main
        image: docker.io/other/train:1
"""


def merged(one: Any, other: Any) -> Any:
    """Both values; lists of named items are joined by name, other lists one after the other."""
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **other, **{key: merged(one[key], other[key]) for key in one.keys() & other.keys()}}
    if isinstance(one, list) and isinstance(other, list):
        if not all(isinstance(item, dict) and "name" in item for item in (*one, *other)):
            return [*one, *other]
        items = {item["name"]: item for item in one}
        for item in other:
            items[item["name"]] = merged(items.get(item["name"], {}), item)
        return list(items.values())
    return other


def base_document(kind: str, parts: list[Data]) -> Data:
    inner: Data = reduce(merged, parts, {})
    for step in reversed(POD.get(kind, ("spec",))):
        inner = {step: inner}
    return {"apiVersion": VERSIONS[kind], "kind": kind, **inner}


def team_files(run: Data, project: Data, profile: Data, bases: list[Data]) -> dict[str, str]:
    return {
        "run.yaml": json.dumps(run),
        "speccompile.yaml": json.dumps({"runs": ["run.yaml"], "profiles": ["profiles"], **project}),
        "profiles/team.yaml": "\n---\n".join(json.dumps(document) for document in ({"id": "team", **profile}, *bases)),
        "own/kubernetes/job.yaml.j2": OWN_TEMPLATE,
        "own.yaml": json.dumps({"enforce": {"resources": {"gpu": 8}}, "security": {"disable_root": False}}),
    }


def as_object(run: Data) -> Data:
    spec = {key: value for key, value in run.items() if key != "name"}
    return {"apiVersion": "speccompile.dev/v1alpha1", "kind": "Run", "metadata": {"name": run["name"]}, "spec": spec}


def resource_list(run: Data, **config: Any) -> str:
    function = {"apiVersion": "speccompile.dev/v1alpha1", "kind": "Compile", "metadata": {"name": "c"}, "spec": config}
    head = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}
    return json.dumps({**head, "items": [as_object(run)], "functionConfig": function})


CHANNELS: dict[str, tuple[list[str], Callable[[Data], str]]] = {
    "render": (["render", "run.yaml"], lambda _: ""),
    "validate": (["validate", "run.yaml"], lambda _: ""),
    "helm": (["helm"], lambda run: json.dumps(as_object(run))),
    "argocd": (["argocd", "generate"], lambda _: ""),
    "krm": (["krm"], resource_list),
    "krm with profiles of its configuration": (["krm"], lambda run: resource_list(run, profiles=["profiles"])),
}
"""The arguments of a call, and its standard input, for a run in the team's folder."""


def through(channel: str, files: Mapping[str, str], run: Data) -> Answer:
    """Compile the run in the team's folder; the platform is outside of it."""
    arguments, stdin = CHANNELS[channel]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        Path(folder, "platform.yaml").write_text(json.dumps(PLATFORM))
        for name, text in files.items():
            path = Path(folder, "team", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        patch.chdir(Path(folder, "team"))
        return piped(stdin(run), *arguments, "--platform", "../platform.yaml")


def violations(manifests: list[Data]) -> Iterator[str]:
    """Facts about the manifests that the platform does not allow."""
    for template in pod_templates(manifests):
        pod = template["spec"]
        yield from (f"weakness {one}" for one in weaknesses(template))
        yield from (f"root id {one}" for one in root_ids(pod))
        yield from (f"{key} is set" for key in pod if key not in POD_KEYS)
        yield from (f"priority class {name}" for name in [pod.get("priorityClassName", "low")] if name != "low")
        yield from (f"volume {one}" for one in volume_sources(pod).values() if one.kind in ("secret", "configMap"))
        (container,) = all_containers(pod)
        yield from (f"{key} of a container is set" for key in container if key not in CONTAINER_KEYS)
        if not container["image"].startswith("ghcr.io/acme/"):
            yield f"image {container['image']}"
        amounts = container.get("resources", {}).get("limits", {})
        if sum(int(amount) for name, amount in amounts.items() if "/" in name) > 1:
            yield f"devices {amounts}"
        if "host" in container.get("livenessProbe", {}).get("httpGet", {}):
            yield "a probe of another host"
        if any(
            amount != "8Gi"
            for side in container.get("resources", {}).values()
            for amount in [side.get("memory", "8Gi")]
        ):
            yield "memory"
    for service in (manifest for manifest in manifests if manifest["kind"] == "Service"):
        yield from (f"{key} of a Service is set" for key in service["spec"] if key not in ("type", "selector", "ports"))
        if service["spec"]["type"] != "ClusterIP" or any("nodePort" in port for port in service["spec"]["ports"]):
            yield "a Service that is open to others"


POD_KEYS = {"restartPolicy", "priorityClassName", "securityContext", "nodeSelector", "containers"}
CONTAINER_KEYS = {"name", "image", "resources", "securityContext", "workingDir", "livenessProbe", "ports"}


def manifests_of(answer: Answer) -> list[Data]:
    if answer.code:
        return []
    documents = [document for document in yaml.safe_load_all(answer.stdout) if document]
    return [item for document in documents for item in document.get("items", [document])]


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("fields", HARMLESS_FIELDS)
def test_profiles_of_users_compile_within_the_platform(channel: str, fields: Data) -> None:
    run = {**RUN, **ACTIONS["Job"]}
    answer = through(channel, team_files(run, {}, fields, [base_document("Job", HARMLESS_POD)]), run)
    assert answer.code == 0, answer.stderr
    assert channel == "validate" or "/work" in answer.stdout


@pytest.mark.parametrize("fields", HOSTILE_FIELDS, ids=json.dumps)
def test_a_field_of_such_a_profile_is_restricted_like_that_of_a_run(fields: Data) -> None:
    run = {**RUN, **ACTIONS["Job"]}
    assert through("render", team_files(run, {}, fields, []), run).code == 1


@pytest.mark.parametrize("part", HOSTILE_POD, ids=json.dumps)
def test_a_base_document_of_such_a_profile_contains_nothing_that_a_run_could_not_set(part: Data) -> None:
    run = {**RUN, **ACTIONS["Job"]}
    answer = through("render", team_files(run, {}, {}, [base_document("Job", [part])]), run)
    is_overridden = "image" in part.get("containers", [{}])[0] and part["containers"][0]["name"] == "main"
    assert answer.code == (0 if is_overridden else 1)
    assert list(violations(manifests_of(answer))) == []


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("project", HOSTILE_PROJECT, ids=json.dumps)
def test_a_project_file_next_to_the_runs_cannot_bypass_the_command_line(channel: str, project: Data) -> None:
    run = {**RUN, **ACTIONS["Job"]}
    answer = through(channel, team_files(run, project, {}, []), run)
    is_overridden = "platform" in project  # by the one of the command line
    assert answer.code == (0 if is_overridden else 1)
    assert list(violations(manifests_of(answer))) == []


@st.composite
def teams(draw: st.DrawFn) -> tuple[Data, dict[str, str]]:
    """Whatever a team can write: mostly harmless, so that a good part compiles."""

    def some(harmless: list[Data], hostile: list[Data]) -> list[Data]:
        parts = draw(st.lists(st.sampled_from(harmless), max_size=2)) if harmless else []
        return [*parts, *draw(st.lists(st.sampled_from(hostile), max_size=draw(st.sampled_from((0, 0, 0, 2)))))]

    kind = draw(st.sampled_from([*ACTIONS]))
    run = {**RUN, **ACTIONS[kind]}
    profile: Data = reduce(merged, some(HARMLESS_FIELDS, HOSTILE_FIELDS), {})
    project: Data = reduce(merged, some([], HOSTILE_PROJECT), {})
    kinds = {kind, *draw(st.sets(st.sampled_from([*ACTIONS]), max_size=1))} | (
        {"Deployment"} if kind == "Service" else set()
    )
    bases = [
        base_document(one, some([], HOSTILE_SERVICE) if one == "Service" else some(HARMLESS_POD, HOSTILE_POD))
        for one in sorted(kinds)
    ]
    return run, team_files(run, project, profile, draw(st.sampled_from((bases, []))))


@given(teams(), st.sampled_from([*CHANNELS]))
def test_whatever_compiles_satisfies_the_platform(team: tuple[Data, dict[str, str]], channel: str) -> None:
    run, files = team
    answer = through(channel, files, run)
    assert answer.code in (0, 1)
    assert list(violations(manifests_of(answer))) == []
