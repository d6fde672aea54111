"""Facts about manifests: pods, containers, Secrets, security weaknesses.

Based on the documentation of Kubernetes, independent of the compiler, which the properties check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.testing.plain_data import Data

FactPath: TypeAlias = tuple[str, ...]

_POD_PATHS = {
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
    "Deployment": ("spec", "template"),
}
_KEYS = {
    "containers": ("name",),
    "initContainers": ("name",),
    "env": ("name",),
    "volumes": ("name",),
    "imagePullSecrets": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "port"),
}
"""The keys that identify list items; other lists are a single value or a set."""
_NESTED_LISTS = ("containers", "initContainers")
_SETS = (
    "tolerations",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
CONFINING_ANNOTATIONS = ("apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/")


def lookup(data: Any, *path: str) -> Any:
    """The value at a path of mappings; None if there is none."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def pod_templates(manifests: Iterable[Data]) -> Iterator[Data]:
    """The pod template of every workload."""
    for manifest in manifests:
        if manifest["kind"] in _POD_PATHS:
            yield lookup(manifest, *_POD_PATHS[manifest["kind"]])


def pods(manifests: list[Data]) -> Iterator[Data]:
    """The pod spec of every workload, or of a base document."""
    return (lookup(template, "spec") or {} for template in pod_templates(manifests))


def workload(manifests: list[Data]) -> Data:
    """The only object with a pod template."""
    (workload,) = (manifest for manifest in manifests if manifest["kind"] in _POD_PATHS)
    return workload


def all_containers(pod: Data) -> list[Data]:
    """All containers of a pod, init containers included."""
    return [*pod.get("containers", ()), *pod.get("initContainers", ())]


def objects(manifests: list[Data]) -> list[tuple[str, str]]:
    return [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]


def names_of_kind(manifests: list[Data], kind: str) -> set[str]:
    return {name for object_kind, name in objects(manifests) if object_kind == kind}


def facts(manifests: list[Data]) -> Mapping[FactPath, Any]:
    """All values of the manifests by path, except required node affinity, which the node matcher evaluates."""
    values: dict[FactPath, Any] = {}
    for manifest in manifests:
        values |= _facts(manifest, (manifest["kind"], manifest["metadata"]["name"]))
    return values


def _facts(value: Any, path: FactPath) -> Iterator[tuple[FactPath, Any]]:
    if isinstance(value, dict) and "nodeSelectorTerms" in value:
        return
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from _facts(child, (*path, key))
    elif isinstance(value, list) and value and path[-1] in _KEYS:
        for item in value:
            key = str(next(item[name] for name in _KEYS[path[-1]] if name in item))
            whole = _without_labels(item) if path[-1] == "volumes" else item
            yield from _facts(item, (*path, key)) if path[-1] in _NESTED_LISTS else [((*path, key), whole)]
    elif isinstance(value, list) and path[-1] in _SETS:
        yield from (((*path, json.dumps(item, sort_keys=True)), True) for item in value)
    elif not ("affinity" in path and value == {}):
        yield path, value


def _without_labels(volume: Data) -> Data:
    """A volume without the metadata of its claim template, which every layer contributes to."""
    template = lookup(volume, "ephemeral", "volumeClaimTemplate")
    if template is None:
        return volume
    without_metadata = {key: value for key, value in template.items() if key != "metadata"}
    return {**volume, "ephemeral": {"volumeClaimTemplate": without_metadata}}


# Volumes and Secrets


class VolumeSource(NamedTuple):
    """The source of a volume: its Kubernetes key, and the name of the object it refers to, if any."""

    kind: str
    name: str | None


_OBJECT_NAMES = {"persistentVolumeClaim": "claimName", "configMap": "name", "secret": "secretName"}


