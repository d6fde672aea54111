"""Where a value comes from, and what became of the values a run set."""

from __future__ import annotations

from enum import StrEnum

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Part
from speccompile.model.source import Layer, Span


class Origin(NamedTuple):
    """Who set a value, where, and, if it is not the written value itself, how it was derived."""

    layer: Layer
    span: Span
    derived: str | None = None
    part: Part = Part.FIELD
    derived_from: tuple[Origin, ...] = ()
    """Where else the things stand that it was derived from."""

    def __str__(self) -> str:
        how = f" ({self.derived})" if self.derived else ""
        return f"{self.who} {self.span.label}{how}"

    @property
    def who(self) -> str:
        """The layer, and the part of it unless that is what the layer says outright: `profile default`."""
        return str(self.layer) if self.part is Part.FIELD else f"{self.layer} {self.part}"


def origin_of(node: Node) -> Origin:
    derived_from = {inner.span: origin_of(inner) for inner in node.derived_from if inner.span != node.span}
    return Origin(node.span.source.layer, node.span, node.derived, node.part, tuple(derived_from.values()))


class Change(StrEnum):
    """What became of something that a run said."""

    REPLACED = "replaced"
    EXTENDED = "extended"
    """It holds, together with what a stronger layer adds to it."""


class Override(NamedTuple):
    """A value of a run that a profile or the platform replaced, or added to."""

    path: KeyPath
    overridden: Node
    """What the run said."""
    overriding: Node
    """What the stronger layer said."""
    change: Change = Change.REPLACED
