"""Group, kind, name and namespace of Kubernetes objects; a missing value, or one of a wrong type, reads as empty."""

from __future__ import annotations

from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node


def group_of(tree: Node) -> str:
    """The API group: `batch` for `batch/v1`, empty for `v1`."""
    group, slash, _ = _text(tree, ("apiVersion",)).partition("/")
    return group if slash else ""


def kind_of(tree: Node) -> str:
    return _text(tree, ("kind",))


def name_of(tree: Node) -> str:
    return _text(tree, ("metadata", "name"))


def namespace_of(tree: Node) -> str:
    """The namespace; empty if unset."""
    return _text(tree, ("metadata", "namespace"))


def share_namespace(one: Node, other: Node) -> bool:
    """Whether both may be in one namespace; an unset namespace is chosen when the object is applied."""
    first, second = namespace_of(one), namespace_of(other)
    return first == second or not first or not second


def _text(tree: Node, path: KeyPath) -> str:
    node = tree.at(path)
    return node.value if node is not None and isinstance(node.value, str) else ""