def volume_sources(pod: Data) -> Mapping[str, VolumeSource]:
    """The sources of a pod's volumes, by volume name."""
    by_name = {}
    for volume in pod.get("volumes", ()):
        kind = next((key for key in volume if key != "name"), "emptyDir")
        by_name[volume["name"]] = VolumeSource(kind, lookup(volume, kind, _OBJECT_NAMES.get(kind, "")))
    return by_name


def secrets(value: Any) -> set[str]:
    """The names of all Secrets that a pod refers to."""
    if isinstance(value, list):
        return {name for item in value for name in secrets(item)}
    if not isinstance(value, dict):
        return set()
    names = {str(value["secretName"])} if "secretName" in value else set()
    for key in ("secretKeyRef", "secretRef", "secret"):
        if isinstance(value.get(key), dict) and "name" in value[key]:
            names.add(str(value[key]["name"]))
    names |= {str(item["name"]) for item in value.get("imagePullSecrets") or () if "name" in item}
    return names | {name for child in value.values() for name in secrets(child)}


def claim_sizes(manifests: list[Data]) -> Iterator[tuple[FactPath, Any]]:
    """The size of every claim, ephemeral volumes included."""
    for manifest in manifests:
        if manifest["kind"] == "PersistentVolumeClaim":
            yield ("claim", manifest["metadata"]["name"]), lookup(manifest, "spec", "resources", "requests", "storage")
    for pod in pods(manifests):
        for volume in pod.get("volumes", ()):
            spec = lookup(volume, "ephemeral", "volumeClaimTemplate", "spec")
            if spec:
                yield ("volume", volume["name"]), lookup(spec, "resources", "requests", "storage")


def metadata_keys(data: Any) -> Iterator[str]:
    """The keys of all labels and annotations, those of pod templates included."""
    for field in ("labels", "annotations"):
        yield from lookup(data, "metadata", field) or ()
    for child in data.values() if isinstance(data, dict) else data if isinstance(data, list) else ():
        yield from metadata_keys(child)


# Security

_IDS = ("runAsUser", "runAsGroup", "fsGroup")
_HOST = ("hostNetwork", "hostPID", "hostIPC")


def root_ids(value: Any, path: FactPath = ()) -> Iterator[FactPath]:
    """The paths of user and group ids that are root."""
    if isinstance(value, dict):
        yield from ((*path, key) for key in _IDS if value.get(key) in (0, "0"))
        if 0 in (value.get("supplementalGroups") or ()):
            yield (*path, "supplementalGroups")
        for key, child in value.items():
            yield from root_ids(child, (*path, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from root_ids(item, (*path, str(index)))


def weaknesses(template: Data) -> set[FactPath]:
    """The violations of the Pod Security Standard `restricted`."""
    pod = template["spec"]
    pod_context = pod.get("securityContext") or {}
    violations: set[FactPath] = {("pod", key) for key in _HOST if pod.get(key)}
    violations |= {
        ("pod", key)
        for key in lookup(template, "metadata", "annotations") or {}
        if any(part in key for part in CONFINING_ANNOTATIONS) and not str(key).startswith("speccompile")
    }
    for container in all_containers(pod):
        violations |= {
            (container["name"], violation)
            for violation in _violations(container.get("securityContext") or {}, pod_context)
        }
    return violations


def _violations(context: Data, pod_context: Data) -> Iterator[str]:
    if context.get("runAsNonRoot", pod_context.get("runAsNonRoot")) is not True:
        yield "may run as root"
    if context.get("allowPrivilegeEscalation") is not False:
        yield "may gain privileges"
    if context.get("privileged"):
        yield "is privileged"
    if "ALL" not in (lookup(context, "capabilities", "drop") or ()):
        yield "keeps capabilities"
    if set(lookup(context, "capabilities", "add") or ()) - {"NET_BIND_SERVICE"}:
        yield "adds capabilities"
    if lookup(context.get("seccompProfile") or pod_context.get("seccompProfile"), "type") not in (
        "RuntimeDefault",
        "Localhost",
    ):
        yield "has no seccomp profile"
