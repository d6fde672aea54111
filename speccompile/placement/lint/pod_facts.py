"""Questions that rules ask of a pod: pinned, tolerating, requesting."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from speccompile.compiler.container_resources import is_device
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.contradictions import (
    LocatedRequirement,
    restricts_nodes,
    selector_requirements,
    term_requirements,
)
from speccompile.placement.object_identity import group_of
from speccompile.placement.pod_requirements import Needs, Toleration, needs_of
from speccompile.placement.workloads import PodWorkload

REQUIRED_AFFINITY: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
PREFERRED_AFFINITY: KeyPath = ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
OLD_CONTROL_PLANE = "node-role.kubernetes.io/master"
ROLES = "node-role.kubernetes.io/"
"""What the taints begin with that keep nodes for the cluster itself."""
_OTHER_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", ROLES)
"""What the taints begin with that say how a node is, or what it is to the cluster, and not whom it is for."""
_EVERYWHERE = frozenset(f"{prefix}kubernetes.io/{name}" for prefix in ("", "beta.") for name in ("os", "arch"))
"""Labels that all nodes have, mostly with one value: to ask for them keeps pods nowhere."""
_ON_ALL_NODES = frozenset({("apps", "DaemonSet")})
_MOST_KEPT = 4096
_GPUS = r"gpu|tpu|npu|hpu|/mig-|gaudi|neuron|i915|/xe$"


class LocatedToleration(NamedTuple):
    """A toleration, and where it is written."""

    toleration: Toleration
    node: Node

    @property
    def is_for_pool(self) -> bool:
        """Whether it is about whom nodes are for."""
        return bool(self.toleration.key) and not self.toleration.key.startswith(_OTHER_TAINTS)


@by_identity(_MOST_KEPT)
def pod_needs(pod: Node) -> Needs:
    """What the pod asks of a node; many rules want to know."""
    return needs_of(pod)


def list_items(node: Node | None, key: str) -> tuple[Node, ...]:
    """The items of a list in a mapping; none where there is no such list."""
    child = node.fields.get(key) if node else None
    return child.items if child else ()


def pod_tolerations(pod: Node) -> Iterator[LocatedToleration]:
    """The tolerations of a pod that are mappings."""
    nodes = (item for item in list_items(pod, "tolerations") if isinstance(item.value, dict))
    return (
        LocatedToleration(one, node) for one, node in zip(pod_needs(pod).constraints.tolerations, nodes, strict=True)
    )


def requirement_sets(pod: Node) -> list[tuple[LocatedRequirement, ...]]:
    """What a node must satisfy for the pod, one way or another."""
    pin = pod_needs(pod).constraints
    always = selector_requirements(pod, pin)
    return [(*always, *term_requirements(pod, term)) for term in pin.terms or ()] or [always]


def is_pinned(pod: Node) -> bool:
    """Whether the pod can run on nodes with certain labels only, and not on whatever has none."""
    return pod_needs(pod).constraints.node is not None or all(_are_pinned(way) for way in requirement_sets(pod))


def is_for_all_nodes(workload: PodWorkload) -> bool:
    """Whether its pods are meant to be wherever they can, so that no toleration is one too many."""
    return (group_of(workload.owner), workload.kind) in _ON_ALL_NODES


def _are_pinned(asks: Sequence[LocatedRequirement]) -> bool:
    return any(restricts_nodes(ask) and ask.requirement.key not in _EVERYWHERE for ask in asks)


def pod_containers(pod: Node) -> Iterator[Node]:
    """The containers of a pod, those that come first among them."""
    return (item for section in ("initContainers", "containers") for item in list_items(pod, section))


def gpu_request(pod: Node) -> Node | None:
    """Where a GPU is asked for, if one is."""
    asked = (pod.at(one.paths[0]) for one in pod_needs(pod).requests if is_gpu(one.resource))
    return next((node for node in asked if node is not None), None)


def needs_devices(pod: Node) -> bool:
    """Whether it can run on nodes with certain devices only."""
    claims = bool(list_items(pod, "resourceClaims"))
    return claims or any(is_device(one.resource) for one in pod_needs(pod).requests)


def is_gpu(resource: str) -> bool:
    """Whether a resource is a GPU or the like, by its name."""
    return is_device(resource) and re.search(_GPUS, resource, re.IGNORECASE) is not None
