"""Node pools, from the platform's `pools` or from the nodes of a cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.model.documents import Platform
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.machine import Machine, Taint
from speccompile.placement.pod_requirements import amount_of

_HARD = frozenset({"NoSchedule", "NoExecute"})
"""The effects that keep pods away; the third only asks them to stay away."""
_OF_KUBERNETES = ("kubernetes.io", "k8s.io")
"""How the domains end of labels that nobody need declare, since Kubernetes or a cloud sets them."""
_HOST = "kubernetes.io/hostname"
_STATES = (
    "node.kubernetes.io/",
    "node.cloudprovider.kubernetes.io/",
    "ToBeDeletedByClusterAutoscaler",
    "DeletionCandidateOfClusterAutoscaler",
)
"""What the taints begin with that say how a node is just now, a cordon among them, and not what pool it is of."""
_MANY = 10
NAMING = (
    "cloud.google.com/gke-nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "karpenter.sh/nodepool",
    "node.kubernetes.io/nodepool",
)
"""Labels by which nodes say what pool they are of."""


class Pool(NamedTuple):
    """Nodes that are alike to the scheduler."""

    name: str
    labels: Mapping[str, str]
    taints: tuple[Taint, ...]
    resources: Mapping[str, int]
    """What pods can have of one node, the largest, in the units of `pod_requirements.py`; nothing where nobody said."""
    exclusive: bool = False
    """Whether it is there only for pods that are pinned to it."""
    written: Node | None = None
    """Where it is declared, if it is."""
    varying: frozenset[str] | None = None
    """Of nodes of a cluster, the labels that no two of them share; None if nobody but the platform knows the pool."""

    @property
    def hard_taints(self) -> tuple[Taint, ...]:
        """Those that keep pods away."""
        return tuple(taint for taint in self.taints if taint.effect in _HARD)

    def knows(self, label: str) -> bool:
        """Whether it can be told what nodes of the pool have under this label, if anything."""
        if self.varying is not None:
            return label not in self.varying
        return label in self.labels or not label.rpartition("/")[0].endswith(_OF_KUBERNETES)


def declared_pools(platform: Platform) -> tuple[Pool, ...]:
    """The pools that the platform's file declares."""
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
        said, _, effect = node.value.rpartition(":")
        key, _, value = said.partition("=")
        return Taint(key, value, effect)
    key, value, effect = (_text(node, name) for name in Taint._fields)
    return Taint(key, value, effect)


def pools_of(machines: Sequence[Machine], declared: Sequence[Pool] = ()) -> tuple[Pool, ...]:
    """The nodes of a cluster, those that are alike as one pool; labels that tell each node from all others aside.

    One that has the labels of a declared pool has its name, and is exclusive if that is. A declared pool whose labels
    no node has is there as it is declared: it may grow from nothing.
    """
    own = frozenset(_own_to_each(machines))
    alike: dict[object, tuple[Pool | None, list[Machine]]] = {}
    for machine in machines:
        kept = tuple(sorted((key, value) for key, value in machine.labels.items() if key not in own))
        meant = pool_with(machine.labels, declared)
        key = (kept, _lasting(machine.taints), meant.name if meant else None)
        alike.setdefault(key, (meant, []))[1].append(machine)
    empty = (one for one in declared if one.labels and not any(_has(one, machine.labels) for machine in machines))
    return (*(_known(_pool(nodes, own), meant) for meant, nodes in alike.values()), *empty)


def pool_with(labels: Mapping[str, str], declared: Sequence[Pool]) -> Pool | None:
    """The declared pool that a node with these labels is of: of those whose labels it has, the one with the most."""
    same = (one for one in declared if one.labels and _has(one, labels))
    return max(same, key=lambda one: len(one.labels), default=None)


def _has(pool: Pool, labels: Mapping[str, str]) -> bool:
    return pool.labels.items() <= labels.items()


def _lasting(taints: Sequence[Taint]) -> tuple[Taint, ...]:
    return tuple(taint for taint in taints if not taint.key.startswith(_STATES))


def _known(pool: Pool, meant: Pool | None) -> Pool:
    return pool._replace(name=meant.name, exclusive=meant.exclusive, written=meant.written) if meant else pool


def _own_to_each(machines: Sequence[Machine]) -> Iterator[str]:
    """The labels that name nodes, in one way or another: many have them, and no two with the same value."""
    values: dict[str, list[str]] = {}
    for machine in machines:
        for key, value in machine.labels.items():
            values.setdefault(key, []).append(value)
    return (key for key, seen in values.items() if key == _HOST or _MANY <= len(seen) == len(set(seen)))


def _pool(nodes: Sequence[Machine], own: frozenset[str]) -> Pool:
    first, *others = nodes
    name = next((first.labels[key] for key in NAMING if first.labels.get(key)), "")
    amounts: dict[str, int] = {}
    for node in nodes:
        amounts |= {key: max(amount, amounts.get(key, 0)) for key, amount in node.allocatable.items()}
    return Pool(
        name=name or (f"{first.name} and {len(others)} more" if others else first.name),
        labels={key: value for key, value in first.labels.items() if key not in own},
        taints=_lasting(first.taints),
        resources=amounts,
        varying=own,
    )


def _text(node: Node, key: str) -> str:
    child = node.fields.get(key)
    return child.value if child is not None and isinstance(child.value, str) else ""
