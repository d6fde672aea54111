"""Volumes and Secrets that the platform blocks."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.model.object_names import object_name
from speccompile.schema.volume_types import CLAIM
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.baseline import baseline_manifests

_TYPES = {
    "emptyDir": "empty_dir",
    "ephemeral": "ephemeral",
    "image": "image",
    "configMap": "config_map",
    "secret": "secret",
    "persistentVolumeClaim": "shared_volume",
}
_POD_SOURCES = ("emptyDir", "ephemeral", "image")
"""Sources with the lifetime of the pod; others exist before the run, unless it creates them."""


def blocked_volumes_cannot_be_mounted(run: Data, admin: AdminConfig) -> None:
    """No run can mount an existing volume, or a type of volume, that the platform blocks."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    allowed = admin.platform_setting("volumes", "allowed_types")
    minimal = baseline_manifests(run, manifests, admin.lenient)
    (sources,), (baseline,) = (
        [manifest_facts.volume_sources(pod) for pod in manifest_facts.pods(documents)]
        for documents in (manifests, minimal)
    )
    for name, source in sources.items():
        if baseline.get(name) == source or _is_scratch(name, source, admin):
            continue
        kind, exists = _type_of(source, manifests)
        declared = _declared_types(run).get(name)
        # The platform allows or blocks the type that the run declares, whatever it turns claims into.
        kind = declared if declared == CLAIM and kind == admin.platform_setting("pvc", "as") else kind or declared
        assert kind, f"volume `{name}` is a {source.kind}, which no run can request"
        assert not exists or _may_exist(kind, admin), f"volume `{name}` mounts {source.kind} {source.name!r}"
        assert allowed is None or kind in allowed, f"volume `{name}` has type `{kind}`, allowed: {allowed}"


def _declared_types(run: Data) -> Mapping[str, str]:
    """The types of a run's volumes, by name."""
    return {one["name"]: one.get("volume_type") or one["volumeType"] for one in run.get("volumes") or ()}


def _is_scratch(name: str, source: manifest_facts.VolumeSource, admin: AdminConfig) -> bool:
    """Whether the volume is the one that the platform creates for `disk`."""
    return (
        source.kind == "ephemeral"
        and admin.platform_setting("disk", "as") == "volume"
        and name == admin.platform_setting("disk", "name")
    )


def _type_of(source: manifest_facts.VolumeSource, manifests: list[Data]) -> tuple[str | None, bool]:
    """The type of a volume, and whether it existed before the run."""
    if source.kind == "persistentVolumeClaim" and source.name in manifest_facts.names_of_kind(
        manifests, "PersistentVolumeClaim"
    ):
        return CLAIM, False
    is_created = source.kind == "configMap" and source.name in manifest_facts.names_of_kind(manifests, "ConfigMap")
    return _TYPES.get(source.kind), source.kind not in _POD_SOURCES and not is_created


def _may_exist(kind: str, admin: AdminConfig) -> bool:
    allowed: bool = admin.platform_setting("volumes", "allow_existing")
    return allowed or (kind == "secret" and admin.platform_setting("secrets", "allow_foreign"))


def other_secrets_cannot_be_used(run: Data, admin: AdminConfig) -> None:
    """No run can use a Secret other than that of its project."""
    manifests = admin.manifests(run)
    if manifests is None or admin.platform_setting("secrets", "allow_foreign"):
        return
    store = str(admin.platform_setting("secrets", "store")).replace(
        "{project}", object_name(run.get("project") or "default")
    )
    set_by_admin = {
        name
        for pod in manifest_facts.pods(baseline_manifests(run, manifests, admin.lenient))
        for name in manifest_facts.secrets(pod)
    }
    used = {name for pod in manifest_facts.pods(manifests) for name in manifest_facts.secrets(pod)}
    other = used - set_by_admin - {store}
    assert not other, f"the pod uses {sorted(other)}, the Secret of its project is {store!r}"
