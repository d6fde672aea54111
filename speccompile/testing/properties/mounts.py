"""Volumes and Secrets that the platform blocks."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.model.object_names import object_name
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.properties.baseline import least

_TYPES = {
    "emptyDir": "empty_dir",
    "ephemeral": "ephemeral",
    "image": "image",
    "configMap": "config_map",
    "secret": "secret",
    "persistentVolumeClaim": "shared_volume",
}
_OF_THE_POD = ("emptyDir", "ephemeral", "image")
"""Sources that live and end with the pod; any other one exists already, unless the run makes it."""


def blocked_volumes_stay_out(run: Data, admin: Admin) -> None:
    """No run can mount what exists already, or a type of volume, that the platform blocks."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    allowed = admin.settled("volumes", "allowed_types")
    usually = least(run, manifests, admin.lenient)
    (ours,), (usual,) = ([witness.sources(pod) for pod in witness.pods(made)] for made in (manifests, usually))
    for name, source in ours.items():
        if usual.get(name) == source or _is_scratch(name, source, admin):
            continue
        kind, exists = _judged(source, manifests)
        kind = kind or _declared_types(run).get(name)
        assert kind, f"volume `{name}` is a {source.kind}, which no run can ask for"
        assert not exists or _may_exist(kind, admin), f"volume `{name}` mounts {source.kind} {source.name!r}"
        assert allowed is None or kind in allowed, f"volume `{name}` is of type `{kind}`, and {allowed} are allowed"


def _declared_types(run: Data) -> Mapping[str, str]:
    """The types of a run's volumes, by the names of these."""
    return {one["name"]: one.get("volume_type") or one["volumeType"] for one in run.get("volumes") or ()}


def _is_scratch(name: str, source: witness.Source, admin: Admin) -> bool:
    """Whether the volume is what the platform makes of `disk`."""
    return (
        source.kind == "ephemeral" and admin.settled("disk", "as") == "volume" and name == admin.settled("disk", "name")
    )


def _judged(source: witness.Source, manifests: list[Data]) -> tuple[str | None, bool]:
    """The type of a volume, and whether it mounts what was there before the run."""
    if source.kind == "persistentVolumeClaim" and source.name in witness.named(manifests, "PersistentVolumeClaim"):
        return "persistent_volume_claim", False
    made = source.kind == "configMap" and source.name in witness.named(manifests, "ConfigMap")
    return _TYPES.get(source.kind), source.kind not in _OF_THE_POD and not made


def _may_exist(kind: str, admin: Admin) -> bool:
    allowed: bool = admin.settled("volumes", "allow_existing")
    return allowed or (kind == "secret" and admin.settled("secrets", "allow_foreign"))


def foreign_secrets_stay_out(run: Data, admin: Admin) -> None:
    """No run can use a Secret other than its project's own store."""
    manifests = admin.manifests(run)
    if manifests is None or admin.settled("secrets", "allow_foreign"):
        return
    store = str(admin.settled("secrets", "store")).replace("{project}", object_name(run.get("project") or "default"))
    admins = {name for pod in witness.pods(least(run, manifests, admin.lenient)) for name in witness.secrets(pod)}
    used = {name for pod in witness.pods(manifests) for name in witness.secrets(pod)}
    foreign = used - admins - {store}
    assert not foreign, f"the pod uses {sorted(foreign)}, and the project's store is {store!r}"
