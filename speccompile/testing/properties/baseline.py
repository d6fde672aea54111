"""What an admin's documents alone lead to: the baseline that the manifests of a run are compared with."""

from __future__ import annotations

from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data, profile_of
from speccompile.testing.manifest_facts import at

_SAYS = ("name", "project", "action")
"""The fields that names of objects are made of."""


def least(run: Data, manifests: list[Data], admin: Admin) -> list[Data]:
    """What a run comes to that says nothing but what it takes to make the same kinds of objects."""
    said = {key: run[key] for key in _SAYS if run.get(key) is not None}
    if schedule := at(witness.workload(manifests), "spec", "schedule"):
        said["schedule"] = schedule
    if run.get("profile") in admin.profiles:
        said["profile"] = run["profile"]
    image = {"image": run.get("image") or "nobody.example/nothing"}
    ports = {"service_ports": run.get("service_ports") or [{"port": 80}]} if run["action"] == "serve" else {}
    for more in ({}, image, ports):
        if (found := admin.manifests({**said, **more})) is not None:
            return found
    return [manifest.data for manifest in admin.compile({**said, **image, **ports}).manifests]


def lineage(run: Data, admin: Admin) -> list[str]:
    """The ancestors of the run's profile, weakest first, and the profile itself."""
    return list(admin.lineage(profile_of(run, admin)))


def goes_under(base: Data, kind: str) -> bool:
    """Whether the base document goes under objects of the kind: that of a Job also under those of a CronJob."""
    return base["kind"] in (kind, "Job" if kind == "CronJob" else kind)


def gpu_key(run: Data, admin: Admin) -> str:
    """The resource name that `gpu` means for the run."""
    told = [key for one in lineage(run, admin) if (key := admin.profiles[one].get("gpu_key"))]
    named = admin.settled("gpu_keys") or {}
    return str(named.get(told[-1], told[-1]) if told else admin.settled("gpu_key"))
