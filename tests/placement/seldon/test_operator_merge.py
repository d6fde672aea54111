"""The merge of Servers over ServerConfigs is the operator's: held to an emulation of it, and row by row."""

from __future__ import annotations

import json
from typing import Any, TypeAlias

import pytest
from helpers import seldon_operator as operator
from helpers.seldon_operator import CONTAINER, POD, Data, Fixed, Go, obeys
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.node import Node
from speccompile.model.source import Layer, Source
from speccompile.placement.seldon.operator_merge import Effect, MergeRemark, merge_server
from speccompile.yaml_text.from_python import wrap
from speccompile.yaml_text.parse import parse

NAMES = ("agent", "rclone", "mlserver", "other")
KEYS = ("pool", "zone", "memory")
CAPABILITIES = "SELDON_SERVER_CAPABILITIES"
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def tree(data: Any, name: str = "some.yaml") -> Node:
    (document,) = wrap(data, Source(name, "", Layer.RUN)).documents
    return document.root


def server(pod: Any = None, **spec: Any) -> Data:
    return {"kind": "Server", "spec": {**spec, **({} if pod is None else {"podSpec": pod})}}


def config(pod: Any) -> Data:
    return {"kind": "ServerConfig", "spec": {"podSpec": pod}}


def terms(*keys: str) -> Data:
    found = [{"matchExpressions": [{"key": key, "operator": "Exists"}]} for key in keys]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": found}}}


def merged(base: Data, override: Data, **spec: Any) -> Data:
    data: Data = merge_server(tree(server(override, **spec)), tree(config(base))).pod.plain()
    assert operator.written_pod(data) == operator.pod_of(server(override, **spec), config(base))
    return data


def remarks(base: Data, override: Data) -> list[tuple[Effect, str]]:
    found = merge_server(tree(server(override)), tree(config(base))).remarks
    return [(remark.effect, str(remark.path[-1])) for remark in found]


# Property

WORDS = st.sampled_from(["", "a", "b"])
ITEMS = st.lists(st.fixed_dictionaries({"name": st.sampled_from(["x", "y"])}), max_size=2)
DRAWN = {
    "text": WORDS,
    "number": st.integers(0, 2),
    "truth": st.booleans(),
    "map": st.dictionaries(st.sampled_from(KEYS), WORDS, max_size=2),
    "slice": ITEMS,
    "port": st.sampled_from([0, 80, 8080, "http", "grpc"]),
}


Pair: TypeAlias = tuple[Any, Any]
SIDES = st.sampled_from(["both", "both", "base", "override"])


def pair(draw: st.DrawFn, go: Go) -> Pair:
    """Two values of the type with many keys in common."""
    if go.kind == "pointer" and go.to:
        return pair(draw, go.to)
    if go.kind != "struct":
        return draw(DRAWN[go.kind]), draw(DRAWN[go.kind])
    known = sorted(go.fields.keys() - {"containers", "name"})
    base: Data = {}
    override: Data = {}
    for key in draw(st.lists(st.sampled_from(known), min_size=min(len(known), 2), max_size=5, unique=True)):
        one, two = pair(draw, go.fields[key])
        side = draw(SIDES)
        base |= {} if side == "override" else {key: one}
        override |= {} if side == "base" else {key: two}
    return base, override


def container_pairs(draw: st.DrawFn, name: str) -> tuple[list[Data], list[Data]]:
    base, override = pair(draw, CONTAINER)
    if draw(st.booleans()):
        base["env"] = [*base.get("env", ()), {"name": CAPABILITIES, "value": "p,q"}]
    side = draw(SIDES)
    return [{"name": name, **base}] * (side != "override"), [{"name": name, **override}] * (side != "base")


@st.composite
def pairs(draw: st.DrawFn) -> tuple[Data, Data]:
    base, override = pair(draw, POD)
    names = draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    found = [container_pairs(draw, name) for name in names]
    override_containers = draw(st.permutations([one for _, override_items in found for one in override_items]))
    base_containers = [one for items, _ in found for one in items]
    return base | ({"containers": base_containers} if base_containers else {}), override | (
        {"containers": [*override_containers]} if override_containers else {}
    )


WISHES = st.lists(st.sampled_from(["sklearn", "gpu"]), max_size=2, unique=True)


