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


def source_value(span: Span) -> Any:
    """The source text at the span, parsed as YAML."""
    lines = span.source.text.split("\n")
    if span.line == span.end_line:
        return yaml.safe_load(lines[span.line - 1][span.column - 1 : span.end_column - 1])
    first, *inner = lines[span.line - 1 : span.end_line]
    inner[-1] = inner[-1][: span.end_column - 1]
    return yaml.safe_load("\n".join([first[span.column - 1 :], *inner]))


def matches_source(node: Node) -> bool:
    """Whether the source has the value at its span; a number and its digits are the same."""
    parsed, value = source_value(node.span), node.plain()
    if isinstance(parsed, float) and isinstance(value, str):
        return parse_quantity(parsed) == parse_quantity(value)
    return bool(parsed == value) or str(parsed) == str(value)


@given(cases())
def test_accounting_every_leaf_has_its_origin(case: Case) -> None:
    """Every leaf of every manifest has an origin, which has the same value unless it is derived."""
    assume(compiled(case))
    result = from_text(case)
    for manifest in result.manifests:
        for path, value in leaves(manifest.data):
            node = manifest.tree.at(path)
            assert node is not None
            origin = result.origin(manifest, path)
            detail = (manifest.kind, path, value, str(origin))
            assert origin.layer is origin.span.source.layer, detail
            if origin.layer is Layer.TEMPLATE:
                line = origin.span.source.text.split("\n")[origin.span.line - 1]
                literal = json.dumps(value) if not isinstance(value, str) else value
                assert literal in line, detail
            elif origin.layer in (Layer.RUN, Layer.PROFILE) and not origin.derived:
                assert matches_source(node), detail
            elif origin.layer in (Layer.RUN, Layer.PROFILE):
                assert origin.span.line > 0, detail


@given(cases())
def test_accounting_every_override_shows_both_sides(case: Case) -> None:
    """Every override is a notice with the position in the run and in the profile."""
    assume(compiled(case))
    result = from_text(case)
    notices = [one for one in result.diagnostics if one.code in ("merge/overridden", "merge/extended")]
    assert len(notices) == len(result.overrides)
    for override in result.overrides:
        assert override.overridden.span.source.layer is Layer.RUN
        assert override.overriding.span.source.layer is Layer.PROFILE
        assert override.overridden.span.line > 0
        assert override.overriding.span.line > 0
        assert override.overridden.plain() != override.overriding.plain()


SAME_VALUE_TWICE = Case(
    {"name": "a", "action": "job", "image": "a", "labels": {"a": "one"}, "annotations": {"a": "one"}},
    {"id": "default", "labels": {"a": "two"}, "annotations": {"a": "two"}},
)


def is_accounted_for(name: str, fields: Node, path: KeyPath, spec: Node, overridden: list[Override]) -> bool:
    """Whether the value that a layer sets at the path is in the spec, or overridden at that path."""
    value, merged = fields.at(path), spec.at(path)
    assert value is not None
    if name in KEYS or name in UNIONS:
        item = fields.at(path[:2])
        assert item is not None
        key = item.fields[KEYS[name]].value if name in KEYS else None
        is_in_spec = identity(item.plain()) in {identity(other.plain()) for other in spec.fields[name].items}
        return is_in_spec or (name, str(key)) in [override.path for override in overridden]
    if merged is not None and (merged.plain() == value.plain() or same_amount(merged, value)):
        return True
    # A resource with one value for both sides has a single override.
    sides = [override for override in overridden if name == "resources" and override.path[-1] == path[-1]]
    return any(path[: len(override.path)] == override.path for override in overridden) or any(
        same_amount(override.overridden, value) for override in sides
    )


def same_amount(one: Node, other: Node) -> bool:
    try:
        return parse_quantity(str(one.value)) == parse_quantity(str(other.value))
    except ValueError:
        return False


@given(cases())
@example(SAME_VALUE_TWICE)
def test_accounting_no_value_disappears(case: Case) -> None:
    """Each leaf of the run is in the spec or among the overrides; each leaf of the profile is in the spec."""
    run, profile, merged, _ = stages(case)
    overridden = list(replacements(merged.spec, LIBRARY))
    for name, path in set_paths(run.fields.plain()):
        related = [override for override in overridden if override.path[0] == name]
        assert is_accounted_for(name, run.fields, path, merged.spec, related), path
    for name, path in set_paths(applicable(profile, run)):
        assert profile is not None
        assert is_accounted_for(name, profile.fields, path, merged.spec, []), path


def set_paths(fields: Data) -> Iterator[tuple[str, KeyPath]]:
    """The field and path of every value; affinity has a separate property, and empty mappings are ignored."""
    for path, value in leaves(fields):
        if (
            path
            and path[0] != "affinity"
            and not (value in ({}, []) and path[0] in (*MAPS, *KEYS, *UNIONS, "resources"))
        ):
            yield str(path[0]), path


@pytest.mark.parametrize("fields", ["{a: &x one}, annotations: {a: *x}", "{a: one}, annotations: {a: one}"])
def test_accounting_aliases_are_overridden_in_every_place(fields: str) -> None:
    """A value with an alias is overridden twice."""
    text = f"{{name: a, action: job, image: a, labels: {fields}}}"
    profile = {"id": "default", "labels": {"a": "two"}, "annotations": {"a": "two"}}
    result = compile_run(text, profiles=[profile])
    assert {override.path for override in result.overrides} == {("labels", "a"), ("annotations", "a")}


@given(cases(built_in=True))
def test_accounting_everything_in_the_spec_is_in_the_manifests(case: Case) -> None:
    """Every value of run and profile that is not overridden is in a manifest, with its origin."""
    assume(compiled(case))
    manifests = from_text(case).manifests
    spans = {node.span for manifest in manifests for _, node in manifest.tree.walk() if node.is_scalar}
    for path, node in stages(case, as_text).merged.spec.walk():
        # These select the form of a manifest, or are in it as one string.
        shaping = path[-1:] in (("volume_type",), ("medium",)) or path[:1] in (("inputs",), ("parameters",))
        if node.is_scalar and not shaping:
            assert node.span in spans, path


@given(cases(always=("affinity",)))
def test_accounting_affinity_is_combined(case: Case) -> None:
    """All preferences and pod affinity of run and profile are in the spec, once."""
    run, profile, merged, _ = stages(case)
    added = lists_of_rules(merged.spec.plain())
    of_run, of_profile = lists_of_rules(run.fields.plain()), lists_of_rules(applicable(profile, run))
    assert set(added) == set(of_run) | set(of_profile)
    for place, rules in added.items():
        assert as_terms(rules) == as_terms(of_run.get(place, [])) | as_terms(of_profile.get(place, []))
        assert len(rules) == len(as_terms(rules)) or not (place in of_run and place in of_profile)


def lists_of_rules(fields: Data) -> dict[tuple[str, str], list[Any]]:
    """The lists of an affinity by section and key: everything but required node affinity."""
    return {
        (section, name): terms
        for section, rules in fields["affinity"].items()
        for name, terms in rules.items()
        if isinstance(terms, list)
    }
