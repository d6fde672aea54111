"""Whether the scheduler would admit a pod to a node, and nodes worth trying.

Written from Kubernetes' documentation and not from the compiler, which it is there to check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

from speccompile.model.light_namedtuple import NamedTuple

Terms: TypeAlias = Sequence[Mapping[str, Any]]

_INTEGER = re.compile(r"[-+]?[0-9]+", re.ASCII)


class Node(NamedTuple):
    """A node, as far as node selectors and node affinity can see it."""

    name: str
    labels: Mapping[str, str]


def fits(pod_spec: Mapping[str, Any], node: Node) -> bool:
    """Whether the pod's `nodeSelector` and its required node affinity both accept the node."""
    required = (
        (pod_spec.get("affinity") or {}).get("nodeAffinity", {}).get("requiredDuringSchedulingIgnoredDuringExecution")
    )
    return selected(pod_spec.get("nodeSelector") or {}, node) and (
        required is None or any_term_matches(required["nodeSelectorTerms"], node)
    )


def selected(selector: Mapping[str, str], node: Node) -> bool:
    """Whether the node carries every label of the selector."""
    return all(node.labels.get(key) == value for key, value in selector.items())


def any_term_matches(terms: Terms, node: Node) -> bool:
    """Whether one of the alternatives accepts the node; where there are none, no node is accepted."""
    return any(_term_matches(term, node) for term in terms)


def _term_matches(term: Mapping[str, Any], node: Node) -> bool:
    """Whether everything in the term holds; an empty term matches no node."""
    expressions, fields = term.get("matchExpressions") or (), term.get("matchFields") or ()
    if not expressions and not fields:
        return False
    known_fields = {"metadata.name": node.name}
    return all(_holds(requirement, node.labels) for requirement in expressions) and all(
        _holds(requirement, known_fields) for requirement in fields
    )


def _holds(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    found = labels.get(requirement["key"])
    values = requirement.get("values") or ()
    match requirement["operator"]:
        case "In":
            return found is not None and found in values
        case "NotIn":
            return found is None or found not in values
        case "Exists":
            return found is not None
        case "DoesNotExist":
            return found is None
        case "Gt" | "Lt" as operator:
            return _compares(operator, found, values)
        case operator:
            raise ValueError(f"no operator of Kubernetes: {operator}")


def _compares(operator: str, found: str | None, values: Sequence[str]) -> bool:
    """Whether both sides are whole numbers in that order."""
    if found is None or len(values) != 1 or not _INTEGER.fullmatch(found) or not _INTEGER.fullmatch(values[0]):
        return False
    return int(found) > int(values[0]) if operator == "Gt" else int(found) < int(values[0])


# Nodes worth asking about

MOST = 400
"""Nodes that are asked about for one term of a pod."""
_OTHER = "other"


def nodes_for(pod_spec: Mapping[str, Any], selector: Mapping[str, str], affinities: Terms) -> Iterator[Node]:
    """Nodes that the pod fits, one for each way in which its own conditions and the given ones can tell them apart."""
    asked = [*_required(pod_spec), *(term for one in affinities for term in _required({"affinity": one}))]
    chosen = pod_spec.get("nodeSelector") or {}
    values: dict[str, list[str | None]] = {}
    names: list[str | None] = [_OTHER]
    for key, value in (*chosen.items(), *selector.items()):
        values.setdefault(key, [None, _OTHER]).append(value)
    for term in asked:
        for requirement in term.get("matchExpressions") or ():
            values.setdefault(requirement["key"], [None, _OTHER]).extend(_telling(requirement))
        names += [name for field in term.get("matchFields") or () for name in field.get("values") or ()]
    for term in _required(pod_spec) or ({},):
        needs = [
            *(term.get("matchExpressions") or ()),
            *({"key": k, "operator": "In", "values": [v]} for k, v in chosen.items()),
        ]
        ways = [
            [value for value in dict.fromkeys(known) if _lets_in(needs, key, value)] for key, known in values.items()
        ]
        for name, *found in islice(product(dict.fromkeys(names), *ways), MOST):
            labels = {key: value for key, value in zip(values, found, strict=True) if value is not None}
            node = Node(str(name), labels)
            if fits(pod_spec, node):
                yield node


def _required(pod_spec: Mapping[str, Any]) -> Terms:
    nodes = (pod_spec.get("affinity") or {}).get("nodeAffinity") or {}
    return (nodes.get("requiredDuringSchedulingIgnoredDuringExecution") or {}).get("nodeSelectorTerms") or ()


def _telling(requirement: Mapping[str, Any]) -> list[str | None]:
    """Values of a label on either side of what is required of it."""
    values = list(requirement.get("values") or ())
    if requirement["operator"] in ("Gt", "Lt"):
        return [str(int(value) + step) for value in values if _INTEGER.fullmatch(value) for step in (-1, 0, 1)]
    return values


def _lets_in(needs: Terms, key: str, value: str | None) -> bool:
    labels = {} if value is None else {key: value}
    return all(_holds(requirement, labels) for requirement in needs if requirement["key"] == key)
