"""Pods satisfy the Pod Security Standard "restricted" on the built-in platform."""

from __future__ import annotations

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

from helpers.cases import compiled
from helpers.manifest_data import annotations_on
from hypothesis import example, given

from speccompile.testing.manifest_facts import pod_templates
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases

ALLOWED_VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",  # since Kubernetes 1.33
    "persistentVolumeClaim",
    "projected",
    "secret",
}
APP_ARMOR = "container.apparmor.security.beta.kubernetes.io/"


def violations(template: Data) -> Iterator[str]:
    """Violations of the Pod Security Standard "restricted", which includes "baseline"."""
    pod, context = template["spec"], template["spec"].get("securityContext", {})
    for key in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(key):
            yield key
    if context.get("runAsNonRoot") is not True:
        yield "runAsNonRoot"
    if context.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
        yield "seccompProfile"
    if "sysctls" in context or "seLinuxOptions" in context or "windowsOptions" in context:
        yield "securityContext"
    for volume in pod.get("volumes", ()):
        if not set(volume) - {"name"} <= ALLOWED_VOLUMES or len(volume) != 2:
            yield f"volume {volume}"
    for key, value in annotations_on(template).items():
        if key.startswith(APP_ARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/"):
            yield f"annotation {key}"
    for holder in (context, *(container.get("securityContext", {}) for container in pod["containers"])):
        if holder.get("runAsUser") == 0:
            yield "runAsUser"
    for container in (*pod["containers"], *pod.get("initContainers", ())):
        yield from container_violations(container)


def container_violations(container: Data) -> Iterator[str]:
    own = container.get("securityContext", {})
    if own.get("allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation"
    if own.get("privileged") or own.get("procMount", "Default") != "Default":
        yield "privileged"
    capabilities = own.get("capabilities", {})
    if "ALL" not in capabilities.get("drop", ()) or not set(capabilities.get("add", ())) <= {"NET_BIND_SERVICE"}:
        yield "capabilities"
    if own.get("runAsNonRoot") is False or own.get("seccompProfile", {}).get("type") == "Unconfined":
        yield "container securityContext"
    if any("hostPort" in port for port in container.get("ports", ())):
        yield "hostPort"


UNCONFINED = {f"{APP_ARMOR}main": "unconfined"}


@given(cases(built_in=True))
@example(Case({"name": "a", "action": "job", "image": "a", "annotations": UNCONFINED}))
def test_security_every_pod_is_restricted(case: Case) -> None:
    """Under the built-in platform every pod passes the Pod Security Standard "restricted"."""
    for template in pod_templates(manifest.data for manifest in compiled(case).manifests):
        assert list(violations(template)) == []


@given(cases(built_in=True))
def test_security_of_violations_none_is_overlooked(case: Case) -> None:
    """The check itself finds each of these violations."""
    (template,) = pod_templates(manifest.data for manifest in compiled(case).manifests)

    def broken(*path: str | int, value: Any) -> bool:
        copy = deepcopy(template)
        holder: Any = copy
        for step in path[:-1]:
            holder = holder.setdefault(step, {}) if isinstance(holder, dict) else holder[step]
        holder[path[-1]] = value
        return any(violations(copy))

    main = ("spec", "containers", 0, "securityContext")
    assert broken("spec", "securityContext", "runAsNonRoot", value=False)
    assert broken("spec", "securityContext", "runAsUser", value=0)
    assert broken("spec", "securityContext", "seccompProfile", "type", value="Unconfined")
    assert broken("spec", "volumes", value=[{"name": "a", "hostPath": {"path": "/"}}])
    assert broken("spec", "hostPID", value=True)
    assert broken(*main, "allowPrivilegeEscalation", value=True)
    assert broken(*main, "capabilities", "drop", value=[])
    assert broken(*main, "capabilities", "add", value=["SYS_ADMIN"])
    assert broken(*main, "privileged", value=True)
    assert broken("metadata", "annotations", value=UNCONFINED)
