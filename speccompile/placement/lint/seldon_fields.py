"""Lint rules about single fields of Seldon objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintRule, PlacementContext, finding_at
from speccompile.placement.lint.seldon_context import error, linted_of_kind, warning
from speccompile.placement.object_identity import name_of
from speccompile.placement.seldon.objects import int_at, items_at, non_null_at, strings_at
from speccompile.schema.formats.text_format import Shape, shape_fault

_SCALED = ("Server", "Model")
_REPLICAS = ("replicas", "minReplicas", "maxReplicas")
_NAMES: Mapping[str, Shape] = {
    # Each replica has a Service named after the Server and a number, and StatefulSets append a hash to the name.
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


class _IgnoredField(NamedTuple):
    kind: str
    path: KeyPath
    fix: str


_IGNORED_FIELDS = (
    _IgnoredField("Server", ("spec", "imageOverrides"), "set the `image` in `podSpec.containers`"),
    _IgnoredField("Model", ("spec", "dedicated"), "give a Server a unique capability, and require it"),
    _IgnoredField("Model", ("spec", "preloaded"), "remove it"),
    _IgnoredField("Model", ("spec", "schemaUri"), "remove it"),
)
"""Fields that the API accepts but Seldon ignores."""


def _check_names(context: PlacementContext) -> Iterator[Diagnostic]:
    for kind, shape in _NAMES.items():
        for tree in linted_of_kind(context, kind):
            name = name_of(tree)
            fault = shape_fault(name, shape, lambda string_at: string_at.lower().replace(".", "-").replace("_", "-"))
            if name and fault is not None:
                wording = error("seldon/name", fault.message, fault.help or shape.rule)
                yield finding_at(context, wording, tree, non_null_at(tree, ("metadata", "name")) or tree)


def _check_scaling(context: PlacementContext) -> Iterator[Diagnostic]:
    """The operator rejects contradictory values and does not retry."""
    for tree in (tree for kind in _SCALED for tree in linted_of_kind(context, kind)):
        values = {key: value for key in _REPLICAS if (value := int_at(tree, ("spec", key))) is not None}
        for key, value in values.items():
            if value < 0:
                message = f"`{key}` is negative, which counts as unset"
                wording = warning("seldon/negative-replicas", message, "remove it")
                yield finding_at(context, wording, tree, non_null_at(tree, ("spec", key)) or tree)
        replicas, minimum, maximum = (values.get(key, -1) for key in _REPLICAS)
        faults = (
            (0 <= replicas < minimum, "replicas", f"{replicas} is below `minReplicas`, {minimum}"),
            (replicas > maximum > 0, "replicas", f"{replicas} is above `maxReplicas`, {maximum}"),
            (minimum > maximum > 0, "minReplicas", f"{minimum} is above `maxReplicas`, {maximum}"),
        )
        for is_fault, key, message in faults:
            if is_fault:
                wording = error("seldon/scaling", f"`{key}`: {message}", "change one of the two")
                yield finding_at(context, wording, tree, non_null_at(tree, ("spec", key)) or tree)


def _check_ignored_fields(context: PlacementContext) -> Iterator[Diagnostic]:
    for kind, path, fix in _IGNORED_FIELDS:
        for tree in linted_of_kind(context, kind):
            node = non_null_at(tree, path)
            if node is not None and node.value is not False:
                yield _ignored_field(context, tree, node, str(path[-1]), fix)
    for config in linted_of_kind(context, "SeldonConfig"):
        for component in items_at(config, ("spec", "components")):
            node = non_null_at(component, ("replicas",))
            if node is not None:
                yield _ignored_field(context, config, node, "replicas", "set it in `overrides` of the SeldonRuntime")


def _ignored_field(context: PlacementContext, tree: Node, node: Node, name: str, fix: str) -> Diagnostic:
    message = f"`{name}` has no effect: neither Seldon's operator nor its scheduler reads it"
    return finding_at(context, warning("seldon/dead-field", message, fix), tree, node)


def _check_capability_names(context: PlacementContext) -> Iterator[Diagnostic]:
    places = (("Server", "capabilities"), ("Server", "extraCapabilities"), ("Model", "requirements"))
    for tree, key in ((tree, key) for kind, key in places for tree in linted_of_kind(context, kind)):
        for item in strings_at(tree, ("spec", key)):
            name = str(item.value)
            if "," in name:
                message = f"{quote(name)} contains a comma, at which agents split capabilities"
                yield finding_at(
                    context, error("seldon/capability-name", message, "use a list item per capability"), tree, item
                )
            elif not name.strip():
                message = "empty capability name"
                yield finding_at(context, error("seldon/capability-name", message, "remove the item"), tree, item)


SELDON_FIELD_RULES: tuple[LintRule, ...] = (
    _check_names,
    _check_scaling,
    _check_ignored_fields,
    _check_capability_names,
)
