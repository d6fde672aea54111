"""Decide whether a pod fits a node, and generate nodes to try.

Based on the documentation of Kubernetes, independent of the compiler, which the properties check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

Terms: TypeAlias = Sequence[Mapping[str, Any]]

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)


class ClusterNode(NamedTuple):
    """The name and labels of a node, as used by node selectors and node affinity."""

    name: str
    labels: Mapping[str, str]


def fits(pod_spec: Mapping[str, Any], node: ClusterNode) -> bool:
    """Whether the pod's `nodeSelector` and required node affinity match the node."""
    required = (
        (pod_spec.get("affinity") or {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    return selector_matches(pod_spec.get("nodeSelector") or {}, node) and (
        required is None or any_term_matches(required["nodeSelectorTerms"], node)
    )


def selector_matches(selector: Mapping[str, str], node: ClusterNode) -> bool:
    """Whether the node has every label of the selector."""
    return all(node.labels.get(key) == value for key, value in selector.items())


def any_term_matches(terms: Terms, node: ClusterNode) -> bool:
    """Whether any term matches the node; without terms, none does."""
    return any(_term_matches(term, node) for term in terms)


def _term_matches(term: Mapping[str, Any], node: ClusterNode) -> bool:
    """Whether all requirements of the term are satisfied; an empty term matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    node_fields = {"metadata.name": node.name}
    return all(_is_satisfied(requirement, node.labels) for requirement in expressions) and all(
        _is_satisfied(requirement, node_fields) for requirement in fields
    )


def _is_satisfied(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    label = labels.get(requirement["key"])
    values = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return label is not None and label in values
        case "NotIn":
            return label is None or label not in values
        case "Exists":
            return label is not None
        case "DoesNotExist":
            return label is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, label, values)
        case operator:
            raise ValueError(f"unknown operator: {operator}")


def _compares(operator: str, label: str | None, values: Sequence[str]) -> bool:
    """Whether both sides are integers in that order."""
    if label is None or len(values) != 1 or not _INTEGER.fullmatch(label) or not _INTEGER.fullmatch(values[0]):
        return False
    return int(label) > int(values[0]) if operator == "Gt" else int(label) < int(values[0])


# Nodes to try

MAX_NODES_PER_TERM = 400
"""Nodes tried for one term of a pod."""
_OTHER = "other"


def nodes_for(pod_spec: Mapping[str, Any], selector: Mapping[str, str], affinities: Terms) -> Iterator[ClusterNode]:
    """Nodes that the pod fits, one for each combination that its conditions and the given ones distinguish."""
    terms = [*_required(pod_spec), *(term for one in affinities for term in _required({"affinity": one}))]
    pod_selector = pod_spec.get("nodeSelector") or {}
    values: dict[str, list[str | None]] = {}
    names: list[str | None] = [_OTHER]
    for key, value in (*pod_selector.items(), *selector.items()):
        values.setdefault(key, [None, _OTHER]).append(value)
    for term in terms:
        for requirement in term.get("matchExpressions") or ():
            values.setdefault(requirement["key"], [None, _OTHER]).extend(_boundary_values(requirement))
        names += [name for field in term.get("matchFields") or () for name in field.get("values") or ()]
    for term in _required(pod_spec) or ({},):
        requirements = [
            *(term.get("matchExpressions") or ()),
            *({"key": k, "operator": "In", "values": [v]} for k, v in pod_selector.items()),
        ]
        allowed = [
            [value for value in dict.fromkeys(candidates) if _allows(requirements, key, value)]
            for key, candidates in values.items()
        ]
        for name, *combination in islice(product(dict.fromkeys(names), *allowed), MAX_NODES_PER_TERM):
            labels = {key: value for key, value in zip(values, combination, strict=True) if value is not None}
            node = ClusterNode(str(name), labels)
            if fits(pod_spec, node):
                yield node


def _required(pod_spec: Mapping[str, Any]) -> Terms:
    nodes = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()


def _boundary_values(requirement: Mapping[str, Any]) -> list[str | None]:
    """Values of a label on both sides of the requirement."""
    values = list(requirement.get("values") or ())
    if requirement["operator"] in ("Gt", "Lt"):
        return [str(int(value) + step) for value in values if _INTEGER.fullmatch(value) for step in (-1, 0, 1)]
    return values


def _allows(requirements: Terms, key: str, value: str | None) -> bool:
    labels = {} if value is None else {key: value}
    return all(_is_satisfied(requirement, labels) for requirement in requirements if requirement["key"] == key)
