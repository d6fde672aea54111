"""Takes a plan and the templates, gives the manifests: templates place references, values are filled in later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, TypeAlias

from speccompile.environment import RECORD, TemplateFault, template_of
from speccompile.library import Library
from speccompile.model import KeyPath, Layer, Manifest, Node, Plan, Source, Span, Step
from speccompile.parse import parse
from speccompile.references import TOKEN, Computed, Question, Record, Reference

# Ends each line of template text, so that a line of output knows the template and line it came from.
_MARK = re.compile("\ue002([^\ue003]*):([0-9]+)\ue003")
Context: TypeAlias = Mapping[str, Node | None]
"""What templates see, by top-level name."""
Values: TypeAlias = tuple[Node | Computed | None, ...]
"""What each token stands for."""


class Skeleton(NamedTuple):
    """A manifest with tokens in place of values, the path each token stands for, and the questions it hangs on.

    Nothing of a run is in it but its answers: another run that gives the same answers can fill it as well.
    """

    tree: Node
    placed: tuple[KeyPath | Computed, ...]
    questions: tuple[Question, ...]


def render(plan: Plan, library: Library) -> tuple[Manifest, ...]:
    """The manifests of the plan, in its order; every leaf has its origin. Raises TemplateFault."""
    return tuple(_manifest(step, plan.context, library) for step in plan.steps)


def _manifest(step: Step, context: Context, library: Library) -> Manifest:
    visible = {**context, "item": step.item}
    return Manifest(fill(skeleton(step.template, visible, library), visible))


def skeleton(template: str, context: Context, library: Library) -> Skeleton:
    """The template rendered with references: a function of the template and of the answers it got."""
    record = Record()
    known = {"spec": frozenset(library.fields)}
    names = {name: Reference(record, (name,), node, known.get(name)) for name, node in context.items()}
    text = _rendered(template, {**names, RECORD: record}, library)
    return Skeleton(_tree(text, template, library), tuple(record.placed), tuple(record.questions))


def _rendered(template: str, names: Mapping[str, Any], library: Library) -> str:
    try:
        return template_of(library, template).render(names)
    except TemplateFault:
        raise
    except Exception as error:
        # Whatever an expression raises is the fault of the template that holds it.
        raise TemplateFault(f"{_place(error, template, library)}: {error or type(error).__name__}") from error


def _place(error: Exception, template: str, library: Library) -> str:
    """The line of the template in which the error came up, as far as Jinja tells."""
    place, traceback = template, error.__traceback__
    while traceback:
        file = traceback.tb_frame.f_code.co_filename
        place = f"{file}:{traceback.tb_lineno}" if file in library.templates else place
        traceback = traceback.tb_next
    return place


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
    parsed = parse(Source(template, "\n".join(lines), Layer.TEMPLATE))
    if parsed.findings or len(parsed.documents) != 1:
        reasons = "; ".join(
            f"{finding.span.label if finding.span else ''} {finding.message}" for finding in parsed.findings
        )
        raise TemplateFault(f"{template}: the template gives no single document: {reasons}")

    def placed(node: Node) -> Node:
        origin = origins[node.span.line - 1] if node.span.line <= len(origins) else None
        name, line = (origin[0], int(origin[1])) if origin else (template, 1)
        source = _template_source(library, name)
        text_line = source.text.split("\n")[line - 1]
        start = len(text_line) - len(text_line.lstrip()) + 1
        span = Span(source, line, start, line, len(text_line.rstrip()) + 1)
        return node.but(span=span, key=None).mapped(placed)

    return placed(parsed.documents[0].root)


@lru_cache(maxsize=256)
def _template_source(library: Library, name: str) -> Source:
    return Source(f"templates/{name}", library.templates[name], Layer.TEMPLATE)


def fill(made: Skeleton, context: Context) -> Node:
    """The skeleton with every token replaced by the value its path has; what is absent leaves no trace."""
    values = tuple(placed if isinstance(placed, Computed) else _at(placed, context) for placed in made.placed)
    filled = _filled(made.tree, values, context)
    if filled is None:
        raise TemplateFault(f"{made.tree.span.source.name}: nothing of the template is left")
    return filled


def _at(path: KeyPath, context: Context) -> Node | None:
    root = context[str(path[0])]
    return root.at(path[1:]) if root else None


def _filled(node: Node, values: Values, context: Context) -> Node | None:
    value = node.value
    if isinstance(value, Mapping):
        fields: dict[str, Node] = {}
        for written, child in value.items():
            key, filled = _key(written, node, values, context), _filled(child, values, context)
            if key in fields:
                raise TemplateFault(f"{node.span.label}: two keys of a mapping become `{key}`")
            if filled is not None:
                fields[key] = filled
        return node.with_fields(fields) if fields or not value else None
    if isinstance(value, tuple):
        items = tuple(filled for child in value if (filled := _filled(child, values, context)) is not None)
        return node.but(value=items) if items or not value else None
    if isinstance(value, str) and TOKEN.search(value):
        return _interpolated(value, node, values, context)
    return None if value is None else node


def _key(key: str, node: Node, values: Values, context: Context) -> str:
    if not TOKEN.search(key):
        return key
    made = _interpolated(key, node, values, context)
    if made is None or not isinstance(made.value, str):
        raise TemplateFault(f"{node.span.label}: a key must be a string that is there")
    return made.value


def _interpolated(text: str, node: Node, values: Values, context: Context) -> Node | None:
    parts = [_value(values[int(number)], node, context) for number in TOKEN.findall(text)]
    if TOKEN.fullmatch(text):
        return parts[0]
    there = [part for part in parts if part is not None and part.is_scalar]
    if len(there) < len(parts):
        raise TemplateFault(f"{node.span.label}: only a scalar that is there can stand inside text")
    texts = iter(there)
    return _computed(TOKEN.sub(lambda _: str(next(texts).value), text), there, node)


def _value(value: Node | Computed | None, node: Node, context: Context) -> Node | None:
    if isinstance(value, Computed):
        read = (found for path in value.read if (found := _at(path, context)))
        return _computed(value.value, read, node)
    return None if value is None or value.value in ((), {}) else value


def _computed(value: object, read: Iterable[Node], node: Node) -> Node:
    """A value the template made: its origin is what it was made from, or the template's line."""
    if not isinstance(value, (str, int, float, bool)):
        raise TemplateFault(f"{node.span.label}: an expression must give a scalar, not {type(value).__name__}")
    made_of = tuple(read)
    if not made_of:
        return node.but(value=value)
    how = f"computed in {node.span.label}"
    return Node(value, made_of[0].span, derived=how, made_of=made_of, part=made_of[0].part)
