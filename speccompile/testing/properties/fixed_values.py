"""Fields, sidecars and volumes that the admin fixes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.manifest_facts import at
from speccompile.testing.properties.baseline import goes_under, gpu_key, least, lineage
from speccompile.testing.properties.field_values import IN_MAIN, IN_POD, IN_SPEC, shown, single, values_at


def what_is_fixed_stays(run: Data, admin: Admin) -> None:
    """No run can change what its profile, or the platform, fixes."""
    manifests = admin.manifests(run)
    if manifests is None:
        return
    found, fixed, bare = (
        witness.facts(made)
        for made in (manifests, least(run, manifests, admin.fixed_only), least(run, manifests, admin.bare))
    )
    # By kind, not by name: a second Service that is fixed to be there has no counterpart of its own.
    usual = {(place[0], *place[2:]): value for place, value in bare.items()}
    for place, value in fixed.items():
        if usual.get((place[0], *place[2:])) != value or _is_the_platforms(place, admin):
            assert found.get(place) == value, f"{shown(place)} is {found.get(place)!r}, and is fixed to be {value!r}"
    for name in _applying(run, IN_POD, IN_MAIN, IN_SPEC):
        told = _fixed_field(name, run, admin)
        if told is not None and name not in _ADDING:
            value = values_at((name,), manifests, admin)
            expected = single(told)
            assert [*map(str, value)] == [*map(str, expected)], f"`{name}` is {value}, and is fixed to be {expected}"
    asked = at(run, "resources", "gpu")
    if isinstance(asked, (int, str)):
        key = gpu_key(run, admin)
        assert values_at(("resources", "limits", key), manifests, admin), f"`gpu` is not {key!r}, as the profile says"


_ADDING = ("node_selector", "tolerations", "affinity")


def _applying(run: Data, *tables: Mapping[str, Any]) -> list[str]:
    """The fields of the tables that concern the run's action."""
    fields, action = bundled_library().fields, run["action"]
    return [name for table in tables for name in table if action in fields[name].get("x-actions", (action,))]


def _is_the_platforms(place: witness.Place, admin: Admin) -> bool:
    """Whether the platform's settings alone decide what stands there."""
    own = {key.replace("{label_prefix}", admin.settled("label_prefix")) for key in admin.settled("own_labels")}
    return (
        place[2:] in (("metadata", "name"), ("metadata", "namespace"))
        or "imagePullSecrets" in place
        or ("labels" in place and place[-1] in own)
        or place[2:4] == ("spec", "selector")
        or ("env" in place and place[-1] in (admin.settled("own_envs") or {}))
    )


def _fixed_field(name: str, run: Data, admin: Admin) -> Any:
    told = [admin.profiles[one].get(name) for one in lineage(run, admin)]
    told.append(at(admin.demands, "enforce", name))
    return next((value for value in reversed(told) if value is not None), None)


def sidecars_stay_alone(run: Data, admin: Admin) -> None:
    """No run can change a sidecar, or a volume, that a base document brings."""
    manifests = admin.manifests(run)
    bases = [base for one in lineage(run, admin) for base in admin.bases_of(one)]
    if manifests is None or not bases:
        return
    usual = least(run, manifests, admin.lenient)
    (main,) = (
        container["name"] for pod in witness.pods(least(run, manifests, admin.bare)) for container in pod["containers"]
    )
    kind = witness.workload(manifests)["kind"]
    brought = [pod for base in bases if goes_under(base, kind) for pod in witness.pods([base])]
    for ours, theirs in zip(witness.pods(manifests), witness.pods(usual), strict=True):
        for section in ("containers", "initContainers", "volumes"):
            wanted = {one["name"] for pod in brought for one in pod.get(section, ())} - {"main"}
            overridden = wanted - {one["name"] for one in ours.get(section, ())}
            assert not overridden, f"{section} {sorted(overridden)} of the base document are gone"
        known, expected = (
            {one["name"]: one for one in witness.containers(pod) if one["name"] != main} for pod in (ours, theirs)
        )
        assert known == expected, "the containers beside the main one differ from those of a run that says nothing"
        names = {volume["name"] for pod in brought for volume in pod.get("volumes", ())}
        volumes, usually = (
            {one["name"]: one for one in pod.get("volumes", ()) if one["name"] in names} for pod in (ours, theirs)
        )
        assert volumes == usually, "a volume of the base document has become another"
