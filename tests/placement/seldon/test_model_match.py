"""Servers that can load a Model, as Seldon's scheduler decides, with every reason."""

from __future__ import annotations

from typing import Any

import pytest
from helpers.seldon_operator import Data, config, model, server, trees, verdict
from helpers.work import at_most_calls
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.quantity import parse_quantity
from speccompile.placement.model_hosting import ModelHosting, host_models
from speccompile.placement.seldon.model_match import Cause, Fit, ModelMatch, match_models, server_loads
from speccompile.placement.seldon.objects import model_bytes
from speccompile.placement.seldon.server_pods import STOCK, is_stock, server_hosts, stock_config, stock_hosts
from speccompile.placement.workloads import pods_of


def match_of(*objects: Any) -> ModelMatch:
    (found,) = match_models(trees(*objects))
    return found


def causes(match: ModelMatch) -> dict[str, list[Cause]]:
    return {one.server: [reason.cause for reason in one.reasons] for one in match.candidates}


# What a Server offers


def test_a_server_uses_its_config_from_any_namespace() -> None:
    (found,) = pods_of(trees(server(serverConfig="own"), config())).workloads
    assert [one.plain()["name"] for one in found.pod.fields["containers"].items] == ["rclone", "agent", "mlserver"]


def test_of_several_configs_the_one_beside_the_server_counts() -> None:
    near = config(memory="1Gi") | {"metadata": {"name": "own", "namespace": "models"}}
    (host,) = server_hosts(trees(server(serverConfig="own"), config(memory="4Gi"), near))
    assert host.memory
    assert host.memory.amount == 2**30


@pytest.mark.parametrize("name", STOCK)
def test_a_stock_config_need_not_be_at_hand(name: str) -> None:
    (found,) = pods_of(trees(server(serverConfig=name))).workloads
    *others, serving = found.pod.fields["containers"].items
    assert [one.plain()["name"] for one in (*others, serving)] == ["rclone", "agent", name]
    assert all(is_stock(node) for _, node in serving.walk())
    assert found.claims is not None
    assert found.claims.plain() == [{"name": f"{name}-models"}]
    assert not is_stock(found.owner)


def test_a_config_at_hand_counts_instead_of_the_stock_one() -> None:
    (host,) = server_hosts(trees(server(), config("mlserver")))
    assert set(host.capabilities) == {"sklearn", "xgboost"}
    assert host.config is not stock_config("mlserver")


def test_with_an_unknown_config_the_values_of_the_server_apply() -> None:
    (host,) = server_hosts(trees(server(serverConfig="own", extraCapabilities=["gpu"])))
    assert (set(host.capabilities), host.is_complete, host.memory) == ({"gpu"}, False, None)
    (host,) = server_hosts(trees(server(serverConfig="own", capabilities=["gpu"])))
    assert (set(host.capabilities), host.is_complete) == ({"gpu"}, True)


@pytest.mark.parametrize(
    ("spec", "replicas"),
    [
        ({}, 1),
        ({"replicas": 3}, 3),
        ({"replicas": 0}, 0),
        ({"minReplicas": 2}, 2),
        ({"maxReplicas": 5}, 1),
        ({"replicas": -1, "minReplicas": 2}, 2),
        ({"replicas": "3"}, 1),
        ({"replicas": 2**31}, 1),
        ({"replicas": True}, 1),
    ],
)
def test_replicas_default_to_the_minimum_or_one(spec: Data, replicas: int) -> None:
    (found,) = pods_of(trees(server(**spec))).workloads
    assert found.replicas == replicas


