"""The narrowed schema accepts exactly the runs that compile under its profile without an override."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from helpers.editor_schemas import CHECKER, UNSEEN, pointed, schemas_in, written
from hypothesis import event, given, settings
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.container_resources import DISK
from speccompile.editor_schema.format_patterns import images_below
from speccompile.editor_schema.narrow import narrowed_schema, narrowed_text
from speccompile.files.load_admin_config import read_setting
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.findings import CompileError
from speccompile.model.object_names import placeholders
from speccompile.model.source import Layer
from speccompile.schema.formats.image import image_fault, is_below
from speccompile.testing.admin import AdminConfig
from speccompile.testing.admin_strategies import attempted
from speccompile.testing.hostile_runs import repaired
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.node_placement import PREFERRED_AFFINITY, REQUIRED_AFFINITY

LEFT_TO_THE_COMPILER: Mapping[str, str] = {
    "merge/affinity-too-large": "the terms of run and profile multiply",
    "policy/annotations-too-large": "annotations, inputs and parameters count together",
    "policy/base-volume": "which base documents count depends on action and schedule",
    "policy/env-clash": "a variable and a secret have one name",
    "policy/limit-too-large": "the platform derives a limit from the request",
    "policy/reserved-name": "names of objects are built from patterns",
    "policy/request-above-limit": "request and limit are compared",
    "policy/shared-claim": "pods and access modes are compared",
    "policy/volume-clash": "two volumes have one path or name",
    "run/duplicate-object": "two objects of the run have one name",
    "schema/duplicate-item": "two items of a list have one key",
    "schema/duplicate-spelling": "a field is written in two spellings or in two places",
    "schema/unequal-sides": "request and limit are compared",
}
"""Codes of what takes several values to see, and why; the schema may accept what has errors of these codes only."""

# The input of the property test: fields, and parts of the admin's documents.
TOPICS = [
    ((), ("rules", "forbid")),
    (("resources", "volumes"), ("ceilings", "rules")),
    (("resources",), ("enforce", "forbid")),
    (("envs", "secrets", "labels", "node_selector"), ("rules", "own_envs")),
    (("labels", "annotations"), ("forbid",)),
    (("replicas", "run_as_user", "service_ports", "image", "command"), ("rules",)),
]
RULES: tuple[tuple[str, Data], ...] = (
    ("replicas", {"options": [0, "1", 2]}),
    ("fsGroup", {"options": [1000, 8877], "max": 9000}),
    ("run_as_user", {"min": 2, "max": 2000}),
    ("command", {"options": ["python", "sh"]}),
    ("args", {"pattern": "[a-z -]*"}),
    ("service_type", {"options": ["ClusterIP", "NodePort"]}),
    ("volumes.data.spec.size", {"max": "3Gi"}),
    ("volumes.data.mount_path", {"pattern": "/run/.*"}),
    ("volumes.cache", {"required": True}),
    ('service_ports["80"].target_port', {"options": [8080]}),
    ("service_ports", {"required": True}),
    ("affinity.nodeAffinity", {"required": True}),
    ("parameters.epochs", {"required": True}),
    ("resources.limits.memory", {"required": True}),
    ("resources.cpu", {"options": [1, "500m", 2]}),
    ("resources.disk", {"min": "1Mi", "max": "2Gi"}),
    ('labels["example.com/team"]', {"pattern": "[a-z]+"}),
    ('labels["example.com/*"]', {"pattern": "[a-z]*", "required": True}),
    ('annotations["*"]', {"pattern": "[a-z]*"}),
    ("suspend", {"options": [True]}),
)
BANS = (
    "volumes.data",
    "service_ports",
    "inputs",
    "parameters.epochs",
    "resources.mem",
    "resources.cpu.limits",
    "envs",
    'labels["example.com/*"]',
    'annotations["openshift.io/*"]',
)
SETTINGS: tuple[Data, ...] = (
    {},
    {"allowed_registries": ["ghcr.io", "docker.io/library"]},
    {"allowed_registries": ["registry.example.com/team", "localhost:5000"]},
    {"project_profiles": {"team": ["gpu", "big"], "*": ["1e3"]}},
    {"project_profiles": {"default": ["gpu"], "x": []}},
    {"namespace": "ai-jobs"},
    {"jobs": {"deadline_seconds": 3600}},
    {"allowed_keys": ["openshift.io/*", "aadpodidbinding"]},
    {"project": "team"},
    {"project": "team", "project_profiles": {"team": ["gpu", "big"], "*": ["1e3"]}},
)


@st.composite
def strict_admins(draw: st.DrawFn, about: tuple[str, ...], wants: tuple[str, ...]) -> tuple[Data, AdminConfig]:
    """A run and what an admin wrote, with demands that attempts know nothing of."""
    run, admin = draw(attempted(about, wants))
    rules = dict(draw(st.lists(st.sampled_from(RULES), max_size=2)))
    bans = draw(st.lists(st.sampled_from(BANS), max_size=1))
    platform = {**(admin.platform or {}), **draw(st.sampled_from(SETTINGS))}
    platform["rules"] = {**(platform.get("rules") or {}), **rules}
    platform["forbid"] = [*dict.fromkeys((*(platform.get("forbid") or ()), *bans))]
    stricter = replace(admin, platform=platform)
    run = draw(st.sampled_from((run, repaired(run, stricter))))
    spared = draw(st.sampled_from((None, *sorted(_blamed(run, stricter)))))
    return (_spared(run, spared, stricter) if draw(st.booleans()) else run), stricter


def _blamed(run: Data, admin: AdminConfig) -> set[str]:
    return {str(one.path[0]) for one in complaints(run, admin) if one.path} & run.keys() - {"name", "action", "profile"}


def _spared(run: Data, spared: str | None, admin: AdminConfig) -> Data:
    """The run with at most one of the fields that there is something against: what is alone cannot hide."""
    for _ in range(5):
        run = {name: value for name, value in run.items() if name not in _blamed(run, admin) - {spared}}
    return run


def complaints(run: Data, admin: AdminConfig) -> list[Diagnostic]:
    """The errors of a run, and the findings for its overridden values."""
    try:
        found = admin.compile(run).diagnostics
    except CompileError as error:
        found = error.diagnostics
    return [one for one in found if one.severity is Severity.ERROR or one.code == "merge/overridden"]


def is_left(found: Diagnostic, run: Data, admin: AdminConfig) -> bool:
    """Whether it is not for the schema to see."""
    if found.code in LEFT_TO_THE_COMPILER:
        return True
    if any(" × " in note.message for note in found.notes):
        return True  # a limit that the platform derives from the request
    if found.code in _COMPARED and any(map(UNCOMPARED.fullmatch, _texts(run))):
        return True
    if found.code == "rule/pattern" and any(map(_is_number, _scalars(run.get("spec", run).get(found.path[0])))):
        return True
    if found.code == "merge/overridden" and found.path[0] in ("inputs", "parameters") and _is_whole(run):
        return True  # to JSON Schema, 1.0 is 1
    if found.code.startswith("rule/") and (found.path[0], *found.path[2:3]) == ("volumes", "spec"):
        # The platform may fill in what the run leaves unset.
        return found.code == "rule/required" or found.span is None or found.span.source.layer is not Layer.RUN
    if found.code == "merge/overridden" and found.path[0] == "envs":
        return any(placeholders(str((admin.platform_setting("own_envs") or {}).get(found.path[1], ""))))
    if found.code == "policy/ceiling" and " in total " in found.message:
        return True  # several amounts count together
    if found.code == "policy/registry" and found.span and found.span.source.layer is not Layer.RUN:
        return True  # the admin's documents fail for every run that sets no image
    # The name of the project's store depends on the project.
    return found.code == "policy/foreign-secret" and bool(admin.platform_setting("volumes", "allow_existing"))


UNCOMPARED = re.compile(r"[+-]?[0-9.]+(?:[eE][+-]?[0-9]+|[nu])")
"""Quantities that no bound is applied to."""
_COMPARED = frozenset({"merge/overridden", "policy/ceiling", "rule/max", "rule/min", "rule/options"})


def _scalars(value: Any) -> Iterator[Any]:
    if not isinstance(value, (dict, list)):
        yield value
    for child in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _scalars(child)


def _texts(value: Any) -> Iterator[str]:
    return (one for one in _scalars(value) if isinstance(one, str))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _is_whole(value: Any) -> bool:
    return any(isinstance(one, float) and one.is_integer() for one in _scalars(value))


def narrowed(admin: AdminConfig, profile: str) -> Data:
    return narrowed_schema(admin.setting.profiles.get(profile), admin.setting)


@pytest.mark.parametrize(("about", "wants"), TOPICS, ids=lambda names: "-".join(names) or "any")
@given(data=st.data())
def test_the_narrowed_schema_accepts_what_compiles_without_an_override_and_nothing_else(
    about: tuple[str, ...], wants: tuple[str, ...], data: st.DataObject
) -> None:
    run, admin = data.draw(strict_admins(about, wants))
    form = data.draw(st.sampled_from(("flat", "flat", "kubernetes", "entity")))
    schema = narrowed(admin, run.get("profile") or "default")
    run = written(run, form)
    found = complaints(run, admin)
    faults = list(Draft7Validator(schema, format_checker=CHECKER).iter_errors(run))
    event(f"{form}: {'refused' if found else 'good'}")
    if not found:
        assert [fault.message for fault in faults] == []
    elif not all(is_left(one, run, admin) for one in found):
        assert faults != [], [(one.code, one.message) for one in found]


@settings(max_examples=10)
@given(strict_admins((), ("rules", "forbid", "ceilings", "enforce")))
def test_a_narrowed_schema_is_a_schema(case: tuple[Data, AdminConfig]) -> None:
    _, admin = case
    for profile in admin.setting.profiles:
        Draft7Validator.check_schema(narrowed(admin, profile))


@pytest.mark.parametrize(
    ("profile", "platform"),
    [
        ({"defaults": {"resources": {"limits": {"hugepages-2Mi": "2Mi"}}}}, {"ceilings": {"mem": "1Mi"}}),
        ({"defaults": {"resources": {"gpu": 8}}, "resources": {"cpu": 1}}, {"ceilings": {"gpu": 4}}),
        ({"rules": {"volumes.d.spec.sub_path": {"required": True}}}, {}),
        ({"rules": {'service_ports["x"].target_port': {"options": [80], "required": True}}}, {}),
        ({"rules": {"resources.limits": {"required": True}}, "forbid": ["resources"]}, {}),
    ],
    ids=repr,
)
def test_what_hardly_any_run_can_satisfy_makes_a_schema_too(profile: Data, platform: Data) -> None:
    schema = narrowed(AdminConfig((({"id": "p", **profile},),), platform), "p")
    Draft7Validator.check_schema(schema)
    assert not Draft7Validator(schema).is_valid({"name": "a", "action": "serve", "profile": "p", "image": "python"})


@pytest.mark.parametrize(
    ("profile", "ceilings", "resources"),
    [
        (
            {"defaults": {"resources": {"cpu": 1, "limits": {"hugepages-2Mi": "4Mi"}}}},
            {"mem": "3Mi"},
            {"requests": {"hugepages-2Mi": "2Mi"}},
        ),
        ({"defaults": {"resources": {"gpu": 8}}, "resources": {"cpu": 1}}, {"gpu": 4}, {"gpu": 4}),
        ({"defaults": {"resources": {"mem": "2Gi"}}}, {"mem": "1Gi"}, {"mem": "1Gi"}),
    ],
    ids=repr,
)
def test_a_run_may_mend_a_default_that_is_above_a_ceiling(profile: Data, ceilings: Data, resources: Data) -> None:
    admin = AdminConfig((({"id": "p", **profile},),), {"ceilings": ceilings})
    run = {"name": "a", "action": "job", "profile": "p", "image": "python"}
    fixed = {**run, "resources": resources}
    validator = Draft7Validator(narrowed(admin, "p"))
    assert [bool(complaints(one, admin)) for one in (run, fixed)] == [True, False]
    assert [validator.is_valid(one) for one in (run, fixed)] == [False, True]


# Messages, by example

PROFILES: tuple[tuple[Data, ...], ...] = (
    (
        {
            "id": "gpu",
            "resources": {"gpu": 1, "requests": {"cpu": "500m"}},
            "node_selector": {"gpu": "a100"},
            "envs": {"HF_HOME": "/models"},
            "command": ["python"],
            "run_as_user": 1000,
            "volumes": [{"volume_type": "empty_dir", "name": "cache", "mount_path": "/cache", "sub_path": "a"}],
            "service_ports": [{"port": 80}],
            "tolerations": [{"operator": "Exists"}],
            "rules": {
                "resources.mem": {"max": "64Gi", "reason": "the nodes have 96Gi"},
                "labels.team": {"options": ["vision", "speech"], "required": True},
                "args": {"pattern": "--.*"},
            },
            "forbid": ["affinity", "resources.disk", "envs.TOKEN"],
        },
    ),
    ({"id": "default", "image": "python:3.12"},),
)
PLATFORM: Data = {
    "allowed_registries": ["ghcr.io/acme", "docker.io/library"],
    "ceilings": {"gpu": 4, "pvc": "1Gi", "cpu": 8},
    "volumes": {"allowed_types": ["empty_dir", "persistent_volume_claim"]},
    "project_profiles": {"default": ["gpu"], "team": []},
    "gpu_keys": {"a100": "nvidia.com/gpu"},
    "rules": {"resources.gpu": {"max": 2}, 'resources.limits["amd.com/gpu"]': {"max": 1}},
}
ADMIN = AdminConfig(PROFILES, PLATFORM)
GOOD: Data = {
    "name": "a",
    "action": "job",
    "profile": "gpu",
    "image": "ghcr.io/acme/a",
    "labels": {"team": "vision"},
}
CLAIM = {"volume_type": "persistent_volume_claim", "name": "d", "mount_path": "/d"}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"resources": {"gpu": "1000m", "cpu": 0.5, "mem": "65536Mi"}},
        {"resources": {"gpu": {"a100": 1}, "mem": {"requests": 1, "limits": "1Ti"}}},
        {"resources": {"limits": {"nvidia.com/gpu": 1}}},
        {"nodeSelector": [{"key": "gpu", "value": "a100"}, {"key": "zone", "value": "a"}]},
        {"envs": [{"name": "HF_HOME", "value": "/models"}], "command": "python", "runAsUser": "1000"},
        {"tolerations": [{"key": "a", "operator": "Exists"}], "affinity": None, "secrets": ["HF_TOKEN"]},
        {"volumes": [{"volumeType": "empty_dir", "name": "cache", "mountPath": "/cache", "spec": {"subPath": "a"}}]},
        {"volumes": [{**CLAIM, "spec": {"size": "1024Mi"}}]},
        {"action": "serve", "service_ports": [{"port": 80, "target_port": 80}, {"port": 81}]},
        {"image": "python", "args": ["--epochs"], "labels": [{"name": "team", "value": "speech"}]},
        {"project": "default", "labels": {"team": "vision", "tier": "a"}},
    ],
    ids=repr,
)
def test_what_a_profile_leaves_open_is_accepted(more: Data) -> None:
    run = {**GOOD, **more}
    assert complaints(run, ADMIN) == []
    assert _faults(run) == []


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"resources": {"gpu": 2}}, "profile `gpu` fixes this value: leave it out"),
        ({"resources": {"gpu": {"a100": 2}}}, "profile `gpu` fixes this value: leave it out"),
        ({"resources": {"requests": {"cpu": 1}}}, "profile `gpu` fixes this value: leave it out"),
        ({"resources": {"limits": {"cpu": "9"}}}, "the platform has a limit of `8`"),
        ({"resources": {"mem": "64.1Gi"}}, "requires at most `64Gi` (the nodes have 96Gi)"),
        ({"resources": {"mem": {"limits": "65Gi"}}}, "requires at most `64Gi`"),
        ({"resources": {"gpu": {"h100": 1}}}, None),
        ({"resources": {"requests": {"amd.com/gpu": 5}}}, "the platform has a limit of `4`"),
        ({"resources": {"requests": {"amd.com/gpu": 2}}}, "the platform requires at most `1`"),
        ({"resources": {"requests": {"example.com/device": 3}}}, "the platform requires at most `2`"),
        ({"resources": {"disk": 1}}, "profile `gpu` forbids this field"),
        ({"resources": {"limits": {"ephemeral-storage": 1}}}, "profile `gpu` forbids this field"),
        ({"node_selector": {"gpu": "h100"}}, "profile `gpu` fixes this value: leave it out"),
        ({"node_selector": [{"key": "gpu", "value": "h100"}]}, "profile `gpu` fixes this value: leave it out"),
        ({"envs": {"HF_HOME": "/elsewhere"}}, "profile `gpu` fixes this value: leave it out"),
        ({"command": ["python", "-m"]}, "profile `gpu` fixes this value: leave it out"),
        ({"runAsUser": 1001}, "profile `gpu` fixes this value: leave it out"),
        ({"envs": {"TOKEN": "x"}}, "profile `gpu` forbids this field"),
        ({"secrets": ["TOKEN"]}, "profile `gpu` forbids this field"),
        ({"affinity": {}}, "profile `gpu` forbids this field"),
        ({"labels": {"team": "other"}}, "requires `vision` or `speech`"),
        ({"labels": {}}, None),
        ({"labels": {"team": "vision", "speccompile.dev/x": "y"}}, "this key is reserved for the compiler"),
        ({"args": ["epochs"]}, "requires a match for `--.*`"),
        ({"image": "quay.io/a/b"}, "allows images under `ghcr.io/acme` or `docker.io/library`"),
        ({"volumes": [{**CLAIM, "spec": {"size": "2Gi"}}]}, "the platform has a limit of `1Gi`"),
        ({"volumes": [CLAIM]}, None),
        ({"volumes": [{**CLAIM, "spec": {"claim_name": "x"}}]}, None),
        ({"volumes": [{**CLAIM, "volume_type": "ephemeral", "spec": {"size": 1}}]}, "the platform allows"),
        ({"volumes": [{"volume_type": "empty_dir", "name": "cache", "mount_path": "/b", "sub_path": "a"}]}, None),
        ({"action": "serve", "service_ports": [{"port": 80, "target_port": 81}]}, None),
        ({"project": "team"}, "the platform allows profile `gpu` only for some projects"),
        ({"profile": "default"}, None),
        ({"profile": None}, None),
    ],
    ids=repr,
)
def test_what_a_profile_does_not_leave_open_is_refused_with_the_reason(more: Data, message: str | None) -> None:
    run = {**GOOD, **more}
    assert complaints(run, ADMIN) or run["profile"] != "gpu"
    faults = _faults(run)
    assert faults
    assert message is None or any(message in fault for fault in faults), faults


def _faults(run: Data) -> list[str]:
    """The messages of an editor, with the reason if the schema has one."""
    errors = Draft7Validator(narrowed(ADMIN, "gpu"), format_checker=CHECKER).iter_errors(run)
    return [str(error.schema.get("errorMessage", error.message)) for error in errors]


def test_the_default_profile_need_not_be_named() -> None:
    validator = Draft7Validator(narrowed(AdminConfig(PROFILES), "default"), format_checker=CHECKER)
    run = {"name": "a", "action": "job"}
    assert [validator.is_valid({**run, **more}) for more in ({}, {"profile": ""}, {"profile": "default"})] == [True] * 3
    assert not validator.is_valid({**run, "profile": "gpu"})


def test_without_a_default_profile_the_platform_alone_narrows() -> None:
    admin = AdminConfig((({"id": "gpu"},),), {"ceilings": {"cpu": 8}, "enforce": {"run_as_user": 1000}})
    schema = narrowed(admin, "default")
    assert schema["title"] == "Run without a profile"
    run = {"name": "a", "action": "job", "image": "python"}
    good: list[Data] = [{}, {"profile": ""}, {"profile": None}, {"resources": {"cpu": 8}}, {"run_as_user": "1000"}]
    bad: list[Data] = [{"profile": "default"}, {"resources": {"cpu": 9}}, {"run_as_user": 1001}]
    for more in (*good, *bad):
        assert bool(complaints({**run, **more}, admin)) is (more in bad)
        assert Draft7Validator(schema).is_valid({**run, **more}) is (more in good)


def test_a_confining_annotation_of_the_profile_may_be_repeated() -> None:
    key = "container.apparmor.security.beta.kubernetes.io/main"
    admin = AdminConfig((({"id": "p", "annotations": {key: "localhost/a"}},),), {})
    validator = Draft7Validator(narrowed(admin, "p"))
    cases = (({key: "localhost/a"}, True), ({key: "localhost/b"}, False), ({f"{key}-2": "localhost/a"}, False))
    for keys, is_good in cases:
        run = {"name": "a", "action": "job", "profile": "p", "image": "python", "annotations": keys}
        assert (complaints(run, admin) == []) is is_good
        assert validator.is_valid(run) is is_good


def test_a_description_says_who_fixed_a_field_and_where(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gpu.yaml").write_text("id: gpu\nextends: base\n")
    (tmp_path / "base.yaml").write_text("id: base\nimage: a\n")
    (tmp_path / "platform.yaml").write_text("enforce:\n  schedule: '@daily'\n")
    monkeypatch.chdir(tmp_path)
    setting = read_setting([Path("gpu.yaml"), Path("base.yaml")], Path("platform.yaml"))
    fields = narrowed_schema(setting.profiles["gpu"], setting)["definitions"]
    assert fields["image"]["description"].endswith(" Profile `gpu` (base.yaml:2) fixes this value: leave it out.")
    assert fields["schedule"]["description"].endswith(" The platform (platform.yaml:2) fixes this value: leave it out.")


def test_the_same_bytes_come_out_again() -> None:
    profile = ADMIN.setting.profiles["gpu"]
    assert narrowed_text(profile, ADMIN.setting) == narrowed_text(profile, AdminConfig(PROFILES, PLATFORM).setting)


def test_a_long_pattern_stands_once() -> None:
    schema = narrowed(ADMIN, "gpu")
    long = [
        (inner["pattern"], inner["errorMessage"])
        for inner in schemas_in(schema)
        if isinstance(inner.get("pattern"), str) and len(inner["pattern"]) > 500
    ]
    assert sorted(set(long)) == sorted(long) != []


def test_every_reference_of_a_narrowed_schema_leads_somewhere_and_has_nothing_beside_it() -> None:
    schema = narrowed(ADMIN, "gpu")
    for inner in schemas_in(schema):
        if "$ref" in inner:
            assert inner.keys() == {"$ref"}
            assert isinstance(pointed(schema, inner["$ref"]), dict)


def test_the_page_lists_what_is_left_to_the_compiler(root: Path) -> None:
    page = (root / "docs" / "howto" / "editors.md").read_text(encoding="utf-8")
    assert [code for code in {**LEFT_TO_THE_COMPILER, **UNSEEN} if f"`{code}`" not in page] == []


# Every kind of rule on every kind of field

AFFINE = {REQUIRED_AFFINITY: {"nodeSelectorTerms": [{"matchExpressions": [{"key": "a", "operator": "Exists"}]}]}}


def _volume(spec: Data | None = None, **more: Any) -> Data:
    volume = {"volume_type": "empty_dir", "name": "d", "mount_path": "/d", **more}
    return {"volumes": [{**volume, "spec": spec} if spec is not None else volume]}


def _ways(field: str, *values: Any) -> list[Data]:
    return [{field: value} for value in values]


def _amount(**written: Any) -> Data:
    return {"resources": written}


_COUNTS: list[Data] = [{"min": 2}, {"max": 2}, {"options": [2, "3"]}, {"pattern": "[12]"}]
_TEXTS: list[Data] = [{"options": ["a", "c"]}, {"pattern": "[ac]"}]
_QUANTITIES: list[Data] = [
    {"pattern": "2.*"},
    {"min": 2},
    {"max": "2"},
    {"options": [2, "3"]},
    {"min": "1500m", "max": "2Gi"},
]
_IDS: list[Data] = [{"min": 2000}, {"max": 1000}, {"options": [1000, "1"]}, {"pattern": "1000"}]
_SIDES: list[Data] = [
    _amount(requests={name: 2}) for name in ("cpu", "memory", DISK, "nvidia.com/gpu", "amd.com/gpu", "e.org/d")
]
_SIDES += [{"resources": {"limits": one["resources"]["requests"]}} for one in _SIDES]
_SIDES += [_amount(requests={"hugepages-2Mi": "2Mi"}), _amount(limits={"hugepages-2Mi": "2Mi"})]
_SIDES += [_amount(), _amount(requests={}), _amount(limits={"cpu": None, "e.org/d": None})]


def _short(key: str, *kinds: str) -> list[Data]:
    """The ways to write an amount with a short name."""
    values = (1, 2, "2000m", "3", 4, None)
    pairs = [{side: value} for side in ("requests", "limits") for value in (1, "3")]
    amounts = [*values, *pairs, *({kind: value} for kind in kinds for value in (1, "3")), {"requests": 1, "limits": 3}]
    return [_amount(**{key: value}) for value in amounts]


WRITTEN: Mapping[str, tuple[list[Data], list[Data]]] = {
    "image": ([{"options": ["python"]}, {"pattern": "p.*"}], [{"image": "ghcr.io/a"}, {"image": None}]),
    "image_pull_policy": ([{"options": ["Always"]}], _ways("image_pull_policy", "Always", "Never")),
    "command": (_TEXTS, _ways("command", "a", "b", ["a", "c"], ["a", "b"], [], None)),
    "args": (_TEXTS, _ways("args", ["a", "c"], ["a", "b"], [], None)),
    "envs": ([], _ways("envs", {"A": "a"}, [{"name": "A", "value": "a"}], {}, [], {"A": None}, None)),
    "envs.A": (
        _TEXTS,
        [{"envs": {"A": "a"}}, {"envs": {"A": "b"}}, {"envs": [{"name": "A", "value": "b"}]}, {"secrets": ["A"]}],
    ),
    "secrets": (_TEXTS, _ways("secrets", ["a"], ["b"], [], None)),
    "volumes": ([], [_volume(), {"volumes": []}, {"volumes": None}]),
    "volumes.d": ([], [_volume(), _volume(name="e"), {"volumes": []}]),
    "volumes.d.volume_type": (
        [{"options": ["shared_volume", "empty_dir"]}, {"options": ["persistent_volume_claim"]}, {"pattern": "s.*"}],
        [
            _volume(),
            *(_volume({"claim_name": "c"}, volume_type=one) for one in ("shared_volume", "persistent_volume_claim")),
            _volume(name="e"),
        ],
    ),
    "volumes.d.mount_path": ([{"pattern": "/d"}], [_volume(), _volume(mount_path="/e"), _volume(name="e")]),
    "volumes.d.read_only": ([{"options": [True]}], [_volume(read_only=one) for one in (True, False, None)]),
    "volumes.d.sub_path": (
        _TEXTS,
        [_volume(), _volume(sub_path="a"), _volume(sub_path="b"), _volume(subPath="b")]
        + [_volume({key: one}) for key in ("sub_path", "subPath") for one in "ab"],
    ),
    "volumes.d.spec": (
        [],
        [_volume(), _volume({}), _volume({"medium": None}), _volume({"medium": "Memory"}), _volume({"sub_path": "a"})],
    ),
    "volumes.d.spec.sub_path": (_TEXTS, [_volume(), _volume({"sub_path": "a"}), _volume({"subPath": "b"})]),
    "volumes.d.spec.size_limit": (_QUANTITIES, [_volume({"size_limit": one}) for one in (1, 2, "3", "2000m", "4")]),
    "volumes.d.spec.size": (
        _QUANTITIES,
        [_volume({"size": one}, volume_type="persistent_volume_claim") for one in (1, 2, "3", "3Gi", None)]
        + [_volume()],
    ),
    "volumes.d.spec.claim_name": (_TEXTS, [_volume({"claimName": one}, volume_type="shared_volume") for one in "ab"]),
    "resources": ([], _SIDES),
    "resources.requests": ([], _SIDES),
    "resources.limits": ([], _SIDES),
    "resources.cpu": (_QUANTITIES, [*_short("cpu"), *_SIDES]),
    "resources.mem.limits": (_QUANTITIES, [*_short("mem"), *_SIDES]),
    "resources.gpu": (_QUANTITIES, [*_short("gpu", "a100", "slice"), *_SIDES]),
    "resources.gpu.limits": (_QUANTITIES, [*_short("gpu", "a100", "slice"), *_SIDES]),
    "resources.disk": (_QUANTITIES, [*_short("disk"), *_SIDES]),
    "resources.disk.limits": (_QUANTITIES, [*_short("disk"), *_SIDES]),
    'resources.requests["e.org/d"]': (_QUANTITIES, _SIDES),
    'resources.limits["hugepages-2Mi"]': (_QUANTITIES, _SIDES),
    "node_selector": ([], _ways("node_selector", {"a": "a"}, [{"key": "a", "value": "a"}], {}, [])),
    "node_selector.a": (
        _TEXTS,
        _ways("node_selector", {"a": "a"}, {"a": "b"}, [{"key": "a", "value": "b"}], {"b": "b"}, []),
    ),
    "tolerations": ([], _ways("tolerations", [{"operator": "Exists"}], [])),
    "affinity": (
        [],
        _ways("affinity", {"nodeAffinity": AFFINE}, {"node_affinity": AFFINE}, {"nodeAffinity": {}}, {}),
    ),
    "affinity.nodeAffinity": (
        [],
        _ways("affinity", {"nodeAffinity": AFFINE}, {"node_affinity": AFFINE}, {"nodeAffinity": {}}, {}),
    ),
    **dict.fromkeys(
        ("affinity.podAffinity", f"affinity.pod_affinity.{REQUIRED_AFFINITY}"),
        (
            [],
            _ways(
                "affinity",
                *({key: {REQUIRED_AFFINITY: [{"topologyKey": "z"}]}} for key in ("podAffinity", "pod_affinity")),
            )
            + _ways(
                "affinity", {"podAffinity": {PREFERRED_AFFINITY: []}}, {"podAffinity": {}}, {"nodeAffinity": AFFINE}
            ),
        ),
    ),
    **{
        key: (_IDS, _ways(key, 1000, "1000", 1, 2000, "2000", None))
        for key in ("fs_group", "run_as_user", "run_as_group")
    },
    **{
        key: (_TEXTS, _ways(key, "a", "b", None))
        for key in ("runtime_class", "priority_class", "service_account", "service_name")
    },
    **{
        key: (_COUNTS, _ways(key, 1, 2, 3, 4))
        for key in ("replicas", "backoff_limit", "deadline_seconds", "ttl_seconds", "parallelism", "completions")
    },
    "service_type": ([{"options": ["NodePort"]}], _ways("service_type", "ClusterIP", "NodePort")),
    "service_ports": ([], [{"service_ports": [{"port": 80}]}]),
    'service_ports["80"]': ([], [{"service_ports": [{"port": one}]} for one in (80, 81)]),
    'service_ports["080"]': ([], [{"service_ports": [{"port": 80}]}]),
    'service_ports["80"].target_port': (
        [{"options": [8080, "80"]}, {"options": [81]}, {"min": 81}, {"max": 80}],
        [{"service_ports": [{"port": 80, **more}]} for more in ({}, {"target_port": 80}, {"targetPort": 8080})]
        + [{"service_ports": [{"port": 81}]}],
    ),
    "schedule": ([{"options": ["@daily"]}, {"pattern": "@.*"}], _ways("schedule", "@daily", "0 0 * * *")),
    "suspend": ([{"options": [True]}], [{"suspend": True}, {"suspend": False}]),
    "labels": ([], _ways("labels", {"a": "a"}, [{"name": "a", "value": "a"}], {}, [])),
    "labels.a": (
        _TEXTS,
        _ways("labels", {"a": "a"}, {"a": "b"}, [{"name": "a", "value": "b"}], {"b": "b"}, {"a": None}),
    ),
    "annotations": ([], _ways("annotations", {"a": "a"}, {}, {"a": None})),
    "annotations.a": (_TEXTS, _ways("annotations", {"a": "a"}, {"a": "b"}, {"b": "b"})),
    **{key: ([], _ways(key, {"a": 1}, {"a": None}, {"a": {}}, {})) for key in ("inputs", "parameters")},
    "inputs.a": ([], _ways("inputs", {"a": 1}, {"a": None}, {"a": {}}, {"b": 1}, {})),
    "parameters.a.b": (
        [],
        _ways("parameters", {"a": 1}, {"a": {"b": None}}, {"a": {"b": []}}, {"a": {}}),
    ),
}
"""By path: the keywords of rules beside `required`, and valid and invalid ways to set it."""
KINDS: Data = {"gpu_keys": {"a100": "nvidia.com/gpu", "slice": "amd.com/gpu"}, "volumes": {"allow_existing": True}}
SCRATCH, FACTOR = {**KINDS, "disk": {"as": "volume"}}, {**KINDS, "memory_limit_factor": 2}
PLATFORMS: Mapping[str, Data] = {
    "resources": FACTOR,
    "resources.limits": FACTOR,
    "resources.mem.limits": FACTOR,
    "resources.requests": SCRATCH,
    "resources.disk": SCRATCH,
    "resources.disk.limits": SCRATCH,
}
"""Platforms that change what the amounts at a path are made from."""


def _asked(path: str) -> Iterator[Data]:
    yield {"forbid": [path]}
    yield from ({"rules": {path: one}} for one in ({"required": True}, *WRITTEN[path][0]))


def _runs(path: str) -> Iterator[Data]:
    field = path.partition(".")[0].partition("[")[0]
    (action, *_) = bundled_library().fields[field].get("x-actions", ("job",))
    for more in ({}, *WRITTEN[path][1]):
        ports = {"service_ports": [{"port": 9000}]} if action == "serve" else {}
        yield {"name": "a", "action": action, "profile": "p", "image": "python", **ports, **more}


@pytest.mark.parametrize("path", WRITTEN)
def test_a_rule_on_a_field_is_seen_wherever_and_however_the_field_is_written(path: str) -> None:
    for platform in (KINDS, *([PLATFORMS[path]] if path in PLATFORMS else [])):
        plain = AdminConfig((({"id": "p"},),), platform)
        runs = [run for run in _runs(path) if not complaints(run, plain)]
        for asked in _asked(path):
            admin = AdminConfig((({"id": "p", **asked},),), platform)
            validator = Draft7Validator(narrowed(admin, "p"), format_checker=CHECKER)
            for run in runs:
                found = complaints(run, admin)
                if not found or not all(is_left(one, run, admin) for one in found):
                    assert validator.is_valid(run) is not bool(found), (asked, run, found)


def test_there_is_a_rule_on_every_field() -> None:
    fields = bundled_library().fields.items()
    assert {name for name, schema in fields if "x-targets" not in schema} <= WRITTEN.keys()


# Registries

_hosts = ("", "ghcr.io/", "GHCR.io/", "docker.io/", "index.Docker.io/", "localhost/", "localhost:5000/", "my.org/")
_paths = (
    "python",
    "library/python",
    "acme",
    "acme/x",
    "acme/x/y",
    "acme-x/y",
    "library",
    "library/acme/x",
    "my.app",
    "x",
)


@pytest.mark.parametrize(
    "registry",
    [
        "ghcr.io",
        "ghcr.io/acme",
        "docker.io",
        "docker.io/library",
        "docker.io/library/python",
        "docker.io/acme",
        "docker.io/acme/x",
        "Index.docker.io/acme",
        "localhost:5000",
        "localhost/acme",
    ],
)
def test_the_expression_of_a_registry_is_that_of_its_images(registry: str) -> None:
    images = [
        f"{host}{path}{tag}" for host in _hosts for path in _paths for tag in ("", ":3.12", "@sha256:" + "a" * 64)
    ]
    good = [image for image in images if image_fault(image) is None]
    assert [image for image in good if re.search(images_below(registry), image)] == [
        image for image in good if is_below(image, registry)
    ]
