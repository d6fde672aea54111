"""Render templates to manifests: templates place references, values are filled in later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.compiler.rendering.prebuilt_skeletons import load_skeletons, prebuilt_of
from speccompile.compiler.rendering.references import MOST_STEPS, TOKEN, Computed, Each
from speccompile.compiler.rendering.skeleton_cache import Skeleton, TemplateContext, node_at, shelf_of
from speccompile.compiler.rendering.template_errors import (
    FIX_HELP,
    SMALLER_HELP,
    TOO_LARGE,
    TemplateFault,
    TemplateProblem,
)
from speccompile.model.diagnostic import quote
from speccompile.model.full_path import FULL_PATH
from speccompile.model.identity_cache import by_identity
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.spec import Plan
from speccompile.schema.library import Library

if TYPE_CHECKING:
    from typing import TypeGuard

_DEEPEST = 16
"""How many templates may stand in each other by `each`."""
_MOST_OF_A_RUN = 10 * MOST_STEPS
"""Steps of all templates for one run, those of each item that `each` makes among them."""


class Sketch:
    """A skeleton and what fills it: a manifest, or an item of one, that nobody has written out yet."""

    __slots__ = ("context", "skeleton", "values")

    def __init__(self, skeleton: Skeleton, context: TemplateContext, values: tuple[Filling, ...]) -> None:
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
    faults: list[TemplateProblem] = []
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


def sketch(template: str, context: TemplateContext, library: Library, room: Room | None = None) -> Sketch:
    """The template's skeleton, a kept one if there is any, with what the context has for each token."""
    shelf = shelf_of(library)
    is_full = FULL_PATH.get()
    found = None if is_full else shelf.find(template, context) or _prepared(template, context, library)
    if found is None:
        # Jinja takes longer to import than most calls take, and prebuilt skeletons serve nearly all of them.
        from speccompile.compiler.rendering.skeleton_from_template import skeleton

        found = skeleton(template, context, library)
        if not is_full:
            shelf.add(template, found)
    return sketched(found, context, library, room)


def _prepared(template: str, context: TemplateContext, library: Library) -> Skeleton | None:
    """The skeleton, if it is among those that were made ahead."""
    shelf = shelf_of(library)
    if shelf.knows(template) or template not in prebuilt_of(library):
        return None
    for known in load_skeletons(prebuilt_of(library)[template], library):
        shelf.lend(template, known)
    return shelf.find(template, context)


def sketched(made: Skeleton, context: TemplateContext, library: Library, room: Room | None = None) -> Sketch:
    """The skeleton with what the context has for each token."""
    room = room or Room()
    room.left -= made.steps
    if room.left < 0:
        raise TemplateFault.at(made.tree, TOO_LARGE, SMALLER_HELP)
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


def _items(each: Each, made: Skeleton, context: TemplateContext, library: Library, room: Room) -> list[Sketch]:
    listed = node_at(each.path, context)
    if listed is None or not listed.items:
        return []
    if room.depth == _DEEPEST:
        message = f"templates stand in each other more than {_DEEPEST} deep by `each`"
        raise TemplateFault.at(made.tree, message, "see that no template names itself")
    room.depth += 1
    drawn = [sketch(each.template, {**context, "item": item}, library, room) for item in listed.items]
    room.depth -= 1
    return drawn


def fill(made: Sketch) -> Node:
    """The skeleton with every token replaced by what fills it; what is absent leaves no trace. Raises TemplateFault."""
    tree = made.skeleton.tree
    filled = _filled(tree, made)
    if filled is None:
        raise TemplateFault.at(tree, "nothing of the template is left: all that it places is absent", FIX_HELP)
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
                raise TemplateFault.at(child, f"two keys of a mapping become {quote(key)}", "make them differ")
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
        read = (found for path in value.read if (found := node_at(path, made.context)))
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
    derived_from = tuple(read)
    if not derived_from:
        return node.with_value(value)
    how = f"computed in {node.span.label}"
    return Node(value, derived_from[0].span, derived=how, derived_from=derived_from, part=derived_from[0].part)
