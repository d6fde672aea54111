"""Takes a pod spec and a node, tells whether Kubernetes' scheduler would let the node in: the witness of a law.

Written from Kubernetes' documentation and not from the compiler, which it is there to check.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

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
