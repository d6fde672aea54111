"""Every value of a manifest has an origin, and no value disappears without an override."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from helpers.cases import LIBRARY, as_text, compiled, from_text, stages
from helpers.merging import KEYS, MAPS, UNIONS, applicable, as_terms, identity
from helpers.plain_data import leaves
from hypothesis import assume, example, given

from speccompile import compile_run
from speccompile.compiler.merge import replacements
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.origin import Override
from speccompile.model.quantity import parse_quantity
from speccompile.model.source import Layer, Span
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases


def written(span: Span) -> Any:
    """What a YAML reader takes the source's text at the span for."""
    lines = span.source.text.split("\n")
    if span.line == span.end_line:
        return yaml.safe_load(lines[span.line - 1][span.column - 1 : span.end_column - 1])
    first, *inner = lines[span.line - 1 : span.end_line]
    inner[-1] = inner[-1][: span.end_column - 1]
    return yaml.safe_load("\n".join([first[span.column - 1 :], *inner]))


def stands_there(node: Node) -> bool:
    """Whether the value stands in its source at its span; a number and its digits are the same."""
    found, value = written(node.span), node.plain()
    if isinstance(found, float) and isinstance(value, str):
        return parse_quantity(found) == parse_quantity(value)
    return bool(found == value) or str(found) == str(value)


@given(cases())
def test_accounting_every_leaf_has_its_origin(case: Case) -> None:
    """Every leaf of every manifest has an origin, and what it shows there is the value, unless it is derived."""
    assume(compiled(case))
    result = from_text(case)
    for manifest in result.manifests:
        for path, value in leaves(manifest.data):
            node = manifest.tree.at(path)
            assert node is not None
            origin = result.origin(manifest, path)
            shown = (manifest.kind, path, value, str(origin))
            assert origin.layer is origin.span.source.layer, shown
            if origin.layer is Layer.TEMPLATE:
                line = origin.span.source.text.split("\n")[origin.span.line - 1]
                literal = json.dumps(value) if not isinstance(value, str) else value
                assert literal in line, shown
            elif origin.layer in (Layer.RUN, Layer.PROFILE) and not origin.derived:
                assert stands_there(node), shown
            elif origin.layer in (Layer.RUN, Layer.PROFILE):
                assert origin.span.line > 0, shown


@given(cases())
def test_accounting_every_override_shows_both_sides(case: Case) -> None:
    """Whatever was overridden is a notice that shows the loser in the run and the winner in the profile."""
    assume(compiled(case))
    result = from_text(case)
    told = [found for found in result.diagnostics if found.code in ("merge/overridden", "merge/extended")]
    assert len(told) == len(result.overrides)
    for override in result.overrides:
        assert override.overridden.span.source.layer is Layer.RUN
        assert override.overriding.span.source.layer is Layer.PROFILE
        assert override.overridden.span.line > 0
        assert override.overriding.span.line > 0
        assert override.overridden.plain() != override.overriding.plain()


SAID_TWICE = Case(
    {"name": "a", "action": "job", "image": "a", "labels": {"a": "one"}, "annotations": {"a": "one"}},
    {"id": "default", "labels": {"a": "two"}, "annotations": {"a": "two"}},
)


def said_again(name: str, fields: Node, path: KeyPath, spec: Node, overridden: list[Override]) -> bool:
    """Whether what a layer said at the path is in the spec, or among what was overridden at that path."""
    said, found = fields.at(path), spec.at(path)
    assert said is not None
    if name in KEYS or name in UNIONS:
        item = fields.at(path[:2])
        assert item is not None
        key = item.fields[KEYS[name]].value if name in KEYS else None
        kept = identity(item.plain()) in {identity(other.plain()) for other in spec.fields[name].items}
        return kept or (name, str(key)) in [override.path for override in overridden]
    if found is not None and (found.plain() == said.plain() or same_amount(found, said)):
        return True
    # A resource that is one value has one override, though it stands on both sides.
    sides = [override for override in overridden if name == "resources" and override.path[-1] == path[-1]]
    return any(path[: len(override.path)] == override.path for override in overridden) or any(
        same_amount(override.overridden, said) for override in sides
    )


def same_amount(one: Node, other: Node) -> bool:
    try:
        return parse_quantity(str(one.value)) == parse_quantity(str(other.value))
    except ValueError:
        return False


@given(cases())
@example(SAID_TWICE)
def test_accounting_nothing_that_was_said_vanishes(case: Case) -> None:
    """Each leaf the run said is in the spec or among the overrides; each of the profile's is in the spec."""
    run, profile, merged, _ = stages(case)
    overridden = list(replacements(merged.spec, LIBRARY))
    for name, path in told_by(run.fields.plain()):
        about = [override for override in overridden if override.path[0] == name]
        assert said_again(name, run.fields, path, merged.spec, about), path
    for name, path in told_by(applicable(profile, run)):
        assert profile is not None
        assert said_again(name, profile.fields, path, merged.spec, []), path


def told_by(fields: Data) -> Iterator[tuple[str, KeyPath]]:
    """The field and path of all that the fields say; an affinity has a law of its own, an empty map says nothing."""
    for path, value in leaves(fields):
        if (
            path
            and path[0] != "affinity"
            and not (value in ({}, []) and path[0] in (*MAPS, *KEYS, *UNIONS, "resources"))
        ):
            yield str(path[0]), path


@pytest.mark.parametrize("fields", ["{a: &x one}, annotations: {a: *x}", "{a: one}, annotations: {a: one}"])
def test_accounting_aliases_are_overridden_in_every_place(fields: str) -> None:
    """A value written once and meant twice is lost twice."""
    text = f"{{name: a, action: job, image: a, labels: {fields}}}"
    profile = {"id": "default", "labels": {"a": "two"}, "annotations": {"a": "two"}}
    result = compile_run(text, profiles=[profile])
    assert {override.path for override in result.overrides} == {("labels", "a"), ("annotations", "a")}


@given(cases(built_in=True))
def test_accounting_everything_in_the_spec_is_in_the_manifests(case: Case) -> None:
    """Whatever run and profile say and do not lose stands in a manifest, with its own origin."""
    assume(compiled(case))
    manifests = from_text(case).manifests
    shown = {node.span for manifest in manifests for _, node in manifest.tree.walk() if node.is_scalar}
    for path, node in stages(case, as_text).merged.spec.walk():
        # These choose the shape of a manifest, or stand in it as one text.
        shaping = path[-1:] in (("volume_type",), ("medium",)) or path[:1] in (("inputs",), ("parameters",))
        if node.is_scalar and not shaping:
            assert node.span in shown, path


@given(cases(always=("affinity",)))
def test_accounting_rules_of_affinity_add_up(case: Case) -> None:
    """Of what run and profile prefer, and what they require of other pods, everything is in the spec, and once."""
    run, profile, merged, _ = stages(case)
    added = lists_of_rules(merged.spec.plain())
    ours, theirs = lists_of_rules(run.fields.plain()), lists_of_rules(applicable(profile, run))
    assert set(added) == set(ours) | set(theirs)
    for place, rules in added.items():
        assert as_terms(rules) == as_terms(ours.get(place, [])) | as_terms(theirs.get(place, []))
        assert len(rules) == len(as_terms(rules)) or not (place in ours and place in theirs)


def lists_of_rules(fields: Data) -> dict[tuple[str, str], list[Any]]:
    """The rules of an affinity that stand in lists, by their place: all but what is required of nodes."""
    return {
        (section, name): told
        for section, rules in fields["affinity"].items()
        for name, told in rules.items()
        if isinstance(told, list)
    }
