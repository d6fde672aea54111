"""Render templates to manifests: templates place references, values are filled in afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from speccompile.compiler.rendering.prebuilt_skeletons import load_skeletons, prebuilt_of
from speccompile.compiler.rendering.references import MOST_STEPS, TOKEN, Computed, Each
from speccompile.compiler.rendering.skeleton_cache import Skeleton, TemplateContext, context_node, shelf_of
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
"""How deep templates may be nested by `each`."""
_MOST_OF_A_RUN = 10 * MOST_STEPS
"""Steps of all templates for one run, the items of `each` included."""


class Sketch:
    """A skeleton and the values for its tokens: a manifest, or an item of one, not yet written out."""

    __slots__ = ("context", "skeleton", "values")

    def __init__(self, skeleton: Skeleton, context: TemplateContext, values: tuple[Filling, ...]) -> None:
        self.skeleton: Final = skeleton
        self.context: Final = context
        self.values: Final = values


Filling: TypeAlias = Node | Computed | list[Sketch] | None
"""The value of a token; empty values count as absent."""


def render(plan: Plan, library: Library) -> tuple[Manifest, ...]:
    """Render the manifests of the plan, in its order, every leaf with its origin. Raises TemplateFault."""
    return fill_manifests(sketch_plan(plan, library))


def fill_manifests(sketches: Iterable[Sketch]) -> tuple[Manifest, ...]:
    """The manifests of sketches. Raises TemplateFault."""
    return tuple(Manifest(fill(sketch)) for sketch in sketches)


def identity_of(sketch: Sketch) -> tuple[str, Node, Node | None]:
    """Kind, name and namespace of the manifest. Raises TemplateFault if kind or name is missing."""
    kind, name, namespace = [
        sketch.values[part] if part.__class__ is int else _filled(part, sketch) if part else None  # type: ignore[arg-type]
        for part in _identity(sketch.skeleton)
    ]
    if not _is_text(kind) or not _is_text(name) or (namespace is not None and not _is_text(namespace)):
        raise TemplateFault.at(
            sketch.skeleton.tree,
            "a manifest needs a `kind` and a `metadata.name`, both text",
            "set them as the bundled template of this path does",
        )
    return str(kind.value), name, namespace


def _is_text(value: Filling) -> TypeGuard[Node]:
    return isinstance(value, Node) and isinstance(value.value, str)


@by_identity(256)
def _identity(skeleton: Skeleton) -> tuple[Node | int | None, ...]:
    """Kind, name and namespace, each as a node or as the number of its token."""
    nodes = (skeleton.tree.at(path) for path in (("kind",), ("metadata", "name"), ("metadata", "namespace")))
    return tuple(_as_token(node, skeleton) for node in nodes)


def _as_token(node: Node | None, skeleton: Skeleton) -> Node | int | None:
    token = TOKEN.fullmatch(node.value) if node and isinstance(node.value, str) else None
    number = int(token[1]) if token else None
    return number if number is not None and skeleton.placed[number].__class__ is tuple else node


def sketch_plan(plan: Plan, library: Library) -> tuple[Sketch, ...]:
    """The manifests of the plan with values not yet filled in. Raises TemplateFault."""
    budget = Budget()
    sketches: list[Sketch] = []
    faults: list[TemplateProblem] = []
    for step in plan.steps:
        try:
            sketches.append(sketch_template(step.template, {**plan.context, "item": step.item}, library, budget))
        except TemplateFault as fault:
            faults += fault.faults
            budget.depth = 0
    if faults:
        raise TemplateFault(*faults)
    return tuple(sketches)


class Budget:
    """The template steps that a run has left, and the nesting depth of `each`.

    A cached skeleton costs as much as a new one, so that no result depends on the cache.
    """

    __slots__ = ("depth", "steps")

    def __init__(self) -> None:
        self.steps = _MOST_OF_A_RUN
        self.depth = 0


def sketch_template(template: str, context: TemplateContext, library: Library, budget: Budget | None = None) -> Sketch:
    """The template's skeleton, from the cache if possible, with the context's value for each token."""
    shelf = shelf_of(library)
    is_full = FULL_PATH.get()
    cached = None if is_full else shelf.find(template, context) or _prebuilt(template, context, library)
    if cached is None:
        # Jinja takes longer to import than most calls take, and nearly all of them need only prebuilt skeletons.
        from speccompile.compiler.rendering.skeleton_from_template import skeleton

        cached = skeleton(template, context, library)
        if not is_full:
            shelf.add(template, cached)
    return sketch_skeleton(cached, context, library, budget)


def _prebuilt(template: str, context: TemplateContext, library: Library) -> Skeleton | None:
    """The prebuilt skeleton, if there is one."""
    shelf = shelf_of(library)
    text = "" if shelf.knows(template) else prebuilt_of(library).of(template, library)
    if not text:
        return None
    for prebuilt in load_skeletons(text, library):
        shelf.lend(template, prebuilt)
    return shelf.find(template, context)


def sketch_skeleton(
    skeleton: Skeleton, context: TemplateContext, library: Library, budget: Budget | None = None
) -> Sketch:
    """The skeleton with the context's value for each token."""
    budget = budget or Budget()
    budget.steps -= skeleton.steps
    if budget.steps < 0:
        raise TemplateFault.at(skeleton.tree, TOO_LARGE, SMALLER_HELP)
    values: list[Filling] = []
    for placed in skeleton.placed:
        if placed.__class__ is tuple:
            # Like `at`, inlined: a run has a hundred of these.
            path: Any = placed
            node = context[path[0]]
            for step in path[1:]:
                if node is None:
                    break
                value = node.value
                node = value.get(step) if value.__class__ is dict else node.at((step,))
            values.append(None if node is None or node.value in _EMPTY else node)
        elif isinstance(placed, Each):
            values.append(_items(placed, skeleton, context, library, budget))
        else:
            computed: Any = placed
            values.append(computed)
    return Sketch(skeleton, context, tuple(values))


