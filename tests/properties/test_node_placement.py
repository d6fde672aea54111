"""A pod fits exactly the nodes that its run and its profile accept."""

from __future__ import annotations

from itertools import product

from helpers.cases import LIBRARY, compiled, fields_of
from helpers.manifest_data import of_kind
from hypothesis import event, given
from hypothesis import strategies as st

from speccompile.compiler.merge import merge_layers
from speccompile.testing.manifest_facts import pod_templates
from speccompile.testing.node_matcher import ClusterNode, fits
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case
from speccompile.testing.strategies.node_placement import NODE_KEYS, NODE_NAMES, NODE_VALUES, placements

NODES = [
    ClusterNode(name, {key: value for key, value in zip(NODE_KEYS, values, strict=True) if value is not None})
    for values in product((None, *NODE_VALUES), repeat=len(NODE_KEYS))
    for name in NODE_NAMES
]
"""Every node that the labels and names of the strategies distinguish."""


def pod_placement(fields: Data) -> Data:
    """The placement that the fields alone specify, as in a pod spec."""
    return {"nodeSelector": fields.get("node_selector", {}), "affinity": fields.get("affinity", {})}


@given(placements(2), st.sampled_from(("job", "deploy")))
def test_affinity_of_run_and_profile_apply(layers: list[Data], action: str) -> None:
    """A pod fits exactly the nodes that its profile accepts and that the run accepts, where the profile lets it.

    So no run can make a pod fit a node that its profile's `node_selector` or required affinity excludes.
    """
    run, profile = layers
    case = Case({"name": "a", "action": action, "image": "a", **run}, {"id": "default", **profile})
    (template,) = pod_templates(of_kind(compiled(case), "Job", "Deployment"))
    of_profile = pod_placement(profile)
    of_run = pod_placement(run)
    of_run["nodeSelector"] = {
        key: value for key, value in of_run["nodeSelector"].items() if key not in of_profile["nodeSelector"]
    }
    accepted = [node for node in NODES if fits(template["spec"], node)]
    assert accepted == [node for node in NODES if fits(of_profile, node) and fits(of_run, node)]
    event("some nodes fit" if accepted else "no node fits")


@given(placements(3))
def test_affinity_of_three_layers_applies(layers: list[Data]) -> None:
    """A merge of several layers requires exactly what each of them requires."""
    merged = merge_layers([fields_of({"id": "a", **layer}) for layer in layers], LIBRARY).plain()
    required = [{"affinity": layer.get("affinity", {})} for layer in layers]
    for node in NODES:
        assert fits({"affinity": merged.get("affinity", {})}, node) == all(
            fits(placement, node) for placement in required
        )
