"""The properties that admins rely on, for arbitrary runs, profiles with parents, base documents and platforms."""

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
from speccompile.testing import manifest_facts
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import NAME_PATTERNS, VOLUME_PATTERNS, attempted
from speccompile.testing.hostile_runs import attempts
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.fixed_values import fixed_values_apply
from speccompile.testing.properties.object_names import runs_share_no_object
from speccompile.testing.properties.table import PROPERTIES, Property
from speccompile.testing.strategies.text import dns_labels, run_names

IMAGE = {"name": "a", "action": "job", "image": "python"}


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.name)
def test_property(prop: Property) -> None:
    # It concerns every field, so it needs more examples.
    @settings(max_examples=settings().max_examples * (2 if prop.check is fixed_values_apply else 1))
    @given(attempted(prop.fields, prop.requires))
    def check(attempt: tuple[Data, AdminConfig]) -> None:
        prop.check(*attempt)

    check()


RARE: dict[str, tuple[Data, AdminConfig]] = {
    "two kinds of devices that together exceed the limit": (
        {**IMAGE, "resources": {"gpu": 2, "requests": {"example.com/device": 2}}},
        AdminConfig((), {"ceilings": {"gpu": 3}}),
    ),
    "memory, huge pages and directories in memory that together exceed the limit": (
        {
            **IMAGE,
            "resources": {"mem": "1Gi", "limits": {"hugepages-2Mi": "1Gi"}},
            "volumes": [
                {
                    "volume_type": "empty_dir",
                    "name": name,
                    "mount_path": f"/{name}",
                    "spec": {"size_limit": "1Gi", "medium": "Memory"},
                }
                for name in ("shm", "tmp")
            ],
        },
        AdminConfig((), {"ceilings": {"mem": "3Gi"}, "memory_limit_factor": 2}),
    ),
    "a derived limit beside huge pages": (
        {**IMAGE, "resources": {"mem": "1Gi", "limits": {"hugepages-2Mi": "1Gi"}}},
        AdminConfig((), {"ceilings": {"mem": "3Gi"}, "memory_limit_factor": 4}),
    ),
    "directories of the default size that together exceed the limit": (
        {
            **IMAGE,
            "volumes": [{"volume_type": "empty_dir", "name": name, "mount_path": f"/{name}"} for name in "ab"],
        },
        AdminConfig((), {"ceilings": {"disk": "1Gi"}, "volumes": {"empty_dir_size": "1Gi"}}),
    ),
    "a claim that becomes ephemeral, on a platform that does not allow that type": (
        {**IMAGE, "volumes": [{"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data"}]},
        AdminConfig((), {"pvc": {"as": "ephemeral"}, "volumes": {"allowed_types": ["persistent_volume_claim"]}}),
    ),
    "a deadline after that of the platform": (
        {**IMAGE, "deadline_seconds": 99999999},
        AdminConfig((), {"jobs": {"deadline_seconds": 86400}}),
    ),
    "a device beside those that the profile fixes": (
        {**IMAGE, "resources": {"limits": {"nvidia.com/mig-1g.5gb": 1}}},
        AdminConfig((({"id": "default", "resources": {"gpu": 1}},),)),
    ),
    "a device beside those that the platform enforces": (
        {**IMAGE, "resources": {"requests": {"nvidia.com/mig-1g.5gb": 1}}},
        AdminConfig((), {"enforce": {"resources": {"gpu": 0}}}),
    ),
    "parents that contradict each other": (
        {**IMAGE, "priority_class": "mine"},
        AdminConfig(
            (
                ({"id": "one", "priority_class": "first", "node_selector": {"zone": "a"}},),
                ({"id": "two", "priority_class": "second", "node_selector": {"zone": "b"}},),
                ({"id": "default", "extends": ["one", "two"]},),
            )
        ),
    ),
    "`gpu_key` of a parent": (
        {**IMAGE, "resources": {"gpu": 1}},
        AdminConfig((({"id": "p", "gpu_key": "amd.com/gpu"},), ({"id": "default", "extends": "p"},))),
    ),
    "a pattern that matches the beginning only": (
        {**IMAGE, "envs": {"HOME": "/home; rm"}},
        AdminConfig((({"id": "default", "rules": {"envs.HOME": {"pattern": "[a-z/]*"}}},),)),
    ),
    "forbidden limits that the platform derives from a request": (
        {**IMAGE, "resources": {"mem": "1Gi"}},
        AdminConfig((({"id": "default", "forbid": ["resources.limits"]},),), {"memory_limit_factor": 1.5}),
    ),
    "a quantity that is less as text": (
        {**IMAGE, "resources": {"mem": "10Gi"}},
        AdminConfig((({"id": "default", "rules": {"resources.mem": {"max": "9Gi"}}},),)),
    ),
}


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.name)
@pytest.mark.parametrize("case", RARE)
def test_property_in_a_rare_case(prop: Property, case: str) -> None:
    prop.check(*RARE[case])


