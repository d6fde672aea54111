"""Explain manifests line by line: which layer set each value, and what it overrode."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node, Part
from speccompile.model.origin import Origin, Override, origin_of
from speccompile.model.redaction import is_hidden
from speccompile.model.source import Layer
from speccompile.yaml_text.serialize import entries


class Overridden(NamedTuple):
    """A value that a layer with higher precedence replaced."""

    value: Node
    origin: Origin
    rule: str
    """The rule of precedence that applied, in one sentence."""

    @property
    def is_hidden(self) -> bool:
        """Whether the value may be a secret, and must not be shown."""
        return is_hidden(self.value)


class Line(NamedTuple):
    """One entry of a manifest as YAML; a multi-line string is one entry with all its lines."""

    text: str
    path: KeyPath
    value: Node
    origin: Origin | None
    """The origin of the value; None for a key whose value is a mapping or a list, on the lines below."""
    overridden: tuple[Overridden, ...]
    """The overridden values, highest precedence first."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A manifest, or a part of it, line by line."""

    manifest: Manifest
    path: KeyPath
    """The path of the part; empty for the whole manifest."""
    lines: tuple[Line, ...]

    def at(self, path: KeyPath) -> Explanation:
        """The lines at the path and below it; none if the manifest has no such path."""
        return replace(self, path=path, lines=tuple(line for line in self.lines if line.path[: len(path)] == path))

    def matching(self, path: KeyPath) -> tuple[Explanation, ...]:
        """The part at the path, or else every part whose path ends with it, such as `nodeSelector`."""
        whole = self.at(path)
        if whole.lines:
            return (whole,)
        parts: dict[KeyPath, list[Line]] = {}
        for line in self.lines:
            if full_path := _path_ending_with(path, line.path):
                parts.setdefault(full_path, []).append(line)
        return tuple(Explanation(self.manifest, full_path, tuple(lines)) for full_path, lines in parts.items())

    @property
    def overridden(self) -> tuple[Line, ...]:
        """The lines whose value overrides another."""
        return tuple(line for line in self.lines if line.overridden)


def explain(manifest: Manifest) -> Explanation:
    """Explain every line of the manifest's YAML; joined by newlines, their texts are the output of `to_yaml`."""
    entry_nodes = _entry_nodes(manifest.tree, (), ())
    lines = (
        Line(
            text,
            path,
            node,
            None if _has_children(node) else origin_of(node),
            tuple(
                Overridden(overridden, origin_of(overridden), rule_between(overridden, overriding))
                for overridden, overriding in overrides
            ),
        )
        for text, (path, node, overrides) in zip(entries(manifest.data), entry_nodes, strict=True)
    )
    return Explanation(manifest, (), tuple(lines))


def _path_ending_with(steps: KeyPath, path: KeyPath) -> KeyPath | None:
    """The shortest prefix of the path that ends with the steps."""
    lengths = range(len(steps), len(path) + 1) if steps else ()
    return next((path[:length] for length in lengths if path[length - len(steps) : length] == steps), None)


_NodePairs = tuple[tuple[Node, Node], ...]
"""Overridden nodes, each with the node that overrides it."""


def _entry_nodes(node: Node, path: KeyPath, inherited: _NodePairs) -> Iterator[tuple[KeyPath, Node, _NodePairs]]:
    """The path and the node of each entry of the YAML, in order, and the nodes it overrides.

    A list item that is a mapping or a list has no line of its own; its overridden nodes go to its first line.
    """
    for key, child in node.fields.items():
        yield (*path, key), child, (*inherited, *_overridden_by(child))
        inherited = ()
        if _has_children(child):
            yield from _entry_nodes(child, (*path, key), ())
    for index, item in enumerate(node.items):
        if _has_children(item):
            yield from _entry_nodes(item, (*path, index), (*inherited, *_overridden_by(item)))
        else:
            yield (*path, index), item, (*inherited, *_overridden_by(item))
        inherited = ()


def _has_children(node: Node) -> bool:
    return not node.is_scalar and bool(node.value)


def _overridden_by(node: Node) -> _NodePairs:
    by_precedence = sorted(node.overridden, key=lambda overridden: _PRECEDENCE.index(_layer_and_part(overridden)))
    return tuple((overridden, node) for overridden in by_precedence)


def rule_between(overridden: Node, overriding: Node) -> str:
    """The rule of precedence by which one value overrides another, in one sentence."""
    if _layer_and_part(overridden) == _layer_and_part(overriding):
        return _SAME_LAYER_RULES.get(overriding.span.source.layer, STRONGER)
    if overridden.span.source.layer is Layer.TASK and overriding.span.source.layer is Layer.RUN:
        return "a run overrides its task"
    if overridden.part is Part.BASE:
        return "a base document applies unless another layer sets the value"
    if overridden.part is Part.SETTING:
        return "a platform setting applies unless another layer sets the value"
    return _RULES.get(_layer_and_part(overriding), STRONGER)


def _layer_and_part(node: Node) -> tuple[Layer, Part]:
    return node.span.source.layer, node.part


_PRECEDENCE = (
    (Layer.PLATFORM, Part.FIELD),
    (Layer.PROFILE, Part.FIELD),
    (Layer.FUNCTION, Part.FIELD),
    (Layer.RUN, Part.FIELD),
    (Layer.TASK, Part.FIELD),
    (Layer.PROFILE, Part.DEFAULT),
    (Layer.PLATFORM, Part.DEFAULT),
    (Layer.PROFILE, Part.BASE),
    (Layer.PLATFORM, Part.SETTING),
    (Layer.TEMPLATE, Part.FIELD),
)
"""Layers, highest precedence first."""
STRONGER = "a layer with higher precedence overrides a lower one"
"""The rule for a pair of layers that has no sentence of its own."""
_SAME_LAYER_RULES = {
    Layer.PROFILE: "a profile overrides its parents, and later parents override earlier ones",
    Layer.PLATFORM: "the platform file overrides its preset",
}
_RULES = {
    (Layer.PLATFORM, Part.FIELD): "values enforced by the platform override all others",
    (Layer.PLATFORM, Part.SETTING): "values the platform sets for every run override all others",
    (Layer.PROFILE, Part.FIELD): "a profile overrides the run and the defaults",
    (Layer.PROFILE, Part.DEFAULT): "profile defaults override platform defaults",
    (Layer.PROFILE, Part.BASE): "a base document overrides the template",
    (Layer.RUN, Part.FIELD): "a run overrides the defaults",
    (Layer.FUNCTION, Part.FIELD): "a function overrides its runs and the defaults",
    (Layer.TASK, Part.FIELD): "a task overrides the defaults",
}
"""By the overriding layer."""


def unseen_overrides(replaced: Iterable[Override], manifests: Iterable[Manifest]) -> tuple[Override, ...]:
    """The overrides whose path has no value in any manifest, so that no line can show them."""
    nodes = (node for manifest in manifests for _, node in manifest.tree.walk())
    seen = {id(inner) for node in nodes for overridden in node.overridden for _, inner in overridden.walk()}
    return tuple(
        override for override in replaced if seen.isdisjoint(id(node) for _, node in override.overridden.walk())
    )
