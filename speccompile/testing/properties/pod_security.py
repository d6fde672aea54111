"""Privileges that the platform denies."""

from __future__ import annotations

from fnmatch import fnmatchcase

from speccompile.compiler.isolation_keys import ISOLATION_KEYS
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.baseline import baseline_manifests, lineage
from speccompile.testing.properties.field_values import format_fact_path


def runs_cannot_gain_privileges(run: Data, admin: AdminConfig) -> None:
    """No run can run as root, gain privileges, or weaken its isolation."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    _check_keys(run, manifests, admin)
    assert not (roots := list(manifest_facts.root_ids(manifests))), f"root ids: {[*map(format_fact_path, roots)]}"
    if not admin.platform_setting("security", "disable_root"):
        return
    is_set_by_admin = _admin_sets_security(run, admin)
    for actual, minimal in zip(
        manifest_facts.pod_templates(manifests),
        manifest_facts.pod_templates(baseline_manifests(run, manifests, admin.lenient)),
        strict=True,
    ):
        violations = manifest_facts.weaknesses(actual)
        if is_set_by_admin:
            violations -= manifest_facts.weaknesses(minimal)
        if admin.platform_setting("security", "seccomp_profile") == "Unconfined":
            violations = {path for path in violations if "seccomp" not in path[-1]}
        assert not violations, f"the pod violates the standard `restricted`: {sorted(violations)}"


def _check_keys(run: Data, manifests: list[Data], admin: AdminConfig) -> None:
    """No object gets a label or annotation from the run that changes isolation, unless the platform allows it."""
    minimal = baseline_manifests(run, manifests, admin.lenient)
    keys = set(manifest_facts.metadata_keys(manifests)) - set(manifest_facts.metadata_keys(minimal))
    allowed = admin.platform_setting("allowed_keys") or ()
    for key in sorted(keys):
        refused = [pattern for pattern in ISOLATION_KEYS if fnmatchcase(key, pattern)]
        assert not refused or any(fnmatchcase(key, pattern) for pattern in allowed), f"the run sets {key!r}"


def _admin_sets_security(run: Data, admin: AdminConfig) -> bool:
    """Whether the admin's documents set a security context or a confinement annotation."""
    templates = [
        template
        for one in lineage(run, admin)
        for base in admin.bases_of(one)
        for template in manifest_facts.pod_templates([base])
        if template
    ]
    pods = [template.get("spec") or {} for template in templates]
    layers = [document for one in lineage(run, admin) for document in (admin.profiles[one],)]
    layers += [layer.get("defaults") or {} for layer in layers] + [
        admin.full_platform.get(name) or {} for name in ("defaults", "enforce")
    ]
    return any(
        "securityContext" in holder for pod in pods for holder in (pod, *manifest_facts.all_containers(pod))
    ) or any(
        part in key
        for holder in (*layers, *(template.get("metadata") or {} for template in templates))
        for key in holder.get("annotations") or {}
        for part in manifest_facts.CONFINING_ANNOTATIONS
    )
