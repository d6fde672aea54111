"""Names and amounts of container resources: what `gpu` and `disk` stand for, and quantities compared."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.model.documents import Platform, Profile
from speccompile.model.node import Node
from speccompile.model.quantity import Quantity, QuantityError, parse_quantity

DISK = "ephemeral-storage"
GPU = "gpu"
"""What `gpu` is called in the platform's own layers, until a run's profile says which resource it is."""
SCRATCH_DISK = "disk"
"""What `disk` is called among requests and limits where it becomes a volume, until it is one."""


def is_extended(resource: str) -> bool:
    """Whether Kubernetes hands the resource out whole: request and limit must then be equal."""
    return resource.startswith("hugepages-") or is_device(resource)


def is_device(resource: str) -> bool:
    """Whether the resource comes in pieces, such as GPUs."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io"


def gpu_kinds(platform: Platform) -> Mapping[str, Node]:
    """The resources behind the names that the platform has for kinds of GPU."""
    kinds = platform.settings.fields.get("gpu_keys")
    return kinds.fields if kinds else {}


def gpu_names(platform: Platform, profile: Profile | None) -> tuple[str, ...]:
    """Every resource that `gpu` can stand for: what it means by itself under the profile, and each kind."""
    kinds = (str(node.value) for node in gpu_kinds(platform).values())
    return tuple(dict.fromkeys((_gpu_key(platform, profile), *kinds)))


def resolve_gpu(layer: Node, platform: Platform, profile: Profile | None) -> Node:
    """A layer of the platform in which `gpu` is what it stands for under the profile."""
    resources = layer.fields.get("resources")
    if resources is None:
        return layer
    key = _gpu_key(platform, profile)

    def settle(side: Node) -> Node:
        named = {name: quantity for name, quantity in side.fields.items() if name != GPU}
        return side.with_fields(dict(sorted({**named, key: side.fields[GPU]}.items()))) if GPU in side.fields else side

    sides = resources.mapped(settle)
    return layer.with_fields({**layer.fields, "resources": sides})


def _gpu_key(platform: Platform, profile: Profile | None) -> str:
    own = profile.gpu_key if profile and profile.gpu_key else platform.settings.fields["gpu_key"]
    return str(own.value)


def disk_name(platform: Platform) -> str:
    """What `disk` stands for among requests and limits."""
    return SCRATCH_DISK if platform.settings.fields["disk"].fields["as"].value == "volume" else DISK


def quantity_text(node: Node) -> Node:
    """A number as the text Kubernetes reads; text stays as its author spelled it."""
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.but(value=parse_quantity(node.value).text)
    return node


def amount(node: Node) -> Quantity:
    """A number or text that the schema has found to be a quantity."""
    return parse_quantity(str(quantity_text(node).value))


def same_quantity(one: Node, other: Node) -> bool:
    """Whether two quantities are equal in value; text that is no quantity equals nothing."""
    try:
        return amount(one) == amount(other)
    except QuantityError:
        return False
