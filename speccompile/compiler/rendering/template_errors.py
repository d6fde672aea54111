"""Faults of templates: what is wrong, at which line, and how to fix it."""

from __future__ import annotations

from speccompile.compiler.rendering.template_spans import lines_in, template_span
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library

NAMES = (
    *("run", "spec", "item", "names", "labels", "annotations", "workload_annotations"),
    *("selector", "container_ports", "platform"),
)
"""The names that a template sees."""
SMALLER = "see that loops do not multiply, and that templates do not name each other in circles"
TOO_LARGE = "the manifests of this run take too much work, or the template gives too much text"
MEND = "mend the line; each `{{ … }}` stands for one value, which leaves nothing if it is absent"


class Fault(NamedTuple):
    """What is wrong with a template, where, and what to do about it."""

    message: str
    span: Span
    help: str

    @property
    def finding(self) -> Diagnostic:
        return Diagnostic(code="template/fault", message=self.message, span=self.span, help=self.help)


class TemplateFault(Exception):  # noqa: N818  a fault of the template, which for a bundled one is a bug of ours
    """Templates that do not give a manifest."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{fault.span.label}: {fault.message}" for fault in faults))

    @classmethod
    def at(cls, node: Node, message: str, cure: str) -> TemplateFault:
        """The fault of what stands at a line of a template."""
        return cls(Fault(message, node.span, cure))

    @classmethod
    def of(cls, library: Library, template: str, message: str, cure: str, line: int = 1) -> TemplateFault:
        """The fault of a line; of the first, if there is no such line, and of a template that may not be there."""
        return cls(Fault(message, place_of(library, template, line), cure))


def place_of(library: Library, template: str, line: int) -> Span:
    """The line of the template, as far as both are there."""
    if template not in library.templates:
        return Span(Source(library.name_of(template), "", Layer.TEMPLATE))
    return template_span(library, template, line if 1 <= line <= lines_in(library, template) else 1)
