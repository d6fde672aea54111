"""The matcher of nodes that property tests rely on, against Kubernetes' documentation."""

from __future__ import annotations

import pytest

from speccompile.testing.node_matcher import ClusterNode, any_term_matches, fits, selector_matches
from speccompile.testing.strategies.node_placement import REQUIRED_AFFINITY

REQUIREMENTS: list[tuple[str, list[str] | None, dict[str, bool]]] = [
    ("In", ["a", "b"], {"a": True, "c": False, "": False, "absent": False}),
    ("In", [""], {"": True, "absent": False}),
    ("NotIn", ["a"], {"a": False, "b": True, "": True, "absent": True}),
    ("Exists", None, {"a": True, "": True, "absent": False}),
    ("DoesNotExist", None, {"a": False, "": False, "absent": True}),
    ("Gt", ["5"], {"6": True, "5": False, "10": True, "-7": False, "x": False, "": False, "absent": False}),
    ("Lt", ["5"], {"4": True, "5": False, "10": False, "-7": True, "x": False, " 4": False, "absent": False}),
]


@pytest.mark.parametrize(("operator", "values", "expected"), REQUIREMENTS)
def test_matcher_knows_the_operators(operator: str, values: list[str] | None, expected: dict[str, bool]) -> None:
    requirement = {"key": "k", "operator": operator, **({} if values is None else {"values": values})}
    for value, outcome in expected.items():
        node = ClusterNode("n", {} if value == "absent" else {"k": value})
        assert any_term_matches([{"matchExpressions": [requirement]}], node) == outcome, value


def test_matcher_knows_how_terms_combine() -> None:
    node = ClusterNode("n", {"a": "1", "b": "2"})
    yes = {"key": "a", "operator": "In", "values": ["1"]}
    no = {"key": "b", "operator": "Exists", "values": []} | {"operator": "DoesNotExist"}
    here = {"key": "metadata.name", "operator": "In", "values": ["n"]}
    elsewhere = {"key": "metadata.name", "operator": "NotIn", "values": ["n"]}
    assert any_term_matches([{"matchExpressions": [yes], "matchFields": [here]}], node)
    assert any_term_matches([{"matchExpressions": [no]}, {"matchFields": [here]}], node)
    assert not any_term_matches([{"matchExpressions": [yes, no]}], node)
    assert not any_term_matches([{"matchExpressions": [yes], "matchFields": [elsewhere]}], node)
    assert not any_term_matches([{}], node)
    assert not any_term_matches([], node)
    assert selector_matches({"a": "1"}, node)
    assert not selector_matches({"a": "2"}, node)
    assert not selector_matches({"c": ""}, node)
    terms = {"nodeAffinity": {REQUIRED_AFFINITY: {"nodeSelectorTerms": [{"matchExpressions": [yes]}]}}}
    assert fits({"affinity": terms, "nodeSelector": {"b": "2"}}, node)
    assert not fits({"affinity": terms, "nodeSelector": {"b": "1"}}, node)
    assert fits({}, node)
