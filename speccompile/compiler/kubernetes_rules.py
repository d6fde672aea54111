"""What the API server refuses although each value is valid by itself, in specs and in base documents."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping

from speccompile.compiler.container_resources import (
    HUGE_PAGES,
    SCRATCH_DISK,
    amount,
    is_device,
    is_extended,
    same_quantity,
)
from speccompile.compiler.pod_structure import POD_PATHS, containers_of, pod_of
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Platform
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.quantity import NANOS, parse_quantity
from speccompile.schema.field_path import SIDES
from speccompile.schema.formats.by_name import FORMAT_CHECKS

JOB_LABELS = frozenset(
    f"{prefix}{name}" for prefix in ("", "batch.kubernetes.io/") for name in ("job-name", "controller-uid")
)
"""Labels of a job's pods that Kubernetes sets itself; it refuses other values."""
_INT32 = 2**31
_SECTIONS = ("initContainers", "containers")
_POD_TERMS = {
    "requiredDuringSchedulingIgnoredDuringExecution": (),
    "preferredDuringSchedulingIgnoredDuringExecution": ("podAffinityTerm",),
}
"""Lists of pod affinity terms, and the path of the term in an item."""


def _refused(message: str, node: Node, path: KeyPath, advice: str, *notes: Note) -> Diagnostic:
    return Diagnostic(
        code="policy/refused-by-kubernetes", message=message, span=node.span, path=path, notes=notes, help=advice
    )


# Resources


def refused_amounts(resources: Node) -> Iterator[Diagnostic]:
    """Huge pages that are not whole pages."""
    seen: list[Node] = []
    for side in SIDES:
        for name, node in resources.fields[side].fields.items() if side in resources.fields else ():
            # The normalizer writes one value to both sides.
            if name.startswith(HUGE_PAGES) and not any(node is other for other in seen):
                seen.append(node)
                yield from _partial_pages(name, node, ("resources", side, name))


