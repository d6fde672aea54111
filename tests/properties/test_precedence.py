"""The profile's value overrides the run's, and the run sets the rest."""

from __future__ import annotations

from typing import Any

from helpers.cases import stages
from helpers.merging import KEYS, MAPS, UNIONS, applicable, identity
from hypothesis import example, given

from speccompile.model.key_spelling import snake_case
from speccompile.model.quantity import parse_quantity
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.testing.strategies.spelling import respelled


def expected_field(name: str, run: Any, profile: Any) -> Any:
    """The field of both layers, by the table of the design; None stands for what nobody said."""
    if run is None or profile is None:
        return profile if run is None else run
    if name in MAPS:
        return {**run, **profile}
    if name == "resources":
        sides = {side: {**run.get(side, {}), **profile.get(side, {})} for side in ("requests", "limits")}
        return {side: amounts for side, amounts in sides.items() if side in run or side in profile}
    if name in KEYS:
        # The run's first, then the profile's in its own order: a variable may refer to those before it.
        fixed = {item[KEYS[name]] for item in profile}
        return [*(item for item in run if item[KEYS[name]] not in fixed), *profile]
    if name in UNIONS:
        return list(({identity(item): item for item in run} | {identity(item): item for item in profile}).values())
    return profile


SAME_TOLERATION = Case(
    {"name": "a", "action": "job", "image": "a", "tolerations": [{"key": "a", "value": "b"}, {"key": "c"}]},
    {"id": "default", "tolerations": [{"key": "a", "operator": "Equal", "value": "b"}]},
)


@given(cases())
@example(SAME_TOLERATION)
def test_precedence_the_profile_wins_and_the_run_says_the_rest(case: Case) -> None:
    """At every leaf the profile sets, the spec has the profile's value; at every other, the run's."""
    run, profile, merged, _ = stages(case)
    ours, theirs, spec = run.fields.plain(), applicable(profile, run), merged.spec.plain()
    assert set(spec) == set(ours) | set(theirs)
    for name in set(spec) - {"affinity"}:
        assert spec[name] == expected_field(name, ours.get(name), theirs.get(name)), name


@given(cases(always=("resources",)))
def test_precedence_gpus_are_one_value_whoever_gives_which_side(case: Case) -> None:
    """Whatever side of the GPU the profile gives beats both sides of the run's."""
    gpu_key = (respelled(case.platform or {}, snake_case).get("gpu_key")) or "nvidia.com/gpu"
    told = [amount for amount in (gpu_of(case.profile, gpu_key), gpu_of(case.run, gpu_key)) if amount is not None]
    spec = stages(case).merged.spec.plain()
    for side in ("requests", "limits"):
        found = spec.get("resources", {}).get(side, {}).get(gpu_key)
        assert (found is None) == (not told)
        if told:
            assert parse_quantity(found) == parse_quantity(told[0])


def gpu_of(document: Data | None, gpu_key: str) -> Any:
    """How many GPUs a run or profile asks for, in whatever shape it does."""
    told = (document or {}).get("resources") or {}
    gpu = told.get("gpu", {})
    amounts = gpu if isinstance(gpu, dict) else {"requests": gpu}
    sides = [amounts.get(side, told.get(side, {}).get(gpu_key)) for side in ("requests", "limits")]
    return next((amount for amount in sides if amount is not None), None)
