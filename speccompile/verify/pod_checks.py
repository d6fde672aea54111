"""Checks of the API server on pods, containers and their volumes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.schema.formats.names import label_key_fault, label_value_fault
from speccompile.schema.formats.text_format import ValueFault
from speccompile.verify.server_checks import TextCheck, Violation, items, mapping

_SECTIONS = ("containers", "initContainers", "ephemeralContainers")
_PRINTABLE = re.compile(r"[ -<>-~]+")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_FIELDS = frozenset(
    {
        *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"),
        *("status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"),
    }
)
_FILE_FIELDS = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.labels", "metadata.annotations"}
)
_SYSCTL = re.compile(r"[a-z0-9](?:[-_a-z0-9]*[a-z0-9])?(?:[./][a-z0-9](?:[-_a-z0-9]*[a-z0-9])?)*")
_KEYED_FIELD = re.compile(r"metadata\.(labels|annotations)\['(.*)'\]", re.DOTALL)
_RESOURCE_FIELD = re.compile(r"(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-.*)", re.DOTALL)


def containers(pod: Mapping[str, Any]) -> Iterator[tuple[KeyPath, Mapping[str, Any]]]:
    """All containers of a pod with their paths."""
    for section in _SECTIONS:
        for index, container in items(pod, section):
            yield (section, index), container


# Formats.


def relaxed_env_name_fault(text: str) -> ValueFault | None:
    """Since Kubernetes 1.32, any printable ASCII except `=`."""
    if _PRINTABLE.fullmatch(text):
        return None
    return ValueFault(f"{quote(text)} is not an environment variable name", "use printable ASCII characters except `=`")


def descending_path_fault(text: str) -> ValueFault | None:
    """A relative path that does not leave its directory."""
    if text.startswith("/"):
        return ValueFault(f"{quote(text)} is an absolute path", "write it without `/` in front")
    return no_parent_fault(text)


def no_parent_fault(text: str) -> ValueFault | None:
    if ".." in text.split("/"):
        return ValueFault(f"{quote(text)} contains `..`", "write the path without `..`")
    return None


def file_path_fault(text: str) -> ValueFault | None:
    """The path of a file in a volume; names that begin with `..` are reserved."""
    if text.startswith(".."):
        return ValueFault(f"{quote(text)} begins with `..`", "write a path that does not begin with `..`")
    return descending_path_fault(text)


def env_field_fault(text: str) -> ValueFault | None:
    return None if text in _FIELDS else _keyed_field_fault(text)


def file_field_fault(text: str) -> ValueFault | None:
    return None if text in _FILE_FIELDS else _keyed_field_fault(text)


def _keyed_field_fault(text: str) -> ValueFault | None:
    if match := _KEYED_FIELD.fullmatch(text):
        return label_key_fault(match[2].lower() if match[1] == "annotations" else match[2])
    return ValueFault(f"{quote(text)} is not a field that can be referred to", "write a field such as `metadata.name`")


def resource_field_fault(text: str) -> ValueFault | None:
    if _RESOURCE_FIELD.fullmatch(text):
        return None
    return ValueFault(f"{quote(text)} is not a resource of a container", "write a resource such as `limits.memory`")


def sysctl_fault(text: str) -> ValueFault | None:
    if _SYSCTL.fullmatch(text):
        return None
    return ValueFault(f"{quote(text)} is not a sysctl", "write one such as `net.core.somaxconn`")


# Checks of single values.


def check_toleration(toleration: Any) -> Iterator[Violation]:
    key, operator, value = (toleration.get(name) or "" for name in ("key", "operator", "value"))
    if not key and operator != "Exists":
        yield Violation("a toleration without `key` needs `operator: Exists`", "add `key`, or write `operator: Exists`")
    if operator == "Exists" and value:
        yield Violation("`value` has no effect with `operator: Exists`", "remove `value`", ("value",))
    elif operator in ("Equal", "") and isinstance(value, str) and (fault := label_value_fault(value)):
        yield Violation(fault.message, fault.help, ("value",))
    if toleration.get("tolerationSeconds") is not None and toleration.get("effect") != "NoExecute":
        message = "`tolerationSeconds` needs `effect: NoExecute`"
        yield Violation(message, "write `effect: NoExecute`, or remove `tolerationSeconds`", ("tolerationSeconds",))


def check_local_profile(profile: Any) -> Iterator[Violation]:
    """A profile of seccomp or AppArmor."""
    is_local, path = profile.get("type") == "Localhost", profile.get("localhostProfile")
    if is_local and path is None:
        yield Violation("`type: Localhost` needs `localhostProfile`", "add `localhostProfile`")
    elif not is_local and path is not None:
        message = "`localhostProfile` needs `type: Localhost`"
        yield Violation(message, "remove it, or change `type`", ("localhostProfile",))


def check_env_value(variable: Any) -> Iterator[Violation]:
    if variable.get("value") and variable.get("valueFrom") is not None:
        yield Violation("`value` and `valueFrom` exclude each other", "keep one of them", ("valueFrom",))


def check_env_field(source: Any) -> Iterator[Violation]:
    yield from _field(source, env_field_fault)


def check_file_field(file: Any) -> Iterator[Violation]:
    yield from _field(file, file_field_fault)
    selector = file.get("resourceFieldRef")
    if isinstance(selector, dict) and not selector.get("containerName"):
        yield Violation("missing `containerName`", "add `containerName`", ("resourceFieldRef",))


def _field(source: Any, fault_of: TextCheck) -> Iterator[Violation]:
    path = mapping(source, "fieldRef").get("fieldPath")
    if isinstance(path, str) and path and (fault := fault_of(path)):
        yield Violation(fault.message, fault.help, ("fieldRef", "fieldPath"))


def check_volume(volume: Any) -> Iterator[Violation]:
    """A volume without a source is an empty directory."""
    sources = [name for name, source in volume.items() if name != "name" and source is not None]
    if len(sources) > 1:
        message = f"{' and '.join(f'`{name}`' for name in sources)} exclude each other"
        yield Violation(message, "keep one of them", (sources[1],))


def check_spread(constraint: Any) -> Iterator[Violation]:
    if constraint.get("minDomains") is not None and constraint.get("whenUnsatisfiable") != "DoNotSchedule":
        message = "`minDomains` needs `whenUnsatisfiable: DoNotSchedule`"
        yield Violation(message, "remove `minDomains`, or change `whenUnsatisfiable`", ("minDomains",))


def check_label_keys(term: Any) -> Iterator[Violation]:
    """Keys cannot be both matched and mismatched."""
    keys, others = term.get("matchLabelKeys"), term.get("mismatchLabelKeys")
    for index, key in enumerate(keys if isinstance(keys, list) and isinstance(others, list) else ()):
        if key in others:
            message = f"{quote(key)} is in both `matchLabelKeys` and `mismatchLabelKeys`"
            yield Violation(message, "remove it from one of them", ("matchLabelKeys", index))


# Checks of containers.


def check_privileges(context: Any) -> Iterator[Violation]:
    if context.get("allowPrivilegeEscalation") is False:
        added = mapping(context, "capabilities").get("add")
        if context.get("privileged") is True:
            message = "a privileged container cannot have `allowPrivilegeEscalation: false`"
            yield Violation(message, "remove one of them", ("allowPrivilegeEscalation",))
        elif isinstance(added, list) and "CAP_SYS_ADMIN" in added:
            message = "a container with `CAP_SYS_ADMIN` cannot have `allowPrivilegeEscalation: false`"
            yield Violation(message, "remove one of them", ("allowPrivilegeEscalation",))


def check_container(container: Any) -> Iterator[Violation]:
    for name in ("livenessProbe", "startupProbe"):
        threshold = mapping(container, name).get("successThreshold")
        if isinstance(threshold, int) and threshold not in (0, 1):
            message = f"the `successThreshold` of a `{name}` must be 1"
            yield Violation(message, "remove it", (name, "successThreshold"))
    is_privileged = mapping(container, "securityContext").get("privileged") is True
    for index, mount in items(container, "volumeMounts"):
        path = ("volumeMounts", index)
        if mount.get("mountPropagation") == "Bidirectional" and not is_privileged:
            message = "`mountPropagation: Bidirectional` needs a privileged container"
            yield Violation(message, "write `HostToContainer` or `None`", (*path, "mountPropagation"))
        if mount.get("subPath") and mount.get("subPathExpr"):
            message = "`subPath` and `subPathExpr` exclude each other"
            yield Violation(message, "keep one of them", (*path, "subPathExpr"))
        if mount.get("recursiveReadOnly") in ("IfPossible", "Enabled") and not mount.get("readOnly"):
            message = "`recursiveReadOnly` needs `readOnly: true`"
            yield Violation(message, "add `readOnly: true`", (*path, "recursiveReadOnly"))


# Checks of pods.


def check_pod(pod: Any) -> Iterator[Violation]:
    yield from _duplicate_names(pod)
    yield from _init_containers(pod)
    if pod.get("hostNetwork") is True:
        yield from _host_ports(pod)
    if pod.get("hostPID") is True and pod.get("shareProcessNamespace") is True:
        message = "`hostPID` and `shareProcessNamespace` exclude each other"
        yield Violation(message, "keep one of them", ("shareProcessNamespace",))
    if pod.get("dnsPolicy") == "None" and not mapping(pod, "dnsConfig").get("nameservers"):
        yield Violation("`dnsPolicy: None` needs `nameservers` in `dnsConfig`", "add them", ("dnsPolicy",))


def check_no_restart_policy(pod: Any) -> Iterator[Violation]:
    """Before Kubernetes 1.35, only init containers have a `restartPolicy`, and only `Always`."""
    for section in ("containers", "initContainers"):
        for index, container in items(pod, section):
            policy = container.get("restartPolicy")
            if policy is not None and (section == "containers" or policy != "Always"):
                message = "only an init container can have a `restartPolicy`, and only `Always`"
                yield Violation(message, "remove it", (section, index, "restartPolicy"))


def check_mounts(owner: Any) -> Iterator[Violation]:
    """The owner is a pod or a template of pods."""
    yield from undeclared_mounts(mapping(owner, "spec"), ("spec",))


def undeclared_mounts(pod: Mapping[str, Any], above: KeyPath, others: Collection[str] = ()) -> Iterator[Violation]:
    """Mounts without a volume; `others` are volumes that the pod's owner adds."""
    names = {*others, *(volume.get("name") for _, volume in items(pod, "volumes") if _is_text(volume.get("name")))}
    for path, container in containers(pod):
        for field in ("volumeMounts", "volumeDevices"):
            for index, mount in items(container, field):
                name = mount.get("name")
                if isinstance(name, str) and name and name not in names:
                    message, help_text = f"no volume {quote(name)} in this pod", "add it to `volumes`, or fix the name"
                    yield Violation(message, help_text, (*above, *path, field, index, "name"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _duplicate_names(pod: Mapping[str, Any]) -> Iterator[Violation]:
    seen: set[str] = set()
    for path, container in containers(pod):
        name = container.get("name")
        if isinstance(name, str) and name:
            if name in seen:
                message = f"another container has the name {quote(name)}"
                yield Violation(message, "rename one of them", (*path, "name"))
            seen.add(name)


def _init_containers(pod: Mapping[str, Any]) -> Iterator[Violation]:
    for index, container in items(pod, "initContainers"):
        if container.get("restartPolicy") != "Always":
            for name in (*_PROBES, "lifecycle"):
                if container.get(name) is not None:
                    message = f"an init container cannot have a `{name}`"
                    help_text = "remove it, or write `restartPolicy: Always` if it runs beside the others"
                    yield Violation(message, help_text, ("initContainers", index, name))


def _host_ports(pod: Mapping[str, Any]) -> Iterator[Violation]:
    for index, container in items(pod, "containers"):
        for number, port in items(container, "ports"):
            if port.get("hostPort") and port["hostPort"] != port.get("containerPort"):
                message = "with `hostNetwork`, `hostPort` must equal `containerPort`"
                yield Violation(message, "remove `hostPort`", ("containers", index, "ports", number, "hostPort"))
