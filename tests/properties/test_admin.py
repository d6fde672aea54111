"""The laws that admins rely on, over arbitrary runs, profiles with parents, base documents and platforms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from speccompile.compiler import approve, ceilings, merge, pipeline, policy, render, volume_rules
from speccompile.compiler import duplicate_objects as clashes
from speccompile.compiler import merge_affinity as affinity
from speccompile.compiler.compiled import Result
from speccompile.compiler.documents import profiles
from speccompile.model.findings import CompileError
from speccompile.model.manifest import Manifest
from speccompile.testing import manifest_facts as witness
from speccompile.testing.admin import Admin, Data
from speccompile.testing.admin_strategies import NAME_PATTERNS, VOLUME_PATTERNS, attempted
from speccompile.testing.hostile_runs import attempts
from speccompile.testing.properties.fixed_values import what_is_fixed_stays
from speccompile.testing.properties.object_names import share_nothing
from speccompile.testing.properties.table import PROPERTIES, Property
from speccompile.testing.strategies.text import dns_labels, run_names

IMAGE = {"name": "a", "action": "job", "image": "python"}


@pytest.mark.parametrize("law", PROPERTIES, ids=lambda law: law.name)
def test_law(law: Property) -> None:
    # It is about every field, and each wants to be met.
    @settings(max_examples=settings().max_examples * (2 if law.holds is what_is_fixed_stays else 1))
    @given(attempted(law.about, law.wants))
    def holds(attempt: tuple[Data, Admin]) -> None:
        law.holds(*attempt)

    holds()


RARE: dict[str, tuple[Data, Admin]] = {
    "two kinds of devices that are above the ceiling together": (
        {**IMAGE, "resources": {"gpu": 2, "requests": {"example.com/device": 2}}},
        Admin((), {"ceilings": {"gpu": 3}}),
    ),
    "parents that contradict each other": (
        {**IMAGE, "priority_class": "mine"},
        Admin(
            (
                ({"id": "one", "priority_class": "first", "node_selector": {"zone": "a"}},),
                ({"id": "two", "priority_class": "second", "node_selector": {"zone": "b"}},),
                ({"id": "default", "extends": ["one", "two"]},),
            )
        ),
    ),
    "what `gpu` stands for comes from a parent": (
        {**IMAGE, "resources": {"gpu": 1}},
        Admin((({"id": "p", "gpu_key": "amd.com/gpu"},), ({"id": "default", "extends": "p"},))),
    ),
    "a pattern that matches the beginning only": (
        {**IMAGE, "envs": {"HOME": "/home; rm"}},
        Admin((({"id": "default", "rules": {"envs.HOME": {"pattern": "[a-z/]*"}}},),)),
    ),
    "limits that are forbidden, and that the platform makes of a request": (
        {**IMAGE, "resources": {"mem": "1Gi"}},
        Admin((({"id": "default", "forbid": ["resources.limits"]},),), {"memory_limit_factor": 1.5}),
    ),
    "a quantity that is less as text": (
        {**IMAGE, "resources": {"mem": "10Gi"}},
        Admin((({"id": "default", "rules": {"resources.mem": {"max": "9Gi"}}},),)),
    ),
}


@pytest.mark.parametrize("law", PROPERTIES, ids=lambda law: law.name)
@pytest.mark.parametrize("case", RARE)
def test_law_in_a_case_that_is_seldom_drawn(law: Property, case: str) -> None:
    law.holds(*RARE[case])


def test_most_attempts_compile_and_most_contradict_the_admin() -> None:
    """Laws that are tried on refused or harmless runs prove nothing."""
    seen: Counter[str] = Counter()

    @given(attempted(("envs", "volumes", "resources", "node_selector", "affinity")))
    def count(attempt: tuple[Data, Admin]) -> None:
        run, admin = attempt
        (result,) = admin.compile_all([run])
        refused = isinstance(result, CompileError)
        seen.update(all=1, compiled=not refused, parents=any("extends" in one for one in admin.profiles.values()))
        seen["bases"] += any(admin.bases_of(one) for one in admin.profiles)
        seen["rich"] += not refused and len(run) > len(("name", "action", "profile", "image", "service_ports"))
        seen["contradicting"] += not refused and any(one.code == "merge/overridden" for one in result.diagnostics)

    count()
    assert seen["compiled"] >= 0.6 * seen["all"], seen
    assert seen["rich"] >= 0.4 * seen["all"], seen
    for kind in ("parents", "bases", "contradicting"):
        assert seen[kind] >= 0.1 * seen["all"], (kind, seen)


# Several runs


@st.composite
def _two_attempts(draw: st.DrawFn) -> tuple[Data, Data, Admin]:
    run, admin = draw(attempted(("volumes", "envs", "service_name")))
    return run, draw(attempts(admin, run["profile"], about=("volumes", "service_name"))), admin


@given(_two_attempts())
def test_the_order_of_runs_changes_nothing(drawn: tuple[Data, Data, Admin]) -> None:
    """Each run comes out the same, wherever its file stands on the command line; two that clash do so in any order."""
    one, other, admin = drawn
    first, second = admin.compile_all([one, other])
    third, fourth = admin.compile_all([other, one])
    clashing = [_clashes(result) for result in (first, second, third, fourth)]
    assert any(clashing[:2]) == any(clashing[2:])
    if not any(clashing):
        assert _told(first) == _told(fourth)
        assert _told(second) == _told(third)


def _clashes(result: Result) -> bool:
    return any(finding.code.startswith("run/duplicate") for finding in result.diagnostics)


def _told(result: Result) -> tuple[list[Data], list[tuple[str, str]]]:
    made = [] if isinstance(result, CompileError) else [manifest.data for manifest in result.manifests]
    return made, [(finding.code, finding.message) for finding in result.diagnostics]


@given(_two_attempts())
def test_two_runs_share_nothing(drawn: tuple[Data, Data, Admin]) -> None:
    share_nothing(*drawn)


_NAMES = dns_labels(4) | st.sampled_from(("a", "a-b", "b", "a-b-c", "A", "x-a")) | run_names()


@st.composite
def _entities(draw: st.DrawFn) -> Data:
    volume = {"volume_type": "persistent_volume_claim", "name": draw(dns_labels(4)), "mount_path": "/data"}
    config = {"volume_type": "config_map", "name": "c", "mount_path": "/c", "spec": {"data": {"file": "text"}}}
    return {
        "kind": "container+job:run",
        "project": draw(_NAMES),
        "name": draw(_NAMES),
        "id": draw(_NAMES),
        "spec": {"image": "python", "volumes": [volume, config]},
    }


@given(_entities(), _entities(), st.sampled_from(NAME_PATTERNS), st.sampled_from(VOLUME_PATTERNS))
def test_two_entities_share_nothing(one: Data, other: Data, job: str, volume: str) -> None:
    """Whatever projects, names and ids people choose, and whatever patterns the platform has."""
    share_nothing(one, other, Admin((), {"names": {"job": job, "volume": volume}}))


# Every law can fail


def _container(name: str, **fields: Any) -> Data:
    return {"name": name, "image": "sidecar:1", **fields}


def _job(**pod: Any) -> Data:
    return {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": pod}}}


def _volume(kind: str, name: str = "data", **spec: Any) -> Data:
    return {"volume_type": kind, "name": name, "mount_path": "/data", **({"spec": spec} if spec else {})}


def _zone(value: str) -> Data:
    term = {"matchExpressions": [{"key": "zone", "operator": "In", "values": [value]}]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}


def _without_rule(name: str) -> Callable[[pytest.MonkeyPatch], None]:
    tables: dict[str, tuple[Any, ...]] = {"RULES": policy.RULES, "VOLUME_RULES": volume_rules.VOLUME_RULES}
    (table,) = (table for table, rules in tables.items() if name in [rule.__name__ for rule in rules])
    kept = tuple(rule for rule in tables[table] if rule.__name__ != name)
    return lambda patch: patch.setattr(approve, table, kept)


def _strategy(name: str, strategy: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(merge.STRATEGIES, name, merge.STRATEGIES[name]._replace(meet=strategy))


def _keeping_manifests(patch: pytest.MonkeyPatch) -> None:
    kept: dict[int, tuple[Manifest, ...]] = {}

    def filled(drawn: Sequence[render.Sketch]) -> tuple[Manifest, ...]:
        return kept.setdefault(id(drawn[0].context["platform"]), render.filled(drawn))

    patch.setattr(pipeline, "filled", filled)


def _childless(patch: pytest.MonkeyPatch) -> None:
    def choose(*given_ones: Any) -> Any:
        profile, findings = profiles.choose(*given_ones)
        return profile and (
            profile._replace(fields=profile.fields.with_fields({})) if profile.parents else profile
        ), findings

    patch.setattr("speccompile.compiler.documents.run.choose", choose)


BREACHES: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Data, Admin]] = {
    "what_is_fixed_stays": (
        _strategy("replace", lambda _, __, weaker, ___, ____: weaker),
        {**IMAGE, "priority_class": "mine"},
        Admin((({"id": "default", "priority_class": "admins"},),)),
    ),
    "sidecars_stay_alone": (
        _without_rule("_volumes_stay_clear_of_the_base"),
        {**IMAGE, "volumes": [_volume("persistent_volume_claim")]},
        Admin((({"id": "default"}, _job(volumes=[{"name": "data", "emptyDir": {}}], containers=[_container("b")])),)),
    ),
    "excluded_nodes_stay_excluded": (
        _strategy("affinity", lambda _, __, weaker, ___, ____: weaker),
        {**IMAGE, "affinity": _zone("b")},
        Admin((({"id": "default", "affinity": _zone("a")},),)),
    ),
    "ceilings_hold": (
        lambda patch: patch.setitem(ceilings._AMOUNTS, "mem", lambda _: iter(())),
        {**IMAGE, "resources": {"mem": {"limits": "2Gi"}}},
        Admin((), {"ceilings": {"mem": "1Gi"}}),
    ),
    "blocked_volumes_stay_out": (
        _without_rule("_existing_is_allowed"),
        {**IMAGE, "volumes": [_volume("shared_volume", claim_name="theirs")]},
        Admin(),
    ),
    "foreign_secrets_stay_out": (
        _without_rule("_existing_is_allowed"),
        {**IMAGE, "volumes": [_volume("secret", name="theirs")]},
        Admin((), {"volumes": {"allow_existing": True}}),
    ),
    "nobody_runs_as_root": (
        _without_rule("_confinement_stays"),
        {**IMAGE, "annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
        Admin(),
    ),
    "objects_are_its_own": (lambda patch: patch.setattr(clashes, "_clashes", lambda *_: ()), IMAGE, Admin()),
    "rules_hold": (
        lambda patch: patch.setattr(approve, "broken_rules", lambda *_: ()),
        {**IMAGE, "resources": {"mem": "2Gi"}},
        Admin((({"id": "p", "rules": {"resources.mem": {"max": "1000Mi"}}},), ({"id": "default", "extends": "p"},))),
    ),
    "forbidden_fields_stay_out": (
        lambda patch: patch.setattr(approve, "broken_bans", lambda *_: ()),
        {**IMAGE, "resources": {"gpu": 1}},
        Admin((({"id": "default", "forbid": ["resources.gpu"]},),)),
    ),
    "twice_is_once": (
        _strategy("union", lambda _, __, weaker, stronger, ___: stronger.with_value(weaker.items + stronger.items)),
        IMAGE,
        Admin((({"id": "default", "tolerations": [{"operator": "Exists"}]},),)),
    ),
    "parents_can_be_written_out": (
        _childless,
        IMAGE,
        Admin((({"id": "p", "priority_class": "admins"},), ({"id": "default", "extends": "p"},))),
    ),
    "order_of_files_changes_nothing": (
        lambda patch: patch.setattr(profiles, "_ordered", lambda written: (list(written), [])),
        IMAGE,
        Admin((({"id": "p", "priority_class": "admins"},), ({"id": "default", "extends": "p"},))),
    ),
    "nothing_is_kept_between_runs": (_keeping_manifests, IMAGE, Admin((({"id": "default"},),))),
}


@pytest.mark.parametrize("law", PROPERTIES, ids=lambda law: law.name)
def test_a_law_fails_where_the_compiler_is_broken(law: Property, monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage, run, admin = BREACHES[law.name]
    law.holds(run, Admin(admin.files, admin.platform))
    sabotage(monkeypatch)
    with pytest.raises(AssertionError) as caught:
        law.holds(run, Admin(admin.files, admin.platform))
    assert str(caught.value)


def test_alternatives_that_are_joined_widen_what_the_profile_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The mistake that is easiest to make: lists of required terms added up."""
    law = next(law for law in PROPERTIES if law.name == "excluded_nodes_stay_excluded")
    _, run, admin = BREACHES[law.name]
    monkeypatch.setattr(affinity, "product", lambda ours, theirs: [(one, one) for one in (*ours, *theirs)])
    with pytest.raises(AssertionError, match=r"which affinity .* excludes"):
        law.holds(run, Admin(admin.files, admin.platform))


