"""Typed access to Seldon objects; values of a wrong type are read as unset."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.quantity import NANOS, Quantity, QuantityError, parse_quantity
from speccompile.placement.object_identity import group_of, kind_of

GROUP = "mlops.seldon.io"
AGENT, RCLONE = "agent", "rclone"
"""The containers of a Server's pod besides the one that serves models."""
CAPABILITIES = "SELDON_SERVER_CAPABILITIES"
OVERCOMMIT = "SELDON_OVERCOMMIT_PERCENTAGE"
MEMORY_REQUEST = "MEMORY_REQUEST"
"""Variables of the agent that describe what a Server offers."""
POD_SPEC: KeyPath = ("spec", "podSpec")
_LARGEST_INT32 = 2**31 - 1
_DECIMAL_DIGITS, _BINARY_DIGITS = 18, 14
"""Digits that Kubernetes stores as an integer; for binary units, three fewer per step."""
_BINARY_UNITS = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
_DECIMAL_UNITS: Mapping[str, int] = {
    unit: 3 * power for power, unit in enumerate(("n", "u", "m", "", "k", "M", "G", "T", "P", "E"), -3)
}


def of_kind(objects: Sequence[Node], kind: str) -> Iterator[Node]:
    """The objects of a Seldon kind, in their order."""
    return (tree for tree in objects if kind_of(tree) == kind and group_of(tree) == GROUP)


def non_null_at(tree: Node | None, path: KeyPath) -> Node | None:
    """The node at the path; None if unset or null."""
    node = tree.at(path) if tree is not None else None
    return node if node is not None and node.value is not None else None


def mapping_at(tree: Node | None, path: KeyPath) -> Node | None:
    node = non_null_at(tree, path)
    return node if node is not None and isinstance(node.value, dict) else None


def string_at(tree: Node | None, path: KeyPath) -> str:
    """The string at the path; empty if unset."""
    node = non_null_at(tree, path)
    return node.value if node is not None and isinstance(node.value, str) else ""


def items_at(tree: Node | None, path: KeyPath) -> tuple[Node, ...]:
    """The items of the list at the path."""
    node = non_null_at(tree, path)
    return node.items if node is not None else ()


def strings_at(tree: Node | None, path: KeyPath) -> tuple[Node, ...]:
    """The items of the list at the path that are strings."""
    return tuple(item for item in items_at(tree, path) if isinstance(item.value, str))


def int_at(tree: Node | None, path: KeyPath) -> int | None:
    """The 32-bit integer at the path."""
    node = non_null_at(tree, path)
    value = node.value if node is not None else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if abs(value) <= _LARGEST_INT32 else None


def quantity_of(node: Node | None) -> Quantity | None:
    value = node.value if node is not None else None
    if not isinstance(value, (str, int, float)):
        return None
    try:
        return parse_quantity(value)
    except QuantityError:
        return None


def in_bytes(amount: Quantity) -> int:
    """The amount in whole bytes, as Kubernetes rounds it."""
    return -(-amount.nano // NANOS)


def model_bytes(amount: Quantity) -> int | None:
    """The memory of a Model as the operator reads it; None if it cannot convert the quantity.

    It converts only quantities that Kubernetes stores as an integer and a power of ten, which depends on the spelling.
    """
    number = amount.text.lstrip("+-").removesuffix(amount.unit).lower()
    digits, _, exponent = number.partition("e")
    integer, _, fraction = digits.partition(".")
    integer = integer.lstrip("0")
    if amount.unit and amount.unit in _BINARY_UNITS:
        room = _BINARY_DIGITS - 3 * _BINARY_UNITS.index(amount.unit)
        is_convertible = not fraction and len(integer) <= room
    else:
        scale = int(exponent) if exponent else _DECIMAL_UNITS[amount.unit]
        is_convertible = scale >= len(fraction) and len(integer) + len(fraction) <= _DECIMAL_DIGITS
    return amount.nano // NANOS if is_convertible else None


def app_containers(pod: Node | None) -> tuple[Node, ...]:
    return items_at(pod, ("containers",))


def find_named(items: Sequence[Node], name: str) -> Node | None:
    """The last item with the name; of several variables, the last one is used."""
    return next((item for item in reversed(items) if string_at(item, ("name",)) == name), None)


def env_variable(pod: Node | None, name: str) -> Node | None:
    """The variable in the first container that sets it."""
    entries = (find_named(items_at(container, ("env",)), name) for container in app_containers(pod))
    return next((entry for entry in entries if entry is not None), None)
