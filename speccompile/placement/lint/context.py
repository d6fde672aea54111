"""What lint rules look at: objects, workloads and pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Span
from speccompile.placement.node_pools import Pool
from speccompile.placement.workloads import PodWorkload


class LintContext(NamedTuple):
    """All that rules may look at, as one value."""

    objects: tuple[Node, ...]
    """Everything rendered or read, and what is in the cluster already; every node has its origin."""
    linted: Mapping[int, Span]
    """The objects that findings may be about, by the identity of their trees, each with a place that somebody wrote.

    The others, those of the cluster, are only looked at.
    """
    workloads: tuple[PodWorkload, ...]
    """Whatever of the objects comes to pods."""
    pools: tuple[Pool, ...]
    """The pools of nodes that the cluster has; none where nobody said."""

    @property
    def linted_objects(self) -> Iterator[Node]:
        """The objects that findings may be about."""
        return (tree for tree in self.objects if id(tree) in self.linted)

    @property
    def linted_workloads(self) -> Iterator[PodWorkload]:
        """The workloads that findings may be about."""
        return (workload for workload in self.workloads if id(workload.owner) in self.linted)


LintRule: TypeAlias = Callable[[LintContext], Iterator[Diagnostic]]
"""What a rule has against a scene; nothing raises, whatever the objects are."""


class ObjectNote(Note):
    """The note that names the object a finding is about; findings that are alike but for it are told once."""


class LintWording(NamedTuple):
    """The words of a finding."""

    code: str
    message: str
    help: str
    severity: Severity = Severity.WARNING


def finding_at(context: LintContext, told: LintWording, owner: Node, node: Node, *notes: Note) -> Diagnostic:
    """A finding about a node of one of our objects.

    It stands at the node if somebody wrote that, or something in it; else at the place of the object, with a note of
    who set it.
    """
    node = next((inner for _, inner in node.walk() if _has_line(inner)), node)
    place, more = node.place, notes
    if not _has_line(node):
        more = (*_set_by(node), *notes)
        place = context.linted.get(id(owner), owner.place)
    return Diagnostic(
        code=told.code,
        message=told.message,
        span=place,
        severity=told.severity,
        notes=(*more, ObjectNote(f"in {object_title(owner)}")),
        help=told.help,
    )


def location_note(what: str, node: Node | None) -> Iterator[Note]:
    """The note that shows where another thing stands that a finding is about, if somebody wrote it, and who did."""
    if node is not None and _has_line(node):
        yield Note(f"{what} stands here{_BY[node.span.source.layer]}", node.place)


_BY = {Layer.RUN: "", Layer.PROFILE: ", set by a profile", Layer.PLATFORM: ", set by the platform", Layer.TEMPLATE: ""}


def object_title(owner: Node) -> str:
    """An object as messages name it: "Job `train`"."""
    kind, name = owner.fields.get("kind"), owner.at(("metadata", "name")) or owner.at(("metadata", "generateName"))
    said = quote(kind.value)[1:-1] if kind is not None and isinstance(kind.value, str) else "an object"
    return f"{said} {quote(name.value)}" if name is not None and isinstance(name.value, str) else said


def scalar_text(node: Node) -> str:
    """A value as files spell it, quoted as messages quote."""
    value = node.plain()
    return quote(str(value).lower() if isinstance(value, bool) else value)


def _has_line(node: Node) -> bool:
    return node.span.line > 0 and node.span.source.layer is not Layer.TEMPLATE


def _set_by(node: Node) -> Iterator[Note]:
    if node.is_scalar and node.span.line and node.span.source.layer is Layer.TEMPLATE:
        yield Note("the template says so here", node.place)
