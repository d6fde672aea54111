"""Values of a run's fields in its manifests."""

from __future__ import annotations

import re
from typing import Any

from speccompile.model.object_names import PLACEHOLDER
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.manifest_facts import lookup
from speccompile.testing.plain_data import Data

IN_POD = {
    "runtime_class": ("runtimeClassName",),
    "priority_class": ("priorityClassName",),
    "service_account": ("serviceAccountName",),
    "run_as_user": ("securityContext", "runAsUser"),
    "run_as_group": ("securityContext", "runAsGroup"),
    "fs_group": ("securityContext", "fsGroup"),
    "node_selector": ("nodeSelector",),
    "tolerations": ("tolerations",),
    "affinity": ("affinity",),
}
"""The path of a field in the pod."""
IN_MAIN = {"image": ("image",), "image_pull_policy": ("imagePullPolicy",), "command": ("command",), "args": ("args",)}
"""The path of a field in the main container."""
IN_SPEC = {
    "replicas": "replicas",
    "schedule": "schedule",
    "backoff_limit": "backoffLimit",
    "deadline_seconds": "activeDeadlineSeconds",
    "ttl_seconds": "ttlSecondsAfterFinished",
    "parallelism": "parallelism",
    "completions": "completions",
    "suspend": "suspend",
}
"""The key of a field in the workload's `spec`."""


def values_at(path: tuple[str, ...], manifests: list[Data], admin: AdminConfig) -> list[Any]:
    """The values of a field in the manifests; empty if it is unset or has no single path."""
    field, rest = path[0], path[1:]
    workload, (pod,) = manifest_facts.workload(manifests), list(manifest_facts.pods(manifests))
    main = main_container(workload, pod, admin)
    job = lookup(workload, "spec", "jobTemplate", "spec") or workload["spec"]
    if field in IN_POD:
        return as_list(lookup(pod, *IN_POD[field], *rest))
    if field in IN_MAIN:
        return as_list(lookup(main, *IN_MAIN[field], *rest))
    if field in IN_SPEC:
        specs = (workload["spec"], job) if field != "suspend" else (workload["spec"],)
        return [spec[IN_SPEC[field]] for spec in specs if IN_SPEC[field] in spec][:1]
    if field == "resources":
        return as_list(lookup(main, "resources", *rest))
    if field in ("labels", "annotations") and rest and rest[0].endswith("*"):
        keys = lookup(workload, "metadata", field) or {}
        return [value for key, value in sorted(keys.items()) if key.startswith(rest[0][:-1])]
    if field in ("labels", "annotations") and rest:
        return as_list(lookup(workload, "metadata", field, rest[0]))
    if field == "envs":
        return [env["value"] for env in main.get("env", ()) if "value" in env and rest[:1] in ((), (env["name"],))]
    if field == "secrets":
        return [key for env in main.get("env", ()) if (key := lookup(env, "valueFrom", "secretKeyRef", "key"))]
    return []


def main_container(workload: Data, pod: Data, admin: AdminConfig) -> Data:
    """The main container, identified by name, because containers of a base document may come first."""
    pattern = PLACEHOLDER.sub(".*", str(admin.platform_setting("names", "container")))
    candidates: list[Data] = [one for one in pod["containers"] if re.fullmatch(pattern, one["name"])]
    return next((one for one in candidates if one["name"] == workload["metadata"]["name"]), candidates[0])


def as_list(value: Any) -> list[Any]:
    """A value as a list: empty for None, a list unchanged, any other value as its only item."""
    if isinstance(value, dict):
        return [value] if value else []
    return value if isinstance(value, list) else [] if value is None else [value]


def format_fact_path(path: manifest_facts.FactPath) -> str:
    """A path for messages: kind and name of the object, then the path in it."""
    return " ".join(path[:2]) + ": " + ".".join(path[2:])
