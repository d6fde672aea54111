"""Fields that a run must set under a profile, found by compiling an empty run."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.compiler.admin_rules import broken_rules
from speccompile.compiler.approve import approve
from speccompile.compiler.choose_manifests import actions_of, target_of
from speccompile.compiler.derive import derive
from speccompile.compiler.merge import merge
from speccompile.editor_schema.convert import EditorSchema, spellings
from speccompile.editor_schema.field_locations import any_of, sets_value, source_paths, with_key
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView
from speccompile.editor_schema.resource_constraints import places_under
from speccompile.editor_schema.resources import REQUESTS, RESOURCES, ResourceAmount, factored, is_set_in, is_set_on
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Run
from speccompile.model.findings import CompileError
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import BUILT_IN
from speccompile.model.spec import Merged
from speccompile.schema.field_path import SIDES, concrete, node_at


def required_fields(action: str, view: ProfileView) -> Iterator[FieldSchema]:
    """The fields that a run of the action must set: those reported for a run that sets nothing else."""
    target = target_of(view.profile, view.library)
    if action not in actions_of(target):
        yield "action", {"not": {}, "errorMessage": f"target `{target.name}` does not support action `{action}`"}
        return
    for path, finding in _missing_in_empty_run(action, view):
        field = path[0]
        if path != REQUESTS and node_at(view.fixed, finding.path, view.library):
            yield str(field), {"not": {}, "errorMessage": finding.message}
        elif field == RESOURCES:
            yield RESOURCES, with_key(RESOURCES, _needed_amount(path, view))
        else:
            schema = view.library.fields[str(field)]
            below = [sets_value(schema, source[1:], view.library) for source in source_paths(path)]
            yield str(field), any_of(with_key(name, one) for one in below for name in spellings(str(field), schema))


def _needed_amount(path: KeyPath, view: ProfileView) -> EditorSchema:
    """The schema that requires an amount at the path, or one that it is derived from."""
    amount_paths = places_under(view)
    if len(path) <= len(REQUESTS):
        sides = [str(side) for side in path[1:]] or SIDES
        requests = [ResourceAmount(SIDES[0], name) for name in factored(view.platform)] if SIDES[1] in sides else []
        return any_of(is_set_on(side, amount_paths, requests) for side in sides)
    amounts = [ResourceAmount(str(side), str(name)) for _, side, name in concrete(path, view.symbols)]
    return is_set_in(amount_paths, [*amounts, *(_derived_from(one, view) for one in amounts)])


def _derived_from(one: ResourceAmount, view: ProfileView) -> ResourceAmount:
    """The source of the amount: the limit of a request, or the request of a limit if the platform has a factor."""
    (other,) = (ResourceAmount(side, one.name) for side in SIDES if side != one.side)
    is_derived = one.side == SIDES[0] or one.name in factored(view.platform)
    has_default = node_at(view.defaults, (RESOURCES, *one), view.library)
    is_fixed = node_at(view.fixed, (RESOURCES, *other), view.library)
    return one if has_default or is_fixed or not is_derived else other


_NEEDED = ("policy/no-image", "policy/no-ports", "policy/ceiling", "target/missing-field")


def _missing_in_empty_run(action: str, view: ProfileView) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """The findings for a run that sets only its action, each with the field that would fix it."""
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
        yield from _broken_rules(merged, view)


def _broken_rules(merged: Merged, view: ProfileView) -> Iterator[tuple[KeyPath, Diagnostic]]:
    """The rules that it breaks, each with the field; a rule on `gpu` requires one of its resource names."""
    try:
        specs = merged.spec, derive(merged).spec
    except CompileError:
        return
    for rule in view.rules:
        for one in broken_rules([rule], specs, view.symbols, merged.run.name, view.library):
            is_set_amount = rule.path[0] == RESOURCES and one.code != _MISSING
            yield one.path if is_set_amount else rule.path, one


_MISSING = "rule/required"
