"""Takes a plan and the templates, gives the manifests: templates place references, values are filled in later."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.compiler.rendering.jinja_environment import environment_of, template_of
from speccompile.compiler.rendering.jinja_step_limit import RECORD
from speccompile.compiler.rendering.prebuilt_skeletons import prebuilt_of, read
from speccompile.compiler.rendering.references import MOST_STEPS, RESERVED, TOKEN, Computed, Each, Record, Reference
from speccompile.compiler.rendering.skeleton_cache import Context, Skeleton, at, shelf_of
from speccompile.compiler.rendering.template_errors import Fault, TemplateFault, worded
from speccompile.compiler.rendering.template_spans import lines_in, template_span
from speccompile.model.diagnostic import Diagnostic, shown
from speccompile.model.identity_cache import by_identity
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.model.spec import Plan
from speccompile.schema.library import Library
from speccompile.yaml_text.parse import parse

if TYPE_CHECKING:
    from typing import TypeGuard

# Ends each line of template text, so that a line of output knows the template and line it came from.
_MARK = re.compile("\ue002([^\ue003]*):([0-9]+)\ue003")
_DEEPEST = 16
"""How many templates may stand in each other by `each`."""
_SKETCH = 10
"""Steps that it takes to fill the smallest skeleton."""
_LONGEST = 512 * 1024
"""Characters that a template may give: a thousand times as many as the bundled ones do."""
_MOST_OF_A_RUN = 10 * MOST_STEPS
"""Steps of all templates for one run, those of each item that `each` makes among them."""
_SMALLER = "see that loops do not multiply, and that templates do not name each other in circles"
_TOO_LARGE = "the manifests of this run take too much work, or the template gives too much text"


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
    if not _is_text(kind) or not _is_text(name) or (namespace is not None and not _is_text(namespace)):
        raise TemplateFault.at(
            made.skeleton.tree,
            "a manifest has a `kind`, and a `name` in its `metadata`, and both are text",
            "write them as the bundled template of this path does",
        )
    return str(kind.value), name, namespace


def _is_text(value: Filling) -> TypeGuard[Node]:
    return isinstance(value, Node) and isinstance(value.value, str)


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
    room = Room()
    drawn: list[Sketch] = []
    faults: list[Fault] = []
    for step in plan.steps:
        try:
            drawn.append(sketch(step.template, {**plan.context, "item": step.item}, library, room))
        except TemplateFault as fault:
            faults += fault.faults
            room.depth = 0
    if faults:
        raise TemplateFault(*faults)
    return tuple(drawn)


class Room:
    """How much work of templates may still go into a run, and how deep templates stand in each other.

    What a skeleton was to make counts whether it is made or found, so that no result hangs on what is kept.
    """

    __slots__ = ("depth", "left")

    def __init__(self) -> None:
        self.left = _MOST_OF_A_RUN
        self.depth = 0


def sketch(template: str, context: Context, library: Library, room: Room | None = None) -> Sketch:
    """The template's skeleton, a kept one if there is any, with what the context has for each token."""
    shelf = shelf_of(library)
    found = shelf.find(template, context) or _prepared(template, context, library)
    if found is None:
        found = skeleton(template, context, library)
        shelf.add(template, found)
    return sketched(found, context, library, room)


def _prepared(template: str, context: Context, library: Library) -> Skeleton | None:
    """The skeleton, if it is among those that were made ahead."""
    shelf = shelf_of(library)
    if shelf.knows(template) or template not in prebuilt_of(library):
        return None
    for known in read(prebuilt_of(library)[template], library):
        shelf.lend(template, known)
    return shelf.find(template, context)


def sketched(made: Skeleton, context: Context, library: Library, room: Room | None = None) -> Sketch:
    """The skeleton with what the context has for each token."""
    room = room or Room()
    room.left -= made.steps
    if room.left < 0:
        raise TemplateFault.at(made.tree, _TOO_LARGE, _SMALLER)
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
            values.append(_items(placed, made, context, library, room))
        else:
            computed: Any = placed
            values.append(computed)
    return Sketch(made, context, tuple(values))


