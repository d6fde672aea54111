"""Lint rules for Seldon: mistakes are reported, intended values are not."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.seldon_operator import config, model, server, thing, trees
from helpers.work import at_most_calls
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.source import Layer, Source
from speccompile.placement.lint.context import PlacementContext
from speccompile.placement.lint.rules import SELDON_RULES, lint_placement
from speccompile.placement.machine import Taint
from speccompile.placement.node_pools import Pool
from speccompile.placement.workloads import pods_of
from speccompile.schema.bundled import bundled_codes
from speccompile.yaml_text.parse import parse

GPU = {"requests": {"memory": "64Gi", "nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}
PINNED = {
    "nodeSelector": {"pool": "gpu"},
    "tolerations": [{"key": "acme.io/gpu", "operator": "Equal", "value": "true", "effect": "NoSchedule"}],
}
ON_GPU = {**PINNED, "containers": [{"name": "mlserver", "resources": GPU}]}
EXCLUSIVE = Pool("critical", {"pool": "gpu"}, (Taint("acme.io/gpu", "true", "NoSchedule"),), {}, exclusive=True)


def context(*objects: Any, given: tuple[Any, ...] = (), pools: tuple[Pool, ...] = ()) -> PlacementContext:
    """The objects, and those that the cluster has already, which are not judged."""
    linted, existing = trees(*objects), trees(*given)
    everything = (*linted, *existing)
    return PlacementContext(everything, {id(tree): tree.span for tree in linted}, pods_of(everything).workloads, pools)


def findings(*objects: Any, **more: Any) -> tuple[Diagnostic, ...]:
    found = lint_placement(context(*objects, **more))
    assert all(one.code in bundled_codes() and one.help for one in found)
    return found


def codes(*objects: Any, **more: Any) -> dict[str, str]:
    """The codes that are found, each with its severity."""
    return {found.code.removeprefix("seldon/"): str(found.severity) for found in findings(*objects, **more)}


def whole(**more: Any) -> dict[str, Any]:
    """A ServerConfig that nothing is wrong with, with more in its pod."""
    found = config()
    pod = found["spec"]["podSpec"]
    for container in pod["containers"]:
        container["image"] = "acme/some"
    pod.update(more)
    return found


# The worked examples: each is fine, but for what its profile means to do


def test_a_gpu_server_with_shared_frameworks_leaks() -> None:
    one = server("llm-gpu", extraCapabilities=["a100"], podSpec=ON_GPU)
    assert codes(one, model(requirements=["huggingface", "a100"], memory="40Gi")) == {"leaky-pool": "warning"}
    # Without a list, the Server has those of its ServerConfig.
    assert codes(server("llm-gpu", podSpec=ON_GPU)) == {"leaky-pool": "warning"}
    assert codes(server("llm-gpu", extraCapabilities=[], podSpec=ON_GPU)) == {"leaky-pool": "warning"}


def test_a_model_of_a_stock_framework_may_then_be_loaded_there() -> None:
    one, two = server("llm-gpu", extraCapabilities=["a100"], podSpec=ON_GPU), server("cpu", podSpec={})
    found = codes(one, two, model(memory="1Mi"))
    assert found == {"leaky-pool": "warning", "several-servers": "warning"}


def test_an_exclusive_gpu_server_is_fine() -> None:
    one = server("llm-gpu", capabilities=["a100", "huggingface-gpu"], podSpec=ON_GPU)
    assert codes(one, model(requirements=["a100", "huggingface-gpu"], memory="40Gi")) == {}


def test_a_critical_server_with_its_pinned_model_is_fine() -> None:
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"seldon-server-name": "fraud"}},
    }
    pod_containers = [
        {"name": "agent", "env": [{"name": "SELDON_OVERCOMMIT_PERCENTAGE", "value": "0"}]},
        {"name": "mlserver", "resources": {"requests": {"memory": "8Gi"}, "limits": {"memory": "8Gi"}}},
    ]
    pod = {**PINNED, "priorityClassName": "high", "topologySpreadConstraints": [spread], "containers": pod_containers}
    one = server("fraud", capabilities=["fraud"], replicas=3, minReplicas=3, maxReplicas=6, podSpec=pod)
    pinned = model(server="fraud", requirements=["fraud"], memory="2Gi", replicas=3, minReplicas=2)
    assert set(codes(one, pinned)) <= {"variable-twice"}


def test_a_pool_of_many_models_is_fine() -> None:
    pod_containers = [
        {"name": "agent", "env": [{"name": "SELDON_OVERCOMMIT_PERCENTAGE", "value": "50"}]},
        {"name": "mlserver", "resources": {"requests": {"memory": "4Gi"}}},
    ]
    pod = {"nodeSelector": {"pool": "cpu"}, "containers": pod_containers}
    one = server("pool", replicas=2, minReplicas=1, maxReplicas=4, extraCapabilities=["tenant-a"], podSpec=pod)
    asked = model(requirements=["sklearn", "tenant-a"], memory="512Mi", replicas=3, minReplicas=1, maxReplicas=4)
    assert set(codes(one, asked)) <= {"variable-twice"}


def test_models_from_a_claim_are_fine() -> None:
    pod = {
        "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": "team-models"}}],
        "containers": [{"name": "rclone", "volumeMounts": [{"name": "disk", "mountPath": "/srv/models"}]}],
    }
    one = server("store", extraCapabilities=["pvc"], podSpec=pod)
    assert codes(one, model(requirements=["sklearn", "pvc"], memory="1Mi")) == {}


def test_components_on_other_nodes_are_fine() -> None:
    pod = {
        "nodeSelector": {"pool": "control"},
        "tolerations": [{"key": "dedicated", "operator": "Equal", "value": "control", "effect": "NoSchedule"}],
    }
    names = ("seldon-scheduler", "seldon-envoy", "seldon-dataflow-engine", "seldon-modelgateway")
    overrides = [*({"name": name, "podSpec": pod} for name in names), {"name": "hodometer", "disable": True}]
    runtime = thing("SeldonRuntime", "seldon", "models", seldonConfig="default", overrides=overrides)
    assert codes(runtime, server(podSpec={"nodeSelector": {"pool": "cpu"}})) == {}


def test_all_findings_are_reported_at_once() -> None:
    bad = model("bad.model", storageUri="", memory="1.5Gi", requirements=["sklearn,gpu"], replicas=2, minReplicas=3)
    found = codes(server(), bad)
    assert found.keys() >= {"name", "memory-amount", "capability-name", "scaling", "no-artifact", "no-server"}


# Rules that plain pods have too


@pytest.mark.parametrize(
    ("pod", "code"),
    [
        ({"tolerations": PINNED["tolerations"]}, "placement/pins-nothing"),
        ({"tolerations": [{"operator": "Exists"}], "nodeSelector": {"a": "b"}}, "placement/tolerates-everything"),
        ({"nodeName": "node-1"}, "placement/node-name"),
        ({"containers": [{"name": "mlserver", "resources": GPU}]}, "placement/gpu-without-pin"),
        (
            {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]},
            "placement/bad-toleration",
        ),
    ],
)
def test_a_server_is_judged_like_any_other_pod(pod: Any, code: str) -> None:
    assert code in codes(server(podSpec=pod))


def test_the_pod_that_is_judged_is_the_one_that_the_operator_makes() -> None:
    pinning = whole(nodeSelector={"pool": "gpu"})
    linted_server = server(serverConfig="own", podSpec={"tolerations": PINNED["tolerations"]})
    assert codes(linted_server, given=(pinning,)) == {}
    assert "placement/pins-nothing" in codes(linted_server, given=(whole(),))


# Unknown values are notices, or not reported


def test_findings_that_depend_on_a_stock_config_are_notices() -> None:
    assert codes(server(podSpec={"securityContext": {"runAsNonRoot": False}})) == {"lost-override": "notice"}
    (finding,) = findings(server(podSpec={"securityContext": {"runAsNonRoot": False}}))
    assert "`false` of the Server does not override `true` of its" in finding.message
    assert codes(server(), model(memory="2Gi")) == {"memory-beyond-capacity": "warning"}
    assert codes(server(podSpec={"containers": [{"name": "mlsrver"}]})) == {"unknown-container": "warning"}


def test_an_unknown_config_is_a_notice_and_nothing_else() -> None:
    pod = {"containers": [{"name": "any"}], "securityContext": {"runAsUser": 0}}
    linted_server = server(serverConfig="mine", extraCapabilities=["a"], podSpec=pod)
    assert codes(linted_server, model(requirements=["a", "b"], memory="1Ti")) == {"unknown-config": "notice"}


def test_a_model_whose_servers_are_not_at_hand_is_a_notice() -> None:
    assert codes(model(memory="1Mi")) == {}
    assert codes(model(memory="1Mi", requirements=["own"])) == {"no-server": "notice"}
    assert codes(model(memory="1Mi", server="own")) == {"unknown-server": "notice"}
    assert codes(model(memory="1Mi", server="mlserver")) == {}
    assert codes(model(memory="1Mi", server="mlserver", requirements=["own"])) == {"no-server": "notice"}


def test_a_server_that_the_cluster_has_is_looked_at_and_not_judged() -> None:
    existing = server(capabilities=["own"], extraCapabilities=["ignored"])
    assert codes(model(memory="1Mi", requirements=["own"]), given=(existing,)) == {}
    assert codes(model(memory="1Mi", requirements=["onw"]), given=(existing,)) == {"no-server": "error"}


def test_a_stopped_server_serves_no_models() -> None:
    (found,) = findings(server(capabilities=["own"], replicas=0), model(memory="1Mi", requirements=["own"]))
    assert found.code == "seldon/no-server"
    assert any("it has no replicas" in note.message for note in found.notes)


def test_a_server_of_another_namespace_is_named() -> None:
    (found,) = findings(server("own", namespace="other"), model(memory="1Mi", server="own"))
    assert found.help == "use one namespace for both: the Server is in `other`"


# Several Servers


def test_servers_on_the_same_nodes_are_one_pool() -> None:
    pod = {"nodeSelector": {"pool": "cpu"}}
    same = [server(name, capabilities=["own"], podSpec=pod) for name in ("one", "two")]
    assert codes(*same, model(memory="1Mi", requirements=["own"])) == {}


def test_an_exclusive_pool_is_as_scarce_as_a_gpu() -> None:
    one = server(extraCapabilities=["own"], podSpec=PINNED)
    assert "leaky-pool" in codes(one, pools=(EXCLUSIVE,))
    assert "leaky-pool" not in codes(one, pools=(EXCLUSIVE._replace(exclusive=False),))
    assert "leaky-pool" not in codes(server(capabilities=["own"], podSpec=PINNED), pools=(EXCLUSIVE,))
    untainted, shared = EXCLUSIVE._replace(taints=()), EXCLUSIVE._replace(labels={}, taints=(), exclusive=False)
    assert "leaky-pool" not in codes(server(podSpec={}), pools=(untainted, shared))


def test_a_pin_is_no_matter_where_no_other_server_would_do() -> None:
    pinned_to, other = server("own", capabilities=["own"]), server("other", capabilities=["other"])
    pinned = model(memory="1Mi", server="own", requirements=["own"])
    assert codes(pinned_to, other, pinned) == {}
    assert codes(pinned_to, {**other, "spec": {**other["spec"], "capabilities": ["own"]}}, pinned) == {
        "no-failover": "warning"
    }


# Fields


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"replicas": 1}, set()),
        ({"minReplicas": 2, "maxReplicas": 4}, set()),
        ({"replicas": 0, "minReplicas": 0, "maxReplicas": 4}, {"half-bounds"}),
        ({"replicas": 5, "minReplicas": 1, "maxReplicas": 4}, {"scaling"}),
        ({"minReplicas": 5, "maxReplicas": 4}, {"scaling"}),
        ({"replicas": 0, "minReplicas": 1, "maxReplicas": 4}, {"scaling"}),
        ({"maxReplicas": -4}, {"negative-replicas"}),
    ],
)
def test_bounds_of_a_server(spec: Any, expected: set[str]) -> None:
    assert codes(server(**spec)).keys() == expected


@pytest.mark.parametrize(
    ("name", "is_fine"), [("a-1", True), ("1-a", False), ("a.b", False), ("a" * 52, True), ("a" * 53, False)]
)
def test_names_of_servers(name: str, is_fine: bool) -> None:
    assert codes(server(name)).keys() == (set() if is_fine else {"name"})


@pytest.mark.parametrize(("name", "is_fine"), [("a-1", True), ("1-a", True), ("a.b", False), ("A", False)])
def test_names_of_models(name: str, is_fine: bool) -> None:
    assert codes(model(name, memory="1Mi")).keys() == (set() if is_fine else {"name"})


@pytest.mark.parametrize(
    "dead",
    [
        server(imageOverrides={"agent": {"image": "a"}}),
        model(memory="1Mi", preloaded=True),
        model(memory="1Mi", schemaUri="gs://a"),
        thing("SeldonConfig", "default", "seldon", components=[{"name": "seldon-envoy", "replicas": 2}]),
    ],
)
def test_ignored_fields(dead: Any) -> None:
    assert codes(dead) == {"dead-field": "warning"}


def test_an_ignored_field_set_to_false_is_fine() -> None:
    assert codes(model(memory="1Mi", dedicated=False)) == {}


def test_components_may_be_those_of_a_config_at_hand() -> None:
    pinned_to = thing("SeldonConfig", "mine", "seldon", components=[{"name": "my-envoy"}])
    overrides = [{"name": "my-envoy"}, {"name": "seldon-envoy"}]
    runtime = thing("SeldonRuntime", "seldon", "models", seldonConfig="mine", overrides=overrides)
    (found,) = findings(runtime, given=(pinned_to,))
    assert found.message.startswith("unknown component `seldon-envoy`")


def test_a_custom_config_needs_images() -> None:
    assert codes(config()) == {"config-fragment": "error"}
    assert codes(whole()) == {}


@pytest.mark.parametrize(
    ("selector", "is_fine"),
    [
        (None, False),
        ({"matchLabels": {"app.kubernetes.io/name": "seldon-server"}}, True),
        ({"matchLabels": {"team": "a"}}, True),
        ({"matchLabels": {"app.kubernetes.io/name": "one"}}, False),
        ({"matchExpressions": [{"key": "seldon-server-name", "operator": "Exists"}]}, True),
    ],
)
def test_spread_constraints_select_the_pods_of_the_server(selector: Any, is_fine: bool) -> None:
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway", "labelSelector": selector}
    found = codes(server(podSpec={"topologySpreadConstraints": [constraint]}))
    assert found.keys() == (set() if is_fine else {"spread-of-others"})


def test_equal_terms_add_no_alternatives() -> None:
    terms = [{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["a"]}]}]
    required = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}
    assert codes(server(serverConfig="own", podSpec={"affinity": required}), given=(whole(affinity=required),)) == {}


def scaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": "Model", "name": "churn"}
    metadata = {"name": "churn", "namespace": "models"}
    full_spec = {"scaleTargetRef": target, "maxReplicas": 3, **spec}
    return {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": metadata, "spec": full_spec}


def test_autoscalers_need_replicas_and_average_values() -> None:
    metric = {"type": "Object", "object": {"target": {"type": "Value", "value": "3"}}}
    found = findings(scaler(metrics=[metric]), model(memory="1Mi"))
    assert [one.message.partition(",")[0] for one in found if one.code == "seldon/autoscaler"] == [
        "a target of type `Value` ignores the number of replicas",
        "an autoscaler scales Model `churn`",
    ]
    assert codes(scaler(), model(memory="1Mi", replicas=1)) == {}


# Positions of findings


def test_a_finding_points_to_both_lines() -> None:
    text = """\
