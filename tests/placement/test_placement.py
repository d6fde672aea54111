"""`place`: reading what kubectl printed, what would help, how much fits at once, and the command line."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from helpers.cluster import (
    MOST,
    ROOMY,
    TAINT,
    Plain,
    anything,
    cluster_of,
    clusters,
    container,
    listed,
    machine,
    node,
    pod,
    printed,
    subject,
    tree,
    wanting,
)
from helpers.command_line import Answer, Call
from helpers.programs import program
from helpers.work import at_most_calls
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from speccompile.model.source import Layer, Source
from speccompile.placement.capacity import ALL_NODES, Capacity, estimate_capacity, pool_name
from speccompile.placement.cluster_snapshot import Cluster, snapshot
from speccompile.placement.cluster_snapshot_reader import read_snapshot, trimmed
from speccompile.placement.fit import WorkloadFit, fit_workloads
from speccompile.placement.machine import Machine, Taint, Usage
from speccompile.placement.node_pools import Pool
from speccompile.placement.placement import PlacementObjects, place_workloads
from speccompile.placement.pod_requirements import needs_of
from speccompile.placement.scheduler_filters import Filter, rejection_reasons
from speccompile.placement.suggest import apply_change, closest_node, suggest_change
from speccompile.report.place_json import as_placed_json
from speccompile.report.place_text import MAX_WORKLOADS_SHOWN, as_placed_table
from speccompile.report.place_wording import pending_text
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.yaml_text.parse import parse


def fit_of(spec: Plain, machines: Sequence[Machine]) -> tuple[WorkloadFit, Cluster]:
    named = tuple(one._replace(name=f"n{number}") for number, one in enumerate(machines))
    cluster = Cluster(named)
    (fit,) = fit_workloads([subject(spec)], cluster)
    return fit, cluster


# What kubectl printed


def test_a_node_is_read_as_it_is() -> None:
    cluster = cluster_of(
        node("b", unschedulable=True),
        node(
            "a",
            {"cpu": "7910m", "nvidia.com/gpu": "2"},
            labels={"pool": "gpu"},
            taints=[{"key": "k", "effect": "NoSchedule"}],
        ),
    )
    first, second = cluster.machines
    assert (first.name, first.labels, first.taints) == ("a", {"pool": "gpu"}, (Taint("k", "", "NoSchedule"),))
    assert first.allocatable == {"cpu": 7910, "memory": 32 * 2**30, "nvidia.com/gpu": 2, "pods": 110}
    assert (second.name, second.cordoned, first.cordoned) == ("b", True, False)


def test_a_node_without_allocatable_uses_its_capacity() -> None:
    data = node("a")
    data["status"] = {"capacity": {"cpu": "4"}}
    assert cluster_of(data).machines[0].allocatable == {"cpu": 4000}


def test_pods_take_what_they_ask_for_until_they_are_done() -> None:
    running = [
        pod("p1", "a"),
        pod("p2", "a", "Pending"),
        pod("p3", "a", "Succeeded"),
        pod("p4", "a", "Failed"),
        pod("p5", ""),
        pod("p6", "b", hostNetwork=True, containers=[{"name": "c", "ports": [{"containerPort": 80}]}]),
    ]
    cluster = cluster_of(node("a"), node("b"), node("c"), pods=running)
    first, second, third = (cluster.usage(one) for one in cluster.machines)
    assert (first.amounts, first.pods) == ({"cpu": 2000}, 2)
    assert (second.pods, [port.number for port in second.ports]) == (1, [80])
    assert third == Usage()


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(listed(node("a"))),
        json.dumps(node("a")),
        json.dumps({**listed(), "kind": "NodeList", "items": [{"metadata": {"name": "a"}}]}),
        printed(listed(node("a"))),
        printed(node("a")),
        "---\n".join([printed(node("a")), printed(node("b"))]),
        "# saved today\n" + printed(listed(node("a"))),
    ],
)
def test_nodes_may_be_written_in_any_shape_that_kubectl_has(text: str) -> None:
    seen = snapshot(read_snapshot(Source("nodes", text, Layer.PLATFORM), "Node", MOST).documents)
    assert seen.findings == ()
    assert seen.cluster.machines[0].name == "a"


texts = st.text(st.sampled_from("ab:#-'\"\\|>{}[]&*! \n\tenvstatuspecnodeName0é\u2028"), max_size=60) | st.sampled_from(
    ["x\nstatus:\n  phase: Failed\n", "env:", "- a\n- b", "  nodeName: b", "long words " * 20, "yes", "012", "", "~"]
)
plain_labels = st.dictionaries(
    st.sampled_from(["env", "pool", "images", "message", "a/b"]), st.sampled_from(["x", "1", "on", ""])
)


@st.composite
def running_pods(draw: st.DrawFn) -> dict[str, Any]:
    data = pod(draw(st.sampled_from(["p", "q", "r", "s"])), draw(st.sampled_from(["a", "b"])))
    data["metadata"] |= {
        "annotations": {"note": draw(texts)},
        "labels": draw(plain_labels),
        "managedFields": [{"f": {}}],
    }
    data["spec"]["containers"] = [
        {
            "args": draw(st.lists(texts, max_size=2)),
            "env": [{"name": "A", "value": draw(texts)}],
            "image": "x:1",
            "name": "main",
            "resources": {"requests": {"cpu": draw(st.sampled_from(["1", "250m"]))}},
        }
        for _ in range(draw(st.integers(0, 2)))
    ]
    data["status"] |= {"message": draw(texts), "conditions": [{"message": draw(texts), "type": "Ready"}]}
    return data


@st.composite
def some_nodes(draw: st.DrawFn) -> dict[str, Any]:
    data = node(draw(st.sampled_from(["a", "b", "c"])), labels=draw(plain_labels))
    data["metadata"]["annotations"] = {"note": draw(texts)}
    data["status"] |= {"images": [{"names": [draw(texts)]}], "conditions": [{"message": draw(texts)}]}
    return data


def seen_by(read: Callable[[Source, str], Any], nodes: Plain, pods: Plain, write: Callable[[Plain], str]) -> Any:
    both = [read(Source("f", write(data), Layer.PLATFORM), kind) for data, kind in ((nodes, "Node"), (pods, "Pod"))]
    return snapshot(both[0].documents, both[1].documents).cluster


@given(nodes=st.lists(some_nodes(), max_size=3), pods=st.lists(running_pods(), max_size=4))
def test_dropping_unused_parts_changes_nothing(nodes: list[Plain], pods: list[Plain]) -> None:
    taint_text = listed(*nodes), listed(*pods)
    plainly = seen_by(lambda source, _: as_kubernetes_reads(parse(source)), *taint_text, printed)
    quickly = seen_by(lambda source, kind: read_snapshot(source, kind, MOST), *taint_text, printed)
    as_json = seen_by(lambda source, kind: read_snapshot(source, kind, MOST), *taint_text, json.dumps)
    assert quickly == plainly == as_json


def test_of_a_list_by_kubectl_most_lines_are_left_out_and_the_others_keep_their_numbers() -> None:
    data = pod("p", "a")
    data["metadata"] |= {"annotations": {"a": "b " * 60}, "managedFields": [{"f": {"g": {}}}] * 3}
    data["spec"]["containers"][0] |= {"args": ["x: y\nenv:\n"], "env": [{"name": "A", "value": "1"}]}
    data["status"]["message"] = "The node was low on resource: memory. " * 4
    text = printed(listed(data))
    short = trimmed(text, "Pod")
    assert short is not None
    kept = [(at, line) for at, line in enumerate(short.split("\n")) if line.strip(" -")]
    assert len(kept) < text.count("\n") * 2 / 3
    assert [line for at, line in kept if line.strip() and text.split("\n")[at] != line] == []
    assert not re.search("args|env|annotations|managedFields|message", short)
    # It is read so, and not as it is, which nothing is allowed to be here.
    assert read_snapshot(Source("pods", text, Layer.PLATFORM), "Pod", 0).findings == ()


@pytest.mark.parametrize(
    "unusual",
    [
        "    note: &x y\n",
        "    note: |\n      text\n",
        "    # a comment\n",
        "    note: 'a\n      b'\n",
        "\tx: y\n",
        "    note: {a: b}\n",
    ],
)
def test_a_list_with_an_unusual_line_is_parsed_in_full(unusual: str) -> None:
    text = printed(listed(node("a"))).replace("  kind: Node\n", f"  kind: Node\n{unusual}")
    assert trimmed(text, "Node") is None


def test_a_text_that_is_too_long_is_reported() -> None:
    text = "# by hand\n" + printed(listed(node("a")))
    read = read_snapshot(Source("nodes.yaml", text, Layer.PLATFORM), "Node", 10)
    (finding,) = read.findings
    assert (finding.code, read.documents) == ("input/too-large", ())
    assert "not in the format that kubectl prints" in finding.message


def test_what_kubectl_itself_prints_is_read_as_its_json_is(tmp_path: Path) -> None:
    data = node(
        "a",
        {"nvidia.com/gpu": "1"},
        labels={"a": "012", "b": "no", "c": "1e3"},
        taints=[{"key": "k", "value": "yes", "effect": "NoSchedule"}],
    )
    file = tmp_path / "node.json"
    file.write_text(json.dumps(data))
    printing = [program("kubectl"), "label", "--local", "-f", str(file), "extra=on", "-o"]
    texts = [
        subprocess.run([*printing, form], capture_output=True, text=True, check=True).stdout
        for form in ("yaml", "json")
    ]
    both = [snapshot(read_snapshot(Source("n", text, Layer.PLATFORM), "Node", MOST).documents) for text in texts]
    assert both[0].cluster == both[1].cluster
    assert both[0].cluster.machines[0].labels == {"a": "012", "b": "no", "c": "1e3", "extra": "on"}


_KEYS = (
    *("apiVersion", "kind", "items", "metadata", "name", "labels", "spec", "taints", "key", "effect", "status"),
    *("allocatable", "cpu", "nodeName", "containers", "phase", "capacity", "unschedulable"),
)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.sampled_from(["a", "Node", "Pod", "List", "v1"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(_KEYS),
            inner,
            max_size=5,
        )
    ),
    max_leaves=15,
)


@given(nodes=json_values, pods=json_values)
def test_any_snapshot_is_read_or_rejected(nodes: Any, pods: Any) -> None:
    for write in (json.dumps, printed):
        read = [
            read_snapshot(Source("f", write(data), Layer.PLATFORM), kind, MOST)
            for data, kind in ((nodes, "Node"), (pods, "Pod"))
        ]
        seen = snapshot(read[0].documents, read[1].documents)
        assert all(finding.code.startswith("snapshot/") for finding in seen.findings)


# Verdicts


def test_nodes_with_equal_reasons_are_one_group() -> None:
    machines = [
        *(
            machine(f"cpu-{number}", labels={"pool": "cpu"}, allocatable={**ROOMY, "cpu": 1000 * number})
            for number in range(5)
        ),
        machine("gpu", labels={"pool": "gpu"}),
        machine("other", labels={"pool": "gpu"}, taints=(TAINT,)),
    ]
    fit, _ = fit_of({"nodeSelector": {"pool": "gpu"}, "containers": [container({"cpu": "9"})]}, machines)
    assert [one.name for one in fit.fits] == ["n5"]
    first, second = fit.others
    assert [one.name for one in first.machines] == ["n0", "n1", "n2", "n3", "n4"]
    assert [alike[0].filter for alike in first.alike] == [Filter.AFFINITY, Filter.RESOURCES]
    assert [reason.shortfall.free for reason in [*first.alike][1] if reason.shortfall] == [0, 1000, 2000, 3000, 4000]
    assert [one.name for one in second.machines] == ["n6"]


def test_ports_that_are_taken_count() -> None:
    spec: dict[str, Any] = {"containers": [{"name": "c", "ports": [{"containerPort": 80, "hostPort": 80}]}]}
    cluster = cluster_of(node("a"), node("b"), pods=[pod("p", "a", **spec)])
    (fit,) = fit_workloads([subject(spec)], cluster)
    assert [one.name for one in fit.fits] == ["b"]


@given(spec=anything, machines=clusters)
def test_every_node_is_reported_once_with_all_reasons(spec: Plain, machines: list[Machine]) -> None:
    fit, cluster = fit_of(spec, machines)
    apart = {one.name: found for group in fit.others for one, found in zip(group.machines, group.reasons, strict=True)}
    apart |= {one.name: () for one in fit.fits}
    assert apart == {one.name: rejection_reasons(fit.needs, one, Usage()) for one in cluster.machines}
    assert sum(len(group.machines) for group in fit.others) + len(fit.fits) == len(machines)


# What would help

CURED: Mapping[str, tuple[Plain, Machine, str]] = {
    "a toleration": ({}, machine(taints=(TAINT,)), "add a toleration for `dedicated=gpu:NoSchedule`"),
    "a toleration without a value": (
        {"tolerations": [{"key": "x", "operator": "Exists"}]},
        machine(taints=(Taint("k", "", "NoExecute"),)),
        "add a toleration for `k:NoExecute`",
    ),
    "one toleration of two taints": (
        {},
        machine(taints=(TAINT, Taint("dedicated", "other", "NoExecute"))),
        "add a toleration for `dedicated` with any value and effect",
    ),
    "another label": (
        {"nodeSelector": {"a": "1", "b": "2"}},
        machine(labels={"a": "3", "b": "2"}),
        "set `a` to `3` in the node selector",
    ),
    "no label": ({"nodeSelector": {"a": "1"}}, machine(), "remove `a` from the node selector"),
    "another value": (
        wanting({"matchExpressions": [{"key": "a", "operator": "In", "values": ["1"]}]}),
        machine(labels={"a": "2"}),
        "also accept `2` for label `a`",
    ),
    "no expression": (
        wanting({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]}),
        machine(labels={"a": "2", "b": "1"}),
        "remove the requirement on label `b`",
    ),
    "the last expression": (
        wanting({"matchExpressions": [{"key": "a", "operator": "Exists"}]}),
        machine(),
        "remove the requirement on label `a`",
    ),
    "the last expression beside a field": (
        wanting(
            {
                "matchExpressions": [{"key": "a", "operator": "Exists"}],
                "matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}],
            }
        ),
        machine(),
        "remove the requirement on label `a`",
    ),
    "one of two in an alternative": (
        wanting(
            {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "DoesNotExist"}]},
            {"matchExpressions": [{"key": "c", "operator": "Exists"}]},
        ),
        machine(),
        "remove the requirement on label `a`",
    ),
    "no alternative": (
        wanting(
            {"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]},
            {"matchExpressions": [{"key": "c", "operator": "Gt", "values": ["3"]}]},
        ),
        machine(),
        "remove the required node affinity",
    ),
    "none of two expressions": (
        wanting({"matchExpressions": [{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}]}),
        machine(),
        "remove the required node affinity",
    ),
    "no empty term": (wanting({}), machine(), "remove the required node affinity"),
    "not one node by its label": (
        {"nodeSelector": {"kubernetes.io/hostname": "typo"}},
        machine(labels={"kubernetes.io/hostname": "a"}),
        "remove `kubernetes.io/hostname` from the node selector",
    ),
    "no device": (
        {"containers": [container({"nvidia.com/gpu": "1"}, {"nvidia.com/gpu": "1"})]},
        machine(allocatable={"pods": 1}),
        "request no nvidia.com/gpu",
    ),
    "no node by name": ({"nodeName": "other"}, machine(), "remove `nodeName`"),
    "less of a resource": (
        {"containers": [container({"cpu": "1"}), container({"cpu": "3"})]},
        machine(allocatable={**ROOMY, "cpu": 3500}),
        "request 2.5 of cpu instead of 3",
    ),
    "less memory": (
        {"containers": [container({"memory": "3Gi"})]},
        machine(allocatable={**ROOMY, "memory": 2**30 + 5}),
        "request 1024Mi of memory instead of 3Gi",
    ),
    "fewer devices": (
        {"containers": [container({"nvidia.com/gpu": "4"}, {"nvidia.com/gpu": "4"})]},
        machine(allocatable={**ROOMY, "nvidia.com/gpu": 2}),
        "request 2 of nvidia.com/gpu instead of 4",
    ),
}


@pytest.mark.parametrize("cured", CURED)
def test_what_would_help_is_suggested(cured: str) -> None:
    spec, one, what = CURED[cured]
    fit, cluster = fit_of(spec, [one])
    made = suggest_change(fit, cluster)
    assert made is not None
    assert made.change.what == what
    again = apply_change(fit.subject.workload.pod, made.change)
    assert rejection_reasons(needs_of(again), cluster.machines[0], Usage()) == ()


def test_other_requirements_of_a_term_are_unchanged() -> None:
    spec, one, _ = CURED["the last expression beside a field"]
    fit, cluster = fit_of(spec, [one])
    made = suggest_change(fit, cluster)
    assert made is not None
    (term,) = needs_of(apply_change(fit.subject.workload.pod, made.change)).constraints.terms or ()
    assert (term.expressions, [asked.key for asked in term.fields]) == ((), ["metadata.name"])


@pytest.mark.parametrize(
    ("network", "port", "what"),
    [
        ({}, {"hostPort": 80}, "remove host port 80/TCP"),
        ({"hostNetwork": True}, {"containerPort": 80}, "remove `hostNetwork`"),
        ({"hostNetwork": True}, {"containerPort": 80, "hostPort": 80}, None),
    ],
)
def test_a_port_that_is_taken_is_suggested_to_be_left(network: Plain, port: Plain, what: str | None) -> None:
    spec: dict[str, Any] = {**network, "containers": [{"name": "c", "ports": [port]}]}
    cluster = cluster_of(node("a"), pods=[pod("p", "a", **spec)])
    (fit,) = fit_workloads([subject(spec)], cluster)
    made = suggest_change(fit, cluster)
    assert (made.change.what if made else None) == what


def test_the_work_for_a_suggestion_among_thousands_is_bounded() -> None:
    machines = [machine(labels={"rack": str(number // 2 if number < 4 else number)}) for number in range(3000)]
    fit, cluster = fit_of({"nodeSelector": {"rack": "typo"}}, machines)
    with at_most_calls(5_000_000):
        made = suggest_change(fit, cluster)
    assert made is not None
    assert (made.change.what, len(made.machines)) == ("set `rack` to `0` in the node selector", 2)


def test_a_device_is_limited_as_it_is_requested() -> None:
    spec, one, _ = CURED["fewer devices"]
    fit, cluster = fit_of(spec, [one])
    made = suggest_change(fit, cluster)
    assert made is not None
    resources = apply_change(fit.subject.workload.pod, made.change).plain()["containers"][0]["resources"]
    assert resources == {"requests": {"nvidia.com/gpu": "2"}, "limits": {"nvidia.com/gpu": "2"}}


@pytest.mark.parametrize(
    ("spec", "one"),
    [
        ({}, machine(cordoned=True)),
        ({}, machine(taints=(Taint("node.kubernetes.io/not-ready", "", "NoSchedule"),))),
        ({}, machine(taints=(Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),))),
        ({}, machine(taints=(Taint("node-role.kubernetes.io/master", "", "NoSchedule"),))),
        ({}, machine(taints=(Taint("ToBeDeletedByClusterAutoscaler", "1", "NoSchedule"),))),
        ({}, machine(taints=(Taint("DeletionCandidateOfClusterAutoscaler", "1", "NoSchedule"),))),
        ({}, machine(taints=(TAINT, Taint("other", "", "NoSchedule")))),
        ({}, machine(allocatable={"pods": 0})),
        ({"containers": [container({"memory": "1Gi"})]}, machine(allocatable={"pods": 1})),
        (
            {"resources": {"requests": {"memory": "10Gi"}}, "containers": [container({"memory": "9Gi"})]},
            machine(allocatable={"pods": 1, "memory": 6 * 2**30}),
        ),
        ({"nodeSelector": {"a": "1", "b": "2"}}, machine()),
        ({"nodeSelector": [1]}, machine()),
    ],
)
def test_where_no_single_change_helps_none_is_suggested(spec: Plain, one: Machine) -> None:
    fit, cluster = fit_of(spec, [one])
    assert suggest_change(fit, cluster) is None
    near = closest_node(fit)
    assert near is not None
    assert near.reasons == fit.others[0].reasons[0]


def test_the_cheapest_change_is_suggested() -> None:
    machines = [machine(taints=(TAINT,)), *(machine(allocatable={**ROOMY, "cpu": cpu}) for cpu in (1000, 3900, 3800))]
    fit, cluster = fit_of({"containers": [container({"cpu": "4"})]}, machines)
    made = suggest_change(fit, cluster)
    assert made is not None
    assert made.change.what == "request 3.9 of cpu instead of 4"


def test_of_equal_changes_the_one_that_opens_most_nodes_is_suggested() -> None:
    machines = [machine(labels={"a": value}) for value in "xyyz"]
    fit, cluster = fit_of({"nodeSelector": {"a": "w"}}, machines)
    made = suggest_change(fit, cluster)
    assert made is not None
    assert (made.change.what, len(made.machines)) == ("set `a` to `y` in the node selector", 2)


@given(spec=anything, machines=clusters)
def test_a_suggestion_is_true(spec: Plain, machines: list[Machine]) -> None:
    fit, cluster = fit_of(spec, machines)
    assume(not fit.fits)
    made = suggest_change(fit, cluster)
    if made is None:
        single = [found[0] for group in fit.others for found in group.reasons if len(found) == 1]
        assert [reason for reason in single if reason.filter in (Filter.TAINTS, Filter.AFFINITY)] == []
    else:
        again = apply_change(fit.subject.workload.pod, made.change)
        assert made.machines
        assert {one.name for one in made.machines} == {
            one.name for one in cluster.machines if not rejection_reasons(needs_of(again), one, Usage())
        }
        assert fit.subject.workload.pod.plain() == spec


# How much fits at once


def first_fit(specs: Sequence[tuple[Plain, int]], cluster: Cluster) -> tuple[int, dict[str, Usage]]:
    """One pod after the other, on the first node that takes it."""
    used = {one.name: cluster.usage(one) for one in cluster.machines}
    placed = 0
    for spec, count in specs:
        needs = needs_of(tree(spec))
        for _ in range(count):
            there = next((one for one in cluster.machines if not rejection_reasons(needs, one, used[one.name])), None)
            if there is not None:
                used[there.name] = used[there.name].with_pods(needs, 1)
                placed += 1
    return placed, used


def capacity_of(specs: Sequence[tuple[Plain, int]], cluster: Cluster, pools: Sequence[Pool] = ()) -> Capacity:
    return estimate_capacity(fit_workloads([subject(spec, count) for spec, count in specs], cluster), cluster, pools)


@given(specs=st.lists(st.tuples(anything, st.integers(0, 4)), max_size=4), machines=clusters, room=st.integers(0, 5))
def test_the_estimate_is_first_fit(specs: list[tuple[Plain, int]], machines: list[Machine], room: int) -> None:
    named = tuple(
        one._replace(name=f"n{number}", allocatable={**one.allocatable, "cpu": 9000, "pods": room})
        for number, one in enumerate(machines)
    )
    capacity = capacity_of(specs, Cluster(named))
    placed, used = first_fit(specs, Cluster(named))
    assert capacity.placed == placed
    assert capacity.pods - placed == sum(one.pods for one in capacity.pending)
    (pool,) = capacity.pools or (None,)
    if pool is not None:
        assert {share.resource: share.added for share in pool.resources}["pods"] == sum(
            one.pods for one in used.values()
        )
        assert all(share.in_use + share.added <= share.allocatable for share in pool.resources)


def test_a_pool_reports_missing_amounts() -> None:
    cluster = cluster_of(
        node("a", labels={"pool": "x"}), node("b", labels={"pool": "x"}), node("c", labels={"pool": "z"})
    )
    spec = {"nodeSelector": {"pool": "x"}, "containers": [container({"cpu": "3"})]}
    capacity = capacity_of(
        [(spec, 6)], cluster, [Pool("mine", {"pool": "x"}, (), {}), Pool("other", {"pool": "z"}, (), {})]
    )
    assert (capacity.pods, capacity.placed, capacity.workloads, capacity.fully_placed) == (6, 4, 1, 0)
    mine, other = capacity.pools
    assert (mine.name, len(mine.machines), other.name) == ("mine", 2, "other")
    cpu = mine.resources[0]
    assert cpu == ("cpu", 16000, 0, 12000, 2000)
    assert cpu.free == 4000
    (pending,) = capacity.pending
    assert (pending.pods, pending.pools, pending.insufficient) == (2, ("mine",), ("cpu",))


def test_pods_with_one_host_port_need_separate_nodes() -> None:
    spec = {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]}
    capacity = capacity_of([(spec, 3)], cluster_of(node("a"), node("b")))
    assert (capacity.placed, capacity.pending[0].insufficient, capacity.pending[0].ports) == (2, (), ("80/TCP",))
    assert (
        pending_text(capacity.pending[0])
        == "1 pod of Job train stays pending: host port 80/TCP is in use on every node"
    )


def test_enormous_numbers_of_pods_take_little_work() -> None:
    with at_most_calls(50_000):
        capacity = capacity_of([({}, 2**62)], cluster_of(node("a")))
    assert (capacity.placed, capacity.pending[0].pods) == (110, 2**62 - 110)


def test_a_node_that_is_cordoned_is_no_room() -> None:
    capacity = capacity_of(
        [({"containers": [container({"cpu": "1"})]}, 1)], cluster_of(node("a"), node("b", unschedulable=True))
    )
    assert capacity.pools[0].resources[0].allocatable == 8000


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ({"cloud.google.com/gke-nodepool": "g"}, "g"),
        ({"eks.amazonaws.com/nodegroup": "e"}, "e"),
        ({"karpenter.sh/nodepool": "k", "node-role.kubernetes.io/worker": ""}, "k"),
        ({"node-role.kubernetes.io/worker": ""}, "worker"),
        ({"a": "b", "cloud.google.com/gke-nodepool": "g"}, "declared"),
        ({}, ALL_NODES),
    ],
)
def test_a_pool_is_named_by_the_platform_or_by_its_nodes(labels: dict[str, str], expected: str) -> None:
    pools = [Pool("nothing", {}, (), {}), Pool("declared", {"a": "b"}, (), {})]
    assert pool_name(machine(labels=labels), pools) == expected


# The command line

RUN = "name: train\naction: job\nimage: python:3.12\n"


@pytest.fixture
def files(call: Call) -> None:
    """What a call needs, where calls are made."""
    assert call is not None
    Path("run.yaml").write_text(RUN)
    Path("nodes.yaml").write_text(printed(listed(node("a"), node("b", labels={"pool": "gpu"}))))
    Path("pods.yaml").write_text(printed(listed(pod("p", "a"))))


def placed(call: Call, *more: str) -> Answer:
    return call("place", "run.yaml", "--nodes", "nodes.yaml", *more)


@pytest.mark.usefixtures("files")
def test_a_run_that_fits_lists_its_nodes(call: Call) -> None:
    result = placed(call)
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout.splitlines()[0] == "Job train fits 2 of 2 nodes: a, b"
    assert result.stdout.splitlines()[3] == "Job train (run.yaml:1:7): fits 2 of 2 nodes: a, b"


@pytest.mark.usefixtures("files")
def test_a_run_that_fits_nowhere_is_exit_code_4(call: Call) -> None:
    Path("run.yaml").write_text(f"{RUN}node_selector: {{pool: none}}\n")
    result = placed(call)
    assert (result.code, result.stderr) == (4, "")
    assert "label `pool`: needs `none`, has `gpu` or is not set  run run.yaml:4:23" in result.stdout
    assert "suggestion" not in result.stdout
    suggest_change = "suggestion: set `pool` to `gpu` in the node selector (run run.yaml:4:23), to fit 1 node: b\n"
    assert suggest_change in placed(call, "--suggest").stdout


@pytest.mark.usefixtures("files")
def test_a_run_of_no_pods_needs_no_node(call: Call) -> None:
    Path("run.yaml").write_text("name: a\naction: deploy\nimage: x\nreplicas: 0\nnode_selector: {pool: none}\n")
    assert placed(call).code == 0


@pytest.mark.usefixtures("files")
def test_errors_of_runs_and_snapshots_are_reported_together(call: Call) -> None:
    Path("run.yaml").write_text(f"{RUN}nope: 1\n")
    Path("nodes.yaml").write_text(RUN)
    result = placed(call, "--pods", "missing.yaml")
    assert (result.code, result.stdout) == (1, "")
    for code in ("schema/unknown-key", "snapshot/unexpected-object", "input/missing-file"):
        assert f"[{code}]" in result.stderr


@pytest.mark.usefixtures("files")
def test_a_fault_in_json_is_reported_at_its_line(call: Call) -> None:
    text = json.dumps(node("a", {"cpu": "eight"}), indent=2)
    Path("nodes.yaml").write_text(text)
    line = text[: text.index("eight")].count("\n") + 1
    result = placed(call)
    assert result.code == 1
    assert f"--> nodes.yaml:{line}:14\n" in result.stderr


@pytest.mark.usefixtures("files")
def test_other_runs_are_placed_if_errors_of_one_are_ignored(call: Call) -> None:
    Path("run.yaml").write_text(f"{RUN}---\n{RUN.replace('train', 'other')}nope: 1\n")
    result = placed(call, "--ignore", "schema/unknown-key")
    assert (result.code, "skipped 1 run" in result.stderr) == (0, True)
    assert "Job train" in result.stdout


@pytest.mark.usefixtures("files")
def test_manifests_are_placed_as_they_are(call: Call) -> None:
    rendered = call("render", "run.yaml").stdout
    result = call("place", "-", "--nodes", "nodes.yaml", stdin=rendered)
    assert result.stdout.splitlines()[3] == "Job train (<stdin>:1:1): fits 2 of 2 nodes: a, b"


MODEL = {
    "apiVersion": "mlops.seldon.io/v1alpha1",
    "kind": "Model",
    "metadata": {"name": "iris", "namespace": "m"},
    "spec": {"requirements": ["nobody-has-it"]},
}
OTHERS: Mapping[str, Plain] = {
    "DaemonSet": {"apiVersion": "apps/v1", "spec": {"template": {"spec": {"containers": []}}}},
    "TrainJob": {"apiVersion": "trainer.kubeflow.org/v1alpha1", "spec": {"runtimeRef": {"name": "torch"}}},
    "Service": {"apiVersion": "v1", "spec": {}},
}


@pytest.mark.usefixtures("files")
def test_existing_models_are_not_placed(call: Call) -> None:
    Path("model.yaml").write_text(printed(MODEL))
    result = placed(call, "--objects", "model.yaml", "--format", "json")
    assert (result.code, json.loads(result.stdout)["models"]) == (0, [])
    assert call("place", "model.yaml", "--nodes", "nodes.yaml").code == 4


@pytest.mark.usefixtures("files")
def test_objects_that_are_not_placed_are_reported(call: Call, root: Path) -> None:
    objects = [{**spec, "kind": kind, "metadata": {"name": "x"}} for kind, spec in OTHERS.items()]
    Path("others.yaml").write_text(printed(listed(*objects)))
    result = call("place", "others.yaml", "--nodes", "nodes.yaml")
    assert result.code == 0
    assert "not placed: pods of 1 DaemonSet\n" in result.stdout
    assert result.stdout.startswith("the pods of 1 object are unknown and may not fit: TrainJob x\n")
    assert "\nTrainJob x (others.yaml:11:3): its pods are unknown\n" in result.stdout
    data = json.loads(call("place", "others.yaml", "--nodes", "nodes.yaml", "--format", "json").stdout)
    schema = json.loads((root / "schemas" / "reports" / "place.schema.json").read_text())
    assert list(Draft202012Validator(schema).iter_errors(data)) == []
    assert ([one["kind"] for one in data["not_placed"]], data["workloads"]) == (["DaemonSet", "TrainJob"], [])
    assert [(one["kind"], one["name"], one["place"]["line"]) for one in data["unknown"]] == [("TrainJob", "x", 11)]
    page = call("place", "others.yaml", "--nodes", "nodes.yaml", "--html", "-").stdout
    assert "not placed: pods of 1 DaemonSet" in page
    assert '<p class="count">not everything is known</p>' in page
    assert '<li>TrainJob x <span class="where">others.yaml:11:3</span></li>' in page


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("known", [0, 1, 2])
def test_unknown_pods_never_count_as_fitting(call: Call, known: int) -> None:
    unknown = {**OTHERS["TrainJob"], "kind": "TrainJob", "metadata": {"name": "x"}}
    pods = [pod(f"p{number}", "") for number in range(known)]
    Path("all.yaml").write_text(printed(listed(unknown, *pods)))
    result = call("place", "all.yaml", "--nodes", "nodes.yaml")
    assert (result.code, "all 2" in result.stdout, "everything" in result.stdout) == (0, False, False)
    assert "the pods of 1 object are unknown and may not fit: TrainJob x\n" in result.stdout
    strict = call("place", "all.yaml", "--nodes", "nodes.yaml", "--strict")
    assert (strict.code, strict.stdout) == (4, result.stdout)
    linted = call("lint", "all.yaml", "--strict")
    assert linted.code == 4
    assert "notice[placement/unknown-pods]: the pods of `TrainJob` are unknown" in linted.stderr
    assert call("lint", "all.yaml").code == 0


@pytest.mark.usefixtures("files")
def test_a_server_without_its_config_does_not_fit(call: Call) -> None:
    server = {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": "Server", "metadata": {"name": "own"}}
    model = {**MODEL, "metadata": {"name": "iris"}, "spec": {"requirements": ["sklearn"], "server": "own"}}
    Path("all.yaml").write_text(printed(listed({**server, "spec": {"serverConfig": "elsewhere"}}, model)))
    result = call("place", "all.yaml", "--nodes", "nodes.yaml", "--strict")
    assert result.code == 4
    assert result.stdout.splitlines()[:2] == [
        "0 of 1 model fit a server; unknown for 1 model: Model iris",
        "the pods of 1 object are unknown and may not fit: Server own",
    ]


TARGET = """\
workloads:
- {name: gang, actions: [job], name_pattern: job}
manifests:
- {kind: Gang, api_version: example.com/v1, template: gang.yaml.j2, pod: spec.pod, replicas: spec.size}
"""
GANG = """\
apiVersion: example.com/v1
kind: Gang
metadata:
  name: {{ names.workload }}
  labels: {{ labels }}
  annotations: {{ annotations }}
