"""Input of the lint rules, and helpers to report findings."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import USER_LAYERS, Layer, Span
from speccompile.placement.node_pools import Pool
from speccompile.placement.workloads import PodWorkload


class PlacementContext(NamedTuple):
    """The objects, workloads and pools that rules check."""

    objects: tuple[Node, ...]
    """Rendered objects, objects from files, and existing objects of the cluster; every value has its origin."""
    linted: Mapping[int, Span]
    """The objects to lint, by the identity of their trees, each with the place to report; others are context."""
    workloads: tuple[PodWorkload, ...]
    """The workloads of all objects."""
    pools: tuple[Pool, ...]
    """The node pools of the cluster; empty if unknown."""
    unknown: tuple[Node, ...] = ()
    """The objects whose pods, or some of them, are unknown."""

    @property
    def linted_objects(self) -> Iterator[Node]:
        """The objects to lint."""
        return (tree for tree in self.objects if id(tree) in self.linted)

    @property
    def linted_workloads(self) -> Iterator[PodWorkload]:
        """The workloads of the objects to lint."""
        return (workload for workload in self.workloads if id(workload.owner) in self.linted)


LintRule: TypeAlias = Callable[[PlacementContext], Iterator[Diagnostic]]
"""A rule yields findings; malformed objects must not make it raise."""


class ObjectNote(Note):
    """The note that names the object; findings that differ only in it are reported once."""


class LintWording(NamedTuple):
    """Code, message, help and severity of a finding."""

    code: str
    message: str
    help: str
    severity: Severity = Severity.WARNING


def finding_at(context: PlacementContext, wording: LintWording, owner: Node, node: Node, *notes: Note) -> Diagnostic:
    """A finding about a value of an object.

    It points to the line of the value, or of something in it; without a line, to the place of the object.
    """
    node = next((inner for _, inner in node.walk() if _has_line(inner)), node)
    place, all_notes = node.place, notes
    if not _has_line(node):
        all_notes = (*_template_note(node), *notes)
        place = context.linted.get(id(owner), owner.place)
    return Diagnostic(
        code=wording.code,
        message=wording.message,
        span=place,
        severity=wording.severity,
        notes=(*all_notes, ObjectNote(f"in {object_title(owner)}")),
        help=wording.help,
    )


def location_note(what: str, node: Node | None) -> Iterator[Note]:
    """A note with the line of a related value, if it has one."""
    if node is not None and _has_line(node):
        yield Note(f"{what} is set here{_LAYER_SUFFIX[node.span.source.layer]}", node.place)


_LAYER_SUFFIX = {
    **dict.fromkeys(USER_LAYERS, ""),
    Layer.PROFILE: ", by a profile",
    Layer.PLATFORM: ", by the platform",
    Layer.TEMPLATE: "",
}


def object_title(owner: Node) -> str:
    """An object in a message: "Job `train`"."""
    kind, name = owner.fields.get("kind"), owner.at(("metadata", "name")) or owner.at(("metadata", "generateName"))
    title = quote(kind.value)[1:-1] if kind is not None and isinstance(kind.value, str) else "an object"
    return f"{title} {quote(name.value)}" if name is not None and isinstance(name.value, str) else title


def scalar_text(node: Node) -> str:
    """A scalar in a message, as YAML spells it."""
    value = node.plain()
    return quote(str(value).lower() if isinstance(value, bool) else value)


def _has_line(node: Node) -> bool:
    return node.span.line > 0 and node.span.source.layer is not Layer.TEMPLATE


def _template_note(node: Node) -> Iterator[Note]:
    if node.is_scalar and node.span.line and node.span.source.layer is Layer.TEMPLATE:
        yield Note("set by the template here", node.place)