@given(pods=pairs(), own=WISHES, extra=WISHES)
def test_the_merge_is_the_operators(pods: tuple[Data, Data], own: list[str], extra: list[str]) -> None:
    result, shared = server(pods[1], capabilities=own, extraCapabilities=extra), config(pods[0])
    found = merge_server(tree(result), tree(shared)).pod.plain()
    assert operator.written_pod(found) == operator.pod_of(result, shared)


def parsed(data: Data, name: str) -> Node:
    """The data as it is read from one line of a file."""
    (document,) = parse(Source(name, json.dumps(data), Layer.RUN)).documents
    return document.root


@given(pods=pairs())
def test_every_value_keeps_its_origin(pods: tuple[Data, Data]) -> None:
    pod = merge_server(parsed(server(pods[1]), "server.yaml"), parsed(config(pods[0]), "config.yaml")).pod
    for _, node in pod.walk():
        if node.is_scalar:
            span = node.span
            assert span.source.text[span.column - 1 : span.end_column - 1] == json.dumps(node.value)


@given(pods=pairs())
def test_one_side_alone_is_unchanged(pods: tuple[Data, Data]) -> None:
    assert merge_server(tree(server(pods[1])), None).pod.plain() == pods[1]
    assert merge_server(tree(server()), tree(config(pods[0]))).pod.plain() == pods[0]


JUNK: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2**40) | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["spec", "podSpec", "containers", "env", "name", "value", "ports", "port", "volumes"]),
            inner,
        )
    ),
    max_leaves=12,
)


@given(one=JUNK, other=JUNK, own=JUNK)
def test_wrong_types_never_raise(one: Any, other: Any, own: Any) -> None:
    for result in (one, {"spec": one}, server(one, capabilities=own), server({"containers": [one, {"env": own}]})):
        for shared in (other, config(other), config({"containers": [other]}), config({"containers": other})):
            merge_server(tree(result), tree(shared))


# The consequences, row by row


def test_tolerations_add_up() -> None:
    one, two = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}
    assert merged({"tolerations": [one]}, {"tolerations": [one, two]}) == {"tolerations": [one, one, two]}


def test_required_terms_of_both_become_alternatives() -> None:
    pod = merged({"affinity": terms("pool")}, {"affinity": terms("zone")})
    assert pod == {"affinity": terms("pool", "zone")}
    assert remarks({"affinity": terms("pool")}, {"affinity": terms("zone")}) == [
        (Effect.TERMS_ADDED, "nodeSelectorTerms")
    ]


def test_terms_of_one_side_are_no_matter() -> None:
    assert remarks({"affinity": terms("pool")}, {"nodeSelector": {"zone": "a"}}) == []
    assert remarks({"affinity": {"podAffinity": {REQUIRED: []}}}, {"affinity": terms("zone")}) == []


def test_selectors_are_merged_by_key_and_an_empty_value_overrides() -> None:
    pod = merged({"nodeSelector": {"pool": "a", "zone": "b"}}, {"nodeSelector": {"pool": "", "tier": "c"}})
    assert pod == {"nodeSelector": {"pool": "", "zone": "b", "tier": "c"}}


def test_a_variable_is_set_twice_and_the_server_is_last() -> None:
    def one(value: str) -> Data:
        return {"containers": [{"name": "agent", "env": [{"name": "LEVEL", "value": value}]}]}

    assert [entry["value"] for entry in merged(one("1"), one("2"))["containers"][0]["env"]] == ["1", "2"]
    assert remarks(one("1"), one("2")) == [(Effect.VARIABLE_TWICE, "env")]


