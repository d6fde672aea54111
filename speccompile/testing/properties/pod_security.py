"""Privileges that the platform denies."""

from __future__ import annotations

from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.properties.baseline import least, lineage
from speccompile.testing.properties.field_values import shown


def nobody_runs_as_root(run: Data, admin: Admin) -> None:
    """No run can run as root, gain privileges, or loosen how it is confined."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    assert not (roots := list(witness.root_ids(manifests))), f"root is at {[shown(place) for place in roots]}"
    if not admin.settled("security", "disable_root"):
        return
    allowed = _written_weaknesses(run, admin)
    for ours, theirs in zip(
        witness.pod_templates(manifests), witness.pod_templates(least(run, manifests, admin.lenient)), strict=True
    ):
        found = witness.weaknesses(ours)
        new = found - witness.weaknesses(theirs) if allowed else found
        if admin.settled("security", "seccomp_profile") == "Unconfined":
            new = {place for place in new if "seccomp" not in place[-1]}
        assert not new, f"the pod falls short of the standard `restricted`: {sorted(new)}"


def _written_weaknesses(run: Data, admin: Admin) -> bool:
    """Whether an admin wrote anything about security, or confinement, that stands whatever runs say."""
    templates = [
        template
        for one in lineage(run, admin)
        for base in admin.bases_of(one)
        for template in witness.pod_templates([base])
        if template
    ]
    pods = [template.get("spec") or {} for template in templates]
    layers = [document for one in lineage(run, admin) for document in (admin.profiles[one],)]
    layers += [layer.get("defaults") or {} for layer in layers] + [
        admin.demands.get(name) or {} for name in ("defaults", "enforce")
    ]
    return any("securityContext" in holder for pod in pods for holder in (pod, *witness.containers(pod))) or any(
        known in key
        for holder in (*layers, *(template.get("metadata") or {} for template in templates))
        for key in holder.get("annotations") or {}
        for known in witness.CONFINING
    )
