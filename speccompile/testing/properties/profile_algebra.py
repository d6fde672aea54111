"""Other ways to write, order and apply profiles, with the same manifests."""

from __future__ import annotations

from copy import deepcopy

from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data, profile_of
from speccompile.testing.equivalent_admins import with_flat_profile, with_profile_twice, with_reversed_files
from speccompile.testing.properties.field_values import shown


def twice_is_once(run: Data, admin: Admin) -> None:
    """A profile applied twice is the profile applied once."""
    profile = profile_of(run, admin)
    if profile:
        _same(
            admin.manifests(run),
            with_profile_twice(admin, profile).manifests(run),
            "under the profile extended by itself",
        )


def parents_can_be_written_out(run: Data, admin: Admin) -> None:
    """A profile that extends parents is the one profile that says everything they say."""
    profile = profile_of(run, admin)
    if profile:
        _same(admin.manifests(run), with_flat_profile(admin, profile).manifests(run), "under the profile written out")


def order_of_files_changes_nothing(run: Data, admin: Admin) -> None:
    """The order of profile files, and of the documents in them, changes nothing."""
    other = with_reversed_files(admin)
    _same(admin.manifests(run), other.manifests(run), "with the files in another order")
    assert _findings(run, admin) == _findings(run, other), "other findings with the files in another order"


def _findings(run: Data, admin: Admin) -> list[tuple[str, str]]:
    (result,) = admin.compile_all([run])
    return sorted((finding.code, finding.message) for finding in result.diagnostics)


def nothing_is_kept_between_runs(run: Data, admin: Admin) -> None:
    """Runs compiled one after the other come out as each alone, and leave what the admin wrote as it was."""
    before = deepcopy(admin)
    fresh = Admin(before.files, before.platform)
    held = {name: deepcopy(profile) for name, profile in admin.setting.profiles.items()}
    admin.manifests({**run, "name": f"{run['name']}0"})
    _same(admin.manifests(run), fresh.manifests(run), "compiled first")
    assert admin.files == before.files, "the admin's documents have changed"
    assert dict(admin.setting.profiles) == held, "a profile has changed"


def _same(one: list[Data] | None, other: list[Data] | None, how: str) -> None:
    if one is None or other is None:
        refused, made = ("refused", "compiled") if one is None else ("compiled", "refused")
        assert one == other, f"the run is {refused}, and {how} it is {made}"
        return
    ours, theirs = witness.facts(one), witness.facts(other)
    differing = [place for place in {**ours, **theirs} if ours.get(place) != theirs.get(place)]
    assert not differing, f"{shown(differing[0])} is {ours.get(differing[0])!r}, and {how} {theirs.get(differing[0])!r}"
    assert one == other, f"the manifests differ {how}"
