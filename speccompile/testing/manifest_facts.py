"""Facts about manifests: pods, containers, Secrets, weaknesses.

Written from Kubernetes' documentation and not from the compiler, which the laws are there to check.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

Data: TypeAlias = dict[str, Any]
Place: TypeAlias = tuple[str, ...]

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
"""What tells the items of a list apart; all other lists are one value, or a set of rules."""
_DEEP = ("containers", "initContainers")
_RULES = (
    "tolerations",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "preferredDuringSchedulingIgnoredDuringExecution",
)
CONFINING = ("apparmor.security.beta.kubernetes.io/", "seccomp.security.alpha.kubernetes.io/")


def at(data: Any, *path: str) -> Any:
    """What stands at the path of mappings; None where it leads nowhere."""
    for step in path:
        data = data.get(step) if isinstance(data, dict) else None
    return data


def pod_templates(manifests: Iterable[Data]) -> Iterator[Data]:
    """The pod template of every workload."""
    for manifest in manifests:
        if manifest["kind"] in _POD_PATHS:
            yield at(manifest, *_POD_PATHS[manifest["kind"]])


def pods(manifests: list[Data]) -> Iterator[Data]:
    """The pod of every workload; of a base document, what it says of one."""
    return (at(template, "spec") or {} for template in pod_templates(manifests))


def workload(manifests: list[Data]) -> Data:
    """The one object that makes pods."""
    (found,) = (manifest for manifest in manifests if manifest["kind"] in _POD_PATHS)
    return found


def containers(pod: Data) -> list[Data]:
    """All containers of a pod, those that run before the others too."""
    return [*pod.get("containers", ()), *pod.get("initContainers", ())]


def objects(manifests: list[Data]) -> list[tuple[str, str]]:
    return [(manifest["kind"], manifest["metadata"]["name"]) for manifest in manifests]


def named(manifests: list[Data], kind: str) -> set[str]:
    return {name for found, name in objects(manifests) if found == kind}


def facts(manifests: list[Data]) -> Mapping[Place, Any]:
    """Everything the manifests say, by its place; what is required of nodes is left to the node matcher."""
    found: dict[Place, Any] = {}
    for manifest in manifests:
        found |= _facts(manifest, (manifest["kind"], manifest["metadata"]["name"]))
    return found


def _facts(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict) and "nodeSelectorTerms" in value:
        return
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from _facts(child, (*place, key))
    elif isinstance(value, list) and value and place[-1] in _KEYS:
        for item in value:
            key = str(next(item[name] for name in _KEYS[place[-1]] if name in item))
            whole = _without_labels(item) if place[-1] == "volumes" else item
            yield from _facts(item, (*place, key)) if place[-1] in _DEEP else [((*place, key), whole)]
    elif isinstance(value, list) and place[-1] in _RULES:
        yield from (((*place, json.dumps(item, sort_keys=True)), True) for item in value)
    elif not ("affinity" in place and value == {}):
        yield place, value


def _without_labels(volume: Data) -> Data:
    """A volume without the labels of the claim it makes, which are everybody's."""
    template = at(volume, "ephemeral", "volumeClaimTemplate")
    if template is None:
        return volume
    kept = {key: value for key, value in template.items() if key != "metadata"}
    return {**volume, "ephemeral": {"volumeClaimTemplate": kept}}


# Volumes and Secrets


class Source(NamedTuple):
    """What a pod's volume is made of: Kubernetes' word for it, and the object it names, if it names one."""

    kind: str
    name: str | None


_OBJECT_NAMES = {"persistentVolumeClaim": "claimName", "configMap": "name", "secret": "secretName"}


def sources(pod: Data) -> Mapping[str, Source]:
    """The volumes of a pod by name."""
    found = {}
    for volume in pod.get("volumes", ()):
        kind = next((key for key in volume if key != "name"), "emptyDir")
        found[volume["name"]] = Source(kind, at(volume, kind, _OBJECT_NAMES.get(kind, "")))
    return found


def secrets(value: Any) -> set[str]:
    """The names of all Secrets that a pod refers to, wherever it does."""
    if isinstance(value, list):
        return {name for item in value for name in secrets(item)}
    if not isinstance(value, dict):
        return set()
    own = {str(value["secretName"])} if "secretName" in value else set()
    for key in ("secretKeyRef", "secretRef", "secret"):
        if isinstance(value.get(key), dict) and "name" in value[key]:
            own.add(str(value[key]["name"]))
    own |= {str(item["name"]) for item in value.get("imagePullSecrets") or () if "name" in item}
    return own | {name for child in value.values() for name in secrets(child)}


def claim_sizes(manifests: list[Data]) -> Iterator[tuple[Place, Any]]:
    """The size of every claim that is made, those that live as long as a pod too."""
    for manifest in manifests:
        if manifest["kind"] == "PersistentVolumeClaim":
            yield ("claim", manifest["metadata"]["name"]), at(manifest, "spec", "resources", "requests", "storage")
    for pod in pods(manifests):
        for volume in pod.get("volumes", ()):
            spec = at(volume, "ephemeral", "volumeClaimTemplate", "spec")
            if spec:
                yield ("volume", volume["name"]), at(spec, "resources", "requests", "storage")


# Security

_IDS = ("runAsUser", "runAsGroup", "fsGroup")
_HOST = ("hostNetwork", "hostPID", "hostIPC")


def root_ids(value: Any, place: Place = ()) -> Iterator[Place]:
    """The places at which something runs as root or belongs to it."""
    if isinstance(value, dict):
        yield from ((*place, key) for key in _IDS if value.get(key) in (0, "0"))
        if 0 in (value.get("supplementalGroups") or ()):
            yield (*place, "supplementalGroups")
        for key, child in value.items():
            yield from root_ids(child, (*place, key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from root_ids(item, (*place, str(index)))


def weaknesses(template: Data) -> set[Place]:
    """In what a pod falls short of the Pod Security Standard `restricted`; empty if in nothing."""
    pod = template["spec"]
    outer = pod.get("securityContext") or {}
    found: set[Place] = {("pod", key) for key in _HOST if pod.get(key)}
    found |= {
        ("pod", key)
        for key in at(template, "metadata", "annotations") or {}
        if any(known in key for known in CONFINING) and not str(key).startswith("speccompile")
    }
    for container in containers(pod):
        found |= {(container["name"], what) for what in _faults(container.get("securityContext") or {}, outer)}
    return found


def _faults(own: Data, outer: Data) -> Iterator[str]:
    if own.get("runAsNonRoot", outer.get("runAsNonRoot")) is not True:
        yield "may run as root"
    if own.get("allowPrivilegeEscalation") is not False:
        yield "may gain privileges"
    if own.get("privileged"):
        yield "is privileged"
    if "ALL" not in (at(own, "capabilities", "drop") or ()):
        yield "keeps capabilities"
    if set(at(own, "capabilities", "add") or ()) - {"NET_BIND_SERVICE"}:
        yield "adds capabilities"
    if at(own.get("seccompProfile") or outer.get("seccompProfile"), "type") not in ("RuntimeDefault", "Localhost"):
        yield "has no seccomp profile"