spec:
  size: {{ spec.parallelism }}
  pod:
    containers:
    - name: main
      image: {{ spec.image }}
      resources:
        requests: {{ spec.resources.requests }}
        limits: {{ spec.resources.limits }}
"""


@pytest.mark.usefixtures("files")
def test_a_target_declares_where_pods_are(call: Call) -> None:
    Path("targets/gang").mkdir(parents=True)
    fields = "fields: [image, resources, parallelism, labels, annotations]\n"
    Path("targets/gang/target.yaml").write_text(fields + TARGET)
    Path("targets/gang/gang.yaml.j2").write_text(GANG)
    Path("default.yaml").write_text("id: default\ntarget: gang\n")
    Path("run.yaml").write_text(f"{RUN}parallelism: 3\nresources: {{cpu: 90}}\n")
    flags = ("--templates", "targets", "--profiles", "default.yaml", "--format", "json")
    (workload,) = json.loads(placed(call, *flags).stdout)["workloads"]
    assert (workload["kind"], workload["pods"], workload["fits"]) == ("Gang", 3, [])
    (reason,) = workload["others"][0]["reasons"]
    assert (reason["subject"], reason["origins"][0]["place"]["file"]) == ("cpu", "run.yaml")
    # Manifests of the target are read alike.
    Path("gang.yaml").write_text(call("render", "run.yaml", *flags[:4]).stdout)
    assert call("place", "gang.yaml", "--nodes", "nodes.yaml", *flags[:2]).code == 4
    # Without `pod`, nothing is known about them.
    Path("targets/gang/target.yaml").write_text(fields + TARGET.replace(", pod: spec.pod, replicas: spec.size", ""))
    data = json.loads(placed(call, *flags).stdout)
    assert (data["workloads"], [one["run"] for one in data["unknown"]]) == ([], ["train"])
    # A number of pods needs pods.
    Path("targets/gang/target.yaml").write_text(fields + TARGET.replace(", pod: spec.pod", ""))
    assert "[schema/" in placed(call, *flags).stderr


@pytest.mark.usefixtures("files")
def test_what_is_suspended_takes_no_room_and_must_still_fit(call: Call) -> None:
    job: dict[str, Any] = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "later"}}
    template: dict[str, Any] = {"spec": {"containers": [container({"cpu": "1"})]}}
    Path("job.yaml").write_text(printed({**job, "spec": {"suspend": True, "template": template}}))
    result = call("place", "job.yaml", "--nodes", "nodes.yaml")
    assert result.code == 0
    assert "Job later, suspended (job.yaml:1:1): fits 2 of 2 nodes: a, b\n" in result.stdout
    assert "at once" not in result.stdout
    template["spec"] = {"nodeName": "nowhere"}
    Path("job.yaml").write_text(printed({**job, "spec": {"suspend": True, "template": template}}))
    result = call("place", "job.yaml", "--nodes", "nodes.yaml", "--format", "json")
    (workload,) = json.loads(result.stdout)["workloads"]
    assert (result.code, workload["pods"], workload["is_suspended"]) == (4, 0, True)


@pytest.mark.usefixtures("files")
def test_claims_of_each_pod_are_volumes_that_are_not_looked_at(call: Call) -> None:
    claims = [{"metadata": {"name": "data"}, "spec": {}}]
    config = {"podSpec": {"containers": []}, "volumeClaimTemplates": claims}
    objects: list[dict[str, Any]] = [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "spec": {"template": {"spec": {"containers": []}}, "volumeClaimTemplates": claims},
        },
        {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": "Server", "spec": {"serverConfig": "own"}},
        {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": "ServerConfig", "spec": config},
    ]
    Path("all.yaml").write_text(printed(listed(*(one | {"metadata": {"name": "own"}} for one in objects))))
    text = call("place", "all.yaml", "--nodes", "nodes.yaml").stdout
    assert text.count("  not considered: volumes: ") == 2


@pytest.mark.usefixtures("files")
def test_the_json_matches_its_schema(call: Call, root: Path) -> None:
    Path("run.yaml").write_text(f"{RUN}node_selector: {{pool: none}}\nresources: {{cpu: 90}}\n")
    schema = Draft202012Validator(json.loads((root / "schemas" / "reports" / "place.schema.json").read_text()))
    for more in ((), ("--suggest",), ("--pods", "pods.yaml")):
        data = json.loads(placed(call, "--format", "json", *more).stdout)
        assert list(schema.iter_errors(data)) == []
        assert [reason["filter"] for reason in data["workloads"][0]["others"][0]["reasons"]] == [
            "NodeAffinity",
            "NodeResourcesFit",
        ]


@pytest.mark.usefixtures("files")
def test_features_that_are_not_considered_are_reported(call: Call) -> None:
    Path("run.yaml").write_text(f"{RUN}runtime_class: nvidia\npriority_class: high\n")
    text = placed(call).stdout
    assert "  not considered: priority and preemption (run run.yaml:" in text
    assert "  not considered: runtimeClassName: " in text


@pytest.mark.parametrize(
    ("call_with", "reason"),
    [
        ((), "missing --nodes FILE"),
        (("--nodes", "-"), "only PATH can be - for standard input"),
        (("--nodes", "n", "--html", "-", "--format", "json"), "both use standard output"),
    ],
)
def test_a_contradictory_call_is_rejected(call: Call, call_with: tuple[str, ...], reason: str) -> None:
    result = call("place", "run.yaml", *call_with)
    assert (result.code, result.stdout) == (2, "")
    assert reason in result.stderr


@pytest.mark.usefixtures("files")
def test_a_page_is_written_beside_the_table_and_replaces_only_a_page(call: Call) -> None:
    result = placed(call, "--html", "page.html")
    assert (result.code, Path("page.html").read_text()[:15]) == (0, "<!doctype html>")
    assert placed(call, "--html", "page.html") == result
    before = Path("nodes.yaml").read_text()
    assert placed(call, "--html", "nodes.yaml").code == 1
    assert Path("nodes.yaml").read_text() == before
    assert placed(call, "--html", "-").stdout.startswith("<!doctype html>")


@pytest.mark.usefixtures("files")
def test_the_same_call_prints_the_same(call: Call) -> None:
    assert placed(call, "--suggest", "--format", "json") == placed(call, "--suggest", "--format", "json")


def test_of_many_workloads_only_those_that_do_not_fit_are_listed() -> None:
    cluster = cluster_of(node("a"))
    subjects = [subject({}, name=f"fit-{number}") for number in range(MAX_WORKLOADS_SHOWN)]
    unusual = subject({"nodeSelector": {"a": "b"}}, name="odd")
    text = as_placed_table(place_workloads([*subjects, unusual], PlacementObjects(), cluster))
    assert "Job odd (run.yaml): does not fit any node" in text
    assert "Job fit-1 " not in text
    assert text.startswith(
        f"1 of {MAX_WORKLOADS_SHOWN + 1} workloads does not fit any node (1 node checked): Job odd\n"
    )


def test_names_of_a_cluster_cannot_steer_a_terminal() -> None:
    bad = "x\u202e"
    cluster = Cluster((machine(bad, labels={bad: bad}, taints=(Taint(bad, bad, "NoSchedule"),)),))
    placed_result = place_workloads(
        [subject({"nodeSelector": {bad: "y"}}, name=bad), subject({}, name="b")],
        PlacementObjects(),
        cluster,
        suggests=True,
    )
    evil = Cluster((machine("x\x1b[31m", labels={"\x1b": "\x1b"}, taints=(Taint("\x1b", "\x1b", "NoSchedule"),)),))
    worse = place_workloads([subject({"nodeSelector": {bad: "y"}})], PlacementObjects(), evil, suggests=True)
    for text in (
        as_placed_table(placed_result),
        as_placed_json(placed_result),
        as_placed_table(worse),
        as_placed_json(worse),
    ):
        assert {char for char in text if not char.isprintable()} == {"\n"}


def test_the_work_for_a_thousand_pods_on_five_hundred_nodes_is_bounded() -> None:
    machines = tuple(machine(f"n{number:03}", labels={"pool": "abcde"[number % 5]}) for number in range(500))
    cluster = Cluster(machines)
    specs = [
        {"nodeSelector": {"pool": "abcde"[number % 5]}, "containers": [container({"cpu": f"{number + 1}m"})]}
        for number in range(1000)
    ]
    subjects = [subject(spec, name=f"run-{number}") for number, spec in enumerate(specs)]
    with at_most_calls(14_000_000):
        placed_result = place_workloads(subjects, PlacementObjects(), cluster, suggests=True)
    assert placed_result.capacity.placed == 1000
