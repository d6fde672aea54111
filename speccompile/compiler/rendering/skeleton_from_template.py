"""Render a template to a skeleton: a tree with tokens for values, and spans in the template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from speccompile.compiler.rendering.jinja_environment import compiled_template, environment_of
from speccompile.compiler.rendering.jinja_errors import explain_error
from speccompile.compiler.rendering.jinja_step_limit import RECORD
from speccompile.compiler.rendering.references import RESERVED, TOKEN, Record, Reference
from speccompile.compiler.rendering.skeleton_cache import Skeleton, TemplateContext
from speccompile.compiler.rendering.template_errors import (
    FIX_HELP,
    SMALLER_HELP,
    TOO_LARGE,
    TemplateFault,
    TemplateProblem,
)
from speccompile.compiler.rendering.template_spans import lines_in, template_span
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.full_path import FULL_PATH
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import parse

# Marks the end of each line of template text, to find the template and line of a line of output.
_MARK = re.compile("\ue002([^\ue003]*):([0-9]+)\ue003")
_FILL_STEPS = 10
"""Steps for filling the smallest skeleton."""
_MAX_OUTPUT = 512 * 1024
"""Characters of a template's output, a thousand times as many as the bundled ones produce."""


def skeleton(template: str, context: TemplateContext, library: Library) -> Skeleton:
    """Render the template with references; the result depends on the answers only. Raises TemplateFault."""
    record = Record()
    known = {"spec": frozenset(library.fields)}
    names = {name: Reference(record, (name,), node, known.get(name)) for name, node in context.items()}
    text = _render(template, {**names, RECORD: record}, library)
    if len(text) > _MAX_OUTPUT:
        raise TemplateFault.of(library, template, TOO_LARGE, SMALLER_HELP)
    if not _is_intact(text, record, library):
        message = "a `{% filter %}` block changes values or line breaks"
        raise TemplateFault.of(library, template, message, "use only `indent` with `{% filter %}`")
    # Filling it visits every token again.
    steps = record.steps + len(record.placed) + _FILL_STEPS
    read = _tree.__wrapped__ if FULL_PATH.get() else _tree
    return Skeleton(read(text, template, library), tuple(record.placed), tuple(record.questions), steps)


def _render(template: str, names: Mapping[str, Any], library: Library) -> str:
    try:
        return compiled_template(library, template).render(names)
    except TemplateFault:
        raise
    except Exception as error:
        # Expressions can raise anything.
        jinja = environment_of(library)
        raise explain_error(error, template, library, {"filter": jinja.filters, "test": jinja.tests}) from error


def _is_intact(text: str, record: Record, library: Library) -> bool:
    """Whether tokens and line marks are unchanged: `{% filter %}` can change them."""
    tokens = {str(number) for number in range(len(record.placed))}
    return (
        tokens.issuperset(TOKEN.findall(text))
        and _marks(library).issuperset(_MARK.findall(text))
        and not RESERVED.search(_MARK.sub("", TOKEN.sub("", text)))
    )


@lru_cache(maxsize=8)
def _marks(library: Library) -> frozenset[tuple[str, str]]:
    """All line marks of the library's templates."""
    lines = ((name, lines_in(library, name)) for name in library.templates)
    return frozenset((name, str(line)) for name, last in lines for line in range(1, last + 1))


@lru_cache(maxsize=1024)
def _tree(text: str, template: str, library: Library) -> Node:
    """Parse the rendered text to a tree with spans in the templates.

    Cached, because runs of one shape produce the same text, and parsing it took two thirds of the time of a batch.
    """
    lines, origins = [], []
    for line in text.split("\n"):
        marks = _MARK.findall(line)
        lines.append(_MARK.sub("", line))
        origins.append(marks[-1] if marks else None)

    def place(span: Span | None) -> Span:
        origin = origins[span.line - 1] if span and 1 <= span.line <= len(origins) else None
        name, line = (origin[0], int(origin[1])) if origin else (template, 1)
        return template_span(library, name, line)

    parsed = parse(Source(template, "\n".join(lines), Layer.TEMPLATE))
    if parsed.findings:
        raise TemplateFault(*(_yaml_problem(finding, place(finding.span)) for finding in parsed.findings))
    if len(parsed.documents) != 1:
        message = f"expected one document, but the template produces {len(parsed.documents)}"
        raise TemplateFault(
            TemplateProblem(message, place(parsed.documents[1].root.span), "split it into one template per document")
        )

    def placed(node: Node) -> Node:
        return node.but(span=place(node.span), key=None).mapped(placed)

    return placed(parsed.documents[0].root)


def _yaml_problem(finding: Diagnostic, span: Span) -> TemplateProblem:
    """The problem for a YAML error in a template's output, without tokens in its message."""
    if finding.code == "yaml/empty":
        return TemplateProblem("the template produces no output", span, FIX_HELP)
    message = f"the template does not produce valid YAML: {_QUOTED_TOKEN.sub('{{ … }}', finding.message)}"
    return TemplateProblem(message, span, finding.help or FIX_HELP)


_QUOTED_TOKEN = re.compile(r"\\ue000[0-9]*(?:\\ue001)?")