apiVersion: mlops.seldon.io/v1alpha1
kind: Server
metadata: {name: own}
spec:
  serverConfig: mlserver
  capabilities: [own]
  podSpec:
    containers:
    - name: mlserver
      resources: {requests: {memory: 1Gi}}
---
apiVersion: mlops.seldon.io/v1alpha1
kind: Model
metadata: {name: churn}
spec:
  storageUri: gs://a/b
  requirements: [own]
  memory: 2Gi
"""
    objects = tuple(document.root for document in parse(Source("m.yaml", text, Layer.RUN)).documents)
    (found,) = lint_placement(
        PlacementContext(objects, {id(tree): tree.span for tree in objects}, pods_of(objects).workloads, ())
    )
    assert found.span
    assert (found.code, found.span.label) == ("seldon/memory-beyond-capacity", "m.yaml:18:11")
    assert [note.span.label for note in found.notes if note.span] == ["m.yaml:10:38"]


# Whatever the objects are

KINDS = ("Server", "ServerConfig", "Model", "SeldonRuntime", "SeldonConfig")
KEYS = (
    *("spec", "metadata", "name", "namespace", "podSpec", "containers", "env", "value", "valueFrom", "resources"),
    *("requests", "limits", "memory", "nvidia.com/gpu", "capabilities", "extraCapabilities", "requirements", "server"),
    *("replicas", "minReplicas", "maxReplicas", "serverConfig", "overrides", "components", "topologySpreadConstraints"),
    *("labelSelector", "matchLabels", "nodeSelector", "affinity", "tolerations", "explainer", "llm", "config"),
)
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**40), 2**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from(
        ["", "agent", "mlserver", "1Gi", "1.5Gi", "9" * 70, "\u202e\n", "SELDON_SERVER_CAPABILITIES", "10"]
    )
)
JUNK: st.SearchStrategy[Any] = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@st.composite
def junk_objects(draw: st.DrawFn) -> dict[str, Any]:
    """An object of Seldon with something wrong at any place of it."""
    base = draw(st.sampled_from([server("one", capabilities=["a"]), model(server="one"), whole(), scaler()]))
    spec = dict(base["spec"])
    for key in draw(st.lists(st.sampled_from([*spec, "replicas", "podSpec", "memory", "capabilities"]), max_size=2)):
        spec[key] = draw(JUNK)
    made: dict[str, Any] = {**base, "spec": draw(st.just(spec) | JUNK)}
    if draw(st.booleans()):
        made["kind"] = draw(st.sampled_from(KINDS) | JUNK)
    if draw(st.booleans()):
        made["metadata"] = draw(JUNK)
    return made


@given(st.lists(junk_objects(), max_size=4))
def test_no_object_makes_a_rule_raise(objects: list[Any]) -> None:
    lint_context = context(*objects)
    for rule in SELDON_RULES:
        for found in rule(lint_context):
            assert found.code in bundled_codes()
            assert found.severity in Severity


def test_the_work_for_hundreds_of_runs_is_bounded() -> None:
    many = [
        one
        for at in range(300)
        for one in (
            server(f"s{at}", extraCapabilities=["gpu"], podSpec={"nodeSelector": {"pool": str(at % 3)}}),
            model(f"m{at}", requirements=["sklearn", "gpu"], memory="1Mi", **({"server": f"s{at}"} if at % 2 else {})),
        )
    ]
    lint_context = context(*many)
    with at_most_calls(6_000_000):
        assert len([found for rule in SELDON_RULES for found in rule(lint_context)]) == 300