def test_most_attempts_compile_and_most_contradict_the_admin() -> None:
    """Rejected or harmless runs would prove nothing."""
    seen: Counter[str] = Counter()

    @given(attempted(("envs", "volumes", "resources", "node_selector", "affinity")))
    def count(attempt: tuple[Data, AdminConfig]) -> None:
        run, admin = attempt
        (result,) = admin.compile_all([run])
        rejected = isinstance(result, CompileError)
        seen.update(all=1, compiled=not rejected, parents=any("extends" in one for one in admin.profiles.values()))
        seen["bases"] += any(admin.bases_of(one) for one in admin.profiles)
        seen["rich"] += not rejected and len(run) > len(("name", "action", "profile", "image", "service_ports"))
        seen["contradicting"] += not rejected and any(one.code == "merge/overridden" for one in result.diagnostics)

    count()
    assert seen["compiled"] >= 0.6 * seen["all"], seen
    assert seen["rich"] >= 0.4 * seen["all"], seen
    for kind in ("parents", "bases", "contradicting"):
        assert seen[kind] >= 0.1 * seen["all"], (kind, seen)


# Several runs


@st.composite
def _two_attempts(draw: st.DrawFn) -> tuple[Data, Data, AdminConfig]:
    run, admin = draw(attempted(("volumes", "envs", "service_name")))
    return run, draw(attempts(admin, run["profile"], fields=("volumes", "service_name"))), admin


@given(_two_attempts())
def test_the_order_of_runs_has_no_effect(drawn: tuple[Data, Data, AdminConfig]) -> None:
    """Each run produces the same manifests in any order; two conflicting runs conflict in any order."""
    one, other, admin = drawn
    first, second = admin.compile_all([one, other])
    third, fourth = admin.compile_all([other, one])
    clashing = [_clashes(result) for result in (first, second, third, fourth)]
    assert any(clashing[:2]) == any(clashing[2:])
    if not any(clashing):
        assert _outcome(first) == _outcome(fourth)
        assert _outcome(second) == _outcome(third)


def _clashes(result: Result) -> bool:
    return any(finding.code.startswith("run/duplicate") for finding in result.diagnostics)


def _outcome(result: Result) -> tuple[list[Data], list[tuple[str, str]]]:
    manifests = [] if isinstance(result, CompileError) else [manifest.data for manifest in result.manifests]
    # Which of two projects in one namespace is reported depends on the order.
    findings = [finding for finding in result.diagnostics if finding.code != "run/shared-namespace"]
    return manifests, [(finding.code, finding.message) for finding in findings]


@given(_two_attempts())
def test_two_runs_share_no_object(drawn: tuple[Data, Data, AdminConfig]) -> None:
    runs_share_no_object(*drawn)


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
def test_two_entities_share_no_object(one: Data, other: Data, job: str, volume: str) -> None:
    """For any projects, names and ids, and any name patterns of the platform."""
    runs_share_no_object(one, other, AdminConfig((), {"names": {"job": job, "volume": volume}}))