def test_the_witness_knows_a_weak_pod() -> None:
    """A pod that says nothing falls short in everything; what a container says is stronger than what its pod says."""
    bare = {"spec": {"containers": [{"name": "main"}]}}
    assert len(witness.weaknesses(bare)) == 4
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    pod = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    hardened = {"spec": {"securityContext": pod, "containers": [{"name": "main", "securityContext": safe}]}}
    assert witness.weaknesses(hardened) == set()
    loosened = {**safe, "runAsNonRoot": False}
    spec = {"securityContext": pod, "containers": [{"name": "main", "securityContext": loosened}]}
    assert witness.weaknesses({"spec": spec}) == {("main", "may run as root")}
    assert list(witness.root_ids([{"securityContext": {"runAsUser": 0}}]))


@pytest.mark.parametrize(
    ("field", "default", "empty"),
    [("tolerations", [{"operator": "Exists"}], []), ("args", ["--safe"], []), ("affinity", _zone("a"), {})],
)
def test_an_empty_value_does_not_get_round_a_ban(field: str, default: Any, empty: Any) -> None:
    """What the law of forbidden fields found: an empty list was let through, and cleared the admin's default."""
    admin = Admin((({"id": "default", "defaults": {field: default}, "forbid": [field]},),))
    assert admin.manifests({**IMAGE, field: empty}) is None
    assert admin.manifests({**IMAGE, field: None}) == admin.manifests(IMAGE)
