"""Whatever is compiled is valid by the schemas of real Kubernetes versions, in which no unknown field passes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, reject
from kubernetes_validate import latest_version

from speccompile import CompileError
from speccompile.testing.strategies import Case, Data, cases
from speccompile.verify import validator_of

GOLDEN = sorted((Path(__file__).resolve().parent.parent / "golden" / "accept").glob("*/manifests.yaml"))
VERSIONS = ("1.33.0", latest_version())


def faults(manifest: Data, version: str) -> list[str]:
    """What the schema of the manifest's kind objects to."""
    validator = validator_of(version, manifest["apiVersion"], manifest["kind"])
    return [f"{'.'.join(map(str, error.absolute_path))}: {error.message}" for error in validator.iter_errors(manifest)]


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


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name)
def test_every_golden_manifest_is_valid(path: Path) -> None:
    for manifest in yaml.safe_load_all(path.read_text(encoding="utf-8")):
        if manifest["apiVersion"].partition("/")[0] in ("v1", "apps", "batch"):
            for version in VERSIONS:
                assert faults(manifest, version) == [], version


JOB: Data = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "a"},
    "spec": {"template": {"spec": {"containers": [{"name": "main", "image": "a"}], "restartPolicy": "Never"}}},
}


@pytest.mark.parametrize("version", VERSIONS)
def test_the_schemas_are_strict(version: str) -> None:
    """The witness itself: a good manifest passes, unknown fields and wrong types do not, at any depth."""
    pod = JOB["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert faults(JOB, version) == []

    def with_pod(**changes: Any) -> Data:
        return JOB | {"spec": {"template": {"spec": pod | changes}}}

    assert faults(JOB | {"extra": 1}, version)
    assert faults(with_pod(nodeselector={}), version)
    assert faults(with_pod(nodeSelector={"a": 1}), version)
    assert faults(with_pod(containers=[container | {"env": [{"name": "A", "value": 1}]}]), version)
    assert faults(with_pod(containers=[container | {"imagepullPolicy": "Always"}]), version)
    assert faults(with_pod(volumes=[{"name": "a", "emptyDir": {"sizelimit": "1Gi"}}]), version)
    assert faults(with_pod(tolerations=[{"key": "a", "tolerationSeconds": "5"}]), version)
    assert faults(with_pod(affinity={"nodeAffinity": {"required": {}}}), version)
