"""The tree node: a value, the span that set it, and the values it overrode."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.model.key_path import KeyPath
from speccompile.model.source import BUILT_IN, Span

if TYPE_CHECKING:
    from typing import TypedDict, Unpack

    class Changes(TypedDict, total=False):
        """The attributes that `Node.but` can replace."""

        value: NodeValue
        span: Span
        key: Span | None
        overridden: tuple[Node, ...]
        derived: str | None
        derived_from: tuple[Node, ...]
        part: Part
        unsure: bool
        weak: bool


Scalar: TypeAlias = str | int | float | bool | None

Json: TypeAlias = Scalar | Sequence["Json"] | Mapping[str, "Json"]

NodeValue: TypeAlias = "Scalar | tuple[Node, ...] | dict[str, Node]"

_CONTAINERS = (tuple, dict)


class Part(StrEnum):
    """The part of its layer that a value belongs to, which decides what can override it."""

    FIELD = "field"
    """Set by the run, fixed by a profile, enforced by the platform, or a literal of a template."""
    DEFAULT = "default"
    SETTING = "setting"
    BASE = "base"
    """A value of a base document."""


class Node:
    """A value with its span; children are nodes too, so that restructuring a tree keeps all origins.

    Immutable by type checking only: a run has hundreds of nodes, and creating a frozen dataclass takes six times as
    long.
    """

    __slots__ = ("derived", "derived_from", "key", "overridden", "part", "span", "unsure", "value", "weak")

    def __init__(  # noqa: PLR0913, PLR0917  a keyword-only signature would be slower
        self,
        value: NodeValue,
        span: Span,
        key: Span | None = None,
        overridden: tuple[Node, ...] = (),
        derived: str | None = None,
        derived_from: tuple[Node, ...] = (),
        part: Part = Part.FIELD,
        unsure: bool = False,
        weak: bool = False,
    ) -> None:
        self.value: Final = value
        self.span: Final = span
        self.key: Final = key
        """The span of the key before the value."""
        self.overridden: Final = overridden
        """The values of weaker layers that this one overrides, strongest first."""
        self.derived: Final = derived
        """How the value was derived, if it is not in the source."""
        self.derived_from: Final = derived_from
        """Other values that it was derived from."""
        self.part: Final = part
        self.unsure: Final = unsure
        """A plain `1e3`, a number in YAML 1.2 and a string in YAML 1.1, which is valid only as a quantity."""
        self.weak: Final = weak
        """Whether a value of a base document overrides it."""

    def but(self, **changes: Unpack[Changes]) -> Node:
        """A copy of the node with some attributes replaced."""
        node = Node(
            self.value,
            self.span,
            self.key,
            self.overridden,
            self.derived,
            self.derived_from,
            self.part,
            self.unsure,
            self.weak,
        )
        for name, value in changes.items():
            setattr(node, name, value)
        return node

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    def __hash__(self) -> int:
        return hash((self.span, self.key))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.span.label}>"

    @property
    def place(self) -> Span:
        """The span to report: that of a scalar, or the key of a list or mapping."""
        return self.key if self.key is not None and not self.is_scalar else self.span

    @property
    def is_scalar(self) -> bool:
        return not isinstance(self.value, _CONTAINERS)

    @property
    def fields(self) -> Mapping[str, Node]:
        """The children of a mapping; empty for anything else."""
        value = self.value
        return value if value.__class__ is dict else {}

    @property
    def items(self) -> tuple[Node, ...]:
        """The items of a list; empty for anything else."""
        value = self.value
        return value if isinstance(value, tuple) else ()

    def plain(self) -> Any:
        """The value as plain data, copied."""
        value = self.value
        if isinstance(value, tuple):
            return [item.plain() for item in value]
        if isinstance(value, dict):
            return {key: child.plain() for key, child in value.items()}
        return value

    def is_like(self, other: Node) -> bool:
        """Whether both have the same value, wherever they are set; unlike in Python, `true`, `1` and `1.0` differ."""
        if self.is_scalar or other.is_scalar:
            return type(self.value) is type(other.value) and self.value == other.value
        fields, others = self.fields, other.fields
        return (
            isinstance(self.value, tuple) == isinstance(other.value, tuple)
            and len(self.items) == len(other.items)
            and fields.keys() == others.keys()
            and all(one.is_like(two) for one, two in zip(self.items, other.items, strict=True))
            and all(child.is_like(others[key]) for key, child in fields.items())
        )

    def at(self, path: KeyPath) -> Node | None:
        """The node at the path below this one, or None."""
        node: Node | None = self
        for step in path:
            if node is None:
                return None
            value = node.value
            if isinstance(step, str):
                node = value.get(step) if isinstance(value, dict) else None
            else:
                items = value if isinstance(value, tuple) else ()
                node = items[step] if -len(items) <= step < len(items) else None
        return node

    def walk(self, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Node]]:
        """Every node of the tree with its path, parents first."""
        yield path, self
        for key, child in self.fields.items():
            yield from child.walk((*path, key))
        for index, child in enumerate(self.items):
            yield from child.walk((*path, index))

    def mapped(self, change: Callable[[Node], Node]) -> Node:
        """The same container with every direct child changed; a scalar is returned as it is."""
        value = self.value
        if isinstance(value, tuple):
            return self.with_value(tuple([change(item) for item in value]))
        if isinstance(value, dict):
            return self.with_value({key: change(child) for key, child in value.items()})
        return self

    def with_fields(self, fields: dict[str, Node]) -> Node:
        return self.with_value(fields)

    def with_value(self, value: NodeValue) -> Node:
        return Node(
            value,
            self.span,
            self.key,
            self.overridden,
            self.derived,
            self.derived_from,
            self.part,
            self.unsure,
            self.weak,
        )

    def over(self, *overridden: Node) -> Node:
        """Add overridden values, each once."""
        if not overridden:
            return self
        present = {id(node) for node in self.overridden}
        return self.but(overridden=(*self.overridden, *(node for node in overridden if id(node) not in present)))

    def overriding(self, weaker: Node) -> Node:
        """Add a weaker value and those that it overrode, without equal ones."""
        return self.over(*(node for node in (weaker, *weaker.overridden) if not node.is_like(self)))

    def marked(self, part: Part, *, weak: bool = False) -> Node:
        """The tree, with every node marked as this part of its layer."""
        return self.but(part=part, weak=weak).mapped(lambda child: child.marked(part, weak=weak))


def over_setting(value: Node, setting: Node | None) -> Node:
    """The value, which overrides a setting of the platform; built-in settings are not recorded."""
    return value if setting is None or setting.span.source is BUILT_IN.source else value.overriding(setting)
