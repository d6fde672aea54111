"""Rules of the API server beyond its schemas, by kind and version; `test_server_verdicts.py` compares more of them."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.kubernetes_objects import NOWHERE, api, node_of
from helpers.mutants import OTHER_KINDS, manifests
from helpers.plain_data import with_change

from speccompile.model.key_path import KeyPath, format_path
from speccompile.verify.kubernetes_api import versions
from speccompile.verify.verify import LocatedObject, verify_object

POD: KeyPath = ("spec",)
TEMPLATE: KeyPath = ("spec", "template", "spec")
PODS: dict[str, KeyPath] = {
    "Pod everything": POD,
    "StatefulSet database": TEMPLATE,
    "DaemonSet agent": TEMPLATE,
    "Deployment web": TEMPLATE,
    "ReplicaSet web": TEMPLATE,
    "ReplicationController old": TEMPLATE,
    "PodTemplate template": ("template", "spec"),
    "Job indexed": TEMPLATE,
    "CronJob nightly": ("spec", "jobTemplate", "spec", "template", "spec"),
}
CONTAINER: KeyPath = ("containers", 0)


def at(data: Any, path: KeyPath) -> Any:
    for step in path:
        data = data[step]
    return data


def faults(name: str, path: KeyPath, change: Any, version: str = "1.35") -> list[str]:
    """The paths of the faults after fields were set in a mapping of an object."""
    manifest = manifests()[OTHER_KINDS][name]
    changed = with_change(manifest, path, {**at(manifest, path), **change})
    found = verify_object(LocatedObject(node_of(changed), NOWHERE), [api(version)]).faults[version]
    return [format_path(fault.path) for fault in found]


@pytest.mark.parametrize("name", PODS)
@pytest.mark.parametrize(
    ("below", "change", "fault"),
    [
        ((), {"containers": []}, ("containers",)),
        ((), {"containers": [None]}, CONTAINER),
        (CONTAINER, {"image": ""}, (*CONTAINER, "image")),
        (CONTAINER, {"image": None}, CONTAINER),
        (CONTAINER, {"name": "Main"}, (*CONTAINER, "name")),
        (CONTAINER, {"ports": [None]}, (*CONTAINER, "ports", 0)),
        (CONTAINER, {"ports": [{"containerPort": 65536}]}, (*CONTAINER, "ports", 0, "containerPort")),
        (CONTAINER, {"env": [None]}, (*CONTAINER, "env", 0)),
        (CONTAINER, {"env": [{"name": "A", "valueFrom": {}}]}, (*CONTAINER, "env", 0, "valueFrom")),
        (
            CONTAINER,
            {"volumeMounts": [{"name": "other", "mountPath": "/a"}]},
            (*CONTAINER, "volumeMounts", 0, "name"),
        ),
        (CONTAINER, {"livenessProbe": {}}, (*CONTAINER, "livenessProbe")),
        (CONTAINER, {"securityContext": {"runAsUser": -1}}, (*CONTAINER, "securityContext", "runAsUser")),
        (
            (),
            {"securityContext": {"seccompProfile": {"type": "RuntimeDefaults"}}},
            ("securityContext", "seccompProfile", "type"),
        ),
        ((), {"nodeSelector": {"a b": "c"}}, ("nodeSelector", "a b")),
        ((), {"tolerations": [None]}, ("tolerations", 0)),
    ],
)
def test_rules_of_pods_apply_to_every_kind_with_pods(name: str, below: KeyPath, change: Any, fault: KeyPath) -> None:
    assert format_path((*PODS[name], *fault)) in faults(name, (*PODS[name], *below), change)


@pytest.mark.parametrize(
    ("name", "path", "change", "fault"),
    [
        ("Job indexed", TEMPLATE, {"restartPolicy": "Always"}, "spec.template.spec.restartPolicy"),
        ("Job indexed", TEMPLATE, {"restartPolicy": None}, "spec.template.spec.restartPolicy"),
        ("Deployment web", TEMPLATE, {"restartPolicy": "Never"}, "spec.template.spec.restartPolicy"),
        ("CronJob nightly", POD, {"schedule": "0 25 * * *"}, "spec.schedule"),
        ("CronJob nightly", POD, {"timeZone": ""}, "spec.timeZone"),
        ("CronJob nightly", ("metadata",), {"name": "a" * 53}, "metadata.name"),
        ("Job indexed", ("metadata",), {"name": "a" * 64}, "metadata.name"),
        (
            "Job indexed",
            ("spec", "template", "metadata", "labels"),
            {"job-name": "b"},
            "spec.template.metadata.labels.job-name",
        ),
        ("Service web", POD, {"ports": []}, "spec"),
        ("Service web", POD, {"ports": [None]}, "spec.ports[0]"),
        ("Service web", ("spec", "ports", 0), {"name": None}, "spec.ports[0]"),
        ("Service web", ("metadata",), {"name": "1web"}, "metadata.name"),
        ("Deployment web", ("spec", "selector"), {"matchLabels": {"app": "b"}}, "spec.selector.matchLabels.app"),
        ("Deployment web", ("metadata",), {"annotations": {"a b": "c"}}, 'metadata.annotations["a b"]'),
        ("ConfigMap settings", ("data",), {"a/b": "c"}, 'data["a/b"]'),
        ("PersistentVolumeClaim copy", POD, {"accessModes": [None]}, "spec.accessModes[0]"),
        ("PersistentVolumeClaim copy", POD, {"resources": {}}, "spec.resources"),
    ],
)
def test_rules_of_kinds(name: str, path: KeyPath, change: Any, fault: str) -> None:
    assert fault in faults(name, path, change)


@pytest.mark.parametrize(
    ("name", "path", "change", "first"),
    [
        ("Pod everything", ("spec", "containers", 0, "env", 0), {"name": "1ST"}, "1.32"),
        ("Deployment web", (*TEMPLATE, *CONTAINER), {"restartPolicy": "Always"}, "1.35"),
        ("Service web", ("metadata",), {"name": "1web"}, "1.36"),
    ],
)
def test_rules_that_were_relaxed_apply_to_older_versions(name: str, path: KeyPath, change: Any, first: str) -> None:
    """Older versions than 1.30 also lack fields of the object."""
    known = versions()[versions().index("1.30") :]
    accepting = [version for version in known if not faults(name, path, change, version)]
    assert accepting == [*known[known.index(first) :]]


def test_a_schedule_with_a_time_zone_was_accepted_before_1_29() -> None:
    change = {"schedule": "TZ=Europe/Rome 0 4 * * *", "timeZone": None}
    accepting = [version for version in versions() if not faults("CronJob nightly", POD, change, version)]
    assert accepting == ["1.25", "1.26", "1.27", "1.28"]


def test_claim_templates_are_volumes_of_a_stateful_set() -> None:
    mounts = [{"name": "data", "mountPath": "/data"}]
    assert faults("StatefulSet database", (*TEMPLATE, *CONTAINER), {"volumeMounts": mounts}) == []
    assert faults("StatefulSet database", POD, {"volumeClaimTemplates": []}) == [
        "spec.template.spec.containers[0].volumeMounts[0].name"
    ]


def test_labels_of_jobs_in_a_cron_job_are_left_to_the_server() -> None:
    """It looks at them when it creates a job."""
    assert faults("CronJob nightly", ("spec", "jobTemplate", "metadata", "labels"), {"a b": "c"}) == []
