"""Strategies for node selectors, tolerations and affinities."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.building_blocks import among, fixed_mappings, integers
from speccompile.testing.strategies.text import dns_labels, label_keys, label_values

NODE_KEYS = ("zone", "size", "example.com/pool")
NODE_VALUES = ("a", "1", "5", "")
NODE_NAMES = ("n1", "n2")
REQUIRED_AFFINITY = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED_AFFINITY = "preferredDuringSchedulingIgnoredDuringExecution"


@cache
def selectors() -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(among(*NODE_KEYS), among(*NODE_VALUES), max_size=2)


@cache
def node_selectors() -> st.SearchStrategy[Any]:
    return selectors() | selectors().map(lambda chosen: [{"key": key, "value": value} for key, value in chosen.items()])


@cache
def toleration_items() -> st.SearchStrategy[Data]:
    effects = {"effect": among("NoSchedule", "PreferNoSchedule", "NoExecute")}
    equal = {"operator": st.just("Equal"), "value": among(*NODE_VALUES)}
    seconds = {"effect": st.just("NoExecute"), "tolerationSeconds": among(-1, 0, 300, 2**63 - 1)}
    return st.one_of(
        fixed_mappings({"operator": st.just("Exists")}, {"key": among(*NODE_KEYS), "value": st.just("")} | effects),
        fixed_mappings({"key": among(*NODE_KEYS)}, equal | effects),
        fixed_mappings({"key": among(*NODE_KEYS)} | seconds, equal),
    )


@cache
def _requirements(*, numeric: bool) -> st.SearchStrategy[Data]:
    key = {"key": among(*NODE_KEYS)}
    values = st.lists(among(*NODE_VALUES), min_size=1, max_size=3)
    kinds = [
        fixed_mappings(key | {"operator": among("In", "NotIn"), "values": values}),
        fixed_mappings(key | {"operator": among("Exists", "DoesNotExist")}, {"values": st.builds(list)}),
    ]
    if numeric:
        numbers = st.lists(among("0", "1", "3", "5"), min_size=1, max_size=1)
        kinds.append(fixed_mappings(key | {"operator": among("Gt", "Lt"), "values": numbers}))
    return st.one_of(kinds)


@cache
def _node_terms() -> st.SearchStrategy[Data]:
    name = fixed_mappings(
        {
            "key": st.just("metadata.name"),
            "operator": among("In", "NotIn"),
            "values": st.lists(among(*NODE_NAMES), min_size=1, max_size=1),
        }
    )
    expressions = {"matchExpressions": st.lists(_requirements(numeric=True), min_size=1, max_size=2)}
    names = {"matchFields": st.lists(name, min_size=1, max_size=1)}
    return fixed_mappings(expressions, names) | fixed_mappings(names)


@cache
def _required_nodes() -> st.SearchStrategy[Data]:
    return fixed_mappings({"nodeSelectorTerms": st.lists(_node_terms(), min_size=1, max_size=3)})


@st.composite
def placements(draw: st.DrawFn, count: int) -> list[Data]:
    """The `node_selector` and `affinity` of several layers, often with the same requirements."""
    pool = draw(st.lists(_requirements(numeric=True), min_size=1, max_size=4))
    terms = st.lists(st.lists(st.sampled_from(pool), min_size=1, max_size=2), min_size=1, max_size=3)
    related = terms.map(
        lambda chosen: {
            "nodeAffinity": {REQUIRED_AFFINITY: {"nodeSelectorTerms": [{"matchExpressions": term} for term in chosen]}}
        }
    )
    layer = fixed_mappings(optional={"node_selector": selectors(), "affinity": related | affinities()})
    return deepcopy([draw(layer) for _ in range(count)])


@cache
def _pod_affinities() -> st.SearchStrategy[Data]:
    selector = fixed_mappings(
        optional={
            "matchLabels": st.dictionaries(label_keys(), label_values(), max_size=2),
            "matchExpressions": st.lists(_requirements(numeric=False), max_size=2),
        }
    )
    key = {"topologyKey": among(*NODE_KEYS)}
    spaces = {"namespaceSelector": selector, "namespaces": st.lists(dns_labels(), max_size=2)}
    keys = {name: st.lists(label_keys(), max_size=1) for name in ("matchLabelKeys", "mismatchLabelKeys")}
    term = fixed_mappings(key, spaces) | fixed_mappings(key | {"labelSelector": selector}, spaces | keys)
    preferred = fixed_mappings({"weight": integers(1, 100), "podAffinityTerm": term})
    return fixed_mappings(
        optional={REQUIRED_AFFINITY: st.lists(term, max_size=2), PREFERRED_AFFINITY: st.lists(preferred, max_size=2)}
    )


@cache
def required_affinities() -> st.SearchStrategy[Data]:
    """Required node affinity only."""
    return fixed_mappings({"nodeAffinity": fixed_mappings({REQUIRED_AFFINITY: _required_nodes()})})


@cache
def affinities() -> st.SearchStrategy[Data]:
    preferred = fixed_mappings({"weight": integers(1, 100), "preference": _node_terms()})
    nodes = fixed_mappings(
        optional={REQUIRED_AFFINITY: _required_nodes(), PREFERRED_AFFINITY: st.lists(preferred, max_size=2)}
    )
    return fixed_mappings(
        optional={"nodeAffinity": nodes, "podAffinity": _pod_affinities(), "podAntiAffinity": _pod_affinities()}
    )