_EMPTY: tuple[object, ...] = ((), {})


def _items(each: Each, made: Skeleton, context: Context, library: Library, room: Room) -> list[Sketch]:
    listed = at(each.path, context)
    if listed is None or not listed.items:
        return []
    if room.depth == _DEEPEST:
        message = f"templates stand in each other more than {_DEEPEST} deep by `each`"
        raise TemplateFault.at(made.tree, message, "see that no template names itself")
    room.depth += 1
    drawn = [sketch(each.template, {**context, "item": item}, library, room) for item in listed.items]
    room.depth -= 1
    return drawn


def skeleton(template: str, context: Context, library: Library) -> Skeleton:
    """The template rendered with references: a function of the template and of the answers it got."""
    record = Record()
    known = {"spec": frozenset(library.fields)}
    names = {name: Reference(record, (name,), node, known.get(name)) for name, node in context.items()}
    text = _rendered(template, {**names, RECORD: record}, library)
    if len(text) > _LONGEST:
        raise TemplateFault.of(library, template, _TOO_LARGE, _SMALLER)
    if not _is_intact(text, record, library):
        message = "a filter changes what stands for values, or for lines of the template"
        raise TemplateFault.of(library, template, message, "of `{% filter %}`, use `indent` only")
    # Whoever fills it goes through all of it again.
    steps = record.steps + len(record.placed) + _SKETCH
    return Skeleton(_tree(text, template, library), tuple(record.placed), tuple(record.questions), steps)


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
        raise TemplateFault(*(Fault(_as_yaml(told), place(told.span), told.help or _MEND) for told in parsed.findings))
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
_MEND = "mend the line; each `{{ … }}` stands for one value, which leaves nothing if it is absent"


def fill(made: Sketch) -> Node:
    """The skeleton with every token replaced by what fills it; what is absent leaves no trace. Raises TemplateFault."""
    tree = made.skeleton.tree
    filled = _filled(tree, made)
    if filled is None:
        raise TemplateFault.at(tree, "nothing of the template is left: all that it places is absent", _MEND)
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
                raise TemplateFault.at(child, f"two keys of a mapping become {shown(key)}", "make them differ")
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
        raise TemplateFault.at(node, "a key is no text, or is absent", "ask with `{% if %}` whether it is there")
    return name.value


def _interpolated(text: str, node: Node, made: Sketch) -> Node | None:
    parts = [_value(int(number), node, made) for number in TOKEN.findall(text)]
    if TOKEN.fullmatch(text):
        return parts[0]
    there = [part for part in parts if part is not None and part.is_scalar]
    if len(there) < len(parts):
        message = "inside text stands a value that is absent, or a list or a map"
        raise TemplateFault.at(node, message, "ask with `{% if %}` whether it is there")
    texts = iter(there)
    return _computed(TOKEN.sub(lambda _: str(next(texts).value), text), there, node)


def _value(number: int, node: Node, made: Sketch) -> Node | None:
    value = made.values[number]
    if isinstance(value, Computed):
        read = (found for path in value.read if (found := at(path, made.context)))
        return _computed(value.value, read, node)
    if isinstance(made.skeleton.placed[number], Each):
        message = "what `each` gives can only stand alone, as an item of a list"
        raise TemplateFault.at(node, message, "write `- {{ … | each(…) }}`")
    assert not isinstance(value, list)
    return value


def _computed(value: object, read: Iterable[Node], node: Node) -> Node:
    """A value the template made: its origin is what it was made from, or the template's line."""
    if not isinstance(value, (str, int, float, bool)):
        kind = "a list or a map" if isinstance(value, (list, tuple, dict)) else type(value).__name__
        message = f"an expression gives {kind}, and only a text, a number or a boolean can be placed"
        raise TemplateFault.at(node, message, "place what the template sees as it is, or compute a text")
    made_of = tuple(read)
    if not made_of:
        return node.with_value(value)
    how = f"computed in {node.span.label}"
    return Node(value, made_of[0].span, derived=how, made_of=made_of, part=made_of[0].part)
