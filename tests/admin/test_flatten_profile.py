"""A flattened profile is equivalent to the profile with its parents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, Severity, compile_run
from speccompile.admin.flatten_profile import flat_documents
from speccompile.admin.show_profiles import profile_yaml
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.admin_config import prepare
from speccompile.files.load_admin_config import read_setting
from speccompile.model.documents import Profile
from speccompile.model.source import Layer, Source
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases, profiles
from speccompile.yaml_text.parse import parse

GPU = {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
PARENT = {
    "id": "parent",
    "name": "the parent",
    "tolerations": [GPU],
    "resources": {"mem": "8Gi", "gpu": 1},
    "defaults": {"image": "python:3.12", "envs": {"A": "1"}},
    "rules": {"resources.mem": {"max": "16Gi", "reason": "small nodes"}, "replicas": {"max": 3}},
    "forbid": ["affinity", "resources.gpu"],
}
JOB = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "spec": {"backoffLimit": 2, "template": {"spec": {"hostNetwork": False}}},
}
CHILD = {
    "id": "child",
    "extends": "parent",
    "description": "the child",
    "resources": {"mem": "4Gi"},
    "node_selector": {"pool": "gpu"},
    "defaults": {"envs": {"B": "2"}},
    "rules": {
        "resources.requests.memory": {"min": "1Gi"},
        "resources.gpu.limits": {"max": 2},
        "envs.B": {"pattern": "."},
    },
    "forbid": ["affinity"],
}
BASE = {**JOB, "spec": {"ttlSecondsAfterFinished": 60}}


def resolved(*documents: Any, platform: Any = None, name: str = "child") -> Profile:
    setting = read_setting(documents, platform)
    assert setting.findings == ()
    return setting.profiles[name]


def test_a_flattened_child_has_the_values_of_its_parents() -> None:
    own, *bases = flat_documents(resolved([PARENT, JOB], [CHILD, BASE]))
    assert own == {
        "id": "child",
        "description": "the child",
        "resources": {
            "requests": {"memory": "4Gi", "nvidia.com/gpu": "1"},
            "limits": {"nvidia.com/gpu": "1"},
        },
        "node_selector": {"pool": "gpu"},
        "tolerations": [GPU],
        "defaults": {"image": "python:3.12", "envs": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
        "rules": {
            "resources.requests.memory": {"max": "16Gi", "reason": "small nodes"},
            "replicas": {"max": 3},
            '["resources"]["requests"]["memory"]': {"min": "1Gi"},
            "resources.gpu.limits": {"max": 2},
            "envs.B": {"pattern": "."},
        },
        "forbid": ["affinity", "resources.gpu"],
    }
    assert bases == [
        {
            **JOB,
            "spec": {"backoffLimit": 2, "ttlSecondsAfterFinished": 60, "template": {"spec": {"hostNetwork": False}}},
        }
    ]


def test_a_profile_without_parents_is_unchanged() -> None:
    once = flat_documents(resolved([PARENT, JOB], [CHILD, BASE]))
    again = flat_documents(resolved(once))
    assert again == once


@pytest.mark.parametrize("field", ["args", "replicas", "resources.gpu", 'labels["a.b/c"]'])
def test_many_rules_for_one_field_all_apply(field: str) -> None:
    """Each is under another spelling of the same path."""
    rule = {"required": True}
    line = [{"id": "p0", "rules": {field: {**rule, "reason": "0"}}}]
    line += [{"id": f"p{n}", "extends": f"p{n - 1}", "rules": {field: {**rule, "reason": str(n)}}} for n in range(1, 6)]
    last = resolved(*line, name="p5")
    flat = resolved(flat_documents(last), name="p5")
    assert {rule.path for rule in flat.rules} == {rule.path for rule in last.rules}
    assert sorted(str(rule.constraint.plain()) for rule in flat.rules) == [
        str({"required": True, "reason": str(number)}) for number in range(6)
    ]


def test_rules_with_different_checks_are_combined() -> None:
    parent = {"id": "parent", "rules": {"replicas": {"max": 3}}}
    own, *_ = flat_documents(resolved(parent, {"id": "child", "extends": "parent", "rules": {"replicas": {"min": 2}}}))
    assert own["rules"] == {"replicas": {"max": 3, "min": 2}}


def test_rules_with_the_same_check_both_apply() -> None:
    parent = {"id": "parent", "rules": {"replicas": {"max": 3}}}
    own, *_ = flat_documents(resolved(parent, {"id": "child", "extends": "parent", "rules": {"replicas": {"max": 2}}}))
    assert own["rules"] == {"replicas": {"max": 2}, '["replicas"]': {"max": 3}}


def test_disk_that_becomes_a_volume_is_still_disk() -> None:
    platform = {"disk": {"as": "volume", "mount_path": "/scratch"}}
    profile = {"id": "child", "resources": {"disk": "10Gi", "mem": "1Gi"}, "rules": {"resources.disk": {"max": "20Gi"}}}
    (own,) = flat_documents(resolved(profile, platform=platform))
    assert own["resources"] == {"disk": "10Gi", "requests": {"memory": "1Gi"}}
    assert flat_documents(resolved(own, platform=platform)) == (own,)
    (alone,) = flat_documents(resolved({"id": "child", "resources": {"disk": "10Gi"}}, platform=platform))
    assert alone["resources"] == {"disk": "10Gi"}


def test_a_gpu_key_is_resolved() -> None:
    platform = {"gpu_keys": {"a100": "nvidia.com/a100"}}
    child = {"id": "child", "extends": "p"}
    document, *_ = flat_documents(resolved({"id": "p", "gpu_key": "a100"}, child, platform=platform))
    assert document["gpu_key"] == "nvidia.com/a100"


def manifests(run: Data, given: Sequence[Any], platform: Data | None) -> Any:
    try:
        return [made.data for made in compile_run(run, profiles=given, platform=platform).manifests]
    except CompileError as error:
        return {found.code for found in error.diagnostics if found.severity is Severity.ERROR}


def bases(value: int) -> st.SearchStrategy[list[Data]]:
    pod = {"containers": [{"name": "proxy", "image": f"envoy:{value}"}], "terminationGracePeriodSeconds": value}
    job = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"backoffLimit": value, "template": {"spec": pod}}}
    return st.sampled_from([[], [job]])


RULES = st.fixed_dictionaries(
    {},
    optional={
        "rules": st.sampled_from(
            [{"resources.mem": {"max": "1Gi"}}, {"resources.mem": {"min": "1Gi"}}, {"image": {"required": True}}]
        ),
        "forbid": st.sampled_from([["affinity"], ["resources.mem"], ["envs", "secrets"]]),
        "defaults": st.sampled_from([{"labels": {"a": "b"}}, {"resources": {"mem": "2Gi"}}, {"envs": {"X": "1"}}]),
    },
)


@st.composite
def families(draw: st.DrawFn, platform: Data | None) -> list[list[Data]]:
    """Two parents and a child, each with rules, bans, defaults and perhaps a base document."""
    family = []
    for number, (name, parents) in enumerate(
        {"one": [], "two": ["one"], "three": [], "child": ["two", "three"]}.items()
    ):
        fields = draw(profiles(platform=platform, spelling=False)) | draw(RULES)
        family.append([{**fields, "extends": parents, "id": name}, *draw(bases(number))])
    return family


@given(cases(alone=True), st.data())
def test_property_a_flattened_profile_is_equivalent(case: Case, data: st.DataObject) -> None:
    family = data.draw(families(case.platform))
    setting = read_setting(family, case.platform)
    if setting.findings or "child" not in setting.profiles:
        return
    run = {**case.run, "profile": "child"}
    flat = flat_documents(setting.profiles["child"])
    assert manifests(run, [flat], case.platform) == manifests(run, family, case.platform)


@given(families(None))
def test_property_show_prints_an_equivalent_profile(family: list[list[Data]]) -> None:
    setting = read_setting(family, None)
    if setting.findings or "child" not in setting.profiles:
        return
    printed = parse(Source("child.yaml", profile_yaml(setting.profiles["child"]), Layer.PROFILE))
    again = prepare([printed], None, bundled_library())
    assert again.findings == ()
    assert flat_documents(again.profiles["child"]) == flat_documents(setting.profiles["child"])