def test_memory_is_the_request_of_the_serving_container() -> None:
    (host,) = server_hosts(trees(server(memory="4Gi")))
    assert host.memory
    assert (host.memory.amount, host.memory.advertised) == (4 * 2**30, 4 * 2**30 + 4 * 2**30 // 10)


@pytest.mark.parametrize(
    ("resources", "amount"),
    [({"limits": {"memory": "2Gi"}}, 2), ({"limits": {"memory": "2Gi"}, "requests": {"memory": "1Gi"}}, 1), ({}, 0)],
)
def test_a_limit_alone_is_the_request_as_well(resources: Data, amount: int) -> None:
    pod = {"containers": [{"name": "mlserver", "resources": resources}]}
    (host,) = server_hosts(trees(server(serverConfig="own", podSpec=pod), config(memory=None)))
    assert host.memory
    assert host.memory.amount == amount * 2**30


def test_the_last_overcommit_counts() -> None:
    env = [{"name": "SELDON_OVERCOMMIT_PERCENTAGE", "value": "50"}]
    (host,) = server_hosts(trees(server(podSpec={"containers": [{"name": "agent", "env": env}]})))
    assert host.memory
    assert host.memory.overcommit == 50


def test_of_two_servers_with_one_name_the_first_counts() -> None:
    (host,) = server_hosts(trees(server(replicas=2), server(replicas=3)))
    assert host.replicas == 2


# Memory as the operator reads it


@pytest.mark.parametrize(
    ("amount", "size"),
    [
        ("1Gi", 2**30),
        ("99999Gi", 99999 * 2**30),
        ("99Ti", 99 * 2**40),
        ("1.5G", 1_500_000_000),
        ("1e3", 1000),
        ("1.5e3", 1500),
        (1024, 1024),
        ("007Ki", 7 * 1024),
        ("1E", 10**18),
        ("1.5Gi", None),
        ("0.5Gi", None),
        ("100000Gi", None),
        ("100Ti", None),
        ("1Pi", None),
        ("1Ei", None),
        ("100m", None),
        ("1.0", None),
        ("1.0001k", None),
    ],
)
def test_memory_must_be_a_whole_number_to_kubernetes(amount: Any, size: int | None) -> None:
    assert model_bytes(parse_quantity(amount)) == size


# Reasons


def test_a_model_goes_where_its_requirements_are_met() -> None:
    match = match_of(server(extraCapabilities=["gpu"]), server("two"), model(requirements=["sklearn", " gpu "]))
    assert [one.server for one in match.fits] == ["one"]
    assert causes(match) == {"one": [], "two": [Cause.CAPABILITY]}


def test_every_reason_against_a_server_is_reported() -> None:
    one = server(capabilities=["gpu"], memory="1Gi", replicas=2)
    match = match_of(one, model(requirements=["gpus", "fast"], memory="2Gi", replicas=3, server="two"))
    (candidate,) = match.candidates
    assert candidate.fit is Fit.NO
    assert [reason.text for reason in candidate.reasons] == [
        "the Model is pinned to Server `two`",
        "it lacks capability `gpus`; the most similar one it has is `gpu`",
        "it lacks capability `fast`",
        "the Model needs `2Gi`, each replica has `1Gi`",
        "the Model needs 3 replicas, each on its own replica of the Server, which has 2 replicas",
    ]
    assert [reason.model_node.plain() for reason in candidate.reasons if reason.model_node] == [
        "two",
        "gpus",
        "fast",
        "2Gi",
        3,
    ]


def test_a_server_without_replicas_takes_no_models() -> None:
    assert causes(match_of(server(replicas=0), model())) == {"one": [Cause.STOPPED]}


def test_what_is_overcommitted_is_no_room_for_one_model() -> None:
    (candidate,) = match_of(server(memory="1000Mi"), model(memory="1050Mi")).candidates
    (reason,) = candidate.reasons
    assert reason.text.startswith("the Model needs `1050Mi`, each replica has `1000Mi`; ")
    assert reason.text.endswith("the overcommit of 10 % does not count for a single model")


def test_the_memory_of_a_stock_install_is_not_sure() -> None:
    (candidate,) = match_of(server(), model(memory="2Gi")).candidates
    assert candidate.fit is Fit.UNKNOWN
    assert "in a stock installation" in candidate.reasons[0].text


def test_fewer_replicas_are_enough_with_min_replicas() -> None:
    assert [one.fit for one in match_of(server(), model(replicas=2, minReplicas=1)).fits] == [Fit.PARTLY]
    assert match_of(server(), model(replicas=2)).fits == ()


def test_an_unknown_config_may_have_what_is_missing() -> None:
    match = match_of(server(serverConfig="own", extraCapabilities=["gpu"]), model(requirements=["sklearn", "gpu"]))
    assert [one.fit for one in match.candidates] == [Fit.UNKNOWN]
    assert match.fits == ()
    assert not match.has_any
    assert len(match.possible) == 1


def test_an_explainer_needs_a_capability_that_it_does_not_name() -> None:
    match = match_of(server(capabilities=["sklearn"]), model(explainer={"type": "anchor"}))
    (reason,) = match.candidates[0].reasons
    assert reason.capability == "alibi-explain"


def test_the_type_of_a_model_is_a_requirement() -> None:
    assert causes(match_of(server(), model(modelType="onnx"))) == {"one": [Cause.CAPABILITY]}


def test_servers_of_other_namespaces_are_none() -> None:
    assert match_of(server(namespace="other"), model()).hosts == ()
    assert len(match_of(server(namespace=""), model()).hosts) == 1


def test_stock_servers_are_only_a_hint() -> None:
    match = match_of(model())
    assert match.fits == ()
    assert [(one.server, one.fit) for one in match.stock] == [("mlserver", Fit.YES), ("triton", Fit.NO)]
    assert [one.server for one in match_of(server("triton"), model()).stock] == ["mlserver"]
    assert all(host.is_stock for host in stock_hosts())


def test_a_load_is_of_models_that_can_go_nowhere_else() -> None:
    own = server(capabilities=["own"], memory="4Gi", maxReplicas=2)
    objects = trees(own, model(requirements=["own"], memory="3Gi", replicas=1), model("b", requirements=["sklearn"]))
    (load,) = server_loads(match_models(objects))
    assert (load.host.name, load.needed, len(load.models)) == ("one", 3 * 2**30, 1)
    assert load.offered == 2 * (4 * 2**30 + 4 * 2**30 // 10)


# Property

NAMES = st.sampled_from(["one", "two"])
WORDS = st.lists(st.sampled_from(["sklearn", "xgboost", "gpu", " gpu", "alibi-explain"]), max_size=2, unique=True)
SMALL = st.none() | st.integers(0, 3)
MEMORY = st.none() | st.sampled_from(["512Mi", "1Gi", "1100Mi", "3G"])


def without_nothing(**spec: Any) -> Data:
    return {key: value for key, value in spec.items() if value is not None}


@st.composite
def drawn_models(draw: st.DrawFn) -> Data:
    return model(
        requirements=draw(WORDS),
        **without_nothing(
            memory=draw(MEMORY),
            replicas=draw(SMALL),
            minReplicas=draw(SMALL),
            server=draw(st.none() | NAMES),
            modelType=draw(st.none() | st.just("gpu")),
            explainer=draw(st.none() | st.just({"type": "anchor"})),
        ),
    )


@st.composite
def drawn_servers(draw: st.DrawFn) -> Data:
    lists = {"capabilities": draw(st.none() | WORDS), "extraCapabilities": draw(st.none() | WORDS)}
    replicas = {"replicas": draw(SMALL), "minReplicas": draw(SMALL)}
    return server(draw(NAMES), memory=draw(MEMORY), serverConfig="own", **without_nothing(**lists, **replicas))


@given(drawn_models(), drawn_servers(), st.sampled_from([None, "1Gi", "2Gi"]), st.sampled_from(["0", "10"]))
def test_a_model_is_where_the_scheduler_would_load_it(
    asked: Data, host: Data, memory: str | None, overcommit: str
) -> None:
    shared = config(memory=memory, overcommit=overcommit)
    match = match_of(host, asked, shared)
    (candidate,) = match.candidates
    assert candidate.fit == verdict(asked, host, shared)
    assert (candidate in match.fits) == (candidate.fit is not Fit.NO)
    assert bool(candidate.reasons) == (candidate.fit is not Fit.YES)
    assert all(reason.text for reason in candidate.reasons)


# Reports


def hosts_of(hosting: ModelHosting) -> list[tuple[str, str, bool]]:
    return [(host.name, host.fit, host.is_stock) for host in hosting.hosts]


def test_existing_models_are_skipped_and_existing_servers_used() -> None:
    placed, existing = trees(model("ours")), trees(model("theirs"), server())
    (hosting,) = host_models(placed, existing)
    assert (hosting.model, hosts_of(hosting), hosting.needs_stock) == (placed[0], [("one", "yes", False)], False)


def test_a_stock_server_is_reported_if_no_other_matches() -> None:
    (hosting,) = host_models(trees(model(), server(replicas=0)))
    assert hosts_of(hosting) == [("one", "no", False), ("mlserver", "yes", True)]
    assert (hosting.is_possible, hosting.needs_stock) == (True, True)
    (hosting,) = host_models(trees(model(requirements=["own"]), server()))
    assert (hosts_of(hosting), hosting.is_possible, hosting.needs_stock) == ([("one", "no", False)], False, False)


def test_a_matching_server_in_another_namespace_is_reported() -> None:
    able, other = (server(name, namespace="other", capabilities=[name]) for name in ("able", "unable"))
    (hosting,) = host_models(trees(model(requirements=["able"]), able, other))
    assert hosts_of(hosting) == [("able", "no", False)]
    assert [one.text for one in hosting.hosts[0].objections] == ["it is in namespace `other`, the Model in `models`"]
    (hosting,) = host_models(trees(model(requirements=["able"]), able, server("near", capabilities=["able"])))
    assert hosts_of(hosting) == [("near", "yes", False)]


def test_the_work_for_a_thousand_models_on_a_thousand_servers_is_bounded() -> None:
    many = [
        one
        for at in range(1000)
        for one in (server(f"s{at}", extraCapabilities=["gpu"]), model(f"m{at}", requirements=["sklearn", "gpu"]))
    ]
    objects = trees(*many)
    with at_most_calls(2_500_000):
        found = match_models(objects)
        assert {len(match.possible) for match in found} == {1000}
        assert all(match.has_any for match in found)
