"""Where objects define their pods: every object has known pods, has none, or is reported."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.cluster import Plain, tree
from hypothesis import given
from hypothesis import strategies as st

from speccompile.placement.pod_sets import EACH, POD_SETS, PODLESS
from speccompile.placement.workloads import ObjectPods, pods_of
from speccompile.testing.strategies.text import json_trees
from speccompile.verify.kubernetes_api import kinds, versions

POD: Plain = {"spec": {"containers": [{"name": "main", "image": "x"}]}}
KINDS = [*POD_SETS, ("mlops.seldon.io", "Server")]
NOT_STORED = {
    "APIGroup",
    "APIVersions",
    "DeleteOptions",
    "Eviction",
    "EvictionRequest",
    "Scale",
    "Status",
    "WatchEvent",
}
GONE = {
    *("ClusterCIDR", "PodScheduling", "PodSchedulingContext", "ResourceClass", "ResourceClaimParameters"),
    *("ResourceClassParameters", "ResourcePoolStatusRequest", "StorageVersion", "StorageVersionMigration"),
}
"""Kinds of alpha versions, and those of the server itself."""


def read(api_version: str, kind: str, spec: Any) -> ObjectPods:
    return pods_of([tree({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec})])


RAY: Plain = {
    "headGroupSpec": {"template": POD},
    "workerGroupSpecs": [
        {"template": POD, "replicas": 2, "numOfHosts": 4},
        {"template": POD, "minReplicas": 3},
        {"template": POD},
    ],
}


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "pods"),
    [
        ("argoproj.io/v1alpha1", "Rollout", {"template": POD, "replicas": 2}, {"": 2}),
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"replicas": 2, "template": {"spec": {"template": POD, "parallelism": 3, "completions": 3}}},
                    {"template": {"spec": {"template": POD}}},
                ]
            },
            {"spec.replicatedJobs[0]": 6, "spec.replicatedJobs[1]": 1},
        ),
        (
            "ray.io/v1",
            "RayCluster",
            RAY,
            {
                "spec.headGroupSpec": 1,
                "spec.workerGroupSpecs[0]": 8,
                "spec.workerGroupSpecs[1]": 3,
                "spec.workerGroupSpecs[2]": 0,
            },
        ),
        (
            "ray.io/v1",
            "RayJob",
            {"rayClusterSpec": {"headGroupSpec": {"template": POD}}, "submitterPodTemplate": POD},
            {"spec.rayClusterSpec.headGroupSpec": 1, "spec.submitterPodTemplate": 1},
        ),
        (
            "ray.io/v1",
            "RayService",
            {"rayClusterConfig": {"headGroupSpec": {"template": POD}, "workerGroupSpecs": None}},
            {"spec.rayClusterConfig.headGroupSpec": 1},
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            {"pytorchReplicaSpecs": {"Master": {"template": POD}, "Worker": {"template": POD, "replicas": 7}}},
            {"spec.pytorchReplicaSpecs.Master": 1, "spec.pytorchReplicaSpecs.Worker": 7},
        ),
        (
            "kubeflow.org/v2beta1",
            "MPIJob",
            {"mpiReplicaSpecs": {"Launcher": {"template": POD}}},
            {"spec.mpiReplicaSpecs.Launcher": 1},
        ),
    ],
)
def test_pods_of_other_kinds_are_found(api_version: str, kind: str, spec: Plain, pods: dict[str, int]) -> None:
    result = read(api_version, kind, spec)
    assert {one.part: one.pods for one in result.workloads} == pods
    assert result.unknown == ()


@pytest.mark.parametrize(
    ("api_version", "kind", "spec"),
    [
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"suspend": True}),
        ("kubeflow.org/v1", "PyTorchJob", {"runPolicy": {"suspend": True}}),
        ("ray.io/v1", "RayCluster", {"suspend": True}),
    ],
)
def test_other_kinds_can_be_suspended(api_version: str, kind: str, spec: Plain) -> None:
    parts = {
        "replicatedJobs": [{"template": {"spec": {"template": POD}}}],
        "pytorchReplicaSpecs": {"Worker": {"template": POD}},
        "headGroupSpec": {"template": POD},
    }
    (workload,) = read(api_version, kind, {**parts, **spec}).workloads
    assert (workload.replicas, workload.pods) == (1, 0)


@pytest.mark.parametrize(
    ("api_version", "kind", "spec", "known"),
    [
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", {"trainer": {"numNodes": 2}}, 0),
        ("argoproj.io/v1alpha1", "Workflow", {"templates": [{"container": {"image": "x"}}]}, 0),
        ("serving.kserve.io/v1beta1", "InferenceService", {"predictor": {"model": {}}}, 0),
        ("kubeai.org/v1", "Model", {"resourceProfile": "l4:1"}, 0),
        ("example.com/v1", "Deployment", {"template": POD}, 0),
        ("v2", "Thing", {}, 0),
        ("batch/v1", "Jobs", {"template": POD}, 0),
        ("apps/v1", "Deployment", {"replicas": 3}, 0),
        ("apps/v1", "Deployment", {"template": {"spec": [1]}}, 0),
        ("ray.io/v1", "RayJob", {"clusterSelector": {"ray.io/cluster": "shared"}}, 0),
        ("ray.io/v1", "RayCluster", {**RAY, "workerGroupSpecs": [{"replicas": 2}]}, 1),
        ("ray.io/v1", "RayCluster", {**RAY, "workerGroupSpecs": "two"}, 1),
        ("jobset.x-k8s.io/v1alpha2", "JobSet", {"replicatedJobs": []}, 0),
    ],
)
def test_pods_that_cannot_be_found_are_unknown(api_version: str, kind: str, spec: Plain, known: int) -> None:
    result = read(api_version, kind, spec)
    assert (len(result.workloads), len(result.unknown)) == (known, 1)


def test_every_kind_of_kubernetes_has_pods_or_none() -> None:
    known = {(api_version.rpartition("/")[0], kind) for version in versions() for api_version, kind in kinds(version)}
    stored = {(group, kind) for group, kind in known if not kind.endswith(("List", "Review", "Request"))}
    unclear = {kind for _, kind in stored - PODLESS - POD_SETS.keys()}
    assert unclear - NOT_STORED - GONE == set()
    assert not PODLESS & POD_SETS.keys()


names = st.text("ab.X", max_size=3)


@given(
    kind=st.sampled_from(KINDS) | st.tuples(names, names),
    spec=json_trees(),
    data=st.data(),
)
def test_no_object_is_dropped(kind: tuple[str, str], spec: Any, data: st.DataObject) -> None:
    """Whatever the object contains, its pods are known, or it is reported."""
    for pod_set in POD_SETS.get(kind, ()):
        # Half of the steps to the pod exist, so that values of any type occur at any depth.
        path = (*pod_set.holder, *pod_set.pod)[1:]
        for step in reversed(path[: data.draw(st.integers(0, len(path)))]):
            spec = [spec] if step == EACH and data.draw(st.booleans()) else {step: spec}
    group, name = kind
    result = read(f"{group}/v1" if group else "v1", name, spec)
    assert result.unknown or kind in PODLESS or (result.workloads and all(one.is_complete for one in result.workloads))
