"""Schema of `resources`: fixed amounts, rules, ceilings and bans that apply to requests and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from speccompile.compiler.container_resources import amount, gpu_kinds
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.format_patterns import Bounds
from speccompile.editor_schema.from_rules import bounds_of, options_of, pattern_of, reason_of, rules_on_values
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView
from speccompile.editor_schema.resources import (
    CEILINGS,
    NAMED,
    REQUESTS,
    RESOURCES,
    Amount,
    Demand,
    Where,
    allowed_elsewhere,
    allowed_in,
    amount_places,
    is_at,
    is_like,
    names_in,
    said_in,
)
from speccompile.model.documents import Rule
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.schema.field_path import SIDES, node_at


def resource_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """The schemas that `resources` must satisfy."""
    demands = list(_demands(view))
    wheres = places_under(view)
    kinds: EditorSchema = {kind: {} for kind in gpu_kinds(view.platform)}
    yield RESOURCES, {"properties": {"gpu": {"properties": kinds, "additionalProperties": {"type": "null"}}}}
    yield RESOURCES, allowed_in(wheres, demands)
    yield RESOURCES, allowed_elsewhere(demands)
    if parts := list(_as_requests(wheres, view)):
        yield RESOURCES, {"allOf": parts}


def places_under(view: ProfileView) -> list[Where]:
    """Every place where a run can write an amount that the profile or the platform mentions."""
    paths = [*(rule.path for rule in view.rules), *(ban.path for ban in view.bans)]
    paths += [(RESOURCES, *one) for layer in (view.fixed, view.defaults) for one in _amounts_in(layer)]
    names = (*NAMED, *view.symbols["gpu"], *names_in(paths, view.symbols))
    return list(amount_places(dict.fromkeys(names), view.platform, view.profile))


def _amounts_in(layer: Node) -> Mapping[Amount, Node]:
    sides = ((side, layer.at((RESOURCES, side))) for side in SIDES)
    return {Amount(side, name): node for side, told in sides if told for name, node in told.fields.items()}


def _demands(view: ProfileView) -> Iterator[Demand]:
    """Everything that is demanded of amounts."""
    for one, node in _amounts_in(view.fixed).items():
        reason = f"fixed by {view.who(node)}: leave it out"
        yield Demand(one.__eq__, reason, values=frozenset({amount(node).value}))
    for rule in rules_on_values(view):
        if rule.path[0] == RESOURCES:
            yield from _ruled_amounts(rule, view)
    for name, is_meant in CEILINGS.items():
        if ceiling := view.platform.settings.at(("ceilings", name)):
            yield Demand(is_meant, view.ceiling_reason(ceiling), Bounds(most=amount(ceiling).value))
    for ban in view.bans:
        if ban.path[0] == RESOURCES and len(ban.path) > 1:
            yield Demand(
                partial(_is_about, path=ban.path, view=view), f"{view.who(ban.written)} forbids it", is_banned=True
            )


def _ruled_amounts(rule: Rule, view: ProfileView) -> Iterator[Demand]:
    reason, bounds = reason_of(rule, view), bounds_of(rule)
    values = frozenset(options_of(rule)) if "options" in rule.constraint.fields else None
    is_meant = partial(is_at, path=rule.path, symbols=view.symbols)
    yield Demand(is_meant, reason, bounds, values, text=pattern_of(rule))
    if bounds.most is not None:
        yield Demand(partial(is_like, path=rule.path), reason, Bounds(most=bounds.most))


def _is_about(one: Amount, path: KeyPath, view: ProfileView) -> bool:
    return is_at(one, path, view.symbols) or is_like(one, path)


def _as_requests(wheres: Sequence[Where], view: ProfileView) -> Iterator[EditorSchema]:
    """Where nothing is requested the limit is the request, and what rules ask of requests is asked of it."""
    asked = [
        demand for rule in rules_on_values(view) if rule.path[:2] == REQUESTS for demand in _ruled_amounts(rule, view)
    ]
    for name in NAMED:
        request, limit = (Amount(side, name) for side in SIDES)
        is_given = any(node_at(layer, (RESOURCES, *request), view.library) for layer in (view.fixed, view.defaults))
        demands = [demand._replace(is_meant=limit.__eq__) for demand in asked if demand.is_meant(request)]
        if demands and not is_given:
            yield {"if": said_in(wheres, [request]), "else": allowed_in(wheres, demands)}
