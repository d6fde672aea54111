"""Lint rules about single fields of Seldon objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintContext, LintRule, finding_at
from speccompile.placement.lint.seldon_context import error, linted_of_kind, warning
from speccompile.placement.object_identity import name_of
from speccompile.placement.seldon.objects import int_at, items_at, node_at, strings_at
from speccompile.schema.formats.text_format import Shape, shape_fault

_SCALED = ("Server", "Model")
_REPLICAS = ("replicas", "minReplicas", "maxReplicas")
_NAMES: Mapping[str, Shape] = {
    # Each replica has a Service of the Server's name, a dash and a number; and StatefulSets add a hash to the name.
    "Server": Shape(
        "a Server's name",
        r"[a-z](?:[-a-z0-9]*[a-z0-9])?",
        52,
        "use lower-case letters, digits and `-`, begin with a letter and end with a letter or digit",
    ),
    "Model": Shape(
        "a Model's name",
        r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?",
        None,
        "use lower-case letters, digits and `-`, and begin and end with a letter or digit",
    ),
}


class _Dead(NamedTuple):
    kind: str
    path: KeyPath
    fix: str


_DEAD = (
    _Dead("Server", ("spec", "imageOverrides"), "set the `image` in `podSpec.containers`"),
    _Dead("Model", ("spec", "dedicated"), "give a Server a capability of its own, and ask for it"),
    _Dead("Model", ("spec", "preloaded"), "take it out"),
    _Dead("Model", ("spec", "schemaUri"), "take it out"),
)
"""Fields that the API takes and nobody reads."""


def _names_are_taken(context: LintContext) -> Iterator[Diagnostic]:
    for kind, shape in _NAMES.items():
        for tree in linted_of_kind(context, kind):
            name = name_of(tree)
            fault = shape_fault(name, shape, lambda text_at: text_at.lower().replace(".", "-").replace("_", "-"))
            if name and fault is not None:
                told = error("seldon/name", fault.message, fault.help or shape.rule)
                yield finding_at(context, told, tree, node_at(tree, ("metadata", "name")) or tree)


def _scaling_agrees(context: LintContext) -> Iterator[Diagnostic]:
    """The operator refuses what contradicts itself, and does not try again."""
    for tree in (tree for kind in _SCALED for tree in linted_of_kind(context, kind)):
        told = {key: value for key in _REPLICAS if (value := int_at(tree, ("spec", key))) is not None}
        for key, value in told.items():
            if value < 0:
                words = f"`{key}` is negative, which counts as not said"
                told_all = warning("seldon/negative-replicas", words, "leave it out")
                yield finding_at(context, told_all, tree, node_at(tree, ("spec", key)) or tree)
        asked, least, most = (told.get(key, -1) for key in _REPLICAS)
        faults = (
            (0 <= asked < least, "replicas", f"{asked} is below `minReplicas`, {least}"),
            (asked > most > 0, "replicas", f"{asked} is above `maxReplicas`, {most}"),
            (least > most > 0, "minReplicas", f"{least} is above `maxReplicas`, {most}"),
        )
        for is_fault, key, words in faults:
            if is_fault:
                told_all = error("seldon/scaling", f"`{key}`: {words}", "change one of the two")
                yield finding_at(context, told_all, tree, node_at(tree, ("spec", key)) or tree)


def _fields_are_read(context: LintContext) -> Iterator[Diagnostic]:
    for kind, path, fix in _DEAD:
        for tree in linted_of_kind(context, kind):
            node = node_at(tree, path)
            if node is not None and node.value is not False:
                yield _dead(context, tree, node, str(path[-1]), fix)
    for config in linted_of_kind(context, "SeldonConfig"):
        for component in items_at(config, ("spec", "components")):
            node = node_at(component, ("replicas",))
            if node is not None:
                yield _dead(context, config, node, "replicas", "set it in `overrides` of the SeldonRuntime")


def _dead(context: LintContext, tree: Node, node: Node, name: str, fix: str) -> Diagnostic:
    told = f"`{name}` has no effect: neither Seldon's operator nor its scheduler reads it"
    return finding_at(context, warning("seldon/dead-field", told, fix), tree, node)


def _capabilities_are_names(context: LintContext) -> Iterator[Diagnostic]:
    places = (("Server", "capabilities"), ("Server", "extraCapabilities"), ("Model", "requirements"))
    for tree, key in ((tree, key) for kind, key in places for tree in linted_of_kind(context, kind)):
        for item in strings_at(tree, ("spec", key)):
            name = str(item.value)
            if "," in name:
                told = f"{quote(name)} holds a comma, at which agents split their capabilities"
                yield finding_at(context, error("seldon/capability-name", told, "write an item for each"), tree, item)
            elif not name.strip():
                told = "the name of a capability is empty"
                yield finding_at(context, error("seldon/capability-name", told, "take the item out"), tree, item)


SELDON_FIELD_RULES: tuple[LintRule, ...] = (
    _names_are_taken,
    _scaling_agrees,
    _fields_are_read,
    _capabilities_are_names,
)
