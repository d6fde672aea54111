"""Schemas of the fields that profile and platform fix: a run may only repeat the fixed value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.field_locations import same_port, same_volume, ways_to_write
from speccompile.editor_schema.format_patterns import anchored, literal
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, for_any_value
from speccompile.editor_schema.resources import RESOURCES
from speccompile.model.node import Node
from speccompile.model.object_names import PLACEHOLDER


def fixed_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """Fields with fixed values, and variables that the platform sets."""
    for name, node in view.fixed.fields.items():
        strategy = view.library.fields[name].get("x-merge", "replace")
        if name != RESOURCES and strategy in _FIXERS:
            yield from _FIXERS[strategy](name, node, view)
    for name, pattern in view.own_envs.items():
        # The placeholders depend on the run.
        texts = PLACEHOLDER.split(str(pattern.value))[::2]
        constraint = {"pattern": anchored(r"[\s\S]*".join(map(literal, texts))), **view.fixed_by(pattern)}
        yield view.constrained(("envs", name, "value"), for_any_value(constraint))


def _fixed_whole(name: str, node: Node, view: ProfileView) -> Iterator[FieldSchema]:
    yield name, {"enum": [*ways_to_write(node.plain(), view.library.fields[name]), None], **view.fixed_by(node)}


def _fixed_keys(name: str, node: Node, view: ProfileView) -> Iterator[FieldSchema]:
    for path, child in node.walk((name,)):
        # The items of a list are fixed with the list.
        if not child.fields and len(path) > 1 and not any(isinstance(step, int) for step in path):
            yield view.constrained(path, for_any_value({"enum": [child.plain(), None], **view.fixed_by(child)}))


def _fixed_items(name: str, node: Node, view: ProfileView) -> Iterator[FieldSchema]:
    same: Mapping[str, Callable[[Any], EditorSchema]] = {
        "service_ports": same_port,
        "volumes": lambda item: same_volume(item, view.library),
    }
    for item in node.items:
        key = str(item.fields[view.library.fields[name]["x-key"]].value)
        if name != "envs":
            constraint = same[name](item.plain()) if name in same else {"enum": [item.plain(), None]}
            yield view.constrained((name, key), for_any_value({**constraint, **view.fixed_by(item)}))
        elif key not in view.own_envs:
            constraint = {"enum": [item.fields["value"].value, None], **view.fixed_by(item)}
            yield view.constrained((name, key, "value"), for_any_value(constraint))


_FIXERS: Mapping[str, Callable[[str, Node, ProfileView], Iterator[FieldSchema]]] = {
    "replace": _fixed_whole,
    "map": _fixed_keys,
    "keyed": _fixed_items,
}
"""By merge strategy; with the others, a run's values are never overridden."""
