"""Whatever is compiled is valid by the schemas of real Kubernetes versions, in which no unknown field passes."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.kubernetes_objects import ALL, NOWHERE, VERSIONS, anything, api, faults, node_of
from helpers.mutants import OTHER_KINDS, manifests
from helpers.paths import GOLDEN
from helpers.plain_data import paths, with_change
from hypothesis import given, reject
from hypothesis import strategies as st

from speccompile import CompileError
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.verify.verify import LocatedObject, verify_object

MANIFESTS = sorted((GOLDEN / "accept").glob("*/manifests.yaml"))


@given(cases())
def test_every_compiled_manifest_is_valid(case: Case) -> None:
    """The manifests of any valid run under any profile and platform are valid for old and new Kubernetes."""
    try:
        result = case.compile()
    except CompileError:
        reject()
    for manifest in result.manifests:
        for version in VERSIONS:
            assert faults(manifest.data, version) == [], version


def came_later(fault: str, version: str) -> bool:
    """Whether it is a field that users ask for by name, and that older versions do not know."""
    return version in ("1.29", "1.30") and bool(re.fullmatch(r"\S+\.volumes\.\d+\.image: unknown key `image`", fault))


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: path.parent.name)
def test_every_golden_manifest_is_valid(path: Path) -> None:
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if manifest["apiVersion"].partition("/")[0] in ("v1", "apps", "batch"):
            for version in ALL:
                assert [fault for fault in faults(manifest, version) if not came_later(fault, version)] == [], version


JOB: Data = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {
        "template": {
            "spec": {
                "containers": [
                    {
                        "name": "main",
                        "image": "a",
                        "ports": [{"containerPort": 80}],
                        "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": 2, "nvidia.com/gpu": "1"}},
                        "livenessProbe": {"httpGet": {"port": "http"}},
                    }
                ],
                "restartPolicy": "Never",
            }
        }
    },
}


@pytest.mark.parametrize("version", ALL)
def test_the_schemas_are_strict(version: str) -> None:
    """The witness itself: a good manifest passes, unknown fields and wrong types do not, at any depth."""
    pod = JOB["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert faults(JOB, version) == []

    def with_pod(**changes: Any) -> Data:
        return JOB | {"spec": {"template": {"spec": pod | changes}}}

    assert faults(with_pod(schedulerName=None), version) == []
    assert faults(with_pod(activeDeadlineSeconds=5.0), version) == []
    assert faults(JOB | {"extra": 1}, version)
    assert faults(with_pod(nodeselector={}), version)
    assert faults(with_pod(nodeSelector={"a": 1}), version)
    assert faults(with_pod(containers=[container | {"env": [{"name": "A", "value": 1}]}]), version)
    assert faults(with_pod(containers=[container | {"imagepullPolicy": "Always"}]), version)
    assert faults(with_pod(volumes=[{"name": "a", "emptyDir": {"sizelimit": "1Gi"}}]), version)
    assert faults(with_pod(volumes=[{"name": "a", "emptyDir": {"sizeLimit": "1GB"}}]), version)
    assert faults(with_pod(tolerations=[{"key": "a", "tolerationSeconds": "5"}]), version)
    assert faults(with_pod(affinity={"nodeAffinity": {"required": {}}}), version)
    assert faults(with_pod(hostUsers=1), version)
    assert faults(with_pod(activeDeadlineSeconds=2**63), version)
    assert faults(with_pod(activeDeadlineSeconds=-(2**63) - 1), version)


KINDS = [
    f"{group} {name}"
    for group, names in {
        "v1": "Pod Service Secret ConfigMap Node Namespace ServiceAccount PersistentVolume "
        "PersistentVolumeClaim Event Endpoints LimitRange ResourceQuota PodTemplate SecretList",
        "apps/v1": "Deployment StatefulSet DaemonSet",
        "batch/v1": "Job CronJob",
        "autoscaling/v2": "HorizontalPodAutoscaler",
        "networking.k8s.io/v1": "NetworkPolicy Ingress",
        "policy/v1": "PodDisruptionBudget",
        "rbac.authorization.k8s.io/v1": "RoleBinding ClusterRole",
        "scheduling.k8s.io/v1": "PriorityClass",
        "storage.k8s.io/v1": "StorageClass",
        "coordination.k8s.io/v1": "Lease",
        "discovery.k8s.io/v1": "EndpointSlice",
        "apiextensions.k8s.io/v1": "CustomResourceDefinition",
        "admissionregistration.k8s.io/v1": "ValidatingWebhookConfiguration",
        "apiregistration.k8s.io/v1": "APIService",
    }.items()
    for name in names.split()
]
SAMPLES = {"x-time": "2026-01-31T09:30:00Z", "x-quantity": "1Gi", "x-base64": "YQ=="}


def filled(schema: Any, depth: int) -> Any:
    """A value of the schema with every field that it names, to some depth."""
    types = schema.get("type", "object") if isinstance(schema, dict) else "string"
    kind = types if isinstance(types, str) else types[0]
    if kind == "object":
        inner = {"a": schema["additionalProperties"]} if isinstance(schema.get("additionalProperties"), dict) else {}
        fields = {**schema.get("properties", {}), **inner} if depth else {}
        return {key: filled(child, depth - 1) for key, child in fields.items()}
    if kind == "array":
        return [filled(schema["items"], depth - 1)] if depth else []
    sample = next((value for keyword, value in SAMPLES.items() if keyword in schema), "a")
    return {"string": schema.get("x-options", [sample])[0], "boolean": True}.get(kind, 1)


@cache
def whole(kind: str, version: str, depth: int) -> Data:
    api_version, _, name = kind.partition(" ")
    check = api(version).check((api_version, name))
    assert check
    return {**filled(check.schema, depth), "apiVersion": api_version, "kind": name}


def mutations(data: Any) -> st.SearchStrategy[Any]:
    """The data with something else at any place of it, a field more, or one less."""

    def changed(path: tuple[Any, ...], value: Any, *, adds: bool) -> Any:
        here = data
        for step in path:
            here = here[step]
        return with_change(data, path, {**here, "other": value} if adds and isinstance(here, dict) else value)

    def without(path: tuple[Any, ...]) -> Any:
        *above, last = path
        here = data
        for step in above:
            here = here[step]
        rest = {key: child for key, child in here.items() if key != last} if isinstance(here, dict) else []
        return with_change(data, tuple(above), rest)

    places = st.sampled_from(paths(data))
    unusual = st.sampled_from([None, "", -1, 1.5, 2**31, 2**63, [None], {"a": None}])
    deep = st.sampled_from([path for path in paths(data) if path])
    return st.builds(changed, places, unusual | anything, adds=st.booleans()) | st.builds(without, deep)


@given(st.data(), st.sampled_from(KINDS), st.sampled_from(["1.25", "1.29", "1.33", ALL[-1]]), st.integers(2, 6))
def test_the_fast_check_agrees_with_jsonschema(data: st.DataObject, kind: str, version: str, depth: int) -> None:
    """Manifests of any kind with any content never raise."""
    manifest = data.draw(mutations(whole(kind, version, depth)))
    api_version, _, name = kind.partition(" ")
    check = api(version).check((api_version, name))
    assert check
    assert check.accepts
    assert check.accepts(manifest) == check.validator.is_valid(manifest)
    verify_object(LocatedObject(node_of(manifest), NOWHERE), [api(version)])


@pytest.mark.parametrize("kind", KINDS)
def test_the_fast_check_agrees_with_jsonschema_about_null(kind: str) -> None:
    """As drawing finds it seldom in a field that must be there."""
    api_version, _, name = kind.partition(" ")
    check = api(ALL[-1]).check((api_version, name))
    assert check
    assert check.accepts
    right = whole(kind, ALL[-1], 3)
    for path in paths(right):
        changed = with_change(right, path, None)
        assert check.accepts(changed) == check.validator.is_valid(changed), path


@given(st.data(), st.sampled_from([*manifests()[OTHER_KINDS].values()]), st.sampled_from(VERSIONS))
def test_any_change_of_a_valid_object_gets_the_same_result(data: st.DataObject, manifest: Data, version: str) -> None:
    """Most of the objects above are invalid as a whole, which hides differences."""
    assert faults(manifest, version) == []
    changed = data.draw(mutations(manifest))
    if isinstance(changed, dict) and {"apiVersion", "kind", "metadata"} <= changed.keys():
        check = api(version).check((manifest["apiVersion"], manifest["kind"]))
        assert check
        assert check.accepts
        assert check.accepts(changed) == check.validator.is_valid(changed)
    verify_object(LocatedObject(node_of(changed), NOWHERE), [api(version)])


@given(st.sampled_from(paths(JOB["spec"])), anything, st.sampled_from(VERSIONS))
def test_any_job_gets_the_same_result(path: tuple[Any, ...], value: Any, version: str) -> None:
    """The comparison is in `faults`."""
    faults(JOB | {"spec": with_change(JOB["spec"], path, value)}, version)
