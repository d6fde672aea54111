"""What is compiled for Seldon Core 2: the worked examples, and the profile's word after the operator's merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.paths import GOLDEN, ROOT
from helpers.seldon_operator import Data, Fixed, obeys, pod_of
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from speccompile import CompileError, compile_run
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.targets import targets_of

EXAMPLES: list[Data] = YAML(typ="safe", pure=True).load(
    (ROOT / "tests" / "compiler" / "seldon_examples.yaml").read_text()
)
OURS = ("app.kubernetes.io/", "speccompile.dev/")
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
STOCK, UNKNOWN = "mlserver", "tuned"


def documents(path: Path) -> list[Data]:
    return list(YAML(typ="safe", pure=True).load_all(path.read_text(encoding="utf-8")))


def without_our_labels(manifest: Data) -> Data:
    metadata = dict(manifest["metadata"])
    labels = {key: value for key, value in metadata.pop("labels", {}).items() if not key.startswith(OURS)}
    return {**manifest, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["case"])
def test_a_worked_example_comes_out_as_it_is_written_down(example: Data) -> None:
    manifests = documents(GOLDEN / "accept" / example["case"] / "manifests.yaml")
    assert [without_our_labels(manifest) for manifest in manifests] == example["objects"]


def test_terms_of_an_own_server_config_are_narrowed() -> None:
    """The tenth example: one term with both expressions, where the operator would make two alternatives."""
    config, *_ = documents(GOLDEN / "accept" / "seldon-custom-config-narrows-node-terms" / "manifests.yaml")
    (term,) = config["spec"]["podSpec"]["affinity"]["nodeAffinity"][REQUIRED]["nodeSelectorTerms"]
    assert [one["key"] for one in term["matchExpressions"]] == ["pool", "zone"]


@pytest.mark.parametrize("target", ["seldon", "seldon-runtime"])
def test_whatever_a_target_refuses_has_a_golden_case(target: str) -> None:
    told = "".join(path.read_text(encoding="utf-8") for path in (GOLDEN / "reject").glob("*/diagnostics.txt"))
    refusals = targets_of(bundled_library())[target].rejects
    assert refusals
    assert [refusal.message for refusal in refusals if f"]: {refusal.message}\n" not in told] == []


# The profile's word after the operator's merge

KEYS, VALUES = ("pool", "zone", "tier"), ("a", "b")
keys, values = st.sampled_from(KEYS), st.sampled_from(VALUES)
selectors = st.dictionaries(keys, values, max_size=2)
expressions = st.one_of(
    st.builds(lambda key, some: {"key": key, "operator": "In", "values": some}, keys, st.lists(values, min_size=1)),
    st.builds(lambda key, some: {"key": key, "operator": "NotIn", "values": some}, keys, st.lists(values, min_size=1)),
    st.builds(lambda key: {"key": key, "operator": "Exists"}, keys),
)
terms = st.lists(
    st.builds(lambda some: {"matchExpressions": some}, st.lists(expressions, min_size=1, max_size=2)),
    min_size=1,
    max_size=2,
)
required = terms.map(lambda some: {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": some}}})
preferred = st.builds(
    lambda one: {
        "nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": {"matchExpressions": [one]}}
            ]
        }
    },
    expressions,
)
tolerations = st.lists(
    st.builds(lambda key, effect: {"key": key, "operator": "Exists", "effect": effect}, keys, st.just("NoSchedule")),
    max_size=2,
)
amounts = st.sampled_from(["1", "2", "4"])
resources = st.fixed_dictionaries(
    {}, optional={"requests": st.fixed_dictionaries({}, optional={"cpu": amounts, "memory": amounts})}
)
envs = st.dictionaries(st.sampled_from(["A", "B"]), st.sampled_from(["", "x", "0"]), max_size=2)
FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "node_selector": selectors,
    "affinity": required | preferred,
    "tolerations": tolerations,
    "resources": resources,
    "envs": envs,
    "run_as_user": st.sampled_from([1, 1000]),
    "run_as_group": st.sampled_from([1, 1000]),
    "fs_group": st.sampled_from([1, 1000]),
    "priority_class": st.sampled_from(["high", "low"]),
    "runtime_class": st.sampled_from(["nvidia", "runc"]),
    "image": st.sampled_from(["a:1", "b:2"]),
}
said = st.fixed_dictionaries({}, optional=FIELDS)
servers = st.sampled_from(
    [
        {"overcommit": 5},
        {"pin": True, "capability": "a"},
        {"config": "other"},
        {"container": "agent"},
        {"existing": True, "name": "b"},
        {"model_volumes": ["c"]},
        {"min_replicas": 9},
        {"config_namespace": "d"},
    ]
)
attempted = st.fixed_dictionaries({}, optional={**FIELDS, "server": servers})
"""What runs say: whatever profiles say, and what they may try to move elsewhere."""
arguments = st.fixed_dictionaries(
    {}, optional={"args": st.lists(st.sampled_from(["-v", "-q"]), min_size=1, max_size=2)}
)


@st.composite
def pods(draw: st.DrawFn, affinities: st.SearchStrategy[Data]) -> Data:
    """The podSpec of a ServerConfig that says again what profiles say, with other values."""
    pod: Data = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "nodeSelector": selectors,
                "affinity": affinities,
                "tolerations": tolerations,
                "priorityClassName": st.sampled_from(["high", "low"]),
                "securityContext": st.fixed_dictionaries({}, optional={"runAsUser": st.just(7), "fsGroup": st.just(7)}),
            },
        )
    )
    serving = draw(
        st.fixed_dictionaries(
            {"name": st.just(STOCK), "image": st.just("stock:1")},
            optional={
                "resources": resources,
                "args": st.just(["serve"]),
                "env": envs.map(lambda some: [{"name": name, "value": value} for name, value in some.items()]),
            },
        )
    )
    return {**pod, "containers": [{"name": "rclone", "image": "r:1"}, {"name": "agent", "image": "a:1"}, serving]}


def fixed_by(profile: Data) -> Fixed:
    plain = {"priority_class": "priorityClassName", "runtime_class": "runtimeClassName"}
    security = {"run_as_user": "runAsUser", "run_as_group": "runAsGroup", "fs_group": "fsGroup"}
    return Fixed(
        node_selector=profile.get("node_selector", {}),
        affinity=profile.get("affinity", {}),
        tolerations=tuple(profile.get("tolerations", ())),
        requests=profile.get("resources", {}).get("requests", {}),
        env={name: {"value": value} for name, value in profile.get("envs", {}).items()},
        pod_security={name: profile[field] for field, name in security.items() if field in profile},
        pod={name: profile[field] for field, name in plain.items() if field in profile},
    )


def compiled(run: Data, profile: Data, base: Data | None, templates: Path | None = None) -> dict[str, Data] | None:
    """The manifests by kind; None where the run is refused, with a reason."""
    documents_of = [profile, base] if base else [profile]
    try:
        manifests = compile_run(run, profiles=[documents_of], templates=templates).manifests
    except CompileError:
        return None
    return {manifest.kind: manifest.data for manifest in manifests}


def run_of(fields: Data) -> Data:
    return {"name": "m", "action": "serve", "profile": "p", "serve": {"uri": "gs://a/b"}, **fields}


def profile_of(fields: Data, config: str) -> Data:
    server = {"config": config} if config == STOCK else {"config": config, "container": STOCK}
    return {"id": "p", "target": "seldon", "server": server, **fields}


def config_of(pod: Data) -> Data:
    return {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": "ServerConfig", "spec": {"podSpec": pod}}


@given(
    attempted, said, st.one_of(st.tuples(st.just(STOCK), pods(preferred)), st.tuples(st.just(UNKNOWN), pods(required)))
)
def test_what_the_operator_makes_of_a_server_obeys_the_profile(
    run: Data, fixed: Data, config: tuple[str, Data]
) -> None:
    """A stock ServerConfig has no node terms; of another one nothing is known."""
    name, pod = config
    made = compiled(run_of(run), profile_of(fixed, name), None)
    if made is not None:
        obeys(pod_of(made["Server"], config_of(pod)), fixed_by(fixed), STOCK)


@given(attempted, said, arguments, pods(required | preferred))
def test_what_the_operator_makes_of_an_own_server_config_obeys_profile_and_base(
    run: Data, fixed: Data, more: Data, pod: Data
) -> None:
    fixed = {**fixed, **more}
    made = compiled(run_of(run), profile_of(fixed, STOCK), config_of(pod))
    if made is None:
        return
    merged = pod_of(made["Server"], made["ServerConfig"])
    obeys(merged, fixed_by(fixed), STOCK)
    obeys(merged, Fixed(affinity=pod.get("affinity", {}), tolerations=tuple(pod.get("tolerations", ()))), STOCK)
    if "args" in fixed:
        (serving,) = (one for one in merged["containers"] if one["name"] == STOCK)
        assert serving["args"] == fixed["args"]


def term(key: str) -> Data:
    return {
        "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": [{"key": key, "operator": "Exists"}]}]}}
    }


def test_without_the_targets_refusals_the_law_would_be_broken(tmp_path: Path) -> None:
    """So that it is seen to notice: a target without them lets the operator widen what the profile allows."""
    library = bundled_library()
    (tmp_path / "seldon").mkdir()
    text, _, _ = library.templates["seldon/target.yaml"].partition("reject:")
    (tmp_path / "seldon" / "target.yaml").write_text(text)
    fixed = {"affinity": term("pool")}
    pod = {"affinity": term("zone"), "containers": [{"name": STOCK}]}
    assert compiled(run_of({}), profile_of(fixed, UNKNOWN), None) is None
    made = compiled(run_of({}), profile_of(fixed, UNKNOWN), None, tmp_path)
    assert made is not None
    with pytest.raises(AssertionError, match="fixed affinity excludes it"):
        obeys(pod_of(made["Server"], config_of(pod)), fixed_by(fixed), STOCK)
