"""Documents of another kind than expected, such as a profile passed as a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.key_spelling import spelled
from speccompile.model.node import Node
from speccompile.schema.library import Library

_API_GROUP = "speccompile.dev/"
_NOUNS = {"run": "run", "profile": "profile", "platform": "platform file", "project": "project file"}
"""Kinds of documents by schema; where several fit equally well, the first is meant."""
_REQUIRED = {"run": "action", "profile": "id"}
"""Keys that only documents of one kind have, and all of them."""
_HELP = {
    "run": "pass it as an argument, such as `speccompile render run.yaml`",
    "profile": "pass it with `--profiles`, or move it to the directory of profiles",
    "platform": "pass it with `--platform`",
    "project": "pass it with `--project`",
}
_FLAT_KINDS = {"Profile": "profile", "Platform": "platform", "Project": "project"}
"""Values of `kind` that people expect to exist."""
_FORMS = {
    "profile": "an `id` and fields",
    "platform": "settings",
    "project": "settings",
}
_KUBERNETES_KINDS = frozenset(
    (
        *("Pod", "Job", "CronJob", "Deployment", "ReplicaSet", "StatefulSet", "DaemonSet", "Service", "Ingress"),
        *("ConfigMap", "Secret", "PersistentVolumeClaim", "PersistentVolume", "StorageClass", "Namespace", "Node"),
        *("ServiceAccount", "Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "NetworkPolicy", "List"),
        *("HorizontalPodAutoscaler", "PodDisruptionBudget", "ResourceQuota", "LimitRange", "PriorityClass"),
        *("CustomResourceDefinition", "Kustomization", "InferenceService", "PyTorchJob", "RayJob", "RayCluster"),
    )
)


def wrong_document(root: Node, expected: str, library: Library) -> Diagnostic | None:
    """Report a document that is not of the kind that the schema `expected` describes; None if it may be."""
    if not isinstance(root.value, Mapping):
        return None
    version, kind = (root.fields[key].value if key in root.fields else None for key in ("apiVersion", "kind"))
    if isinstance(kind, str) and kind in _FLAT_KINDS:
        return _flat_kind(root, expected, kind)
    if kind == "Run":
        return None if expected == "run" else _other_kind(root, expected, "run")
    is_manifest = isinstance(version, str) and not version.startswith(_API_GROUP)
    if is_manifest or (isinstance(kind, str) and kind in _KUBERNETES_KINDS):
        # Manifests in the file of a profile are its base documents.
        return None if expected == "profile" else _manifest(root, expected, kind)
    if kind is not None or version is not None or _REQUIRED.get(expected) in root.fields:
        return None
    for key in ("run", "runs") if expected == "run" else ():
        if key in root.fields and _has_run(root.fields[key]):
            message = f"expected the fields of a run at the top level, found them under `{key}`"
            return _finding(root.fields[key], expected, message, "write one document per run, separated by `---`")
    counts = {noun: _count_known(root.fields, noun, library) for noun in _NOUNS}
    required = (noun for noun, key in _REQUIRED.items() if key in root.fields)
    best = next(required, max(counts, key=lambda noun: counts[noun]))
    return _other_kind(root, expected, best) if counts[best] > counts[expected] else None


def _has_run(node: Node) -> bool:
    items = node.items if isinstance(node.value, tuple) else (node,)
    return any("action" in item.fields for item in items)


def _count_known(keys: Iterable[str], noun: str, library: Library) -> int:
    """How many of the keys documents of this kind may have."""
    fields = library.fields if noun in ("run", "profile") else {}
    known = {**library.schemas[noun]["properties"], **fields}
    return sum(spelled(key, known) in known for key in keys)


def _other_kind(root: Node, expected: str, other: str) -> Diagnostic:
    return _finding(root, expected, f"this is a {_NOUNS[other]}, not a {_NOUNS[expected]}", _HELP[other])


def _flat_kind(root: Node, expected: str, kind: str) -> Diagnostic:
    noun = _FLAT_KINDS[kind]
    form = f"remove `apiVersion` and `kind`: a {_NOUNS[noun]} has {_FORMS[noun]} at the top level"
    if noun == expected:
        return _finding(root, expected, f"a {_NOUNS[noun]} has no `kind`", form)
    return _finding(root, expected, f"this is a {_NOUNS[noun]}, not a {_NOUNS[expected]}", f"{_HELP[noun]}, and {form}")


def _manifest(root: Node, expected: str, kind: object) -> Diagnostic:
    noun = kind if isinstance(kind, str) and kind in _KUBERNETES_KINDS else "manifest"
    if kind == "ConfigMap":
        help_text = "pass a ConfigMap of profiles with `--profiles`"
    elif expected == "run":
        help_text = "write a run with `name`, `action` and `image`: the manifests are produced from it"
    else:
        help_text = "write the settings at the top level, without `apiVersion` and `kind`"
    return _finding(root, expected, f"this is a Kubernetes {noun}, not a {_NOUNS[expected]}", help_text)


def _finding(root: Node, expected: str, message: str, help_text: str) -> Diagnostic:
    code = "run/unknown-form" if expected == "run" else "input/wrong-document"
    return Diagnostic(code=code, message=message, span=root.place, help=help_text)