@pytest.mark.parametrize(
    ("role", "item"),
    [
        ("volumes", {"name": "data"}),
        ("initContainers", {"name": "data"}),
        ("topologySpreadConstraints", {"topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}),
    ],
)
def test_items_with_the_same_key_are_duplicated(role: str, item: Data) -> None:
    assert merged({role: [item]}, {role: [item]}) == {role: [item, item]}
    assert remarks({role: [item]}, {role: [item]}) == [(Effect.TWICE, role)]
    other = {**item, next(iter(item)): "other"}
    assert remarks({role: [item]}, {role: [other]}) == []


@pytest.mark.parametrize(
    ("role", "item"), [("volumeMounts", {"mountPath": "/m"}), ("ports", {"name": "http"}), ("volumeDevices", None)]
)
def test_so_do_items_inside_of_containers(role: str, item: Data | None) -> None:
    item = item or {"devicePath": "/dev/x"}
    one: Data = {"containers": [{"name": "mlserver", role: [item]}]}
    assert remarks(one, one) == [(Effect.TWICE, role)]


def test_ports_without_a_name_are_not_compared() -> None:
    one: Data = {"containers": [{"name": "mlserver", "ports": [{"containerPort": 80}]}]}
    assert remarks(one, one) == []


@pytest.mark.parametrize("role", ["args", "command"])
def test_commands_are_appended(role: str) -> None:
    def one(word: str) -> Data:
        return {"containers": [{"name": "mlserver", role: [word]}]}

    assert merged(one("a"), one("b"))["containers"][0][role] == ["a", "b"]
    assert remarks(one("a"), one("b")) == [(Effect.APPENDED, role)]


def probe(**handler: Any) -> Data:
    return {"containers": [{"name": "mlserver", "livenessProbe": handler}]}


def test_a_probe_comes_to_have_two_handlers() -> None:
    base, override = probe(httpGet={"path": "/live", "port": "http"}), probe(exec={"command": ["true"]})
    assert merged(base, override)["containers"][0]["livenessProbe"].keys() == {"httpGet", "exec"}
    assert remarks(base, override) == [(Effect.HANDLERS, "livenessProbe")]
    assert remarks(base, probe(httpGet={"path": "/other"})) == []


@pytest.mark.parametrize(
    ("base", "override", "kept"),
    [("http", 9000, "http"), (9000, "http", "http"), (9000, 80, 80), ("http", "grpc", "grpc")],
)
def test_a_named_port_cannot_become_a_number(base: Any, override: Any, kept: Any) -> None:
    pods = probe(tcpSocket={"port": base}), probe(tcpSocket={"port": override})
    assert merged(*pods)["containers"][0]["livenessProbe"]["tcpSocket"] == {"port": kept}
    assert remarks(*pods) == ([(Effect.NUMBER_IGNORED, "port")] if kept != override else [])


@pytest.mark.parametrize(
    ("base", "override"),
    [
        ({"securityContext": {"runAsNonRoot": True}}, {"securityContext": {"runAsNonRoot": False}}),
        ({"securityContext": {"runAsUser": 1000}}, {"securityContext": {"runAsUser": 0}}),
        ({"terminationGracePeriodSeconds": 30}, {"terminationGracePeriodSeconds": 0}),
        ({"priorityClassName": "high"}, {"priorityClassName": ""}),
    ],
)
def test_a_zero_displaces_nothing(base: Data, override: Data) -> None:
    assert merged(base, override) == base
    ((effect, _),) = remarks(base, override)
    assert effect is Effect.ZERO_IGNORED
    assert merged({}, override) == override
    assert remarks({}, override) == []


def test_requests_and_limits_meet_by_resource_and_may_contradict_each_other() -> None:
    base: Data = {"containers": [{"name": "mlserver", "resources": {"limits": {"memory": "1Gi"}}}]}
    override: Data = {"containers": [{"name": "mlserver", "resources": {"requests": {"memory": "2Gi"}}}]}
    (container,) = merged(base, override)["containers"]
    assert container["resources"] == {"limits": {"memory": "1Gi"}, "requests": {"memory": "2Gi"}}


def test_the_servers_containers_come_first() -> None:
    base: Data = {"containers": [{"name": name} for name in ("rclone", "agent", "mlserver")]}
    override: Data = {"containers": [{"name": "mlserver", "image": "i"}, {"name": "more", "image": "i"}]}
    assert [one["name"] for one in merged(base, override)["containers"]] == ["mlserver", "more", "rclone", "agent"]


def test_init_containers_do_not_meet_by_name() -> None:
    base: Data = {"initContainers": [{"name": "fetch", "image": "a"}]}
    assert len(merged(base, {"initContainers": [{"name": "fetch", "image": "b"}]})["initContainers"]) == 2


AGENT: Data = {"containers": [{"name": "agent", "env": [{"name": CAPABILITIES, "value": "sklearn"}]}]}


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        ({"capabilities": ["a", "b"]}, "a,b"),
        ({"extraCapabilities": ["a", "b"]}, "sklearn,a,b"),
        ({"capabilities": ["a"], "extraCapabilities": ["b"]}, "a"),
        ({"capabilities": []}, "sklearn"),
    ],
)
def test_capabilities_replace_and_extra_ones_are_appended(spec: Data, value: str) -> None:
    (container,) = merged(AGENT, {}, **spec)["containers"]
    assert container["env"] == [{"name": CAPABILITIES, "value": value}]


