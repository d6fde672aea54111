"""Strategies for node selectors, tolerations and affinities."""

from __future__ import annotations

from copy import deepcopy
from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile.testing.strategies.building_blocks import Data, among, integers, mapping
from speccompile.testing.strategies.text import dns_labels, label_keys, label_values

NODE_KEYS = ("zone", "size", "example.com/pool")
NODE_VALUES = ("a", "1", "5", "")
NODE_NAMES = ("n1", "n2")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@cache
def selectors() -> st.SearchStrategy[dict[str, str]]:
    return st.dictionaries(among(*NODE_KEYS), among(*NODE_VALUES), max_size=2)


@cache
def node_selectors() -> st.SearchStrategy[Any]:
    return selectors() | selectors().map(lambda chosen: [{"key": key, "value": value} for key, value in chosen.items()])


@cache
def tolerations() -> st.SearchStrategy[Data]:
    effects = {"effect": among("NoSchedule", "PreferNoSchedule", "NoExecute")}
    equal = {"operator": st.just("Equal"), "value": among(*NODE_VALUES)}
    seconds = {"effect": st.just("NoExecute"), "tolerationSeconds": among(-1, 0, 300, 2**63 - 1)}
    return st.one_of(
        mapping({"operator": st.just("Exists")}, {"key": among(*NODE_KEYS), "value": st.just("")} | effects),
        mapping({"key": among(*NODE_KEYS)}, equal | effects),
        mapping({"key": among(*NODE_KEYS)} | seconds, equal),
    )


@cache
def _requirements(*, numeric: bool) -> st.SearchStrategy[Data]:
    key = {"key": among(*NODE_KEYS)}
    values = st.lists(among(*NODE_VALUES), min_size=1, max_size=3)
    kinds = [
        mapping(key | {"operator": among("In", "NotIn"), "values": values}),
        mapping(key | {"operator": among("Exists", "DoesNotExist")}, {"values": st.builds(list)}),
    ]
    if numeric:
        numbers = st.lists(among("0", "1", "3", "5"), min_size=1, max_size=1)
        kinds.append(mapping(key | {"operator": among("Gt", "Lt"), "values": numbers}))
    return st.one_of(kinds)


@cache
def _node_terms() -> st.SearchStrategy[Data]:
    name = mapping(
        {
            "key": st.just("metadata.name"),
            "operator": among("In", "NotIn"),
            "values": st.lists(among(*NODE_NAMES), min_size=1, max_size=1),
        }
    )
    expressions = {"matchExpressions": st.lists(_requirements(numeric=True), min_size=1, max_size=2)}
    names = {"matchFields": st.lists(name, min_size=1, max_size=1)}
    return mapping(expressions, names) | mapping(names)


@cache
def _required_nodes() -> st.SearchStrategy[Data]:
    return mapping({"nodeSelectorTerms": st.lists(_node_terms(), min_size=1, max_size=3)})


@st.composite
def placements(draw: st.DrawFn, count: int) -> list[Data]:
    """The `node_selector` and `affinity` of several layers, which often require the same of nodes."""
    pool = draw(st.lists(_requirements(numeric=True), min_size=1, max_size=4))
    terms = st.lists(st.lists(st.sampled_from(pool), min_size=1, max_size=2), min_size=1, max_size=3)
    related = terms.map(
        lambda chosen: {
            "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": term} for term in chosen]}}
        }
    )
    layer = mapping(optional={"node_selector": selectors(), "affinity": related | affinities()})
    return deepcopy([draw(layer) for _ in range(count)])


@cache
def _pod_affinities() -> st.SearchStrategy[Data]:
    selector = mapping(
        optional={
            "matchLabels": st.dictionaries(label_keys(), label_values(), max_size=2),
            "matchExpressions": st.lists(_requirements(numeric=False), max_size=2),
        }
    )
    key = {"topologyKey": among(*NODE_KEYS)}
    spaces = {"namespaceSelector": selector, "namespaces": st.lists(dns_labels(), max_size=2)}
    keys = {name: st.lists(label_keys(), max_size=1) for name in ("matchLabelKeys", "mismatchLabelKeys")}
    term = mapping(key, spaces) | mapping(key | {"labelSelector": selector}, spaces | keys)
    preferred = mapping({"weight": integers(1, 100), "podAffinityTerm": term})
    return mapping(optional={REQUIRED: st.lists(term, max_size=2), PREFERRED: st.lists(preferred, max_size=2)})


@cache
def required_affinities() -> st.SearchStrategy[Data]:
    """What nodes must be like, and nothing else."""
    return mapping({"nodeAffinity": mapping({REQUIRED: _required_nodes()})})


@cache
def affinities() -> st.SearchStrategy[Data]:
    preferred = mapping({"weight": integers(1, 100), "preference": _node_terms()})
    nodes = mapping(optional={REQUIRED: _required_nodes(), PREFERRED: st.lists(preferred, max_size=2)})
    return mapping(
        optional={"nodeAffinity": nodes, "podAffinity": _pod_affinities(), "podAntiAffinity": _pod_affinities()}
    )