def _partial_pages(name: str, node: Node, path: KeyPath) -> Iterator[Diagnostic]:
    size = parse_quantity(name.removeprefix(HUGE_PAGES))
    # Kubernetes rounds up to whole bytes first.
    rounded = -(-amount(node).nano // NANOS) * NANOS
    if rounded % size.nano:
        message = f"{quote(node.value)} is not a multiple of the page size of `{name}`"
        yield _refused(message, node, path, f"write a multiple of `{size.text}`")


def lone_huge_pages(resources: Node) -> Iterator[Diagnostic]:
    """Huge pages in a container that sets neither CPU nor memory."""
    amounts = {name: node for side in SIDES if side in resources.fields for name, node in _side(resources, side)}
    huge = next(((name, node) for name, node in amounts.items() if name.startswith(HUGE_PAGES)), None)
    if huge and not amounts.keys() & {"cpu", "memory"}:
        message = f"`{huge[0]}` needs CPU or memory in the same container"
        yield _refused(message, huge[1], ("resources",), "add `cpu` or `mem`")


def uneven_devices(resources: Node) -> Iterator[Diagnostic]:
    """Devices and huge pages whose request has no equal limit; in a spec, the normalizer sees to it."""
    limits = dict(_side(resources, "limits"))
    for name, request in _side(resources, "requests"):
        limit = limits.get(name)
        if is_extended(name) and not (limit and same_quantity(request, limit)):
            notes = (Note("limit set here", limit.span),) if limit else ()
            message = f"the request of `{name}` needs an equal limit"
            yield _refused(message, request, ("resources", "requests", name), "set the limit alone", *notes)


def _side(resources: Node, side: str) -> Iterator[tuple[str, Node]]:
    yield from resources.fields[side].fields.items() if side in resources.fields else ()


# Metadata


def job_labels(labels: Mapping[str, Node], path: KeyPath = ("labels",)) -> Iterator[Diagnostic]:
    """Labels of a job's pods that belong to the Job controller."""
    for key in sorted(labels.keys() & JOB_LABELS):
        yield Diagnostic(
            code="policy/reserved-key",
            message=f"{quote(key)} is set by the Job controller of Kubernetes",
            span=labels[key].key or labels[key].span,
            path=(*path, key),
            help="use another key",
        )


def job_labels_in(tree: Node) -> Iterator[Diagnostic]:
    """Labels of the Job controller in an object, or in the output of a template before values are filled in."""
    kind = tree.fields.get("kind")
    labels = tree.at((*POD_PATHS[str(kind.value)][:-1], "metadata", "labels")) if kind and _is_job(kind) else None
    yield from job_labels(labels.fields) if labels else ()


def _is_job(kind: Node) -> bool:
    return kind.value in ("Job", "CronJob")


def _is_deletion_cost(text: str) -> bool:
    # Go reads a number with zeros in front only behind a minus sign.
    return bool(re.fullmatch(r"0|[1-9][0-9]{0,9}|-[0-9]{1,20}", text)) and -_INT32 <= int(text) < _INT32


def _is_list(text: str) -> bool:
    try:
        return not text or isinstance(json.loads(text), list)
    except (ValueError, RecursionError):
        return False


def _is_seccomp(text: str) -> bool:
    is_known = re.fullmatch(r"(?s)(runtime|docker)/default|unconfined|localhost/(?!/).*", text)
    return is_known is not None and ".." not in text.split("/")


def _is_apparmor(text: str) -> bool:
    return bool(re.fullmatch(r"(?s)|runtime/default|unconfined|localhost/.*", text))


_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_ANNOTATIONS: Mapping[str, tuple[Callable[[str], bool], str]] = {
    "controller.kubernetes.io/pod-deletion-cost": (_is_deletion_cost, "write a 32-bit integer, such as `100` or `-5`"),
    "kubernetes.io/config.mirror": (lambda _: False, "remove it: only the kubelet sets it"),
    "scheduler.alpha.kubernetes.io/tolerations": (_is_list, "use `tolerations`"),
    "container.seccomp.security.alpha.kubernetes.io/": (_is_seccomp, "write `runtime/default`"),
    _APPARMOR: (_is_apparmor, "write `runtime/default`"),
}
"""Annotations of pods that the API server reads, by key or (with a slash at the end) prefix: the check of the value,
and the help."""
_SECCOMP = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_VALUES = {
    "RuntimeDefault": r"(runtime|docker)/default",
    "Unconfined": "unconfined",
    "Localhost": "localhost/.+",
}
"""The values of that annotation by the type of the pod's seccomp profile, which it can only repeat."""


def refused_annotations(annotations: Mapping[str, Node], seccomp: Node | None) -> Iterator[Diagnostic]:
    """Annotations of pods with a value that Kubernetes refuses, given the type of the pod's seccomp profile."""
    for key, node in annotations.items():
        text, path = str(node.value), ("annotations", key)
        is_valid, advice = _ANNOTATIONS.get(key) or _ANNOTATIONS.get(f"{key.partition('/')[0]}/") or (None, "")
        if is_valid and not is_valid(text):
            yield _refused(f"Kubernetes does not accept {quote(text)} for annotation `{key}`", node, path, advice)
        elif key == _SECCOMP and seccomp and not re.fullmatch(_SECCOMP_VALUES.get(str(seccomp.value), ""), text):
            message = f"annotation `{key}` does not match the pod's seccomp profile, {quote(seccomp.value)}"
            yield _refused(message, node, path, "remove it")


def reads_annotation(key: str) -> bool:
    """Whether it depends on the annotation's value whether Kubernetes accepts it."""
    return key == _SECCOMP or key in _ANNOTATIONS or f"{key.partition('/')[0]}/" in _ANNOTATIONS


def _unknown_containers(annotations: Mapping[str, Node], names: frozenset[object]) -> Iterator[Diagnostic]:
    for key, node in annotations.items():
        if key.startswith(_APPARMOR) and key.removeprefix(_APPARMOR) not in names:
            message = f"the pod has no container {quote(key.removeprefix(_APPARMOR))}"
            yield _refused(message, node, ("annotations", key), "use the name of one of its containers")


# Placement


def clashing_label_keys(affinity: Node) -> Iterator[Diagnostic]:
    """Pod affinity terms with a label key in two places of which Kubernetes allows one."""
    for kind in ("podAffinity", "podAntiAffinity"):
        for name, inner in _POD_TERMS.items():
            terms = affinity.at((kind, name))
            for item in terms.items if terms else ():
                term = item.at(inner)
                if term is not None:
                    yield from _clashing_keys(term, ("affinity", kind, name))


def _clashing_keys(term: Node, path: KeyPath) -> Iterator[Diagnostic]:
    match = term.fields.get("matchLabelKeys")
    for other, keys in (("mismatchLabelKeys", _items(term, "mismatchLabelKeys")), ("labelSelector", _selected(term))):
        for item in match.items if match else ():
            if item.value in keys:
                message = f"{quote(item.value)} is both in `matchLabelKeys` and in `{other}`"
                note = Note("also here", keys[item.value].place)
                yield _refused(message, item, (*path, "matchLabelKeys"), "remove one of the two", note)


def _items(term: Node, name: str) -> dict[object, Node]:
    return {item.value: item for item in term.fields[name].items} if name in term.fields else {}


def _selected(term: Node) -> dict[object, Node]:
    """The label keys of the selector."""
    labels, expressions = term.at(("labelSelector", "matchLabels")), term.at(("labelSelector", "matchExpressions"))
    keys: dict[object, Node] = dict(labels.fields.items()) if labels else {}
    keys.update({item.fields["key"].value: item.fields["key"] for item in expressions.items} if expressions else {})
    return keys


# Containers


def gains_privileges(security: Node) -> bool:
    """Whether Kubernetes refuses `allowPrivilegeEscalation: false` beside it."""
    privileged, added = security.fields.get("privileged"), security.at(("capabilities", "add"))
    return (privileged is not None and privileged.value is True) or any(
        item.value == "CAP_SYS_ADMIN" for item in (added.items if added else ())
    )


def contradicting_privileges(container: Node) -> Iterator[Diagnostic]:
    """A container that gains privileges and forbids it."""
    security = container.fields.get("securityContext")
    escalation = security.fields.get("allowPrivilegeEscalation") if security else None
    if security and escalation is not None and escalation.value is False and gains_privileges(security):
        message = "Kubernetes refuses `allowPrivilegeEscalation: false` with `privileged: true` or `CAP_SYS_ADMIN`"
        yield _refused(message, escalation, ("securityContext", "allowPrivilegeEscalation"), "remove one of the two")


# Layers and base documents


def refused_in_layer(fields: Node, platform: Platform) -> Iterator[Diagnostic]:
    """Everything in the fields of a run, profile or platform that no other layer can make acceptable."""
    if "resources" in fields.fields:
        yield from _resources(fields.fields["resources"])
    if "affinity" in fields.fields:
        yield from clashing_label_keys(fields.fields["affinity"])
    if "annotations" in fields.fields:
        seccomp = platform.settings.at(("security", "seccomp_profile"))
        yield from refused_annotations(fields.fields["annotations"].fields, seccomp)


def _resources(resources: Node) -> Iterator[Diagnostic]:
    yield from refused_amounts(resources)
    disk = resources.at(("requests", SCRATCH_DISK))
    if disk and not amount(disk).nano:
        message = "the platform provides `disk` as a volume, and a volume of size zero cannot exist"
        yield _refused(message, disk, ("resources", "disk"), "remove `disk`, or write an amount above zero")


def refused_in_object(tree: Node, pods: Mapping[str, KeyPath]) -> Iterator[Diagnostic]:
    """Everything that is refused in the pods of an object that a base document contributes to."""
    kind, pod = str(tree.fields["kind"].value), pod_of(tree, pods)
    annotations = tree.at((*pods[kind][:-1], "metadata", "annotations")) if kind in pods else None
    containers = [one for section in _SECTIONS for one in containers_of(pod, section)]
    if annotations is not None and pod is not None:
        yield from refused_annotations(annotations.fields, pod.at(("securityContext", "seccompProfile", "type")))
        yield from _unknown_containers(annotations.fields, frozenset(one.fields["name"].value for one in containers))
    yield from job_labels_in(tree)
    if pod is not None and "affinity" in pod.fields:
        yield from clashing_label_keys(pod.fields["affinity"])
    for container in containers:
        yield from contradicting_privileges(container)
        if "resources" in container.fields:
            yield from _refused_in_container(container.fields["resources"], is_whole_pod=kind in POD_PATHS)


def _refused_in_container(resources: Node, *, is_whole_pod: bool) -> Iterator[Diagnostic]:
    invalid = [*_invalid_resources(resources)]
    if invalid:
        yield from invalid
        return
    yield from refused_amounts(resources)
    yield from uneven_devices(resources)
    if is_whole_pod:
        yield from lone_huge_pages(resources)


def _invalid_resources(resources: Node) -> Iterator[Diagnostic]:
    """Names and amounts that the schema refuses in a run; it does not look at those of base documents."""
    for side in SIDES:
        for name, node in _side(resources, side):
            fault = FORMAT_CHECKS["resource-name"](name)
            if fault is None and is_device(name):
                fault = FORMAT_CHECKS["whole-number"](node.value)
            if fault:
                yield _refused(fault.message, node, ("resources", side, name), fault.help or "")
