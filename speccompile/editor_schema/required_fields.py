"""Fields that a run must set itself under a profile: whatever the compiler misses in an empty run."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.compiler.admin_rules import broken_rules
from speccompile.compiler.approve import approve
from speccompile.compiler.choose_manifests import actions_of, target_of
from speccompile.compiler.derive import derive
from speccompile.compiler.merge import merge
from speccompile.editor_schema.convert import EditorSchema, spellings
from speccompile.editor_schema.field_locations import either, holds, sources, with_key
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView
from speccompile.editor_schema.resource_demands import places_under
from speccompile.editor_schema.resources import REQUESTS, RESOURCES, Amount, factored, said_in, said_on
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Run
from speccompile.model.findings import CompileError
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import BUILT_IN
from speccompile.model.spec import Merged
from speccompile.schema.field_path import SIDES, concrete, node_at


def required_fields(action: str, view: ProfileView) -> Iterator[FieldSchema]:
    """What a run must say itself: whatever is refused of one that says nothing but its action."""
    target = target_of(view.profile, view.library)
    if action not in actions_of(target):
        yield "action", {"not": {}, "errorMessage": f"target `{target.name}` makes nothing of action `{action}`"}
        return
    for path, finding in _refused(action, view):
        field = path[0]
        if path != REQUESTS and node_at(view.fixed, finding.path, view.library):
            yield str(field), {"not": {}, "errorMessage": finding.message}
        elif field == RESOURCES:
            yield RESOURCES, with_key(RESOURCES, _needed_amount(path, view))
        else:
            schema = view.library.fields[str(field)]
            below = [holds(schema, source[1:], view.library) for source in sources(path)]
            yield str(field), either(with_key(name, one) for one in below for name in spellings(str(field), schema))


def _needed_amount(path: KeyPath, view: ProfileView) -> EditorSchema:
    """What holds where an amount that the path leads to is written, or one that it is made from."""
    wheres = places_under(view)
    if len(path) <= len(REQUESTS):
        sides = [str(side) for side in path[1:]] or SIDES
        made = [Amount(SIDES[0], name) for name in factored(view.platform)] if SIDES[1] in sides else []
        return either(said_on(side, wheres, made) for side in sides)
    told = [Amount(str(side), str(name)) for _, side, name in concrete(path, view.symbols)]
    return said_in(wheres, [*told, *(_source(one, view) for one in told)])


def _source(one: Amount, view: ProfileView) -> Amount:
    """What the amount is made from: a request from the limit, a limit from the request if the platform has a factor."""
    (other,) = (Amount(side, one.name) for side in SIDES if side != one.side)
    is_made = one.side == SIDES[0] or one.name in factored(view.platform)
    is_given = node_at(view.defaults, (RESOURCES, *one), view.library)
    is_fixed = node_at(view.fixed, (RESOURCES, *other), view.library)
    return one if is_given or is_fixed or not is_made else other


_NEEDED = ("policy/no-image", "policy/no-ports", "policy/ceiling", "target/missing-field")


def _refused(action: str, view: ProfileView) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """What there is against a run that says nothing but its action, and the field that would cure it."""
    run = Run(
        source=BUILT_IN.source,
        name=Node("run", BUILT_IN),
        project=Node("default", BUILT_IN),
        action=Node(action, BUILT_IN),
        profile=None,
        facts={},
        fields=Node({}, BUILT_IN),
    )
    merged, _ = merge(run, view.profile, target_of(view.profile, view.library), view.platform, view.library)
    try:
        approve(merged, view.library)
    except CompileError as error:
        yield from ((one.path, one) for one in error.diagnostics if one.code in _NEEDED)
        yield from _broken(merged, view)


def _broken(merged: Merged, view: ProfileView) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """What rules have against it; whatever `gpu` stands for is what a rule on `gpu` requires."""
    try:
        specs = merged.spec, derive(merged).spec
    except CompileError:
        return
    for rule in view.rules:
        for one in broken_rules([rule], specs, view.symbols, merged.run.name, view.library):
            is_there = rule.path[0] == RESOURCES and one.code != _MISSING
            yield one.path if is_there else rule.path, one


_MISSING = "rule/required"
