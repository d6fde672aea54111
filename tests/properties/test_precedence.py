"""The profile's value overrides the run's, and the run sets the rest."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from helpers.cases import stages
from helpers.merging import KEYS, MAPS, UNIONS, applicable, identity
from hypothesis import example, given

from speccompile.compiler.container_resources import gpu_names
from speccompile.model.key_spelling import snake_case
from speccompile.model.quantity import parse_quantity
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.testing.strategies.spelling import respelled


def expected_field(name: str, run: Any, profile: Any, gpus: Collection[str] = ()) -> Any:
    """The merged field of both layers by the rules of the design; None means unset."""
    if run is None or profile is None:
        return profile if run is None else run
    if name in MAPS:
        return {**run, **profile}
    if name == "resources":
        fixes_gpu = any(gpu in profile.get("limits", {}) for gpu in gpus)
        run = {side: {key: "0" if fixes_gpu and "/" in key else run[side][key] for key in run[side]} for side in run}
        sides = {side: {**run.get(side, {}), **profile.get(side, {})} for side in ("requests", "limits")}
        return {side: amounts for side, amounts in sides.items() if side in run or side in profile}
    if name in KEYS:
        # The order is the run's; references between variables have a test of their own.
        key = KEYS[name]
        return list(({item[key]: item for item in run} | {item[key]: item for item in profile}).values())
    if name in UNIONS:
        return list(({identity(item): item for item in run} | {identity(item): item for item in profile}).values())
    return profile


SAME_TOLERATION = Case(
    {"name": "a", "action": "job", "image": "a", "tolerations": [{"key": "a", "value": "b"}, {"key": "c"}]},
    {"id": "default", "tolerations": [{"key": "a", "operator": "Equal", "value": "b"}]},
)


@given(cases())
@example(SAME_TOLERATION)
def test_precedence_the_profile_overrides_the_run(case: Case) -> None:
    """At every leaf the profile sets, the spec has the profile's value; at every other, the run's."""
    run, profile, merged, _ = stages(case)
    of_run, of_profile, spec = run.fields.plain(), applicable(profile, run), merged.spec.plain()
    assert set(spec) == set(of_run) | set(of_profile)
    for name in set(spec) - {"affinity"}:
        gpus = gpu_names(merged.platform, profile)
        assert spec[name] == expected_field(name, of_run.get(name), of_profile.get(name), gpus), name


@given(cases(always=("resources",)))
def test_precedence_gpus_are_one_value(case: Case) -> None:
    """Either side of the profile's GPUs overrides both sides of the run's."""
    gpu_key = (respelled(case.platform or {}, snake_case).get("gpu_key")) or "nvidia.com/gpu"
    amounts = [amount for amount in (gpu_of(case.profile, gpu_key), gpu_of(case.run, gpu_key)) if amount is not None]
    spec = stages(case).merged.spec.plain()
    for side in ("requests", "limits"):
        actual = spec.get("resources", {}).get(side, {}).get(gpu_key)
        assert (actual is None) == (not amounts)
        if amounts:
            assert parse_quantity(actual) == parse_quantity(amounts[0])


def gpu_of(document: Data | None, gpu_key: str) -> Any:
    """The number of GPUs that a run or profile requests, in any form."""
    resources = (document or {}).get("resources") or {}
    gpu = resources.get("gpu", {})
    amounts = gpu if isinstance(gpu, dict) else {"requests": gpu}
    sides = [amounts.get(side, resources.get(side, {}).get(gpu_key)) for side in ("requests", "limits")]
    return next((amount for amount in sides if amount is not None), None)
