"""Takes a plan and the templates, gives the manifests: templates place references, values are filled in later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, TypeAlias

from speccompile.environment import RECORD, TemplateFault, template_of
from speccompile.library import Library
from speccompile.memo import by_identity
from speccompile.model import Layer, Manifest, Node, Plan, Source
from speccompile.origins import template_span
from speccompile.parse import parse
from speccompile.prepared import read
from speccompile.references import RESERVED, TOKEN, Computed, Each, Record, Reference
from speccompile.skeletons import Context, Skeleton, at, shelf_of

# Ends each line of template text, so that a line of output knows the template and line it came from.
_MARK = re.compile("\ue002([^\ue003]*):([0-9]+)\ue003")
_DEEPEST = 16
"""How many templates may stand in each other by `each`."""


class Sketch:
    """A skeleton and what fills it: a manifest, or an item of one, that nobody has written out yet."""

    __slots__ = ("context", "skeleton", "values")

    def __init__(self, skeleton: Skeleton, context: Context, values: tuple[Filling, ...]) -> None:
        self.skeleton: Final = skeleton
        self.context: Final = context
        self.values: Final = values


Filling: TypeAlias = Node | Computed | list[Sketch] | None
"""What a token stands for; what is empty counts as absent."""


def render(plan: Plan, library: Library) -> tuple[Manifest, ...]:
    """The manifests of the plan, in its order; every leaf has its origin. Raises TemplateFault."""
    return filled(sketches(plan, library))


def filled(drawn: Iterable[Sketch]) -> tuple[Manifest, ...]:
    """The manifests of sketches. Raises TemplateFault."""
    return tuple(Manifest(fill(sketch)) for sketch in drawn)


def identity_of(made: Sketch) -> tuple[str, Node, Node | None]:
    """Kind, name and namespace of the manifest. Raises TemplateFault if a kind or a name is missing."""
    kind, name, namespace = [
        made.values[told] if told.__class__ is int else _filled(told, made) if told else None  # type: ignore[arg-type]
        for told in _identity(made.skeleton)
    ]
    if not isinstance(kind, Node) or not isinstance(name, Node):
        where = made.skeleton.tree.span.source.name
        raise TemplateFault(f"{where}: a manifest has a `kind`, and a `name` in its `metadata`")
    return str(kind.value), name, namespace if isinstance(namespace, Node) else None


@by_identity(256)
def _identity(skeleton: Skeleton) -> tuple[Node | int | None, ...]:
    """Kind, name and namespace, or the number of the token that stands for one."""
    told = (skeleton.tree.at(path) for path in (("kind",), ("metadata", "name"), ("metadata", "namespace")))
    return tuple(_as_token(node, skeleton) for node in told)


def _as_token(node: Node | None, skeleton: Skeleton) -> Node | int | None:
    token = TOKEN.fullmatch(node.value) if node and isinstance(node.value, str) else None
    number = int(token[1]) if token else None
    return number if number is not None and skeleton.placed[number].__class__ is tuple else node


def sketches(plan: Plan, library: Library) -> tuple[Sketch, ...]:
    """The manifests of the plan before anything is filled in. Raises TemplateFault."""
    return tuple(sketch(step.template, {**plan.context, "item": step.item}, library) for step in plan.steps)


def sketch(template: str, context: Context, library: Library, depth: int = 0) -> Sketch:
    """The template's skeleton, a kept one if there is any, with what the context has for each token."""
    shelf = shelf_of(library)
    found = shelf.find(template, context) or _prepared(template, context, library)
    if found is None:
        found = skeleton(template, context, library)
        shelf.keep(template, found)
    return sketched(found, context, library, depth)


def _prepared(template: str, context: Context, library: Library) -> Skeleton | None:
    """The skeleton, if it is among those that were made ahead."""
    shelf = shelf_of(library)
    if shelf.knows(template) or template not in library.prepared:
        return None
    for known in read(library.prepared[template], library):
        shelf.keep(template, known)
    return shelf.find(template, context)


def sketched(made: Skeleton, context: Context, library: Library, depth: int = 0) -> Sketch:
    """The skeleton with what the context has for each token."""
    values: list[Filling] = []
    for placed in made.placed:
        if placed.__class__ is tuple:
            # As `at`, without the call: a run has a hundred of these.
            path: Any = placed
            node = context[path[0]]
            for step in path[1:]:
                if node is None:
                    break
                value = node.value
                node = value.get(step) if value.__class__ is dict else node.at((step,))
            values.append(None if node is None or node.value in _EMPTY else node)
        elif isinstance(placed, Each):
            values.append(_items(placed, context, library, depth))
        else:
            computed: Any = placed
            values.append(computed)
    return Sketch(made, context, tuple(values))


_EMPTY: tuple[object, ...] = ((), {})


