"""Node pools, from the platform's `pools` or from the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.model.documents import Platform
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.machine import Machine, Taint
from speccompile.placement.pod_requirements import amount_of

_REJECTING_EFFECTS = frozenset({"NoSchedule", "NoExecute"})
"""Effects that reject pods; `PreferNoSchedule` does not."""
_KNOWN_DOMAINS = ("kubernetes.io", "k8s.io")
"""Domain suffixes of labels that Kubernetes or a cloud sets, so that a pool need not declare them."""
_HOST = "kubernetes.io/hostname"
_STATE_TAINTS = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
)
"""Prefixes of taints that describe the current state of a node, such as a cordon, and not its pool."""
_MANY = 10
NAMING = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "node.kubernetes.io/nodepool",
)
"""Labels that name the pool of a node."""


class Pool(NamedTuple):
    """Nodes with the same labels and taints."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    resources: Mapping[str, int]
    """Allocatable amounts of its largest node, in the units of `pod_requirements.py`; empty if unknown."""
    exclusive: bool = False
    """Whether only pods that are pinned to it may use it."""
    written: Node | None = None
    """Its declaration in the platform file, if any."""
    varying: frozenset[str] | None = None
    """Labels that differ on every node of the cluster; None if the pool is only declared."""

    @property
    def hard_taints(self) -> tuple[Taint, ...]:
        """The taints that reject pods."""
        return tuple(taint for taint in self.taints if taint.effect in _REJECTING_EFFECTS)

    def knows(self, label: str) -> bool:
        """Whether the value of the label, or its absence, is known for all nodes of the pool."""
        if self.varying is not None:
            return label not in self.varying
        return label in self.labels or not label.rpartition("/")[0].endswith(_KNOWN_DOMAINS)


def declared_pools(platform: Platform) -> tuple[Pool, ...]:
    """The pools that the platform file declares."""
    node = platform.settings.fields.get("pools")
    return tuple(map(_declared, node.items if node else ()))


def _declared(node: Node) -> Pool:
    labels, resources, exclusive = (node.fields.get(key) for key in ("labels", "resources", "exclusive"))
    taints = node.fields.get("taints")
    amounts = {name: amount_of(child, name) for name, child in resources.fields.items()} if resources else {}
    return Pool(
        name=str(node.fields["name"].value),
        labels={key: str(child.value) for key, child in labels.fields.items()} if labels else {},
        taints=tuple(_taint(item) for item in (taints.items if taints else ())),
        resources={name: amount for name, amount in amounts.items() if amount is not None},
        exclusive=bool(exclusive and exclusive.value),
        written=node,
    )


def _taint(node: Node) -> Taint:
    if isinstance(node.value, str):
        taint, _, effect = node.value.rpartition(":")
        key, _, value = taint.partition("=")
        return Taint(key, value, effect)
    key, value, effect = (_text(node, name) for name in Taint._fields)
    return Taint(key, value, effect)


def pools_of(machines: Sequence[Machine], declared: Sequence[Pool] = ()) -> tuple[Pool, ...]:
    """Group the nodes of a cluster into pools, ignoring labels that differ on every node.

    Nodes with the labels of a declared pool get its name and `exclusive`. A declared pool without nodes is kept: it may
    scale up from zero.
    """
    unique_labels = frozenset(_unique_labels(machines))
    groups: dict[object, tuple[Pool | None, list[Machine]]] = {}
    for machine in machines:
        labels = tuple(sorted((key, value) for key, value in machine.labels.items() if key not in unique_labels))
        declared_pool = pool_with(machine.labels, declared)
        key = (labels, _lasting_taints(machine.taints), declared_pool.name if declared_pool else None)
        groups.setdefault(key, (declared_pool, []))[1].append(machine)
    empty = (one for one in declared if one.labels and not any(_has(one, machine.labels) for machine in machines))
    return (
        *(_with_declaration(_pool(nodes, unique_labels), declared_pool) for declared_pool, nodes in groups.values()),
        *empty,
    )


def pool_with(labels: Mapping[str, str], declared: Sequence[Pool]) -> Pool | None:
    """The declared pool of a node with these labels; if several match, the one with the most labels."""
    same = (one for one in declared if one.labels and _has(one, labels))
    return max(same, key=lambda one: len(one.labels), default=None)


def _has(pool: Pool, labels: Mapping[str, str]) -> bool:
    return pool.labels.items() <= labels.items()


def _lasting_taints(taints: Sequence[Taint]) -> tuple[Taint, ...]:
    return tuple(taint for taint in taints if not taint.key.startswith(_STATE_TAINTS))


def _with_declaration(pool: Pool, declared_pool: Pool | None) -> Pool:
    return (
        pool._replace(name=declared_pool.name, exclusive=declared_pool.exclusive, written=declared_pool.written)
        if declared_pool
        else pool
    )


def _unique_labels(machines: Sequence[Machine]) -> Iterator[str]:
    """Labels that identify single nodes: many nodes have them, each with a different value."""
    values: dict[str, list[str]] = {}
    for machine in machines:
        for key, value in machine.labels.items():
            values.setdefault(key, []).append(value)
    return (key for key, seen in values.items() if key == _HOST or _MANY <= len(seen) == len(set(seen)))


def _pool(nodes: Sequence[Machine], unique_labels: frozenset[str]) -> Pool:
    first, *others = nodes
    name = next((first.labels[key] for key in NAMING if first.labels.get(key)), "")
    amounts: dict[str, int] = {}
    for node in nodes:
        amounts |= {key: max(amount, amounts.get(key, 0)) for key, amount in node.allocatable.items()}
    return Pool(
        name=name or (f"{first.name} and {len(others)} more" if others else first.name),
        labels={key: value for key, value in first.labels.items() if key not in unique_labels},
        taints=_lasting_taints(first.taints),
        resources=amounts,
        varying=unique_labels,
    )


def _text(node: Node, key: str) -> str:
    child = node.fields.get(key)
    return child.value if child is not None and isinstance(child.value, str) else ""
