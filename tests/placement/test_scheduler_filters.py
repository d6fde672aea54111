"""Reasons why a node rejects a pod: each filter as documented, and properties against independent matchers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from helpers.cluster import (
    REQUIRED,
    TAINT,
    Plain,
    anything,
    clusters,
    container,
    containers,
    keys,
    labels,
    machine,
    numbers,
    pods,
    taints,
    tolerations,
    tree,
    wanting,
    words,
)
from hypothesis import given
from hypothesis import strategies as st

from speccompile.model.key_path import KeyPath
from speccompile.placement.machine import Machine, Taint, Usage
from speccompile.placement.pod_requirements import Needs, Port, amount_text, needs_of
from speccompile.placement.scheduler_filters import Filter, NodeRejection, rejection_reasons, static_reasons
from speccompile.placement.workloads import PodWorkload, pods_of
from speccompile.testing.node_matcher import ClusterNode as Witness
from speccompile.testing.node_matcher import fits


def needs(pod: Plain) -> Needs:
    return needs_of(tree(pod))


def found(pod: Plain, node: Machine | None = None, usage: Usage | None = None) -> list[Filter]:
    return [reason.filter for reason in rejection_reasons(needs(pod), node or machine(), usage or Usage())]


def why(pod: Plain, node: Machine, usage: Usage | None = None) -> NodeRejection:
    (reason,) = rejection_reasons(needs(pod), node, usage or Usage())
    return reason


def asking(key: str, operator: str, *values: str) -> Plain:
    return {"matchExpressions": [{"key": key, "operator": operator, **({"values": list(values)} if values else {})}]}


# Names, cordons and taints


def test_a_pod_without_requirements_fits_any_node() -> None:
    assert found({"containers": [{"name": "main"}]}) == []


def test_a_pod_that_names_a_node_fits_no_other() -> None:
    assert found({"nodeName": "a"}) == []
    assert found({"nodeName": "b"}) == [Filter.NODE_NAME]
    assert found({"nodeName": ""}) == []


@pytest.mark.parametrize(
    ("toleration", "expected"),
    [
        (None, [Filter.UNSCHEDULABLE]),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"}, []),
        ({"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}, []),
        ({"key": "node.kubernetes.io/unschedulable", "effect": "NoExecute"}, [Filter.UNSCHEDULABLE]),
        ({"operator": "Exists"}, []),
    ],
)
def test_a_cordoned_node_takes_only_pods_that_tolerate_it(toleration: Plain | None, expected: list[Filter]) -> None:
    assert found({"tolerations": [toleration] if toleration else []}, machine(cordoned=True)) == expected


@pytest.mark.parametrize(
    ("toleration", "is_enough"),
    [
        ({"key": "dedicated", "operator": "Equal", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "operator": "", "value": "gpu"}, True),
        ({"key": "dedicated", "operator": "Exists", "effect": "NoSchedule"}, True),
        ({"key": "dedicated", "operator": "Exists"}, True),
        ({"operator": "Exists"}, True),
        ({"operator": "Exists", "effect": "NoSchedule"}, True),
        ({"operator": "Exists", "effect": "NoExecute"}, False),
        ({"key": "dedicated", "operator": "Equal", "value": "cpu"}, False),
        ({"key": "dedicated", "operator": "Equal"}, False),
        ({"key": "other", "operator": "Exists"}, False),
        ({"key": "dedicated", "operator": "Exists", "effect": "PreferNoSchedule"}, False),
        ({"key": "dedicated", "operator": "exists"}, False),
        ({"key": "dedicated", "operator": "In", "value": "gpu"}, False),
        ({"key": "dedicated", "operator": "Exists", "tolerationSeconds": 3}, True),
        ({"key": 3, "operator": "Exists"}, False),
        ("dedicated", False),
    ],
)
def test_a_taint_is_tolerated_by_key_operator_value_and_effect(toleration: Any, is_enough: bool) -> None:
    reasons = found({"tolerations": [toleration]}, machine(taints=(TAINT,)))
    assert (Filter.TAINTS not in reasons and Filter.API not in reasons) == is_enough


@pytest.mark.parametrize(
    ("operator", "value", "taint", "is_enough"),
    [
        ("Gt", "5", "6", True),
        ("Gt", "5", "5", False),
        ("Lt", "5", "4", True),
        ("Lt", "5", "5", False),
        ("Lt", "-1", "-2", True),
        ("Gt", "five", "6", False),
        ("Gt", "5", "six", False),
        ("Gt", "5", "", False),
        ("Gt", "1.5", "6", False),
        ("Gt", "5", str(2**63), False),
    ],
)
def test_a_taint_is_compared_with_a_number(operator: str, value: str, taint: str, is_enough: bool) -> None:
    toleration = {"key": "sla", "operator": operator, "value": value, "effect": "NoSchedule"}
    reasons = found({"tolerations": [toleration]}, machine(taints=(Taint("sla", taint, "NoSchedule"),)))
    assert (reasons == []) == is_enough


@pytest.mark.parametrize(("effect", "counts"), [("NoSchedule", 1), ("NoExecute", 1), ("PreferNoSchedule", 0)])
def test_two_effects_of_taints_keep_pods_off_and_the_third_does_not(effect: str, counts: int) -> None:
    assert len(found({}, machine(taints=(Taint("a", "", effect),)))) == counts


def test_every_taint_that_is_not_tolerated_is_a_reason() -> None:
    taints = (TAINT, Taint("b", "", "NoExecute"), Taint("c", "", "PreferNoSchedule"))
    assert [reason.taint for reason in rejection_reasons(needs({}), machine(taints=taints), Usage())] == [*taints[:2]]


# Labels

ZONE = {"zone": "a", "size": "12", "odd": "x1"}


@pytest.mark.parametrize(
    ("key", "operator", "values", "is_so"),
    [
        ("zone", "In", ("a", "b"), True),
        ("zone", "In", ("b",), False),
        ("none", "In", ("b",), False),
        ("zone", "In", (), False),
        ("zone", "NotIn", ("b",), True),
        ("zone", "NotIn", ("a",), False),
        ("none", "NotIn", ("a",), True),
        ("none", "NotIn", (), False),
        ("zone", "Exists", (), True),
        ("none", "Exists", (), False),
        ("zone", "Exists", ("a",), False),
        ("zone", "DoesNotExist", (), False),
        ("none", "DoesNotExist", (), True),
        ("none", "DoesNotExist", ("a",), False),
        ("size", "Gt", ("11",), True),
        ("size", "Gt", ("12",), False),
        ("size", "Lt", ("13",), True),
        ("size", "Lt", ("12",), False),
        ("size", "Gt", ("-3",), True),
        ("size", "Gt", ("11", "10"), False),
        ("size", "Gt", ("many",), False),
        ("odd", "Gt", ("1",), False),
        ("none", "Gt", ("1",), False),
        ("none", "Lt", ("1",), False),
        ("size", "Lt", (str(2**63),), False),
        ("zone", "in", ("a",), False),
        ("zone", "", ("a",), False),
    ],
)
def test_an_expression_matches_as_documented(key: str, operator: str, values: Sequence[str], is_so: bool) -> None:
    reasons = found(wanting(asking(key, operator, *values)), machine(labels=ZONE))
    assert reasons == ([] if is_so else [Filter.AFFINITY])


@pytest.mark.parametrize(
    ("field", "is_so"),
    [
        ({"key": "metadata.name", "operator": "In", "values": ["a"]}, True),
        ({"key": "metadata.name", "operator": "In", "values": ["b"]}, False),
        ({"key": "metadata.name", "operator": "NotIn", "values": ["b"]}, True),
        ({"key": "metadata.name", "operator": "NotIn", "values": ["a"]}, False),
        ({"key": "metadata.name", "operator": "In", "values": ["a", "b"]}, False),
        ({"key": "metadata.name", "operator": "Exists"}, False),
        ({"key": "metadata.namespace", "operator": "In", "values": ["a"]}, False),
    ],
)
def test_a_field_is_compared_with_one_value(field: Plain, is_so: bool) -> None:
    assert found(wanting({"matchFields": [field]})) == ([] if is_so else [Filter.AFFINITY])


def test_terms_are_alternatives_and_requirements_apply_together() -> None:
    good, bad = asking("zone", "In", "a"), asking("zone", "In", "b")
    both = {"matchExpressions": [*good["matchExpressions"], *bad["matchExpressions"]]}
    node = machine(labels=ZONE)
    assert found(wanting(bad, good), node) == []
    assert found(wanting(both), node) == [Filter.AFFINITY]
    assert found(wanting(bad, bad), node) == [Filter.AFFINITY]
    assert found(wanting({}, good), node) == []


@pytest.mark.parametrize("terms", [(), ({},), ({"matchExpressions": []},)])
def test_an_empty_term_matches_no_node(terms: Sequence[Plain]) -> None:
    assert found(wanting(*terms)) == [Filter.AFFINITY]


def test_selector_and_affinity_both_count() -> None:
    pod = {**wanting(asking("zone", "In", "a")), "nodeSelector": {"size": "12"}}
    assert found(pod, machine(labels=ZONE)) == []
    assert found(pod, machine(labels={"zone": "a"})) == [Filter.AFFINITY]
    assert found(pod, machine(labels={})) == [Filter.AFFINITY, Filter.AFFINITY]


def test_a_reason_points_to_its_requirement() -> None:
    reason = why({"nodeSelector": {"pool": "gpu"}}, machine(labels={"pool": "cpu"}))
    assert (reason.subject, reason.required, reason.actual) == ("pool", "`gpu`", "cpu")
    assert reason.paths == (("nodeSelector", "pool"),)


# Resources


def asked(pod: Plain) -> dict[str, int]:
    return {request.resource: request.amount for request in needs(pod).requests}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        ({"containers": [container({"cpu": "1"}), container({"cpu": "500m"})]}, 1500),
        ({"containers": [container({"cpu": "1"})], "initContainers": [container({"cpu": "3"})]}, 3000),
        ({"containers": [container({"cpu": "1"})], "initContainers": [container({"cpu": "1"})] * 3}, 1000),
        # One that goes on counts beside the containers,
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": 2}, restartPolicy="Always")],
            },
            3000,
        ),
        # and beside those that initialise after it, but not before.
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": "2"}, restartPolicy="Always"), container({"cpu": "5"})],
            },
            7000,
        ),
        (
            {
                "containers": [container({"cpu": "1"})],
                "initContainers": [container({"cpu": "5"}), container({"cpu": "2"}, restartPolicy="Always")],
            },
            5000,
        ),
        ({"containers": [container({"cpu": "1"})], "overhead": {"cpu": "250m"}}, 1250),
        ({"containers": [container(None, {"cpu": "2"})]}, 2000),
        ({"containers": [container({"cpu": "1"}, {"cpu": "2"})]}, 1000),
        ({"containers": [container({"cpu": "0"}, {"cpu": "2"})]}, 0),
        ({"containers": [container({"cpu": "1"})], "resources": {"requests": {"cpu": "4"}}}, 4000),
        ({"containers": [container({"cpu": "1"})], "resources": {"limits": {"cpu": "4"}}}, 1000),
        ({"containers": [container()], "resources": {"limits": {"cpu": "4"}}}, 4000),
        ({"containers": [container()], "resources": {"requests": {"cpu": "4"}}, "overhead": {"cpu": "1"}}, 5000),
        ({"containers": [container({"cpu": "1n"}), container({"cpu": "1n"})]}, 2),
        ({"containers": [container({"cpu": 0.5})]}, 500),
    ],
)
def test_requests_add_up_as_documented(pod: Plain, expected: int) -> None:
    assert asked(pod).get("cpu", 0) == expected


def test_memory_is_counted_in_whole_bytes_and_other_things_whole() -> None:
    pod = {"containers": [container({"memory": "1.5", "nvidia.com/gpu": "2", "hugepages-2Mi": "4Mi"})]}
    assert asked(pod) == {"memory": 2, "nvidia.com/gpu": 2, "hugepages-2Mi": 4 * 2**20}


def test_resources_that_the_scheduler_does_not_count_are_skipped() -> None:
    assert asked({"containers": [container({"storage": "1Gi", "pods": "3", "nonsense": "1"})]}) == {}


@pytest.mark.parametrize(
    ("pod", "path"),
    [
        ({"affinity": 5}, ("affinity",)),
        ({"affinity": {"nodeAffinity": []}}, ("affinity", "nodeAffinity")),
        ({"overhead": [1]}, ("overhead",)),
        ({"containers": [{"resources": "1Gi"}]}, ("containers", 0, "resources")),
        (
            {"resources": {"requests": {"memory": "1Gi"}}, "containers": [container({"memory": "2Gi"})]},
            ("resources", "requests", "memory"),
        ),
    ],
)
def test_an_invalid_field_is_reported_once_at_its_path(pod: Plain, path: KeyPath) -> None:
    assert [fault.path for fault in needs(pod).constraints.faults] == [path]


@pytest.mark.parametrize("pod", [{"affinity": None}, {"affinity": {}}, {"containers": [{"resources": None}]}])
def test_an_unset_field_is_valid(pod: Plain) -> None:
    assert needs(pod).constraints.faults == ()


def test_huge_pages_of_a_pod_as_a_whole_are_those_that_it_is_limited_to() -> None:
    pod = {"containers": [container({"hugepages-2Mi": "4Mi"})], "resources": {"limits": {"hugepages-2Mi": "8Mi"}}}
    assert asked(pod) == {"hugepages-2Mi": 8 * 2**20}


def test_a_device_cannot_be_requested_for_a_whole_pod() -> None:
    assert asked({"containers": [container()], "resources": {"requests": {"nvidia.com/gpu": "1"}}}) == {}


@pytest.mark.parametrize("resource", ["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"])
def test_a_node_needs_the_requested_amount_free(resource: str) -> None:
    pod = {"containers": [container({resource: "2"})]}
    amount = asked(pod)[resource]
    node = machine(allocatable={resource: amount + 3, "pods": 1})
    assert found(pod, node) == []
    assert found(pod, node, Usage({resource: 3})) == []
    reason = why(pod, node, Usage({resource: 4}))
    assert (reason.filter, reason.subject, reason.shortfall) == (Filter.RESOURCES, resource, (amount, amount - 1))
    assert found(pod, machine(allocatable={"pods": 1})) == [Filter.RESOURCES]


def test_a_pod_without_requests_fits_a_full_node() -> None:
    pod = {"containers": [container({"cpu": "0"})]}
    assert found(pod, machine(allocatable={"pods": 1}), Usage({"cpu": 5000})) == []


def test_a_node_takes_only_so_many_pods() -> None:
    node = machine(allocatable={"pods": 2})
    assert found({}, node, Usage(pods=1)) == []
    assert found({}, node, Usage(pods=2)) == [Filter.RESOURCES]
    assert found({}, machine(allocatable={})) == [Filter.RESOURCES]


@pytest.mark.parametrize(
    ("resource", "amount", "up", "expected"),
    [
        ("cpu", 500, False, "500m"),
        ("cpu", 2000, False, "2"),
        ("cpu", 14390, False, "14.39"),
        ("cpu", 0, False, "0"),
        ("memory", 2**30, False, "1Gi"),
        ("memory", 2**30 + 1, False, "1Gi"),
        ("memory", 2**30 + 1, True, "1.1Gi"),
        ("memory", 3 * 2**29, False, "1.5Gi"),
        ("memory", 5, False, "5"),
        ("nvidia.com/gpu", 3, False, "3"),
    ],
)
def test_amounts_read_as_people_write_them(resource: str, amount: int, up: bool, expected: str) -> None:
    assert amount_text(resource, amount, up=up) == expected


# Ports


def ported(*ports: Plain, **pod: Any) -> Plain:
    return {"containers": [{"name": "c", "ports": list(ports)}], **pod}


@pytest.mark.parametrize(
    ("port", "taken", "is_free"),
    [
        ({"hostPort": 80}, Port("0.0.0.0", "TCP", 80), False),  # noqa: S104
        ({"hostPort": 80}, Port("10.0.0.1", "TCP", 80), False),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, Port("0.0.0.0", "TCP", 80), False),  # noqa: S104
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, Port("10.0.0.2", "TCP", 80), True),
        ({"hostPort": 80, "hostIP": "10.0.0.1"}, Port("10.0.0.1", "TCP", 80), False),
        ({"hostPort": 80, "protocol": "UDP"}, Port("0.0.0.0", "TCP", 80), True),  # noqa: S104
        ({"hostPort": 81}, Port("0.0.0.0", "TCP", 80), True),  # noqa: S104
        ({"containerPort": 80}, Port("0.0.0.0", "TCP", 80), True),  # noqa: S104
    ],
)
def test_a_port_of_the_node_is_free_unless_a_pod_has_it(port: Plain, taken: Port, is_free: bool) -> None:
    reasons = found(ported(port), machine(), Usage(ports=frozenset({taken})))
    assert reasons == ([] if is_free else [Filter.PORTS])


def test_on_the_network_of_the_node_every_port_is_one_of_the_node() -> None:
    assert [port.number for port in needs(ported({"containerPort": 80}, hostNetwork=True)).ports] == [80]
    assert needs(ported({"containerPort": 80}, hostNetwork=False)).ports == ()


def test_ports_of_containers_that_only_initialise_do_not_count() -> None:
    ports = {"ports": [{"containerPort": 80, "hostPort": 80}]}
    pod = {"initContainers": [{"name": "a", **ports}, {"name": "b", "restartPolicy": "Always", **ports}]}
    assert [port.path for port in needs(pod).ports] == [("initContainers", 1, "ports", 0)]


# Properties


@st.composite
def requirements(draw: st.DrawFn) -> Plain:
    operator = draw(st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"]))
    many = {"In": (1, 3), "NotIn": (1, 3), "Gt": (1, 1), "Lt": (1, 1)}.get(operator, (0, 0))
    values = draw(st.lists(words | numbers, min_size=many[0], max_size=many[1]))
    return {"key": draw(keys), "operator": operator, **({"values": values} if values else {})}


fields = st.builds(
    lambda operator, name: {"key": "metadata.name", "operator": operator, "values": [name]},
    st.sampled_from(["In", "NotIn"]),
    words,
)
terms = st.fixed_dictionaries(
    {},
    optional={
        "matchExpressions": st.lists(requirements(), max_size=3),
        "matchFields": st.lists(fields, max_size=2),
    },
)


@given(
    selector=st.dictionaries(keys, words | numbers, max_size=2),
    asked_terms=st.none() | st.lists(terms, max_size=3),
    has=labels,
    name=words,
)
def test_labels_are_matched_as_the_witness_matches_them(
    selector: dict[str, str], asked_terms: list[Plain] | None, has: dict[str, str], name: str
) -> None:
    pod = {"nodeSelector": selector, **({} if asked_terms is None else wanting(*asked_terms))}
    reasons = static_reasons(needs(pod).constraints, machine(name, labels=has))
    assert (reasons == ()) == fits(pod, Witness(name, has))


def tolerated_by_the_book(taint: Taint, tolerations: Sequence[Plain]) -> bool:
    """Straight from the reference of the API, with none of the code under test."""
    for one in tolerations:
        if one.get("effect") and one["effect"] != taint.effect:
            continue
        if one.get("key") and one["key"] != taint.key:
            continue
        operator, value = one.get("operator") or "Equal", one.get("value", "")
        if operator == "Exists" or (operator == "Equal" and value == taint.value):
            return True
        if operator in ("Lt", "Gt"):
            try:
                asked, has = int(value), int(taint.value)
            except ValueError:
                continue
            if has < asked if operator == "Lt" else has > asked:
                return True
    return False


@given(has=st.lists(taints, max_size=3), toleration_specs=st.lists(tolerations, max_size=3))
def test_taints_are_tolerated_by_the_book(has: list[Taint], toleration_specs: list[Plain]) -> None:
    reasons = static_reasons(needs({"tolerations": toleration_specs}).constraints, machine(taints=tuple(has)))
    expected = [
        taint
        for taint in has
        if taint.effect != "PreferNoSchedule" and not tolerated_by_the_book(taint, toleration_specs)
    ]
    assert [reason.taint for reason in reasons] == expected


def summed_by_the_book(pod: Plain, resource: str) -> int:
    """The highest of all moments in the life of a pod, of which each is written out."""

    def of(one: Plain) -> int:
        resources = one["resources"]
        return int(resources.get("requests", {}).get(resource, resources.get("limits", {}).get(resource, 0)))

    running: list[int] = []
    moments: list[int] = []
    for one in pod["initContainers"]:
        moments.append(sum(running) + of(one))
        if one.get("restartPolicy") == "Always":
            running.append(of(one))
    moments.append(sum(running) + sum(of(one) for one in pod["containers"]))
    return max(moments) + int(pod.get("overhead", {}).get(resource, 0))


@given(pod=pods, has=st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 30)))
def test_a_pod_needs_what_it_needs_at_its_hungriest_moment(pod: Plain, has: dict[str, int]) -> None:
    units = {"cpu": 1000, "memory": 1, "nvidia.com/gpu": 1}
    node = machine(allocatable={"pods": 1, **{name: amount * units[name] for name, amount in has.items()}})
    short = {reason.subject for reason in rejection_reasons(needs(pod), node, Usage())}
    assert short == {name for name in units if summed_by_the_book(pod, name) > has.get(name, 0)}


def open_to(pod: Plain, cluster: Sequence[Machine]) -> set[int]:
    return {at for at, node in enumerate(cluster) if not rejection_reasons(needs(pod), node, Usage())}


@given(pod=anything, cluster=clusters, more=tolerations)
def test_one_more_toleration_never_excludes_a_node(pod: Plain, cluster: list[Machine], more: Plain) -> None:
    assert open_to(pod, cluster) <= open_to({**pod, "tolerations": [*pod["tolerations"], more]}, cluster)


@given(pod=anything, cluster=clusters, more=containers)
def test_one_more_container_never_gains_a_node(pod: Plain, cluster: list[Machine], more: Plain) -> None:
    assert open_to({**pod, "containers": [*pod["containers"], more]}, cluster) <= open_to(pod, cluster)


@given(pod=anything, cluster=clusters, key=keys, value=words)
def test_one_more_label_selected_by_never_gains_a_node(
    pod: Plain, cluster: list[Machine], key: str, value: str
) -> None:
    more = {**pod, "nodeSelector": {key: value, **pod["nodeSelector"]}}
    assert open_to(more, cluster) <= open_to(pod, cluster)


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(1 - 2**63, 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | words,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "key",
                    "values",
                    "operator",
                    "resources",
                    "requests",
                    "limits",
                    "cpu",
                    "ports",
                    "hostPort",
                    "name",
                    "matchExpressions",
                    "nodeSelectorTerms",
                    REQUIRED,
                    "nodeAffinity",
                    "spec",
                    "template",
                    "metadata",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)
hostile_pods = st.dictionaries(
    st.sampled_from(
        [
            "nodeName",
            "nodeSelector",
            "tolerations",
            "affinity",
            "containers",
            "initContainers",
            "overhead",
            "resources",
            "hostNetwork",
        ]
    ),
    json_values,
)


@given(pod=hostile_pods)
def test_any_pod_is_evaluated(pod: Plain) -> None:
    reasons = rejection_reasons(needs(pod), machine(labels=ZONE, taints=(TAINT,)), Usage())
    assert all(isinstance(reason, NodeRejection) for reason in reasons)


# The objects that make pods


def made(data: Plain) -> list[tuple[str, str, str, int]]:
    return [(one.kind, one.name, one.namespace, one.replicas) for one in pods_of([tree(data)]).workloads]


POD: Plain = {"template": {"spec": {"containers": []}}}


@pytest.mark.parametrize(
    ("version", "kind", "spec", "replicas"),
    [
        ("v1", "Pod", {"containers": []}, 1),
        ("batch/v1", "Job", POD, 1),
        ("batch/v1", "Job", {**POD, "parallelism": 5}, 5),
        ("batch/v1", "Job", {**POD, "parallelism": 5, "completions": 3}, 3),
        ("batch/v1", "Job", {**POD, "completions": 3}, 1),
        ("batch/v1", "Job", {**POD, "parallelism": 0}, 0),
        ("batch/v1", "CronJob", {"jobTemplate": {"spec": {**POD, "parallelism": 2}}}, 2),
        ("apps/v1", "Deployment", {**POD, "replicas": 3}, 3),
        ("apps/v1", "Deployment", {**POD, "replicas": 0}, 0),
        ("apps/v1", "ReplicaSet", POD, 1),
        ("v1", "ReplicationController", {**POD, "replicas": 2}, 2),
        ("apps/v1", "DaemonSet", POD, 1),
        ("apps/v1", "StatefulSet", {**POD, "replicas": "3"}, 1),
        ("apps/v1", "StatefulSet", {**POD, "replicas": True}, 1),
        ("apps/v1", "StatefulSet", {**POD, "replicas": -3}, 0),
    ],
)
def test_an_object_creates_its_number_of_pods(version: str, kind: str, spec: Plain, replicas: int) -> None:
    data = {"apiVersion": version, "kind": kind, "metadata": {"name": "x", "namespace": "n"}, "spec": spec}
    assert made(data) == [(kind, "x", "n", replicas)]


@pytest.mark.parametrize(
    ("kind", "spec", "is_suspended"),
    [
        ("Job", {**POD, "suspend": True}, True),
        ("Job", {**POD, "suspend": "yes"}, False),
        ("CronJob", {"suspend": True, "jobTemplate": {"spec": POD}}, True),
        ("CronJob", {"jobTemplate": {"spec": {**POD, "suspend": True}}}, True),
        ("CronJob", {"suspend": False, "jobTemplate": {"spec": POD}}, False),
    ],
)
def test_what_is_suspended_makes_no_pods_now(kind: str, spec: Plain, is_suspended: bool) -> None:
    (one,) = pods_of([tree({"apiVersion": "batch/v1", "kind": kind, "spec": spec})]).workloads
    assert (one.is_suspended, one.replicas, one.pods) == (is_suspended, 1, 0 if is_suspended else 1)


@pytest.mark.parametrize(
    "data",
    [
        {"apiVersion": "v1", "kind": "Service", "spec": {}},
        {"apiVersion": "example.com/v1", "kind": "Job", "spec": POD},
        {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": [1]}}},
        {"apiVersion": "batch/v1", "kind": "Job", "spec": None},
        {"apiVersion": 3, "kind": ["Job"]},
        {},
    ],
)
def test_an_object_without_pods_has_no_workloads(data: Plain) -> None:
    assert made(data) == []


@given(kind=st.sampled_from(["Pod", "Job", "CronJob", "Deployment", "Server"]), spec=json_values)
def test_the_workloads_of_any_object_can_be_read(kind: str, spec: object) -> None:
    groups = {"Pod": "v1", "Deployment": "apps/v1", "Server": "mlops.seldon.io/v1alpha1"}
    data = {"apiVersion": groups.get(kind, "batch/v1"), "kind": kind, "metadata": spec, "spec": spec}
    assert all(isinstance(one, PodWorkload) and isinstance(one.name, str) for one in pods_of([tree(data)]).workloads)
