"""Equivalent ways to write, order and apply profiles."""

from __future__ import annotations

from copy import deepcopy

from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig, profile_of
from speccompile.testing.equivalent_admins import with_flat_profile, with_profile_twice, with_reversed_files
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.field_values import format_fact_path


def applying_twice_changes_nothing(run: Data, admin: AdminConfig) -> None:
    """Applying a profile twice has the same effect as applying it once."""
    profile = profile_of(run, admin)
    if profile:
        _same(
            admin.manifests(run),
            with_profile_twice(admin, profile).manifests(run),
            "with the profile extending itself",
        )


def parents_can_be_merged(run: Data, admin: AdminConfig) -> None:
    """A profile that extends others is equivalent to one profile with all their values."""
    profile = profile_of(run, admin)
    if profile:
        _same(admin.manifests(run), with_flat_profile(admin, profile).manifests(run), "with the merged profile")


def file_order_has_no_effect(run: Data, admin: AdminConfig) -> None:
    """The order of profile files, and of the documents in them, has no effect."""
    other = with_reversed_files(admin)
    _same(admin.manifests(run), other.manifests(run), "with the files in reverse order")
    assert _findings(run, admin) == _findings(run, other), "other findings with the files in reverse order"


def _findings(run: Data, admin: AdminConfig) -> list[tuple[str, str]]:
    (result,) = admin.compile_all([run])
    return sorted((finding.code, finding.message) for finding in result.diagnostics)


def runs_are_independent(run: Data, admin: AdminConfig) -> None:
    """Compiling runs together produces the same manifests as compiling each alone, and changes no input."""
    fresh = AdminConfig(deepcopy(admin.files), deepcopy(admin.platform))
    admin.manifests({**run, "name": f"{run['name']}0"})
    _same(admin.manifests(run), fresh.manifests(run), "compiled alone")
    assert admin.files == fresh.files, "the admin's documents have changed"
    assert admin.setting.profiles == fresh.setting.profiles, "a profile has changed"


def _same(one: list[Data] | None, other: list[Data] | None, how: str) -> None:
    if one is None or other is None:
        results = ("rejected", "accepted") if one is None else ("accepted", "rejected")
        assert one == other, f"the run is {results[0]}, but {how} it is {results[1]}"
        return
    facts, other_facts = manifest_facts.facts(one), manifest_facts.facts(other)
    path = next((path for path in {**facts, **other_facts} if facts.get(path) != other_facts.get(path)), None)
    assert path is None, f"{format_fact_path(path)} is {facts.get(path)!r}, but {how} {other_facts.get(path)!r}"
    assert one == other, f"the manifests differ {how}"