# Every property can fail


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
    tables: dict[str, tuple[Any, ...]] = {
        "SPEC_CHECKS": policy.SPEC_CHECKS,
        "VOLUME_CHECKS": volume_rules.VOLUME_CHECKS,
    }
    (table,) = (table for table, rules in tables.items() if name in [rule.__name__ for rule in rules])
    others = tuple(rule for rule in tables[table] if rule.__name__ != name)
    return lambda patch: patch.setattr(approve, table, others)


def _strategy(name: str, strategy: Any) -> Callable[[pytest.MonkeyPatch], None]:
    return lambda patch: patch.setitem(merge.STRATEGIES, name, merge.STRATEGIES[name]._replace(merge=strategy))


def _cached_manifests(patch: pytest.MonkeyPatch) -> None:
    cache: dict[int, tuple[Manifest, ...]] = {}

    def filled(drawn: Sequence[render.Sketch]) -> tuple[Manifest, ...]:
        return cache.setdefault(id(drawn[0].context["platform"]), render.fill_manifests(drawn))

    patch.setattr(pipeline, "fill_manifests", filled)


def _childless(patch: pytest.MonkeyPatch) -> None:
    def choose(*arguments: Any) -> Any:
        profile, findings = profiles.choose(*arguments)
        return profile and (
            profile._replace(fields=profile.fields.with_fields({})) if profile.parents else profile
        ), findings

    patch.setattr("speccompile.compiler.documents.run.choose", choose)


VIOLATIONS: dict[str, tuple[Callable[[pytest.MonkeyPatch], None], Data, AdminConfig]] = {
    "fixed_values_apply": (
        _strategy("replace", lambda _, __, weaker, ___, ____: weaker),
        {**IMAGE, "priority_class": "mine"},
        AdminConfig((({"id": "default", "priority_class": "admins"},),)),
    ),
    "sidecars_cannot_be_changed": (
        _without_rule("_volumes_stay_clear_of_the_base"),
        {**IMAGE, "volumes": [_volume("persistent_volume_claim")]},
        AdminConfig(
            (({"id": "default"}, _job(volumes=[{"name": "data", "emptyDir": {}}], containers=[_container("b")])),)
        ),
    ),
    "excluded_nodes_cannot_be_used": (
        _strategy("affinity", lambda _, __, weaker, ___, ____: weaker),
        {**IMAGE, "affinity": _zone("b")},
        AdminConfig((({"id": "default", "affinity": _zone("a")},),)),
    ),
    "limits_apply": (
        lambda patch: patch.setitem(ceilings._COUNTED, "mem", lambda _: False),
        {**IMAGE, "resources": {"mem": {"limits": "2Gi"}}},
        AdminConfig((), {"ceilings": {"mem": "1Gi"}}),
    ),
    "blocked_volumes_cannot_be_mounted": (
        _without_rule("_existing_is_allowed"),
        {**IMAGE, "volumes": [_volume("shared_volume", claim_name="theirs")]},
        AdminConfig(),
    ),
    "other_secrets_cannot_be_used": (
        _without_rule("_existing_is_allowed"),
        {**IMAGE, "volumes": [_volume("secret", name="theirs")]},
        AdminConfig((), {"volumes": {"allow_existing": True}}),
    ),
    "runs_cannot_gain_privileges": (
        _without_rule("_confinement_stays"),
        {**IMAGE, "annotations": {"container.apparmor.security.beta.kubernetes.io/main": "unconfined"}},
        AdminConfig(),
    ),
    "objects_belong_to_one_run": (
        lambda patch: patch.setattr(clashes, "_clashes", lambda *_: ()),
        IMAGE,
        AdminConfig(),
    ),
    "rules_apply": (
        lambda patch: patch.setattr(approve, "broken_rules", lambda *_, **__: ()),
        {**IMAGE, "resources": {"mem": "2Gi"}},
        AdminConfig(
            (({"id": "p", "rules": {"resources.mem": {"max": "1000Mi"}}},), ({"id": "default", "extends": "p"},))
        ),
    ),
    "forbidden_fields_cannot_be_set": (
        lambda patch: patch.setattr(approve, "broken_bans", lambda *_: ()),
        {**IMAGE, "resources": {"gpu": 1}},
        AdminConfig((({"id": "default", "forbid": ["resources.gpu"]},),)),
    ),
    "applying_twice_changes_nothing": (
        _strategy("union", lambda _, __, weaker, stronger, ___: stronger.with_value(weaker.items + stronger.items)),
        IMAGE,
        AdminConfig((({"id": "default", "tolerations": [{"operator": "Exists"}]},),)),
    ),
    "parents_can_be_merged": (
        _childless,
        IMAGE,
        AdminConfig((({"id": "p", "priority_class": "admins"},), ({"id": "default", "extends": "p"},))),
    ),
    "file_order_has_no_effect": (
        lambda patch: patch.setattr(profiles, "_parents_first", lambda files: (list(files), [])),
        IMAGE,
        AdminConfig((({"id": "p", "priority_class": "admins"},), ({"id": "default", "extends": "p"},))),
    ),
    "runs_are_independent": (_cached_manifests, IMAGE, AdminConfig((({"id": "default"},),))),
}


