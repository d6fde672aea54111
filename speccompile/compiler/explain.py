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
    """A value that somebody set and somebody stronger replaced."""

    value: Node
    origin: Origin
    rule: str
    """Why it lost, in a few words."""

    @property
    def is_hidden(self) -> bool:
        """Whether nothing may show the value."""
        return is_hidden(self.value)


class Line(NamedTuple):
    """One entry of a manifest as YAML writes it; of a text in several lines, all of them."""

    text: str
    path: KeyPath
    value: Node
    origin: Origin | None
    """Who set the value; None for a key that only opens what stands below it."""
    overridden: tuple[Overridden, ...]
    """What was said in this place and lost, strongest first."""


@dataclass(frozen=True, slots=True)
class Explanation:
    """A manifest, or the part of it that was asked for, line by line."""

    manifest: Manifest
    path: KeyPath
    """Where the part begins; empty for the whole."""
    lines: tuple[Line, ...]

    def at(self, path: KeyPath) -> Explanation:
        """The lines at the path and below it; none where the manifest has nothing there."""
        return replace(self, path=path, lines=tuple(line for line in self.lines if line.path[: len(path)] == path))

    def found(self, path: KeyPath) -> tuple[Explanation, ...]:
        """The part at the path, or else every part whose path ends so: `nodeSelector` is enough to find one."""
        whole = self.at(path)
        if whole.lines:
            return (whole,)
        parts: dict[KeyPath, list[Line]] = {}
        for line in self.lines:
            if at := _end(line.path, path):
                parts.setdefault(at, []).append(line)
        return tuple(Explanation(self.manifest, at, tuple(lines)) for at, lines in parts.items())

    @property
    def overridden(self) -> tuple[Line, ...]:
        """The lines in which something lost."""
        return tuple(line for line in self.lines if line.overridden)


def explain(manifest: Manifest) -> Explanation:
    """Every line of the manifest's YAML, in order; joined by newlines, their texts are what `to_yaml` writes."""
    owners = _owners(manifest.tree, (), ())
    lines = (
        Line(
            text,
            path,
            node,
            None if _opens(node) else origin_of(node),
            tuple(_lost(overridden, overriding) for overridden, overriding in told),
        )
        for text, (path, node, told) in zip(entries(manifest.data), owners, strict=True)
    )
    return Explanation(manifest, (), tuple(lines))


def _end(path: KeyPath, steps: KeyPath) -> KeyPath | None:
    """The shortest beginning of the path that ends with the steps."""
    lengths = range(len(steps), len(path) + 1) if steps else ()
    return next((path[:length] for length in lengths if path[length - len(steps) : length] == steps), None)


Losers = tuple[tuple[Node, Node], ...]
"""What lost, each with what it lost to."""


def _owners(node: Node, path: KeyPath, above: Losers) -> Iterator[tuple[KeyPath, Node, Losers]]:
    """What each entry of the YAML shows, in order: its path, its node, and what lost in its place.

    An item of a list that opens a mapping or a list has no line of its own: the first line below it tells for it.
    """
    for key, child in node.fields.items():
        yield (*path, key), child, (*above, *_losers(child))
        above = ()
        if _opens(child):
            yield from _owners(child, (*path, key), ())
    for index, item in enumerate(node.items):
        if _opens(item):
            yield from _owners(item, (*path, index), (*above, *_losers(item)))
        else:
            yield (*path, index), item, (*above, *_losers(item))
        above = ()


def _opens(node: Node) -> bool:
    return not node.is_scalar and bool(node.value)


def _losers(node: Node) -> Losers:
    return tuple(
        (overridden, node)
        for overridden in sorted(node.overridden, key=lambda overridden: _STRENGTHS.index(_strength(overridden)))
    )


def _lost(overridden: Node, overriding: Node) -> Overridden:
    return Overridden(overridden, origin_of(overridden), rule_between(overridden, overriding))


def rule_between(overridden: Node, overriding: Node) -> str:
    """The rule by which one value won over another, in a few words."""
    if _strength(overridden) == _strength(overriding):
        return _AMONG_EQUALS.get(overriding.span.source.layer, STRONGER)
    if overridden.part is Part.BASE:
        return "a base document gives way to what is asked for"
    if overridden.part is Part.SETTING:
        return "a setting of the platform holds where nobody says otherwise"
    return _RULES.get(_strength(overriding), STRONGER)


def _strength(node: Node) -> tuple[Layer, Part]:
    return node.span.source.layer, node.part


_STRENGTHS = (
    (Layer.PLATFORM, Part.FIELD),
    (Layer.PROFILE, Part.FIELD),
    (Layer.RUN, Part.FIELD),
    (Layer.PROFILE, Part.DEFAULT),
    (Layer.PLATFORM, Part.DEFAULT),
    (Layer.PROFILE, Part.BASE),
    (Layer.PLATFORM, Part.SETTING),
    (Layer.TEMPLATE, Part.FIELD),
)
"""From strong to weak."""
STRONGER = "a stronger layer wins over a weaker one"
"""What is said where nothing better is known."""
_AMONG_EQUALS = {
    Layer.PROFILE: "a child wins over its parents, a later parent over earlier ones",
    Layer.PLATFORM: "the platform's file wins over its preset",
}
_RULES = {
    (Layer.PLATFORM, Part.FIELD): "what the platform enforces wins over all others",
    (Layer.PLATFORM, Part.SETTING): "what the platform sets in every run wins over all others",
    (Layer.PROFILE, Part.FIELD): "a profile's field wins over the run and over defaults",
    (Layer.PROFILE, Part.DEFAULT): "a profile's default wins over the platform's",
    (Layer.PROFILE, Part.BASE): "what nobody asked for gives way to a base document",
    (Layer.RUN, Part.FIELD): "a default holds where the run says nothing",
}
"""By who won."""


def unseen(replaced: Iterable[Override], manifests: Iterable[Manifest]) -> tuple[Override, ...]:
    """What lost and stands beside no value of a manifest: nothing is left in its place."""
    nodes = (node for manifest in manifests for _, node in manifest.tree.walk())
    seen = {id(inner) for node in nodes for overridden in node.overridden for _, inner in overridden.walk()}
    return tuple(
        override for override in replaced if seen.isdisjoint(id(node) for _, node in override.overridden.walk())
    )