def _items(each: Each, context: Context, library: Library, depth: int) -> list[Sketch]:
    listed = at(each.path, context)
    if listed is None or not listed.items:
        return []
    if depth == _DEEPEST:
        raise TemplateFault(f"{each.template}: templates stand in each other more than {_DEEPEST} deep")
    return [sketch(each.template, {**context, "item": item}, library, depth + 1) for item in listed.items]


def skeleton(template: str, context: Context, library: Library) -> Skeleton:
    """The template rendered with references: a function of the template and of the answers it got."""
    record = Record()
    known = {"spec": frozenset(library.fields)}
    names = {name: Reference(record, (name,), node, known.get(name)) for name, node in context.items()}
    text = _rendered(template, {**names, RECORD: record}, library)
    if not _is_intact(text, record, library):
        raise TemplateFault(f"{template}: a filter changes what stands for values, or for lines of the template")
    return Skeleton(_tree(text, template, library), tuple(record.placed), tuple(record.questions))


def _rendered(template: str, names: Mapping[str, Any], library: Library) -> str:
    try:
        return template_of(library, template).render(names)
    except TemplateFault:
        raise
    except Exception as error:
        # Whatever an expression raises is the fault of the template that holds it.
        raise TemplateFault(f"{_place(error, template, library)}: {error or type(error).__name__}") from error


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
    lines = ((name, text.count("\n") + 1) for name, text in library.templates.items())
    return frozenset((name, str(line)) for name, last in lines for line in range(1, last + 1))


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
        return node.but(span=template_span(library, name, line), key=None).mapped(placed)

    return placed(parsed.documents[0].root)


def fill(made: Sketch) -> Node:
    """The skeleton with every token replaced by what fills it; what is absent leaves no trace. Raises TemplateFault."""
    tree = made.skeleton.tree
    filled = _filled(tree, made)
    if filled is None:
        raise TemplateFault(f"{tree.span.source.name}: nothing of the template is left")
    return filled


def _filled(node: Node, made: Sketch) -> Node | None:
    value = node.value
    if isinstance(value, str):
        return _interpolated(value, node, made) if TOKEN.search(value) else node
    if isinstance(value, dict):
        fields: dict[str, Node] = {}
        for written, child in value.items():
            key, filled = _key(written, node, made), _filled(child, made)
            if key in fields:
                raise TemplateFault(f"{node.span.label}: two keys of a mapping become `{key}`")
            if filled is not None:
                fields[key] = filled
        return node.with_value(fields) if fields or not value else None
    if isinstance(value, tuple):
        items = tuple(filled for child in value for filled in _filled_items(child, made))
        return node.with_value(items) if items or not value else None
    return None if value is None else node


def _filled_items(node: Node, made: Sketch) -> Iterator[Node]:
    """The item of a list, or as many as `each` gives in its place."""
    token = TOKEN.fullmatch(node.value) if isinstance(node.value, str) else None
    inner = made.values[int(token[1])] if token else None
    if isinstance(inner, list):
        yield from (filled for one in inner if (filled := _filled(one.skeleton.tree, one)) is not None)
    elif (filled := _filled(node, made)) is not None:
        yield filled


def _key(key: str, node: Node, made: Sketch) -> str:
    if not TOKEN.search(key):
        return key
    name = _interpolated(key, node, made)
    if name is None or not isinstance(name.value, str):
        raise TemplateFault(f"{node.span.label}: a key must be a string that is there")
    return name.value


def _interpolated(text: str, node: Node, made: Sketch) -> Node | None:
    parts = [_value(int(number), node, made) for number in TOKEN.findall(text)]
    if TOKEN.fullmatch(text):
        return parts[0]
    there = [part for part in parts if part is not None and part.is_scalar]
    if len(there) < len(parts):
        raise TemplateFault(f"{node.span.label}: only a scalar that is there can stand inside text")
    texts = iter(there)
    return _computed(TOKEN.sub(lambda _: str(next(texts).value), text), there, node)


def _value(number: int, node: Node, made: Sketch) -> Node | None:
    value = made.values[number]
    if isinstance(value, Computed):
        read = (found for path in value.read if (found := at(path, made.context)))
        return _computed(value.value, read, node)
    if isinstance(made.skeleton.placed[number], Each):
        raise TemplateFault(f"{node.span.label}: what `each` gives can only stand alone, as an item of a list")
    assert not isinstance(value, list)
    return value


def _computed(value: object, read: Iterable[Node], node: Node) -> Node:
    """A value the template made: its origin is what it was made from, or the template's line."""
    if not isinstance(value, (str, int, float, bool)):
        raise TemplateFault(f"{node.span.label}: an expression must give a scalar, not {type(value).__name__}")
    made_of = tuple(read)
    if not made_of:
        return node.with_value(value)
    how = f"computed in {node.span.label}"
    return Node(value, made_of[0].span, derived=how, made_of=made_of, part=made_of[0].part)