@pytest.mark.parametrize("prop", PROPERTIES, ids=lambda prop: prop.name)
def test_a_property_fails_if_the_compiler_is_broken(prop: Property, monkeypatch: pytest.MonkeyPatch) -> None:
    sabotage, run, admin = VIOLATIONS[prop.name]
    prop.check(run, AdminConfig(admin.files, admin.platform))
    sabotage(monkeypatch)
    with pytest.raises(AssertionError) as caught:
        prop.check(run, AdminConfig(admin.files, admin.platform))
    assert str(caught.value)


def test_alternatives_that_are_joined_widen_what_the_profile_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The easiest mistake: concatenating lists of required terms."""
    prop = next(prop for prop in PROPERTIES if prop.name == "excluded_nodes_cannot_be_used")
    _, run, admin = VIOLATIONS[prop.name]
    monkeypatch.setattr(affinity, "product", lambda ours, theirs: [(one, one) for one in (*ours, *theirs)])
    with pytest.raises(AssertionError, match=r"which affinity .* excludes"):
        prop.check(run, AdminConfig(admin.files, admin.platform))


def test_weaknesses_of_a_pod() -> None:
    """A pod without a security context has all weaknesses; the container's context overrides that of the pod."""
    bare = {"spec": {"containers": [{"name": "main"}]}}
    assert len(manifest_facts.weaknesses(bare)) == 4
    safe = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    pod = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
    hardened = {"spec": {"securityContext": pod, "containers": [{"name": "main", "securityContext": safe}]}}
    assert manifest_facts.weaknesses(hardened) == set()
    loosened = {**safe, "runAsNonRoot": False}
    spec = {"securityContext": pod, "containers": [{"name": "main", "securityContext": loosened}]}
    assert manifest_facts.weaknesses({"spec": spec}) == {("main", "may run as root")}
    assert list(manifest_facts.root_ids([{"securityContext": {"runAsUser": 0}}]))


@pytest.mark.parametrize(
    ("field", "default", "empty"),
    [("tolerations", [{"operator": "Exists"}], []), ("args", ["--safe"], []), ("affinity", _zone("a"), {})],
)
def test_an_empty_value_does_not_bypass_a_ban(field: str, default: Any, empty: Any) -> None:
    """A bug that the property found: an empty list was accepted and cleared the admin's default."""
    admin = AdminConfig((({"id": "default", "defaults": {field: default}, "forbid": [field]},),))
    assert admin.manifests({**IMAGE, field: empty}) is None
    assert admin.manifests({**IMAGE, field: None}) == admin.manifests(IMAGE)
