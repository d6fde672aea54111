"""Nodes that the admin excludes."""

from __future__ import annotations

from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.manifest_facts import lookup
from speccompile.testing.node_matcher import fits, nodes_for
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.baseline import applies_to_kind, lineage


def excluded_nodes_cannot_be_used(run: Data, admin: AdminConfig) -> None:
    """No run can make a pod fit a node that its profile or the platform excludes."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    selector, affinities = _placement(run, admin, manifest_facts.workload(manifests)["kind"])
    for pod in manifest_facts.pods(manifests):
        for node in nodes_for(pod, selector, affinities):
            fit = f"the pod fits node {node.name!r} with labels {dict(node.labels)}"
            assert fits({"nodeSelector": selector}, node), f"{fit}, which `node_selector` {selector} excludes"
            for affinity in affinities:
                assert fits({"affinity": affinity}, node), f"{fit}, which affinity {affinity} excludes"


def _placement(run: Data, admin: AdminConfig, kind: str) -> tuple[dict[str, str], list[Data]]:
    """The labels that nodes must have, and every affinity, as in the admin's documents."""
    documents = [*(admin.profiles[one] for one in lineage(run, admin)), admin.full_platform.get("enforce") or {}]
    selector: dict[str, str] = {}
    for document in documents:
        labels = document.get("node_selector") or {}
        selector |= {item["key"]: item["value"] for item in labels} if isinstance(labels, list) else labels
    bases = [base for one in lineage(run, admin) for base in admin.bases_of(one) if applies_to_kind(base, kind)]
    base_affinities = [
        lookup(template, "spec", "affinity") for base in bases for template in manifest_facts.pod_templates([base])
    ]
    return selector, [one for one in (*(document.get("affinity") for document in documents), *base_affinities) if one]
