"""Errors in templates: what is wrong, at which line, and how to fix it."""

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
"""The top-level names that a template can use."""
SMALLER_HELP = "check for nested loops, and for templates that include each other in a cycle"
TOO_LARGE = "the manifests of this run take too many steps, or the output of the template is too long"
FIX_HELP = "fix the line; `{{ … }}` is replaced by one value, or removed if the value is unset"


class TemplateProblem(NamedTuple):
    """One error in a template."""

    message: str
    span: Span
    help: str

    @property
    def finding(self) -> Diagnostic:
        return Diagnostic(code="template/fault", message=self.message, span=self.span, help=self.help)


class TemplateFault(Exception):  # noqa: N818  an error of the user's template, not of the program
    """Templates that do not produce a manifest."""

    def __init__(self, *faults: TemplateProblem) -> None:
        self.faults = faults
        super().__init__("; ".join(f"{fault.span.label}: {fault.message}" for fault in faults))

    @classmethod
    def at(cls, node: Node, message: str, help_text: str) -> TemplateFault:
        """The error of a node of a skeleton."""
        return cls(TemplateProblem(message, node.span, help_text))

    @classmethod
    def of(cls, library: Library, template: str, message: str, help_text: str, line: int = 1) -> TemplateFault:
        """The error of a line; see `line_span`."""
        return cls(TemplateProblem(message, line_span(library, template, line), help_text))


def line_span(library: Library, template: str, line: int) -> Span:
    """The line of the template; its first line, or an empty span, if there is no such line or template."""
    if template not in library.templates:
        return Span(Source(library.name_of(template), "", Layer.TEMPLATE))
    return template_span(library, template, line if 1 <= line <= lines_in(library, template) else 1)
