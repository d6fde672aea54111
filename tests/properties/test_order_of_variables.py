"""The order of variables that several layers set: references stay resolved, and the run keeps its order."""

from __future__ import annotations

import re

from hypothesis import assume, example, given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, compile_run
from speccompile.model.full_path import FULL_PATH
from speccompile.testing.plain_data import Data

NAMES = "ABCDEF"
Variables = dict[str, str]
"""Values by name, in order."""

values = st.lists(
    st.one_of(st.sampled_from([f"$({name})" for name in NAMES]), st.sampled_from(["$$(A)", "$(A", "x", "$", ")"])),
    max_size=3,
).map("".join)
variables = st.lists(st.tuples(st.sampled_from(NAMES), values), max_size=5).map(dict)


def as_list(declared: Variables) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in declared.items()]


def compiled(run: Variables, profile: Variables, base: Variables, defaults: Variables, parent: Variables) -> Compiled:
    profiles: list[Data | list[Data]] = [{"id": "parent", "envs": as_list(parent), "defaults": {}}]
    container = {"name": "main", "env": as_list(base)}
    template = {"spec": {"containers": [container]}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": template}}
    admin: Data = {"id": "p", "extends": "parent", "envs": as_list(profile), "defaults": {"envs": as_list(defaults)}}
    profiles.append([admin, job] if base else admin)
    fields = {"name": "train", "action": "job", "image": "python", "profile": "p", "envs": as_list(run)}
    try:
        return compile_run(fields, profiles=profiles)
    except CompileError:
        assume(False)
        raise


def variables_of(run: Compiled) -> Variables:
    container = run.manifests[0].data["spec"]["template"]["spec"]["containers"][0]
    return {item["name"]: item.get("value", "") for item in container.get("env", ())}


def resolved(declared: Variables) -> set[tuple[str, str, str]]:
    """The references that Kubernetes resolves: the variable, its value and the earlier variable it refers to."""
    earlier: set[str] = set()
    found = set()
    for name, value in declared.items():
        found |= {(name, value, other) for other in re.findall(r"\$\$|\$\(([^)]*)\)", value) if other in earlier}
        earlier.add(name)
    return found


@given(variables, variables, variables, variables, variables)
@example({"A": "", "M": "$(A)", "B": ""}, {"C": "", "A": "$(C)"}, {}, {}, {})
@example({"A": "", "B": ""}, {"B": "", "A": "$(B)"}, {}, {}, {})
@example({"B": "", "A": "$(B)"}, {}, {"A": "", "C": "$(A)"}, {}, {})
@example({"B": "", "A": "x"}, {}, {}, {"A": "", "C": "$(A)", "B": ""}, {})
@example({}, {"C": "", "A": "$(C)"}, {}, {}, {"A": "", "D": "$(A)"})
def test_references_stay_resolved_and_the_run_keeps_its_order(
    run: Variables, profile: Variables, base: Variables, defaults: Variables, parent: Variables
) -> None:
    layers = (base, defaults, run, parent, profile)
    result = compiled(run, profile, base, defaults, parent)
    merged = variables_of(result)
    assert merged == {name: value for layer in layers for name, value in layer.items()}
    strongest = {name: layer for layer in layers for name in layer}
    expected = {found for layer in layers for found in resolved(layer) if strongest[found[0]] is layer}
    assert expected <= resolved(merged)
    own = [name for name in run if strongest[name] is run]
    assert [name for name in merged if name in own] == own


@given(variables, variables, variables)
def test_the_fast_path_orders_alike(run: Variables, profile: Variables, base: Variables) -> None:
    fast = compiled(run, profile, base, {}, {}).to_yaml()
    token = FULL_PATH.set(True)
    try:
        assert compiled(run, profile, base, {}, {}).to_yaml() == fast
    finally:
        FULL_PATH.reset(token)


def test_a_variable_stays_in_place_unless_it_refers_to_a_later_one() -> None:
    run = {"A": "", "B": "", "C": ""}
    assert list(variables_of(compiled(run, {"D": "", "B": "x"}, {}, {}, {}))) == ["A", "B", "C", "D"]
    assert list(variables_of(compiled(run, {"D": "", "B": "$(D)"}, {}, {}, {}))) == ["A", "C", "D", "B"]
    assert list(variables_of(compiled(run, {"A": "$(C)"}, {}, {}, {}))) == ["B", "C", "A"]
    assert list(variables_of(compiled({**run, "B": "$(A)"}, {"A": "$(B)"}, {}, {}, {}))) == ["A", "B", "C"]
