"""Likely mistakes in profiles are reported, and reasonable profiles are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from speccompile import Diagnostic, Severity
from speccompile.admin.lint_profiles import lint_profiles
from speccompile.files.load_admin_config import read_setting
from speccompile.schema.bundled import bundled_codes
from speccompile.testing.strategies.documents import Case, cases

TAINT = {"key": "gpu", "operator": "Exists"}
NODES = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}]
        }
    }
}
WISH = {
    "nodeAffinity": {
        "preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": {"matchExpressions": [{"key": "gpu", "operator": "Exists"}]}}
        ]
    }
}


def job(**pod: Any) -> dict[str, Any]:
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod}}}


def findings(*profiles: Any, **platform: Any) -> tuple[Diagnostic, ...]:
    """The findings for profiles; a profile is its fields, or a list of fields and base documents."""
    setting = read_setting(profiles, platform or None)
    assert setting.findings == ()
    warnings = lint_profiles(setting)
    assert all(one.severity is Severity.WARNING and one.code in bundled_codes() and one.help for one in warnings)
    return warnings


def messages(*profiles: Any, **platform: Any) -> list[tuple[str, str]]:
    return [(finding.code.removeprefix("lint/"), finding.message) for finding in findings(*profiles, **platform)]


def one(**fields: Any) -> dict[str, Any]:
    return {"id": "one", **fields}


def child(**fields: Any) -> dict[str, Any]:
    return {"id": "child", "extends": "one", **fields}


CLAIM = {
    "name": "data",
    "volume_type": "persistent_volume_claim",
    "mount_path": "/data",
    "spec": {"size": "20Gi"},
}
MEMORY = {"resources.mem": {"max": "8Gi"}}
REQUEST = "resources.requests.memory"
ABOVE = f"`{REQUEST}`: `9Gi` is above the maximum `8Gi`"


@pytest.mark.parametrize(
    ("profiles", "platform", "expected"),
    [
        # Rules without effect
        ([one(rules={"image": {"reason": "x"}})], {}, [("idle-rule", "the rule for `image` allows every value")]),
        ([one(rules={"image": {"required": False}})], {}, [("idle-rule", "the rule for `image` allows every value")]),
        (
            [one(resources={"mem": "4Gi"}, rules=MEMORY)],
            {},
            [("idle-rule", "the rule for `resources.requests.memory` has no effect: no run can change `4Gi`")],
        ),
        (
            [one(resources={"mem": "4Gi"}), child(rules=MEMORY)],
            {},
            [("idle-rule", "the rule for `resources.requests.memory` has no effect: no run can change `4Gi`")],
        ),
        (
            [one(rules={"priority_class": {"required": True}})],
            {"enforce": {"priority_class": "low"}},
            [("idle-rule", "the rule for `priority_class` has no effect: no run can change `low`")],
        ),
        (
            [],
            {"enforce": {"priority_class": "low"}, "rules": {"priority_class": {"options": ["low"]}}},
            [("idle-rule", "the rule for `priority_class` has no effect: no run can change `low`")],
        ),
        # The default breaks the rule too, but never applies.
        (
            [one(defaults={"priority_class": "low"})],
            {"enforce": {"priority_class": "high"}, "rules": {"priority_class": {"pattern": "h.*"}}},
            [("idle-rule", "the rule for `priority_class` has no effect: no run can change `high`")],
        ),
        # Values that break a rule
        (
            [one(resources={"mem": "9Gi"}, rules=MEMORY)],
            {},
            [
                ("breaks-rule", f"{ABOVE}, and no run can change it"),
            ],
        ),
        (
            [one(defaults={"resources": {"mem": "9Gi"}}, rules=MEMORY)],
            {},
            [
                ("breaks-rule", f"{ABOVE}, so no run can use the default"),
            ],
        ),
        (
            [one(image="a:1")],
            {"rules": {"image": {"pattern": "b:.*"}}},
            [("breaks-rule", "`image`: `a:1` does not match `b:.*`, and no run can change it")],
        ),
        (
            [],
            {"defaults": {"image": "a:1"}, "rules": {"image": {"options": ["b:1"]}}},
            [("breaks-rule", "`image`: `a:1` is not `b:1`, so no run can use the default")],
        ),
        # Rules that no value satisfies
        (
            [one(rules={"replicas": {"min": 5}}), child(rules={"replicas": {"max": 3}})],
            {},
            [
                (
                    "clashing-rules",
                    "`replicas`: the minimum `5` is above the maximum `3`, so no value is allowed",
                )
            ],
        ),
        (
            [one(rules={"resources.mem": {"max": "1Gi"}})],
            {"rules": {"resources.requests.memory": {"min": "2Gi"}}},
            [
                (
                    "clashing-rules",
                    f"`{REQUEST}`: the minimum `2Gi` is above the maximum `1Gi`, so no value is allowed",
                ),
            ],
        ),
        (
            [one(rules={"image": {"options": ["a:1"]}}), child(rules={"image": {"options": ["b:1"]}})],
            {},
            [
                (
                    "clashing-rules",
                    "`image`: two rules have no option in common, so no value is allowed",
                )
            ],
        ),
        (
            [one(rules={"replicas": {"options": [1, 2], "min": 3}})],
            {},
            [("clashing-rules", "`replicas`: all options are below the minimum `3`, so no value is allowed")],
        ),
        (
            [one(rules={"replicas": {"options": [5, 6]}})],
            {"rules": {"replicas": {"max": 3}}},
            [("clashing-rules", "`replicas`: all options are above the maximum `3`, so no value is allowed")],
        ),
        (
            [one(rules={"image": {"options": ["a:1"], "pattern": "b.*"}})],
            {},
            [("clashing-rules", "`image`: no option matches `b.*`, so no value is allowed")],
        ),
        (
            [one(rules={"replicas": {"options": ["many"], "min": 1}})],
            {},
            [("clashing-rules", "`replicas`: all options are below the minimum `1`, so no value is allowed")],
        ),
        # Values without effect
        (
            [one(resources={"mem": "4Gi"}, defaults={"resources": {"mem": "2Gi"}})],
            {},
            [("no-effect", "`resources.requests.memory`: `2Gi` has no effect: the profile also fixes this field")],
        ),
        (
            [one(priority_class="low")],
            {"enforce": {"priority_class": "high"}},
            [("no-effect", "`priority_class`: `low` has no effect: the platform enforces another value")],
        ),
        (
            [one(gpu_key="nvidia.com/mig", forbid=["resources.gpu"])],
            {},
            [("no-effect", "`gpu_key` has no effect: the profile sets no GPU, and runs may not request one")],
        ),
        (
            [one(gpu_key="nvidia.com/mig")],
            {"forbid": ["resources"]},
            [("no-effect", "`gpu_key` has no effect: the profile sets no GPU, and runs may not request one")],
        ),
        # Above a limit
        (
            [one(resources={"cpu": 64})],
            {"ceilings": {"cpu": 16}},
            [("above-ceiling", "`64` is above the limit `16` for cpu, and no run can change it")],
        ),
        (
            [one(resources={"gpu": 4}, defaults={"resources": {"cpu": 64}})],
            {"ceilings": {"cpu": 16, "gpu": 4}},
            [("above-ceiling", "`64` is above the limit `16` for cpu, so no run can use the default")],
        ),
        (
            [],
            {"ceilings": {"gpu": 1}, "enforce": {"resources": {"gpu": 2}}},
            [("above-ceiling", "`2` is above the limit `1` for gpu, and no run can change it")],
        ),
        (
            [one(volumes=[CLAIM])],
            {"ceilings": {"pvc": "10Gi"}},
            [("above-ceiling", "`20Gi` is above the limit `10Gi` for pvc, and no run can change it")],
        ),
        # Placement.
        (
            [one(tolerations=[TAINT])],
            {},
            [("pins-nothing", "profile `one` tolerates a taint but does not select the tainted nodes")],
        ),
        (
            [one(tolerations=[TAINT], affinity=WISH)],
            {},
            [("pins-nothing", "profile `one` tolerates a taint but does not select the tainted nodes")],
        ),
        (
            [one(tolerations=[TAINT]), child(), {"id": "other", "extends": "one", "node_selector": {"a": "b"}}],
            {},
            [("pins-nothing", "profile `child` tolerates a taint but does not select the tainted nodes")],
        ),
        (
            [one(tolerations=[TAINT], defaults={"node_selector": {"a": "b"}})],
            {},
            [("pins-nothing", "profile `one` tolerates a taint but does not select the tainted nodes")],
        ),
        (
            [[one(), job(tolerations=[TAINT])]],
            {},
            [("pins-nothing", "profile `one` tolerates a taint but does not select the tainted nodes")],
        ),
        # Base documents.
        (
            [[one(), job(volumes=[{"name": "tmp", "emptyDir": {}}])]],
            {},
            [("unmounted-volume", "no container mounts volume `tmp` of the base document Job")],
        ),
        # The platform's list of profiles
        (
            [one()],
            {"project_profiles": {"vision": ["onee"], "*": ["x1"]}},
            [
                ("unknown-profile", "unknown profile `onee` for project `vision`"),
                ("unknown-profile", "unknown profile `x1` for project `*`"),
            ],
        ),
    ],
)
def test_likely_mistakes_are_reported(profiles: Any, platform: Any, expected: list[tuple[str, str]]) -> None:
    assert sorted(messages(*profiles, **platform)) == expected


@pytest.mark.parametrize(
    ("profiles", "platform"),
    [
        ([], {}),
        ([one()], {}),
        ([one(rules={**MEMORY, "image": {"required": True}, "replicas": {"min": 1, "max": 3}})], {}),
        # A rule that a child's value satisfies still matters for its parent and other children.
        ([one(rules=MEMORY), child(resources={"mem": "4Gi"})], {}),
        ([one(resources={"mem": "4Gi"})], {"rules": MEMORY}),
        # Lists that are combined are not fixed: runs can add to them.
        ([one(secrets=["A"], rules={"secrets": {"options": ["A", "B"]}})], {}),
        # Required, and the field is not there for every action.
        ([one(replicas=2, rules={"replicas": {"required": True}})], {}),
        ([one(defaults={"resources": {"mem": "4Gi"}}, rules=MEMORY)], {}),
        ([one(rules={"replicas": {"min": 1}}), child(rules={"replicas": {"max": 1}})], {}),
        ([one(rules={"image": {"options": ["a:1", "b:1"]}}), child(rules={"image": {"options": ["b:1"]}})], {}),
        ([one(rules={"resources.mem": {"min": "2Gi"}, "resources.mem.limits": {"max": "1Gi"}})], {}),
        ([one(defaults={"resources": {"mem": "2Gi"}}), child(resources={"mem": "4Gi"})], {}),
        ([one(priority_class="low")], {"enforce": {"priority_class": "low"}}),
        ([one(priority_class="low"), child(priority_class="high")], {}),
        ([[one(volumes=[CLAIM]), job(volumes=[{"name": "data", "emptyDir": {}}])]], {}),
        (
            [one(tolerations=[TAINT], node_selector={"a": "b"})],
            {"enforce": {"tolerations": [{"key": "x", "operator": "Exists"}]}},
        ),
        ([one(gpu_key="nvidia.com/mig")], {}),
        ([one(gpu_key="nvidia.com/mig", resources={"gpu": 1}, forbid=["resources.gpu"])], {}),
        ([one(gpu_key="nvidia.com/mig", forbid=["resources.cpu"])], {}),
        ([one(resources={"cpu": 16, "gpu": 2})], {"ceilings": {"cpu": 16, "gpu": 2}}),
        ([one(image="a:1", forbid=["image"])], {}),
        ([one(tolerations=[TAINT], node_selector={"gpu": "a100"})], {}),
        ([one(tolerations=[TAINT], affinity=NODES)], {}),
        ([one(tolerations=[TAINT])], {"enforce": {"node_selector": {"gpu": "a100"}}}),
        ([[one(tolerations=[TAINT]), job(nodeSelector={"gpu": "a100"})]], {}),
        ([one(tolerations=[TAINT]), child(node_selector={"gpu": "a100"})], {}),
        ([one(tolerations=[{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}])], {}),
        (
            [
                [
                    one(),
                    job(
                        volumes=[{"name": "tmp", "emptyDir": {}}, {"name": "raw"}, {"name": "init", "emptyDir": {}}],
                        initContainers=[{"name": "i", "volumeMounts": [{"name": "init", "mountPath": "/i"}]}],
                        containers=[
                            {
                                "name": "proxy",
                                "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
                                "volumeDevices": [{"name": "raw", "devicePath": "/dev/x"}],
                            }
                        ],
                    ),
                ]
            ],
            {},
        ),
        ([one()], {"project_profiles": {"vision": ["one"]}}),
    ],
)
def test_reasonable_profiles_have_no_findings(profiles: Any, platform: Any) -> None:
    assert messages(*profiles, **platform) == []


def test_a_finding_of_a_parent_is_reported_once() -> None:
    assert len(messages(one(resources={"mem": "9Gi"}, rules=MEMORY), child(), {"id": "other", "extends": "one"})) == 1


def test_the_examples_have_no_findings(root: Path) -> None:
    setting = read_setting([root / "examples/profiles"], root / "examples/platform.yaml")
    assert lint_profiles(setting) == ()


@given(cases())
def test_property_lint_only_warns(case: Case) -> None:
    setting = read_setting([case.profile] if case.profile else [], case.platform)
    if not setting.is_broken:
        findings = lint_profiles(setting)
        assert all(finding.severity is Severity.WARNING and finding.code in bundled_codes() for finding in findings)