def test_capabilities_without_a_variable_go_nowhere() -> None:
    assert merged({"containers": [{"name": "agent"}]}, {}, capabilities=["a"]) == {"containers": [{"name": "agent"}]}


def test_a_null_is_unset() -> None:
    for base in ({"priorityClassName": "high"}, {"securityContext": {"runAsUser": 1}}, {"volumes": [{"name": "a"}]}):
        assert merged(base, dict.fromkeys(base)) == base
        assert merged({}, dict.fromkeys(base)) == {}


def test_an_overridden_value_is_recorded() -> None:
    result, shared = server({"nodeSelector": {"pool": "a"}, "priorityClassName": ""}), config({})
    shared["spec"]["podSpec"] = {"nodeSelector": {"pool": "b"}, "priorityClassName": "high"}
    pod = merge_server(tree(result), tree(shared)).pod
    overridden = [pod.at(path) for path in (("nodeSelector", "pool"), ("priorityClassName",))]
    assert [[one.value for one in node.overridden] for node in overridden if node] == [["b"], [""]]


def test_a_remark_has_both_sides() -> None:
    (remark,) = merge_server(
        tree(server({"priorityClassName": ""})), tree(config({"priorityClassName": "high"}))
    ).remarks
    assert isinstance(remark, MergeRemark)
    assert (remark.base.value, remark.override.value) == ("high", "")


# Parts that the precedence property checks

POOL = {"nodeSelector": {"pool": "gpu"}, "affinity": terms("pool")}
SERVING: Data = {
    "name": "mlserver",
    "resources": {"requests": {"memory": "1024Mi"}},
    "env": [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}],
    "securityContext": {"runAsUser": 7},
}
WHOLE: Data = {
    **POOL,
    "tolerations": [{"key": "a", "value": "b"}],
    "priorityClassName": "high",
    "securityContext": {"fsGroup": 5},
    "containers": [{"name": "agent"}, SERVING],
}
FIXED = Fixed(
    node_selector={"pool": "gpu"},
    affinity=terms("pool"),
    tolerations=({"key": "a", "value": "b", "operator": "Equal"},),
    requests={"memory": "1Gi"},
    env={"A": {"value": "2"}},
    pod_security={"fsGroup": 5},
    container_security={"runAsUser": 7},
    pod={"priorityClassName": "high"},
)


def test_a_pod_that_keeps_all_obeys() -> None:
    obeys(WHOLE, FIXED, "mlserver")


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"nodeSelector": {"pool": "cpu"}}, "node selector 'pool'"),
        ({"nodeSelector": {}}, "node selector 'pool'"),
        ({"tolerations": []}, "is gone"),
        ({"securityContext": {"fsGroup": 6}}, "'fsGroup'"),
        ({"priorityClassName": "low"}, "'priorityClassName'"),
        ({"containers": [{**SERVING, "resources": {"requests": {"memory": "2Gi"}}}]}, "requests of memory"),
        ({"containers": [{**SERVING, "resources": {}}]}, "requests of memory are gone"),
        ({"containers": [{**SERVING, "env": SERVING["env"][::-1]}]}, "variable 'A'"),
        ({"containers": [{**SERVING, "securityContext": {}}]}, "'runAsUser'"),
    ],
)
def test_a_pod_that_keeps_less_does_not(changes: Data, fault: str) -> None:
    with pytest.raises(AssertionError, match=fault):
        obeys({**WHOLE, **changes}, FIXED, "mlserver")


def test_a_pod_that_lets_other_nodes_in_does_not_obey() -> None:
    fixed = Fixed(affinity=terms("pool"))
    with pytest.raises(AssertionError, match="the fixed affinity excludes it"):
        obeys({"affinity": terms("pool", "zone"), "containers": [SERVING]}, fixed, "mlserver")
