"""Origins of values, and overridden values of runs."""

from __future__ import annotations

from enum import StrEnum

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, Part
from speccompile.model.source import Layer, Span


class Origin(NamedTuple):
    """The layer and span that set a value, and how it was derived, if it was."""

    layer: Layer
    span: Span
    derived: str | None = None
    part: Part = Part.FIELD
    derived_from: tuple[Origin, ...] = ()
    """The origins of other values that it was derived from."""

    def __str__(self) -> str:
        how = f" ({self.derived})" if self.derived else ""
        return f"{self.who} {self.span.label}{how}"

    @property
    def who(self) -> str:
        """The layer, with its part if that is not a plain field: `profile default`."""
        return str(self.layer) if self.part is Part.FIELD else f"{self.layer} {self.part}"


def origin_of(node: Node) -> Origin:
    derived_from = {inner.span: origin_of(inner) for inner in node.derived_from if inner.span != node.span}
    return Origin(node.span.source.layer, node.span, node.derived, node.part, tuple(derived_from.values()))


class OverrideKind(StrEnum):
    """What a stronger layer did to a value of a run."""

    REPLACED = "replaced"
    EXTENDED = "extended"
    """It still applies, together with the additions of a stronger layer."""


class Override(NamedTuple):
    """A value of a run that a profile or the platform replaced or extended."""

    path: KeyPath
    overridden: Node
    """The value of the run."""
    overriding: Node
    """The value of the stronger layer."""
    change: OverrideKind = OverrideKind.REPLACED
