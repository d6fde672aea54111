"""Nodes that the admin excludes."""

from __future__ import annotations

from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.manifest_facts import at
from speccompile.testing.node_matcher import fits, nodes_for
from speccompile.testing.properties.baseline import goes_under, lineage


def excluded_nodes_stay_excluded(run: Data, admin: Admin) -> None:
    """No run can make a pod fit a node that its profile, or the platform, excludes."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    selector, affinities = _placement(run, admin, witness.workload(manifests)["kind"])
    for pod in witness.pods(manifests):
        for node in nodes_for(pod, selector, affinities):
            where = f"the pod fits node {node.name!r} with labels {dict(node.labels)}"
            assert fits({"nodeSelector": selector}, node), f"{where}, which `node_selector` {selector} excludes"
            for affinity in affinities:
                assert fits({"affinity": affinity}, node), f"{where}, which affinity {affinity} excludes"


def _placement(run: Data, admin: Admin, kind: str) -> tuple[dict[str, str], list[Data]]:
    """Which labels nodes must have, and every affinity that must hold, as it stands in the admin's documents."""
    documents = [*(admin.profiles[one] for one in lineage(run, admin)), admin.demands.get("enforce") or {}]
    selector: dict[str, str] = {}
    for document in documents:
        told = document.get("node_selector") or {}
        selector |= {item["key"]: item["value"] for item in told} if isinstance(told, list) else told
    bases = [base for one in lineage(run, admin) for base in admin.bases_of(one) if goes_under(base, kind)]
    placed = [at(template, "spec", "affinity") for base in bases for template in witness.pod_templates([base])]
    return selector, [one for one in (*(document.get("affinity") for document in documents), *placed) if one]
