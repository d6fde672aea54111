"""Render a template to a skeleton: a tree with tokens for values, and spans that point into the template."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from speccompile.compiler.rendering.jinja_environment import environment_of, template_of
from speccompile.compiler.rendering.jinja_errors import worded
from speccompile.compiler.rendering.jinja_step_limit import RECORD
from speccompile.compiler.rendering.references import RESERVED, TOKEN, Record, Reference
from speccompile.compiler.rendering.skeleton_cache import Context, Skeleton
from speccompile.compiler.rendering.template_errors import MEND, SMALLER, TOO_LARGE, Fault, TemplateFault
from speccompile.compiler.rendering.template_spans import lines_in, template_span
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.full_path import FULL_PATH
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import parse

# Ends each line of template text, so that a line of output knows the template and line it came from.
_MARK = re.compile("\ue002([^\ue003]*):([0-9]+)\ue003")
_SKETCH = 10
"""Steps that it takes to fill the smallest skeleton."""
_LONGEST = 512 * 1024
"""Characters that a template may give: a thousand times as many as the bundled ones do."""


def skeleton(template: str, context: Context, library: Library) -> Skeleton:
    """The template rendered with references: a function of the template and of the answers it got."""
    record = Record()
    known = {"spec": frozenset(library.fields)}
    names = {name: Reference(record, (name,), node, known.get(name)) for name, node in context.items()}
    text = _rendered(template, {**names, RECORD: record}, library)
    if len(text) > _LONGEST:
        raise TemplateFault.of(library, template, TOO_LARGE, SMALLER)
    if not _is_intact(text, record, library):
        message = "a filter changes what stands for values, or for lines of the template"
        raise TemplateFault.of(library, template, message, "of `{% filter %}`, use `indent` only")
    # Whoever fills it goes through all of it again.
    steps = record.steps + len(record.placed) + _SKETCH
    read = _tree.__wrapped__ if FULL_PATH.get() else _tree
    return Skeleton(read(text, template, library), tuple(record.placed), tuple(record.questions), steps)


def _rendered(template: str, names: Mapping[str, Any], library: Library) -> str:
    try:
        return template_of(library, template).render(names)
    except TemplateFault:
        raise
    except Exception as error:
        # Whatever an expression raises is the fault of the template that holds it.
        jinja = environment_of(library)
        raise worded(error, template, library, {"filter": jinja.filters, "test": jinja.tests}) from error


def _is_intact(text: str, record: Record, library: Library) -> bool:
    """Whether tokens and marks are as they were put into the text: `{% filter %}` can do anything to them."""
    tokens = {str(number) for number in range(len(record.placed))}
    return (
        tokens.issuperset(TOKEN.findall(text))
        and _marks(library).issuperset(_MARK.findall(text))
        and not RESERVED.search(_MARK.sub("", TOKEN.sub("", text)))
    )


@lru_cache(maxsize=8)
def _marks(library: Library) -> frozenset[tuple[str, str]]:
    """All marks that lines of the templates can have."""
    lines = ((name, lines_in(library, name)) for name in library.templates)
    return frozenset((name, str(line)) for name, last in lines for line in range(1, last + 1))


@lru_cache(maxsize=1024)
def _tree(text: str, template: str, library: Library) -> Node:
    """The rendered text as a tree whose spans point into the templates.

    Runs of one shape give one text, and reading it took two thirds of the time of a batch: so it is read once.
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
        raise TemplateFault(*(Fault(_as_yaml(told), place(told.span), told.help or MEND) for told in parsed.findings))
    if len(parsed.documents) != 1:
        message = f"the template gives {len(parsed.documents)} documents, and one is expected"
        raise TemplateFault(Fault(message, place(parsed.documents[1].root.span), "make a template of each"))

    def placed(node: Node) -> Node:
        return node.but(span=place(node.span), key=None).mapped(placed)

    return placed(parsed.documents[0].root)


def _as_yaml(finding: Diagnostic) -> str:
    """What is wrong with what a template gives, in which nobody sees what stands for values."""
    if finding.code == "yaml/empty":
        return "the template gives nothing"
    return f"what the template gives is no good YAML: {_TOKEN_SHOWN.sub('{{ … }}', finding.message)}"


_TOKEN_SHOWN = re.compile(r"\\ue000[0-9]*(?:\\ue001)?")
