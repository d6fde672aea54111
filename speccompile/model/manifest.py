"""A Kubernetes object in which every value has its origin."""

from __future__ import annotations

from typing import Any, Final

from speccompile.model.node import Node


class Manifest:
    """A Kubernetes object; every leaf of the tree has its origin."""

    __slots__ = ("tree",)

    def __init__(self, tree: Node) -> None:
        self.tree: Final = tree

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Manifest) and self.tree == other.tree

    def __hash__(self) -> int:
        return hash(self.tree)

    def __repr__(self) -> str:
        return f"<Manifest {self.kind} {self.name}>"

    @property
    def kind(self) -> str:
        return str(self.tree.fields["kind"].value)

    @property
    def name(self) -> str:
        return str(self.tree.fields["metadata"].fields["name"].value)

    @property
    def data(self) -> dict[str, Any]:
        """The object as plain data, copied on each access."""
        data: dict[str, Any] = self.tree.plain()
        return data
