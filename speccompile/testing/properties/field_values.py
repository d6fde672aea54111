"""Values of a run's field as they appear in its manifests."""

from __future__ import annotations

import re
from typing import Any

from speccompile.model.object_names import PLACEHOLDER
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.manifest_facts import at

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


def values_at(path: tuple[str, ...], manifests: list[Data], admin: Admin) -> list[Any]:
    """What the manifests say of a field, as single values; empty where they say nothing, or it has no one place."""
    field, rest = path[0], path[1:]
    load, (pod,) = witness.workload(manifests), list(witness.pods(manifests))
    main = _main(load, pod, admin)
    job = at(load, "spec", "jobTemplate", "spec") or load["spec"]
    if field in IN_POD:
        return single(at(pod, *IN_POD[field], *rest))
    if field in IN_MAIN:
        return single(at(main, *IN_MAIN[field], *rest))
    if field in IN_SPEC:
        holders = (load["spec"], job) if field != "suspend" else (load["spec"],)
        return [holder[IN_SPEC[field]] for holder in holders if IN_SPEC[field] in holder][:1]
    if field == "resources":
        return single(at(main, "resources", *rest))
    if field in ("labels", "annotations") and rest:
        return single(at(load, "metadata", field, rest[0]))
    if field == "envs":
        return [env["value"] for env in main.get("env", ()) if "value" in env and rest[:1] in ((), (env["name"],))]
    if field == "secrets":
        return [key for env in main.get("env", ()) if (key := at(env, "valueFrom", "secretKeyRef", "key"))]
    return []


def _main(load: Data, pod: Data, admin: Admin) -> Data:
    """The main container: a base document's may stand before it, and it alone has the platform's name for it."""
    pattern = PLACEHOLDER.sub(".*", str(admin.settled("names", "container")))
    fitting: list[Data] = [one for one in pod["containers"] if re.fullmatch(pattern, one["name"])]
    return next((one for one in fitting if one["name"] == load["metadata"]["name"]), fitting[0])


def single(value: Any) -> list[Any]:
    """A value as a list: empty for none, as it is for a list, and of one item otherwise."""
    if isinstance(value, dict):
        return [value] if value else []
    return value if isinstance(value, list) else [] if value is None else [value]


def shown(place: witness.Place) -> str:
    """A place as messages name it: kind and name of the object, then the path."""
    return " ".join(place[:2]) + ": " + ".".join(place[2:])
