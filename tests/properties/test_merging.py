"""The algebra of merging layers: idempotent, associative, and without side effects."""

from __future__ import annotations

from copy import deepcopy

from helpers.cases import LIBRARY, fields_of
from helpers.merging import KEYS, UNIONS, as_terms, identity
from hypothesis import example, given

from speccompile.compiler.merge import merge_layers, replacements
from speccompile.model.node import Node
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import profiles


def comparable(fields: Node) -> Data:
    """The fields as data, with the terms of an affinity as sets."""
    data: Data = fields.plain()
    if "affinity" in data:
        data["affinity"] = {
            (section, name): as_terms(terms)
            for section, rules in data["affinity"].items()
            for name, terms in rules.items()
        }
    return data


layer_fields = profiles().map(fields_of)


@given(layer_fields)
@example(fields_of({"id": "a", "tolerations": [{"key": "a"}, {"key": "a", "operator": "Equal"}]}))
def test_algebra_merging_a_layer_with_itself_changes_nothing(fields: Node) -> None:
    """Merging is idempotent: x ⊕ x = x, and one layer alone is itself."""
    assert merge_layers([fields], LIBRARY).plain() == fields.plain()
    again = merge_layers([fields, fields], LIBRARY)
    assert comparable(again) == comparable(fields)
    assert list(replacements(again, LIBRARY)) == []


@given(layer_fields, layer_fields)
def test_algebra_a_profile_applied_twice_changes_nothing(run: Node, profile: Node) -> None:
    """(run ⊕ profile) ⊕ profile = run ⊕ profile."""
    once = merge_layers([run, profile], LIBRARY)
    assert comparable(merge_layers([once, profile], LIBRARY)) == comparable(once)
    assert comparable(merge_layers([run, profile, profile], LIBRARY)) == comparable(once)


@given(layer_fields, layer_fields, layer_fields)
def test_algebra_grouping_does_not_matter(one: Node, two: Node, three: Node) -> None:
    """Merging is associative over three layers."""
    left = merge_layers([merge_layers([one, two], LIBRARY), three], LIBRARY)
    right = merge_layers([one, merge_layers([two, three], LIBRARY)], LIBRARY)
    assert comparable(left) == comparable(right)
    assert comparable(left) == comparable(merge_layers([one, two, three], LIBRARY))


@given(layer_fields, layer_fields)
def test_algebra_layers_stay_as_they_are(run: Node, profile: Node) -> None:
    """Merging mutates neither side and duplicates no item."""
    before = deepcopy((run, profile))
    merged = merge_layers([run, profile], LIBRARY).plain()
    assert (run, profile) == before
    for name, key in KEYS.items():
        keys = [item[key] for item in merged.get(name, ())]
        assert len(keys) == len(set(keys))
    for name in UNIONS:
        items = [identity(item) for item in merged.get(name, ())]
        has_duplicates = any(
            len(layer) != len({*layer}) for layer in (identities(run, name), identities(profile, name))
        )
        assert has_duplicates or len(items) == len(set(items))


def identities(fields: Node, name: str) -> list[str]:
    return [identity(item.plain()) for item in fields.fields[name].items] if name in fields.fields else []
