"""Schema of `resources`: fixed amounts, rules, limits of the platform, and forbidden amounts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from speccompile.compiler.container_resources import amount, fixed_gpu, gpu_kinds, is_device, named_devices
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.format_patterns import Bounds
from speccompile.editor_schema.from_rules import bounds_of, options_of, pattern_of, reason_of, rules_on_values
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView
from speccompile.editor_schema.resources import (
    BUILT_IN_RESOURCES,
    CEILINGS,
    REQUESTS,
    RESOURCES,
    AmountConstraint,
    AmountPlace,
    ResourceAmount,
    allowed_elsewhere,
    allowed_in,
    amount_places,
    is_at,
    is_like,
    is_set_in,
    resource_names,
)
from speccompile.model.documents import Rule
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.quantity import parse_quantity
from speccompile.schema.field_path import SIDES, node_at


def resource_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """The schemas for `resources`."""
    constraints = list(_constraints(view))
    amount_paths = places_under(view)
    kinds: EditorSchema = {kind: {} for kind in gpu_kinds(view.platform)}
    yield RESOURCES, {"properties": {"gpu": {"properties": kinds, "additionalProperties": {"type": "null"}}}}
    yield RESOURCES, allowed_in(amount_paths, constraints)
    yield RESOURCES, allowed_elsewhere(amount_paths, constraints)
    if parts := list(_limits_as_requests(amount_paths, view)):
        yield RESOURCES, {"allOf": parts}


def places_under(view: ProfileView) -> list[AmountPlace]:
    """Every place where a run can write an amount that the profile or the platform mentions."""
    paths = [*(rule.path for rule in view.rules), *(ban.path for ban in view.bans)]
    paths += [(RESOURCES, *one) for layer in (view.fixed, view.defaults) for one in _amounts(layer)]
    names = (*BUILT_IN_RESOURCES, *view.symbols["gpu"], *resource_names(paths, view.symbols))
    return list(amount_places(dict.fromkeys(names), view.platform, view.profile))


def _amounts(layer: Node) -> Mapping[ResourceAmount, Node]:
    sides = ((side, layer.at((RESOURCES, side))) for side in SIDES)
    return {
        ResourceAmount(side, name): node for side, amounts in sides if amounts for name, node in amounts.fields.items()
    }


def _constraints(view: ProfileView) -> Iterator[AmountConstraint]:
    """All constraints on amounts."""
    for one, node in _amounts(view.fixed).items():
        reason = f"{view.author_of(node)} fixes this value: leave it out"
        yield AmountConstraint(one.__eq__, reason, values=frozenset({amount(node).value}))
    if gpu := fixed_gpu([view.fixed], view.platform, view.profile):
        named = named_devices((view.fixed, view.defaults), view.profile)
        reason = f"{view.author_of(gpu)} fixes `gpu`, and with it every device"
        yield AmountConstraint(
            lambda one: is_device(one.name) and one.name not in named,
            reason,
            values=frozenset({parse_quantity(0).value}),
        )
    for rule in rules_on_values(view):
        if rule.path[0] == RESOURCES:
            yield from _ruled_amounts(rule, view)
    for name, applies_to in CEILINGS.items():
        if limit := view.platform.settings.at(("ceilings", name)):
            yield AmountConstraint(applies_to, view.limit_reason(limit), Bounds(most=amount(limit).value))
    for ban in view.bans:
        if ban.path[0] == RESOURCES and len(ban.path) > 1:
            yield AmountConstraint(
                partial(_is_banned, path=ban.path, view=view),
                f"{view.author_of(ban.written)} forbids this field",
                is_banned=True,
            )


def _ruled_amounts(rule: Rule, view: ProfileView) -> Iterator[AmountConstraint]:
    reason, bounds = reason_of(rule, view), bounds_of(rule)
    values = frozenset(options_of(rule)) if "options" in rule.constraint.fields else None
    applies_to = partial(is_at, path=rule.path, symbols=view.symbols)
    yield AmountConstraint(applies_to, reason, bounds, values, text=pattern_of(rule))
    if bounds.most is not None:
        yield AmountConstraint(partial(is_like, path=rule.path), reason, Bounds(most=bounds.most))


def _is_banned(one: ResourceAmount, path: KeyPath, view: ProfileView) -> bool:
    return is_at(one, path, view.symbols) or is_like(one, path)


def _limits_as_requests(amount_paths: Sequence[AmountPlace], view: ProfileView) -> Iterator[EditorSchema]:
    """Apply rules on requests to limits: Kubernetes requests the limit if there is no request."""
    constraints = [
        one for rule in rules_on_values(view) if rule.path[:2] == REQUESTS for one in _ruled_amounts(rule, view)
    ]
    for name in BUILT_IN_RESOURCES:
        request, limit = (ResourceAmount(side, name) for side in SIDES)
        is_set = any(node_at(layer, (RESOURCES, *request), view.library) for layer in (view.fixed, view.defaults))
        on_limit = [one._replace(applies_to=limit.__eq__) for one in constraints if one.applies_to(request)]
        if on_limit and not is_set:
            yield {"if": is_set_in(amount_paths, [request]), "else": allowed_in(amount_paths, on_limit)}
