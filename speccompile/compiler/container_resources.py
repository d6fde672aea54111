"""Names and amounts of container resources: what `gpu` and `disk` mean, and how quantities compare."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping

from speccompile.model.documents import Platform, Profile
from speccompile.model.node import Node
from speccompile.model.quantity import Quantity, QuantityError, parse_quantity

DISK = "ephemeral-storage"
HUGE_PAGES = "hugepages-"
"""The prefix of huge pages, before the page size."""
GPU = "gpu"
"""The name of `gpu` in the platform's layers, until a run's profile selects the resource."""
SCRATCH_DISK = "disk"
"""The name of `disk` among requests and limits where it becomes a volume, until then."""


def is_extended(resource: str) -> bool:
    """Whether Kubernetes requires request and limit of the resource to be equal."""
    return resource.startswith(HUGE_PAGES) or is_device(resource)


def is_device(resource: str) -> bool:
    """Whether the resource counts devices, such as GPUs."""
    domain, slash, _ = resource.partition("/")
    return bool(slash) and domain != "kubernetes.io"


def gpu_kinds(platform: Platform) -> Mapping[str, Node]:
    """The platform's names for kinds of GPU, and the resource of each."""
    kinds = platform.settings.fields.get("gpu_keys")
    return kinds.fields if kinds else {}


def gpu_names(platform: Platform, profile: Profile | None) -> tuple[str, ...]:
    """Every resource that `gpu` can mean: the default under the profile, and each kind."""
    kinds = (str(node.value) for node in gpu_kinds(platform).values())
    return tuple(dict.fromkeys((_gpu_key(platform, profile), *kinds)))


def resolve_gpu(layer: Node, platform: Platform, profile: Profile | None) -> Node:
    """A layer of the platform with `gpu` replaced by the resource it means under the profile."""
    resources = layer.fields.get("resources")
    if resources is None:
        return layer
    key = _gpu_key(platform, profile)

    def resolve(side: Node) -> Node:
        others = {name: quantity for name, quantity in side.fields.items() if name != GPU}
        return side.with_fields(dict(sorted({**others, key: side.fields[GPU]}.items()))) if GPU in side.fields else side

    sides = resources.mapped(resolve)
    return layer.with_fields({**layer.fields, "resources": sides})


def fixed_gpu(layers: Iterable[Node], platform: Platform, profile: Profile | None) -> Node | None:
    """The amount of GPUs, of whatever kind, that the first of the layers with one sets."""
    names = gpu_names(platform, profile)
    limits = (limits.fields for layer in layers if (limits := layer.at(("resources", "limits"))))
    return next((by_name[name] for by_name in limits for name in names if name in by_name), None)


def named_devices(layers: Iterable[Node], profile: Profile | None) -> frozenset[str]:
    """The resources that an admin's layers set or default, and those that the profile has rules for."""
    limits = (limits.fields for layer in layers if (limits := layer.at(("resources", "limits"))))
    rules = (rule.path for rule in (profile.rules if profile else ()) if rule.path[0] == "resources")
    return frozenset((*(name for by_name in limits for name in by_name), *(str(path[-1]) for path in rules)))


def without_devices(resources: Node, gpu: Node, named: Container[str]) -> Node:
    """The resources of a run that `gpu`, which an admin fixes, sets to 0: every device that no admin names."""
    none = gpu.but(value="0", derived="`gpu` is fixed, and with it every device", derived_from=(gpu,), overridden=())
    return resources.mapped(
        lambda side: side.with_fields({name: none for name in side.fields if is_device(name) and name not in named})
    )


def _gpu_key(platform: Platform, profile: Profile | None) -> str:
    key = profile.gpu_key if profile and profile.gpu_key else platform.settings.fields["gpu_key"]
    return str(key.value)


def disk_name(platform: Platform) -> str:
    """The name of `disk` among requests and limits."""
    return SCRATCH_DISK if platform.settings.fields["disk"].fields["as"].value == "volume" else DISK


def quantity_text(node: Node) -> Node:
    """A number as Kubernetes text; text stays as written."""
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return node.but(value=parse_quantity(node.value).text)
    return node


def amount(node: Node) -> Quantity:
    """The quantity of a number or text. Raises QuantityError."""
    return parse_quantity(str(quantity_text(node).value))


def same_quantity(one: Node, other: Node) -> bool:
    """Whether two quantities are equal; false if either is not a quantity."""
    try:
        return amount(one) == amount(other)
    except QuantityError:
        return False
