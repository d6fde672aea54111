"""The manifests of a minimal run, as a baseline for comparison."""

from __future__ import annotations

from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig, profile_of
from speccompile.testing.manifest_facts import lookup
from speccompile.testing.plain_data import Data

_NAMING_FIELDS = ("name", "project", "action")
"""The fields that determine the names of objects."""


def baseline_manifests(run: Data, manifests: list[Data], admin: AdminConfig) -> list[Data]:
    """The manifests of a minimal run that produces the same kinds of objects."""
    minimal = {key: run[key] for key in _NAMING_FIELDS if run.get(key) is not None}
    if schedule := lookup(manifest_facts.workload(manifests), "spec", "schedule"):
        minimal["schedule"] = schedule
    if run.get("profile") in admin.profiles:
        minimal["profile"] = run["profile"]
    image = {"image": run.get("image") or "registry.example/none"}
    ports = {"service_ports": run.get("service_ports") or [{"port": 80}]} if run["action"] == "serve" else {}
    for more in ({}, image, ports):
        if (baseline := admin.manifests({**minimal, **more})) is not None:
            return baseline
    return [manifest.data for manifest in admin.compile({**minimal, **image, **ports}).manifests]


def lineage(run: Data, admin: AdminConfig) -> list[str]:
    """The ancestors of the run's profile, lowest precedence first, and the profile itself."""
    return list(admin.lineage(profile_of(run, admin)))


def applies_to_kind(base: Data, kind: str) -> bool:
    """Whether the base document applies to objects of the kind; one for Jobs also applies to CronJobs."""
    return base["kind"] in (kind, "Job" if kind == "CronJob" else kind)


def gpu_key(run: Data, admin: AdminConfig) -> str:
    """The resource key that `gpu` maps to for the run."""
    keys = [key for one in lineage(run, admin) if (key := admin.profiles[one].get("gpu_key"))]
    aliases = admin.platform_setting("gpu_keys") or {}
    return str(aliases.get(keys[-1], keys[-1]) if keys else admin.platform_setting("gpu_key"))
