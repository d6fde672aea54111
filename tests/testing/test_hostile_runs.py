"""Runs that try to bypass an admin: most compile, whatever the platform refuses."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings

from speccompile.testing.accepted_values import accepted_values, errors_of, minimal_runs
from speccompile.testing.admin import AdminConfig
from speccompile.testing.hostile_runs import attempts
from speccompile.testing.plain_data import Data

PROFILE: Data = {"id": "p", "resources": {"gpu": 1}, "node_selector": {"pool": "gpu"}}
MINIMAL = {"name", "action", "profile", "project", "image", "service_ports"}
DIGEST = ".+@sha256:[0-9a-f]{64}"
STRICT: dict[str, tuple[Data, Data]] = {
    "a registry": ({}, {"allowed_registries": ["ghcr.io/acme"]}),
    "a registry and digests": ({}, {"allowed_registries": ["ghcr.io/acme"], "rules": {"image": {"pattern": DIGEST}}}),
    "images in a list": ({}, {"rules": {"image": {"options": ["ghcr.io/acme/train:1", "ghcr.io/acme/serve:1"]}}}),
    "images by an unusual pattern": ({}, {"rules": {"image": {"pattern": "registry[.]acme[.]io/[a-z]{3}:v[0-9]"}}}),
    "profiles by project": ({}, {"project_profiles": {"vision": ["p"], "*": ["other"]}}),
    "a required label": ({"rules": {"labels.team": {"required": True}}}, {}),
    "a required label with a pattern": ({}, {"rules": {"labels.team": {"required": True, "pattern": "ml-[a-z]+"}}}),
    "several required resources": (
        {"rules": {"resources.mem": {"required": True, "max": "64Gi"}, "resources.cpu": {"required": True}}},
        {"ceilings": {"mem": "1Gi", "cpu": 2}},
    ),
    "no devices": ({"resources": {}}, {"ceilings": {"gpu": 0}}),
    "no overrides": ({}, {"overrides": "error"}),
    "no servers": ({}, {"forbid": ["service_ports"]}),
    "jobs with a schedule": ({"rules": {"schedule": {"required": True}}}, {}),
    "few fields": (
        {"forbid": ["volumes", "secrets", "envs", "labels", "annotations", "affinity", "tolerations", "resources"]},
        {"volumes": {"allowed_types": ["empty_dir"]}},
    ),
}


def admin_of(case: str) -> AdminConfig:
    profile, platform = STRICT[case]
    return AdminConfig((({**PROFILE, **profile},),), platform)


@pytest.mark.parametrize("case", STRICT)
def test_most_runs_compile_under_a_strict_platform(case: str) -> None:
    admin, seen = admin_of(case), Counter[str]()

    @settings(max_examples=60, derandomize=True)
    @given(attempts(admin, "p"))
    def count(run: Data) -> None:
        compiles = not errors_of(run, admin)
        seen.update(all=1, compiled=compiles, rich=compiles and bool(run.keys() - MINIMAL))

    count()
    assert seen["compiled"] >= seen["all"] * 0.6, seen
    assert seen["rich"], seen


@pytest.mark.parametrize("case", STRICT)
def test_a_minimal_run_compiles_under_a_strict_platform(case: str) -> None:
    admin = admin_of(case)
    accepted = accepted_values(admin, "p", "job")
    assert accepted.is_usable

    @settings(max_examples=10, derandomize=True)
    @given(minimal_runs(accepted))
    def check(run: Data) -> None:
        assert errors_of(run, admin) == ()

    check()


def test_a_profile_that_accepts_no_run_is_recognized() -> None:
    admin = AdminConfig((({"id": "p", "forbid": ["image"], "rules": {"image": {"required": True}}},),))
    assert not accepted_values(admin, "p", "job").is_usable
