"""Order of keys, spelling, nulls, notation and form of a run do not change its manifests."""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import Any

from helpers.cases import LIBRARY, as_data, compiled, from_text, setting_of
from helpers.plain_data import leaves
from hypothesis import given
from hypothesis import strategies as st

from speccompile import compile_run
from speccompile.compiler.container_resources import SCRATCH_DISK
from speccompile.compiler.documents.run import read_run
from speccompile.compiler.normalize import normalize
from speccompile.model.findings import has_errors
from speccompile.model.key_spelling import camel_case, snake_case
from speccompile.model.source import Layer
from speccompile.schema.validate import validate
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.testing.strategies.spelling import respelled


def permuted(value: Any, random: Random) -> Any:
    """The same data with the keys of every mapping in another order."""
    if isinstance(value, dict):
        keys = list(value)
        random.shuffle(keys)
        return {key: permuted(value[key], random) for key in keys}
    return [permuted(item, random) for item in value] if isinstance(value, list) else value


@given(cases(), st.randoms(use_true_random=False))
def test_order_of_keys_does_not_matter(case: Case, random: Random) -> None:
    """Permuting the keys of every mapping does not change the output."""
    other = Case(*(permuted(document, random) for document in case))
    assert compiled(case).to_yaml() == compiled(other).to_yaml()


@given(cases(spelling=False), st.sampled_from((camel_case, snake_case)))
def test_spelling_of_keys_does_not_matter(case: Case, spelling: Callable[[str], str]) -> None:
    """A run, profile or platform in camelCase, or in snake_case all through, is the same one."""
    other = Case(*(respelled(document, spelling) for document in case))
    assert compiled(case).to_yaml() == compiled(other).to_yaml()


def without_nulls(document: Data | None) -> Data | None:
    return None if document is None else {key: value for key, value in document.items() if value is not None}


@given(cases())
def test_null_is_unset(case: Case) -> None:
    """A key with null is the same as an absent key."""
    assert compiled(case).to_yaml() == compiled(Case(*map(without_nulls, case))).to_yaml()  # type: ignore[arg-type]


@given(cases())
def test_notation_does_not_matter(case: Case) -> None:
    """A run is the same as Python data, as YAML and as JSON, with every character escaped or none."""
    result = compiled(case)
    assert from_text(case).to_yaml() == result.to_yaml()
    for ascii_only in (True, False):
        text = json.dumps(case.run, indent=2, ensure_ascii=ascii_only)
        # YAML readers differ on numbers with an exponent, and on some separators that JSON leaves as they are.
        if not any(isinstance(value, float) and "e" in repr(value) for _, value in leaves(case.run)) and (
            ascii_only or not {"\u2028", "\u2029", "\ufeff"} & set(text)
        ):
            admin = {"profiles": [case.profile] if case.profile else [], "platform": case.platform}
            assert compile_run(text, **admin).to_yaml() == result.to_yaml()  # type: ignore[arg-type]


@given(cases())
def test_form_does_not_matter(case: Case) -> None:
    """A run is the same in its flat form, as an exported entity, and in Kubernetes' style."""
    text = compiled(case).to_yaml()
    run = case.run
    inner = {key: value for key, value in run.items() if key not in ("name", "action")}
    entity = {"kind": f"container+{run['action']}:run", "name": run["name"], "spec": inner}
    styled = {
        "apiVersion": "speccompile.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": run["name"]},
        "spec": {**inner, "action": run["action"]},
    }
    assert compiled(case._replace(run=entity)).to_yaml() == text
    assert compiled(case._replace(run=styled)).to_yaml() == text


@given(cases())
def test_normal_form_is_stable_and_valid(case: Case) -> None:
    """Normalizing is idempotent, and its result is valid and in canonical spelling."""
    setting = setting_of(case)
    run = read_run(as_data(case.run, Layer.RUN).documents[0], setting).run
    for fields in (run.fields, *(profile.fields for profile in setting.profiles.values())):
        again, findings = normalize(fields, setting.platform, LIBRARY)
        assert again.plain() == fields.plain()
        assert not has_errors(findings)
        normal = without_scratch(fields.plain())
        assert list(LIBRARY.validator("fields").iter_errors(normal)) == []
        tree, found = validate(as_data(normal, Layer.RUN).documents[0].root, "fields", LIBRARY)
        assert (tree.plain(), found) == (normal, ())


def without_scratch(fields: Data) -> Data:
    """The fields without disk that is to become a volume: users cannot write its name in requests and limits."""
    for amounts in fields.get("resources", {}).values():
        amounts.pop(SCRATCH_DISK, None)
    return fields
