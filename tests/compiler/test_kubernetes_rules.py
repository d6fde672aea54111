"""What the API server refuses is refused first. The verdicts are those of kube-apiserver 1.35 for the same pods."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, compile_run
from speccompile.model.quantity import parse_quantity

COST = "controller.kubernetes.io/pod-deletion-cost"
SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
KNOWN = {"policy/refused-by-kubernetes", "policy/reserved-key", "schema/resource-name", "schema/whole-number"}
APPARMOR = "container.apparmor.security.beta.kubernetes.io/"


def compiled(fields: dict[str, Any], *bases: dict[str, Any]) -> Compiled | None:
    """The run with its base documents compiled, or None if it is refused as Kubernetes would refuse it."""
    profiles = [[{"id": "p"}, *bases]]
    try:
        return compile_run(
            {"name": "t", "action": "job", "image": "python", "profile": "p", **fields}, profiles=profiles
        )
    except CompileError as error:
        other = {finding.code for finding in error.diagnostics if finding.severity == "error"} - KNOWN
        if other:
            raise
        return None


def job(pod: dict[str, Any] | None = None, metadata: dict[str, Any] | None = None) -> dict[str, Any]:
    template = {"metadata": metadata or {}, "spec": pod or {}}
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}


@pytest.mark.parametrize(
    ("resources", "is_accepted"),
    [
        ({"mem": "1Gi", "limits": {"hugepages-2Mi": "4Mi"}}, True),
        ({"mem": "1Gi", "limits": {"hugepages-2Mi": "0"}}, True),
        ({"mem": "1Gi", "limits": {"hugepages-2Mi": "2097151.5"}}, True),
        ({"mem": "1Gi", "limits": {"hugepages-2Mi": "2097152.5"}}, False),
        ({"mem": "1Gi", "limits": {"hugepages-2Mi": "2M"}}, False),
        ({"cpu": "0", "limits": {"hugepages-2Mi": "4Mi"}}, True),
        ({"disk": "1Gi", "limits": {"hugepages-2Mi": "4Mi"}}, False),
        ({"limits": {"hugepages-2Mi": "4Mi"}}, False),
        ({"mem": "1Gi", "limits": {"hugepages-1500m": "3"}}, False),
        ({"mem": "1Gi", "limits": {"hugepages-9Pi": "9Pi"}}, False),
        ({"gpu": "8Pi"}, True),
        ({"gpu": "9Pi"}, False),
        ({"gpu": "9223372036854775"}, True),
        ({"gpu": "9223372036854776"}, False),
    ],
    ids=repr,
)
def test_resources(resources: dict[str, Any], is_accepted: bool) -> None:
    assert (compiled({"resources": resources}) is not None) is is_accepted


@pytest.mark.parametrize(
    ("resources", "is_accepted"),
    [
        ({"limits": {"nvidia.com/gpu": 1}}, True),
        ({"requests": {"nvidia.com/gpu": 1}}, False),
        ({"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}}, False),
        ({"requests": {"hugepages-2Mi": "2Mi"}, "limits": {"cpu": 1}}, False),
        ({"limits": {"hugepages-2Mi": "2Mi"}}, False),
        ({"limits": {"hugepages-2Mi": "2Mi", "cpu": 1}}, True),
        ({"limits": {"hugepages-2Mi": "3Mi", "cpu": 1}}, False),
        ({"limits": {"nvidia.com/gpu": "1500m"}}, False),
        ({"limits": {"mem": 1}}, False),
        ({"requests": {"storage": "1Gi"}}, False),
    ],
    ids=repr,
)
@pytest.mark.parametrize("container", ["main", "sidecar"])
def test_resources_of_base_documents(container: str, resources: dict[str, Any], is_accepted: bool) -> None:
    base = job({"containers": [{"name": container, "image": "x", "resources": resources}]})
    assert (compiled({}, base) is not None) is is_accepted


@pytest.mark.parametrize(
    ("key", "accepted", "refused"),
    [
        (COST, ("0", "-0", "-007", "1", "2147483647", "-2147483648"), ("x", "007", "+1", "2147483648", "", " 1", "-")),
        ("kubernetes.io/config.mirror", (), ("", "x")),
        ("scheduler.alpha.kubernetes.io/tolerations", ("", "[]"), ("x", "[", "{}")),
        (SECCOMP, ("runtime/default", "docker/default"), ("", "x", "unconfined", "localhost/a")),
        ("container.seccomp.security.alpha.kubernetes.io/t", ("unconfined", "localhost/a"), ("", "localhost/a/..")),
        (f"{APPARMOR}main", ("", "unconfined", "runtime/default", "localhost/"), ("x", "localhost")),
        (f"{APPARMOR}other", (), ("unconfined",)),
    ],
)  # fmt: skip
def test_annotations(key: str, accepted: tuple[str, ...], refused: tuple[str, ...]) -> None:
    for value in (*accepted, *refused):
        base = job(metadata={"annotations": {key: value}})
        assert (compiled({}, base) is not None) is (value in accepted), value


@pytest.mark.parametrize("action", ["job", "deploy"])
@pytest.mark.parametrize("prefix", ["", "batch.kubernetes.io/"])
@pytest.mark.parametrize("name", ["job-name", "controller-uid"])
def test_labels_of_jobs(action: str, prefix: str, name: str) -> None:
    run = {"name": "t", "action": action, "image": "python"}
    labels = {f"{prefix}{name}": "x"}
    for fields, profile in (({"labels": labels}, {}), ({}, {"labels": labels}), ({}, {"defaults": {"labels": labels}})):
        refused = pytest.raises(CompileError, match="policy/reserved-key") if action == "job" else nullcontext()
        with refused:
            compile_run({**run, "profile": "p", **fields}, profiles=[{"id": "p", **profile}])


@pytest.mark.parametrize(
    ("security", "is_accepted"),
    [
        ({"privileged": True}, True),
        ({"privileged": True, "allowPrivilegeEscalation": True}, True),
        ({"privileged": True, "allowPrivilegeEscalation": False}, False),
        ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}}, True),
        ({"capabilities": {"add": ["CAP_SYS_ADMIN"]}, "allowPrivilegeEscalation": False}, False),
        ({"capabilities": {"add": ["SYS_ADMIN"]}}, True),
        ({"privileged": False}, True),
    ],
    ids=repr,
)
@pytest.mark.parametrize("section", ["containers", "initContainers"])
@pytest.mark.parametrize("explicit", [False, True])
def test_privileges(section: str, security: dict[str, Any], explicit: bool, is_accepted: bool) -> None:
    base = job({section: [{"name": "sidecar", "image": "x", "securityContext": security}]})
    run = {"name": "t", "action": "job", "image": "python", "profile": "p"}
    try:
        result = compile_run(run, profiles=[[{"id": "p"}, base]], platform={"explicit_defaults": explicit})
    except CompileError:
        assert not is_accepted
        return
    assert is_accepted
    pod = result.manifests[0].data["spec"]["template"]["spec"]
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        context = container["securityContext"]
        gains = context.get("privileged") or "CAP_SYS_ADMIN" in context["capabilities"].get("add", ())
        assert not (gains and context.get("allowPrivilegeEscalation") is False)
        assert gains or context["allowPrivilegeEscalation"] is False or security.get("allowPrivilegeEscalation")


_AMOUNTS = st.sampled_from(["0", "1", "2Mi", "3Mi", "1Gi", "1025Mi", "2097151500m"])
_RESOURCES = st.dictionaries(st.sampled_from(["cpu", "memory", "hugepages-2Mi", "hugepages-1Gi"]), _AMOUNTS)


@given(_RESOURCES, _RESOURCES, _RESOURCES)
def test_huge_pages_of_any_layer_are_whole_and_not_alone(run: Any, profile: Any, base: Any) -> None:
    pod = {"containers": [{"name": "main", "resources": {"limits": base}}]}
    admin = {"id": "p", "resources": {"limits": profile}}
    fields = {"name": "t", "action": "job", "image": "python", "profile": "p", "resources": {"limits": run}}
    try:
        result = compile_run(fields, profiles=[[admin, job(pod)]])
    except CompileError:
        return
    container = result.manifests[0].data["spec"]["template"]["spec"]["containers"][0]
    limits = container.get("resources", {}).get("limits", {})
    pages = {name: amount for name, amount in limits.items() if name.startswith("hugepages-")}
    assert not pages or {"cpu", "memory"} & limits.keys()
    for name, amount in pages.items():
        size = parse_quantity(name.removeprefix("hugepages-")).nano
        assert -(-parse_quantity(amount).nano // 10**9) * 10**9 % size == 0