_EMPTY: tuple[object, ...] = ((), {})


def _items(each: Each, skeleton: Skeleton, context: TemplateContext, library: Library, budget: Budget) -> list[Sketch]:
    items = context_node(each.path, context)
    if items is None or not items.items:
        return []
    if budget.depth == _DEEPEST:
        message = f"`each` nests templates more than {_DEEPEST} deep"
        raise TemplateFault.at(skeleton.tree, message, "check that no template includes itself with `each`")
    budget.depth += 1
    sketches = [sketch_template(each.template, {**context, "item": item}, library, budget) for item in items.items]
    budget.depth -= 1
    return sketches


def fill(sketch: Sketch) -> Node:
    """The skeleton with every token replaced by its value; absent values are left out. Raises TemplateFault."""
    tree = sketch.skeleton.tree
    filled = _filled(tree, sketch)
    if filled is None:
        raise TemplateFault.at(tree, "the template produces nothing: all its values are absent", FIX_HELP)
    return filled


def _filled(node: Node, sketch: Sketch) -> Node | None:
    value = node.value
    if isinstance(value, str):
        return _interpolated(value, node, sketch) if TOKEN.search(value) else node
    if isinstance(value, dict):
        fields: dict[str, Node] = {}
        for template_key, child in value.items():
            key, filled = _key(template_key, node, sketch), _filled(child, sketch)
            if key in fields:
                raise TemplateFault.at(child, f"two keys of a mapping become {quote(key)}", "use different keys")
            if filled is not None:
                fields[key] = filled
        return node.with_value(fields) if fields or not value else None
    if isinstance(value, tuple):
        items = tuple(filled for child in value for filled in _filled_items(child, sketch))
        return node.with_value(items) if items or not value else None
    return None if value is None else node


def _filled_items(node: Node, sketch: Sketch) -> Iterator[Node]:
    """The item of a list, or the items that `each` produces for it."""
    token = TOKEN.fullmatch(node.value) if isinstance(node.value, str) else None
    inner = sketch.values[int(token[1])] if token else None
    if isinstance(inner, list):
        yield from (filled for one in inner if (filled := _filled(one.skeleton.tree, one)) is not None)
    elif (filled := _filled(node, sketch)) is not None:
        yield filled


def _key(key: str, node: Node, sketch: Sketch) -> str:
    if not TOKEN.search(key):
        return key
    name = _interpolated(key, node, sketch)
    if name is None or not isinstance(name.value, str):
        raise TemplateFault.at(node, "a key is absent or not text", "check it with `{% if %}`")
    return name.value


def _interpolated(text: str, node: Node, sketch: Sketch) -> Node | None:
    parts = [_value(int(number), node, sketch) for number in TOKEN.findall(text)]
    if TOKEN.fullmatch(text):
        return parts[0]
    scalars = [part for part in parts if part is not None and part.is_scalar]
    if len(scalars) < len(parts):
        message = "a value inside text is absent, a list or a map"
        raise TemplateFault.at(node, message, "check it with `{% if %}`")
    texts = iter(scalars)
    return _computed(TOKEN.sub(lambda _: str(next(texts).value), text), scalars, node)


def _value(number: int, node: Node, sketch: Sketch) -> Node | None:
    value = sketch.values[number]
    if isinstance(value, Computed):
        read = (used for path in value.read if (used := context_node(path, sketch.context)))
        return _computed(value.value, read, node)
    if isinstance(sketch.skeleton.placed[number], Each):
        message = "`each` can only be used alone, as an item of a list"
        raise TemplateFault.at(node, message, "write `- {{ … | each(…) }}`")
    assert not isinstance(value, list)
    return value


def _computed(value: object, read: Iterable[Node], node: Node) -> Node:
    """A value computed by the template; its origin is the first value it used, or the template's line."""
    if not isinstance(value, (str, int, float, bool)):
        kind = "a list or a map" if isinstance(value, (list, tuple, dict)) else type(value).__name__
        message = f"an expression produces {kind}, and only text, numbers and booleans can be placed"
        raise TemplateFault.at(node, message, "place a value of the context unchanged, or compute text")
    derived_from = tuple(read)
    if not derived_from:
        return node.with_value(value)
    how = f"computed in {node.span.label}"
    return Node(value, derived_from[0].span, derived=how, derived_from=derived_from, part=derived_from[0].part)
