"""Fields, sidecars and volumes that the admin fixes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.manifest_facts import lookup
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.baseline import applies_to_kind, baseline_manifests, gpu_key, lineage
from speccompile.testing.properties.field_values import IN_MAIN, IN_POD, IN_SPEC, as_list, format_fact_path, values_at


def fixed_values_apply(run: Data, admin: AdminConfig) -> None:
    """No run can change what its profile or the platform fixes."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    actual, fixed, bare = (
        manifest_facts.facts(documents)
        for documents in (
            manifests,
            baseline_manifests(run, manifests, admin.fixed_only),
            baseline_manifests(run, manifests, admin.bare),
        )
    )
    # By kind and not by name, because a second Service that a profile adds has no counterpart.
    baseline = {(path[0], *path[2:]): value for path, value in bare.items()}
    for path, value in fixed.items():
        if baseline.get((path[0], *path[2:])) != value or _is_set_by_platform(path, admin):
            assert actual.get(path) == value, f"{format_fact_path(path)} is {actual.get(path)!r}, fixed to {value!r}"
    for name in _fields_of_action(run, IN_POD, IN_MAIN, IN_SPEC):
        fixed_value = _fixed_field(name, run, admin)
        if fixed_value is not None and name not in _COMBINED_FIELDS:
            value = values_at((name,), manifests, admin)
            expected = as_list(fixed_value)
            assert [*map(str, value)] == [*map(str, expected)], f"`{name}` is {value}, fixed to {expected}"
    _check_devices(run, manifests, admin)
    gpu = lookup(run, "resources", "gpu")
    if isinstance(gpu, (int, str)):
        key = gpu_key(run, admin)
        assert values_at(("resources", "limits", key), manifests, admin), (
            f"`gpu` does not set {key!r}, the key of the profile"
        )


def _check_devices(run: Data, manifests: list[Data], admin: AdminConfig) -> None:
    """Where an admin fixes `gpu`, a run gets no device that no admin names."""
    layers = [admin.profiles[one] for one in lineage(run, admin)]
    if not any(
        lookup(layer, "resources", "gpu") is not None for layer in (*layers, admin.full_platform.get("enforce") or {})
    ):
        return
    named = json.dumps(
        [gpu_key(run, admin), layers, admin.full_platform, *(admin.bases_of(one) for one in lineage(run, admin))]
    )
    (limits,) = values_at(("resources", "limits"), manifests, admin) or [{}]
    for device, amount in limits.items():
        if "/" in device and device not in named:
            assert str(amount) == "0", f"{device} is {amount!r} although `gpu` is fixed"


_COMBINED_FIELDS = ("node_selector", "tolerations", "affinity")


def _fields_of_action(run: Data, *tables: Mapping[str, Any]) -> list[str]:
    """The fields in the tables that exist for the run's action."""
    fields, action = bundled_library().fields, run["action"]
    return [name for table in tables for name in table if action in fields[name].get("x-actions", (action,))]


def _is_set_by_platform(path: manifest_facts.FactPath, admin: AdminConfig) -> bool:
    """Whether the value at the path depends only on platform settings."""
    labels = {
        key.replace("{label_prefix}", admin.platform_setting("label_prefix"))
        for key in admin.platform_setting("own_labels")
    }
    return (
        path[2:] in (("metadata", "name"), ("metadata", "namespace"))
        or "imagePullSecrets" in path
        or ("labels" in path and path[-1] in labels)
        or path[2:4] == ("spec", "selector")
        or ("env" in path and path[-1] in (admin.platform_setting("own_envs") or {}))
    )


def _fixed_field(name: str, run: Data, admin: AdminConfig) -> Any:
    values = [admin.profiles[one].get(name) for one in lineage(run, admin)]
    values.append(lookup(admin.full_platform, "enforce", name))
    return next((value for value in reversed(values) if value is not None), None)


def sidecars_cannot_be_changed(run: Data, admin: AdminConfig) -> None:
    """No run can change a sidecar or a volume that a base document adds."""
    manifests = admin.manifests(run)
    bases = [base for one in lineage(run, admin) for base in admin.bases_of(one)]
    if manifests is None or not bases:
        return
    baseline = baseline_manifests(run, manifests, admin.lenient)
    (main,) = (
        container["name"]
        for pod in manifest_facts.pods(baseline_manifests(run, manifests, admin.bare))
        for container in pod["containers"]
    )
    kind = manifest_facts.workload(manifests)["kind"]
    base_pods = [pod for base in bases if applies_to_kind(base, kind) for pod in manifest_facts.pods([base])]
    for actual, expected in zip(manifest_facts.pods(manifests), manifest_facts.pods(baseline), strict=True):
        for section in ("containers", "initContainers", "volumes"):
            names = {one["name"] for pod in base_pods for one in pod.get(section, ())} - {"main"}
            missing = names - {one["name"] for one in actual.get(section, ())}
            assert not missing, f"{section} {sorted(missing)} of the base document are missing"
        sidecars, expected_sidecars = (
            {one["name"]: one for one in manifest_facts.all_containers(pod) if one["name"] != main}
            for pod in (actual, expected)
        )
        assert sidecars == expected_sidecars, "the sidecars differ from those of a minimal run"
        volume_names = {volume["name"] for pod in base_pods for volume in pod.get("volumes", ())}
        volumes, expected_volumes = (
            {one["name"]: one for one in pod.get("volumes", ()) if one["name"] in volume_names}
            for pod in (actual, expected)
        )
        assert volumes == expected_volumes, "a volume of the base document has changed"
