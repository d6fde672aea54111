"""Facts about a pod that several rules need: constraints, tolerations, requests."""

from __future__ import annotations

import re
from collections.abc import Iterator

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

REQUIRED_AFFINITY_PATH: KeyPath = ("affinity", "nodeAffinity", "requiredDuringSchedulingIgnoredDuringExecution")
PREFERRED_AFFINITY_PATH: KeyPath = ("affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution")
CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
OLD_CONTROL_PLANE = "node-role.kubernetes.io/master"
ROLES = "node-role.kubernetes.io/"
"""The prefix of taints that reserve nodes for the cluster itself."""
_OTHER_TAINTS = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", ROLES)
"""Prefixes of taints that describe the state or role of a node, not the users of its pool."""
_UBIQUITOUS_LABELS = frozenset(f"{prefix}kubernetes.io/{name}" for prefix in ("", "beta.") for name in ("os", "arch"))
"""Labels that all nodes have, usually with one value, so that they do not restrict pods."""
_ON_ALL_NODES = frozenset({("apps", "DaemonSet")})
_CACHE_SIZE = 4096
_GPU_NAMES = r"gpu|tpu|npu|hpu|/mig-|gaudi|neuron|i915|/xe$"


class LocatedToleration(NamedTuple):
    """A toleration, and its node in the PodSpec."""

    toleration: Toleration
    node: Node

    @property
    def is_for_pool(self) -> bool:
        """Whether its taint marks a pool, not the state or role of a node."""
        return bool(self.toleration.key) and not self.toleration.key.startswith(_OTHER_TAINTS)


@by_identity(_CACHE_SIZE)
def pod_needs(pod: Node) -> Needs:
    """The requirements of a pod, cached."""
    return needs_of(pod)


def list_items(node: Node | None, key: str) -> tuple[Node, ...]:
    """The items of a list in a mapping."""
    child = node.fields.get(key) if node else None
    return child.items if child else ()


def pod_tolerations(pod: Node) -> Iterator[LocatedToleration]:
    """The tolerations of a pod that are mappings."""
    nodes = (item for item in list_items(pod, "tolerations") if isinstance(item.value, dict))
    return (
        LocatedToleration(one, node) for one, node in zip(pod_needs(pod).constraints.tolerations, nodes, strict=True)
    )


def requirement_sets(pod: Node) -> list[tuple[LocatedRequirement, ...]]:
    """Alternative sets of requirements; a node must satisfy one of them."""
    pin = pod_needs(pod).constraints
    selector = selector_requirements(pod, pin)
    return [(*selector, *term_requirements(pod, term)) for term in pin.terms or ()] or [selector]


def is_pinned(pod: Node) -> bool:
    """Whether the pod can run only on nodes with certain labels or names."""
    return pod_needs(pod).constraints.node is not None or all(
        any(restricts_nodes(one) and one.requirement.key not in _UBIQUITOUS_LABELS for one in requirements)
        for requirements in requirement_sets(pod)
    )


def is_for_all_nodes(workload: PodWorkload) -> bool:
    """Whether its pods should run on all nodes, so that broad tolerations are fine."""
    return (group_of(workload.owner), workload.kind) in _ON_ALL_NODES


def pod_containers(pod: Node) -> Iterator[Node]:
    """The init containers and containers of a pod."""
    return (item for section in ("initContainers", "containers") for item in list_items(pod, section))


def gpu_request(pod: Node) -> Node | None:
    """The request for a GPU, if any."""
    requests = (pod.at(one.paths[0]) for one in pod_needs(pod).requests if is_gpu(one.resource))
    return next((node for node in requests if node is not None), None)


def needs_devices(pod: Node) -> bool:
    """Whether the pod can run only on nodes with certain devices."""
    claims = bool(list_items(pod, "resourceClaims"))
    return claims or any(is_device(one.resource) for one in pod_needs(pod).requests)


def is_gpu(resource: str) -> bool:
    """Whether the name of a resource is that of a GPU or similar accelerator."""
    return is_device(resource) and re.search(_GPU_NAMES, resource, re.IGNORECASE) is not None
