"""`lint`: every rule fires where it should and nowhere else, and nothing it calls impossible is possible."""

from __future__ import annotations

import copy
import json
import re
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from helpers.command_line import Call, run_text
from helpers.paths import GOLDEN, ROOT
from helpers.plain_data import slots
from helpers.work import at_most_calls
from hypothesis import assume, event, given
from hypothesis import strategies as st

from speccompile import compile_many, compile_run
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compiled import Compiled
from speccompile.compiler.documents.platform import read_platform
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.node import Node
from speccompile.model.source import BUILT_IN, Layer, Source, Span
from speccompile.placement.capacity import ALL_NODES
from speccompile.placement.capacity import pool_name as fleet_pool
from speccompile.placement.lint.context import PlacementContext
from speccompile.placement.lint.pod_facts import pod_needs
from speccompile.placement.lint.reachable_pools import match_pools
from speccompile.placement.lint.rules import KUBERNETES_RULES, lint_placement
from speccompile.placement.machine import Machine, Taint, Usage
from speccompile.placement.node_pools import Pool, declared_pools, pools_of
from speccompile.placement.scheduler_filters import rejection_reasons
from speccompile.placement.workloads import pods_of
from speccompile.testing.node_matcher import nodes_for
from speccompile.testing.strategies.node_placement import required_affinities, selectors, toleration_items
from speccompile.testing.strategies.text import json_trees
from speccompile.yaml_text.parse import parse

Data: TypeAlias = dict[str, Any]
ACCEPTED = sorted((GOLDEN / "accept").iterdir())
REQUIRED_AFFINITY_PATH = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED_AFFINITY_PATH = "preferredDuringSchedulingIgnoredDuringExecution"
GPU = {"resources": {"limits": {"nvidia.com/gpu": 1}}}
TEAM = {"key": "team", "value": "vision", "effect": "NoSchedule"}
POOLS = """
- {name: cpu, labels: {pool: cpu}, resources: {cpu: 30, memory: 120Gi}}
- {name: a100, labels: {pool: a100, gpu: a100}, taints: ["gpu=true:NoSchedule"], resources: {"nvidia.com/gpu": 8}}
- {name: t4, labels: {pool: t4, gpu: t4}, taints: ["gpu=true:NoSchedule"], resources: {"nvidia.com/gpu": 4}}
"""
ON_GPUS = {"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}
CRITICAL = """
- {name: shared, labels: {pool: shared}}
- {name: critical, labels: {pool: critical}, taints: [{key: critical, effect: NoExecute}], exclusive: true}
"""
ON_CRITICAL = {"key": "critical", "operator": "Exists", "effect": "NoExecute"}


# Scenes


def job(pod: Any, **spec: Any) -> Data:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": {"spec": pod}, **spec},
    }


def deployment(pod: Data, **spec: Any) -> Data:
    return {**job(pod, **spec), "apiVersion": "apps/v1", "kind": "Deployment"}


def claim(*modes: str) -> Data:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "cache"},
        "spec": {"accessModes": [*modes]},
    }


def pod(*containers: Data, **fields: Any) -> Data:
    return {"containers": [{"name": "main", "image": "a", **one} for one in containers or ({},)], **fields}


def terms(*expressions: Sequence[Data], key: str = "matchExpressions") -> Data:
    return {"nodeAffinity": {REQUIRED_AFFINITY_PATH: {"nodeSelectorTerms": [{key: [*one]} for one in expressions]}}}


def asked(key: str, operator: str, *values: str) -> Data:
    return {"key": key, "operator": operator, **({"values": [*values]} if values else {})}


def trees(objects: Sequence[Data]) -> tuple[Node, ...]:
    """The objects as they are read from a file, where every value has a line."""
    text = "\n---\n".join(json.dumps(one, indent=1) for one in objects)
    parsed = parse(Source("objects.yaml", text, Layer.RUN))
    assert not parsed.findings or not objects
    return tuple(document.root for document in parsed.documents)


def pools(text: str) -> tuple[Pool, ...]:
    parsed = parse(Source("platform.yaml", yaml.safe_dump({"pools": yaml.safe_load(text)}), Layer.PLATFORM))
    platform, findings = read_platform(parsed, bundled_library())
    assert findings == ()
    return declared_pools(platform)


def context(*objects: Data, declared: str = "[]", existing: Sequence[Data] = ()) -> PlacementContext:
    linted = trees(objects)
    both = (*linted, *trees(existing))
    return PlacementContext(both, {id(tree): tree.span for tree in linted}, pods_of(both).workloads, pools(declared))


def found(*objects: Data, declared: str = "[]", existing: Sequence[Data] = ()) -> tuple[Diagnostic, ...]:
    return lint_placement(context(*objects, declared=declared, existing=existing))


def codes(*objects: Data, declared: str = "[]", existing: Sequence[Data] = ()) -> list[str]:
    """What is found of placement, without the part that all of it has in common."""
    findings = found(*objects, declared=declared, existing=existing)
    return sorted(finding.code.removeprefix("placement/") for finding in findings)


# Boundary cases of every rule; the examples of the codes and golden cases show each rule by itself.


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"tolerations": [TEAM]}, ["pins-nothing"]),
        ({"tolerations": [TEAM, {**TEAM, "key": "other"}]}, ["pins-nothing"]),
        ({"tolerations": [TEAM], "nodeSelector": {"team": "vision"}}, []),
        ({"tolerations": [TEAM], "nodeSelector": {}}, ["pins-nothing"]),
        ({"tolerations": [TEAM], "nodeSelector": {"kubernetes.io/os": "linux"}}, ["pins-nothing"]),
        ({"tolerations": [TEAM], "affinity": terms([asked("team", "Exists")])}, []),
        ({"tolerations": [TEAM], "affinity": terms([asked("metadata.name", "In", "n")], key="matchFields")}, []),
        ({"tolerations": [TEAM], "affinity": terms([asked("team", "NotIn", "x")])}, ["pins-nothing"]),
        (
            {"tolerations": [TEAM], "affinity": terms([asked("t", "Exists")], [asked("u", "DoesNotExist")])},
            ["pins-nothing"],
        ),
        ({"tolerations": [TEAM], "nodeName": "n1"}, ["node-name"]),
        # How a node is, and not whom it is for.
        ({"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}, []),
        (
            {"tolerations": [{"key": "node-role.kubernetes.io/control-plane", "operator": "Exists"}]},
            ["on-control-plane"],
        ),
        ({"tolerations": [{"key": "node-role.kubernetes.io/master", "operator": "Exists"}]}, ["gone"]),
        ({"tolerations": [{"operator": "Exists"}]}, ["tolerates-everything"]),
        ({"tolerations": [{"operator": "Exists", "effect": "NoExecute"}]}, ["tolerates-everything"]),
        ({"tolerations": [{**TEAM, "effect": ""}], "nodeSelector": {"a": "b"}}, ["tolerates-every-effect"]),
        (
            {"affinity": {"nodeAffinity": {PREFERRED_AFFINITY_PATH: [{"weight": 1, "preference": {}}]}}},
            ["preferred-only"],
        ),
        ({"affinity": {"nodeAffinity": {PREFERRED_AFFINITY_PATH: []}}}, []),
        (
            {
                "affinity": {"nodeAffinity": {PREFERRED_AFFINITY_PATH: [{"weight": 1, "preference": {}}]}},
                "nodeSelector": {"a": "b"},
            },
            [],
        ),
        (
            {
                "affinity": {"nodeAffinity": {PREFERRED_AFFINITY_PATH: [{"weight": 1, "preference": {}}]}},
                "tolerations": [TEAM],
            },
            ["preferred-only"],
        ),
        ({"nodeName": ""}, []),
        ({"nodeSelector": {"cloud.google.com/gke-accelerator": "nvidia-l4"}}, ["no-gpu-asked"]),
        ({"nodeSelector": {"nvidia.com/gpu.present": "false"}}, []),
        ({"nodeSelector": {"nvidia.com/gpu.present": "true"}, "resourceClaims": [{"name": "gpu"}]}, []),
        ({"affinity": terms([asked("nvidia.com/gpu.count", "Gt", "1")], [asked("zone", "Exists")])}, []),
        ({"affinity": terms([asked("nvidia.com/gpu.present", "DoesNotExist")])}, []),
    ],
)
def test_tolerations_pins_and_names(fields: Data, expected: list[str]) -> None:
    assert codes(job(pod(**fields))) == expected


@pytest.mark.parametrize(
    ("containers", "fields", "expected"),
    [
        ([GPU], {}, ["gpu-without-pin"]),
        ([GPU], {"tolerations": [TEAM]}, ["gpu-without-pin"]),
        ([GPU], {"nodeSelector": {"gpu": "a100"}}, []),
        ([{}, GPU], {}, ["gpu-without-pin"]),
        ([{"resources": {"limits": {"nvidia.com/gpu": 0}}}], {}, []),
        ([{"resources": {"limits": {"example.com/fpga": 1}}}], {"tolerations": [TEAM]}, []),
        (
            [{"resources": {"limits": {"amd.com/gpu": "2"}, "requests": {"amd.com/gpu": 2}}}],
            {"nodeSelector": {"a": "b"}},
            [],
        ),
        ([{"resources": {"requests": {"nvidia.com/gpu": 1}}}], {"nodeSelector": {"a": "b"}}, ["uneven-device"]),
        (
            [{"resources": {"requests": {"a.b/gpu": 2}, "limits": {"a.b/gpu": 1}}}],
            {"nodeSelector": {"a": "b"}},
            ["uneven-device"],
        ),
        ([{"resources": {"limits": {"nvidia.com/gpu": "1500m"}}}], {"nodeSelector": {"a": "b"}}, ["uneven-device"]),
        ([{"resources": {"limits": {"nvidia.com/gpu": "1000m"}}}], {"nodeSelector": {"a": "b"}}, []),
        ([{"resources": {"requests": {"hugepages-2Mi": "2Mi"}}}], {}, ["uneven-device"]),
        ([{"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1024Mi"}}}], {}, []),
        (
            [{"resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "1G"}}}],
            {},
            ["policy/request-above-limit"],
        ),
    ],
)
def test_amounts_and_devices(containers: list[Data], fields: Data, expected: list[str]) -> None:
    assert codes(job(pod(*containers, **fields))) == expected


@pytest.mark.parametrize(
    ("toleration", "is_good"),
    [
        ({"key": "a"}, True),
        ({"key": "a", "operator": "Equal", "value": ""}, True),
        ({"key": "a", "operator": "Exists", "value": ""}, True),
        ({"key": "a", "operator": "Exists", "value": "b"}, False),
        ({"key": "", "operator": "Equal"}, False),
        ({"value": "b"}, False),
        ({"key": "a", "operator": "exists"}, False),
        ({"key": "a", "operator": "Gt", "value": "10"}, True),
        ({"key": "a", "operator": "Lt", "value": "ten"}, False),
        ({"key": "a", "effect": "noSchedule"}, False),
        ({"key": "a", "effect": "NoExecute", "tolerationSeconds": 5}, True),
        ({"key": "a", "effect": "NoSchedule", "tolerationSeconds": 5}, False),
        ({"key": "a", "tolerationSeconds": 5}, False),
    ],
)
def test_a_toleration_is_rejected_like_by_the_api_server(toleration: Data, is_good: bool) -> None:
    finding_codes = codes(job(pod(tolerations=[toleration], nodeSelector={"a": "b"})))
    assert ("bad-toleration" not in finding_codes) == is_good


@pytest.mark.parametrize(
    ("requirement", "is_good"),
    [
        (asked("a", "In", "b"), True),
        (asked("a", "In"), False),
        (asked("a", "NotIn"), False),
        (asked("a", "Exists"), True),
        (asked("a", "Exists", "b"), False),
        (asked("a", "DoesNotExist", "b"), False),
        (asked("a", "Gt", "-5"), True),
        (asked("a", "Gt", "5", "6"), False),
        (asked("a", "Lt", "5.5"), False),
        (asked("a", "Lt", str(2**63)), False),
        (asked("a", "Lt"), False),
        (asked("a", "Equals", "b"), False),
        ({"key": "a"}, False),
    ],
)
def test_a_requirement_has_the_values_that_its_operator_takes(requirement: Data, is_good: bool) -> None:
    softly = {
        "nodeAffinity": {PREFERRED_AFFINITY_PATH: [{"weight": 1, "preference": {"matchExpressions": [requirement]}}]}
    }
    expected = [] if is_good else ["bad-requirement"]
    assert codes(job(pod(affinity=terms([requirement])))) == expected
    assert codes(job(pod(affinity=softly))) == [*expected, "preferred-only"]


@pytest.mark.parametrize(
    ("affinity", "is_good"),
    [
        (terms([asked("metadata.name", "In", "n1")], key="matchFields"), True),
        (terms([asked("metadata.name", "In", "n1", "n2")], key="matchFields"), False),
        (terms([asked("metadata.name", "Exists")], key="matchFields"), False),
        (terms([asked("spec.name", "In", "n1")], key="matchFields"), False),
        (terms([]), False),
        ({"nodeAffinity": {REQUIRED_AFFINITY_PATH: {"nodeSelectorTerms": []}}}, False),
        ({"nodeAffinity": {REQUIRED_AFFINITY_PATH: {}}}, False),
        ({"nodeAffinity": {REQUIRED_AFFINITY_PATH: None}}, True),
    ],
)
def test_terms_ask_for_something(affinity: Data, is_good: bool) -> None:
    assert codes(job(pod(affinity=affinity))) == ([] if is_good else ["bad-requirement"])


@pytest.mark.parametrize(
    ("selector", "affinity", "expected"),
    [
        ({"a": "1"}, [[asked("a", "In", "1", "2")]], []),
        ({"a": "1"}, [[asked("a", "In", "2")]], ["contradiction"]),
        ({"a": "1"}, [[asked("a", "NotIn", "1")]], ["contradiction"]),
        ({"a": "1"}, [[asked("a", "DoesNotExist")]], ["contradiction"]),
        ({"a": "1"}, [[asked("a", "Gt", "1")]], ["contradiction"]),
        ({"a": "x"}, [[asked("a", "Lt", "9")]], ["contradiction"]),
        ({"a": "1"}, [[asked("b", "In", "2")]], []),
        ({"a": "1"}, [[asked("a", "In", "2")], [asked("a", "Exists")]], ["dead-term"]),
        ({"a": "1"}, [[asked("a", "In", "2")], [asked("a", "In", "3")]], ["contradiction"]),
        ({}, [[asked("a", "Gt", "5"), asked("a", "Lt", "6")]], ["contradiction"]),
        ({}, [[asked("a", "Gt", "5"), asked("a", "Lt", "7")]], []),
        ({}, [[asked("a", "Exists"), asked("a", "DoesNotExist")]], ["contradiction"]),
        ({}, [[asked("a", "NotIn", "1"), asked("a", "DoesNotExist")]], []),
        ({}, [[asked("a", "In", "1", "2"), asked("a", "In", "2", "3"), asked("a", "In", "1", "3")]], ["contradiction"]),
    ],
)
def test_what_excludes_itself(selector: Data, affinity: list[list[Data]], expected: list[str]) -> None:
    assert codes(job(pod(nodeSelector=selector, affinity=terms(*affinity)))) == expected


@pytest.mark.parametrize(
    ("containers", "fields", "expected"),
    [
        ([], {}, []),
        ([], {"nodeSelector": {"pool": "cpu"}}, []),
        ([], {"nodeSelector": {"pool": "gpu"}}, ["no-pool"]),
        ([], {"nodeSelector": {"poll": "cpu"}}, ["no-pool"]),
        ([], {"nodeSelector": {"pool": "cpu", "gpu": "a100"}}, ["no-pool"]),
        # What Kubernetes sets need not be declared.
        ([], {"nodeSelector": {"pool": "cpu", "topology.kubernetes.io/zone": "a"}}, []),
        ([], {"affinity": terms([asked("pool", "In", "x")], [asked("pool", "In", "cpu")])}, []),
        ([], {"affinity": terms([asked("gpu", "DoesNotExist")])}, []),
        # Invalid or contradictory requirements have separate rules.
        ([], {"affinity": terms([asked("pool", "Equals", "x")])}, ["bad-requirement"]),
        ([], {"nodeSelector": {"pool": "x"}, "affinity": terms([asked("pool", "In", "y")])}, ["contradiction"]),
        ([], {"nodeSelector": {"pool": 1}}, ["not-text"]),
        ([], {"nodeSelector": {"pool": "a100"}}, ["untolerated-taint"]),
        ([GPU], {"nodeSelector": {"pool": "a100"}, "tolerations": [ON_GPUS]}, []),
        (
            [GPU],
            {"nodeSelector": {"pool": "a100"}, "tolerations": [{**ON_GPUS, "effect": "NoExecute"}]},
            ["idle-toleration", "untolerated-taint"],
        ),
        ([], {"nodeSelector": {"pool": "a100"}, "tolerations": [ON_GPUS]}, ["no-gpu-asked"]),
        ([], {"affinity": terms([asked("gpu", "Exists")]), "tolerations": [ON_GPUS]}, ["no-gpu-asked"]),
        ([], {"affinity": terms([asked("pool", "Exists")]), "tolerations": [ON_GPUS]}, []),
        ([], {"tolerations": [{**ON_GPUS, "key": "b", "value": "c"}]}, ["bad-toleration"]),
        ([], {"tolerations": [ON_GPUS]}, ["pins-nothing"]),
        ([GPU], {"tolerations": [ON_GPUS]}, ["gpu-without-pin"]),
        ([GPU], {}, ["no-such-device"]),
        ([GPU], {"nodeSelector": {"pool": "cpu"}}, ["no-such-device"]),
        (
            [{"resources": {"limits": {"nvidia.com/gpu": 9}}}],
            {"tolerations": [ON_GPUS], "nodeSelector": {"gpu": "a100"}},
            ["too-large"],
        ),
        # One pool alone has so many.
        ([{"resources": {"limits": {"nvidia.com/gpu": 8}}}], {"tolerations": [ON_GPUS]}, []),
        ([{"resources": {"requests": {"memory": "120Gi"}}}], {}, []),
        ([{"resources": {"requests": {"memory": "121Gi"}}}], {}, ["too-large"]),
        ([{"resources": {"requests": {"memory": "61Gi"}}}] * 2, {}, ["too-large"]),
        ([{"resources": {"requests": {"cpu": 31, "memory": "121Gi"}}}], {}, ["too-large", "too-large"]),
        # An unlisted resource may be sufficient.
        ([{"resources": {"requests": {"ephemeral-storage": "9Ti"}}}], {}, []),
        ([], {"tolerations": [{**TEAM}]}, ["idle-toleration"]),
        ([], {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists"}]}, []),
        ([], {"nodeName": "n1", "nodeSelector": {"pool": "gpu"}}, ["node-name"]),
    ],
)
def test_pods_and_declared_pools(containers: list[Data], fields: Data, expected: list[str]) -> None:
    assert codes(job(pod(*containers, **fields)), declared=POOLS) == expected


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, []),
        ({"tolerations": [ON_CRITICAL]}, ["leaks-onto-pool"]),
        ({"tolerations": [ON_CRITICAL], "nodeSelector": {"topology.kubernetes.io/zone": "a"}}, ["leaks-onto-pool"]),
        ({"tolerations": [ON_CRITICAL], "nodeSelector": {"pool": "critical"}}, []),
        ({"tolerations": [ON_CRITICAL], "nodeSelector": {"pool": "shared"}}, []),
        ({"tolerations": [{"operator": "Exists"}]}, ["leaks-onto-pool", "tolerates-everything"]),
    ],
)
def test_what_leaks_onto_an_exclusive_pool(fields: Data, expected: list[str]) -> None:
    assert codes(job(pod(**fields)), declared=CRITICAL) == expected


def test_where_all_pools_are_tainted_alike_there_is_no_other_node() -> None:
    declared = '[{name: a, taints: ["gpu:NoSchedule"]}, {name: b, taints: ["gpu:NoSchedule"]}]'
    assert codes(job(pod(tolerations=[ON_GPUS])), declared=declared) == []
    assert codes(job(pod()), declared=declared) == ["untolerated-taint"]


def test_nodes_of_a_pool_have_different_names() -> None:
    nodes = [Machine(name, {"kubernetes.io/hostname": name, "gpu": name[0]}) for name in ("a1", "a2", "b1")]
    assert [pool.name for pool in pools_of(nodes)] == ["a1 and 1 more", "b1"]
    for selector, expected in (
        ({"kubernetes.io/hostname": "a2"}, []),
        ({"gpu": "b"}, []),
        ({"gpu": "c"}, ["placement/no-pool"]),
        # Of nodes, all labels are known.
        ({"topology.kubernetes.io/zone": "z"}, ["placement/no-pool"]),
    ):
        findings = lint_placement(context(job(pod(nodeSelector=selector)))._replace(pools=pools_of(nodes)))
        assert [finding.code for finding in findings] == expected


@pytest.mark.parametrize(
    "state",
    [
        "node.kubernetes.io/unschedulable",
        "node.kubernetes.io/not-ready",
        "node.cloudprovider.kubernetes.io/uninitialized",
        "ToBeDeletedByClusterAutoscaler",
    ],
)
def test_how_a_node_is_just_now_is_no_taint_of_its_pool(state: str) -> None:
    taint = Taint("gpu", "true", "NoSchedule")
    busy = Machine("b", {"pool": "gpu"}, (Taint(state, "", "NoSchedule"), taint), cordoned=True)
    (pool,) = pools_of([Machine("a", {"pool": "gpu"}, (taint,)), busy])
    assert (pool.name, pool.taints) == ("a and 1 more", (taint,))
    (pool,) = pools_of([busy])
    assert pool.taints == (taint,)


def test_tolerating_role_taints_is_never_suggested() -> None:
    main = Machine("main", {}, (Taint("node-role.kubernetes.io/control-plane", "", "NoSchedule"),))
    team = Machine("team", {}, (Taint("team", "a", "NoSchedule"), Taint("team", "a", "NoExecute")))
    for nodes, fix in (([main, team], "add `{key: team, "), ([main], "select another pool: ")):
        (finding,) = lint_placement(context(job(pod()))._replace(pools=pools_of(nodes)))
        assert finding.code == "placement/untolerated-taint"
        assert (finding.help or "").startswith(fix)
        assert "control-plane" not in (finding.help or "")


def test_a_declared_pool_without_nodes_is_listed_and_others_once() -> None:
    shared = "{name: any, labels: {disk: ssd}}, {name: fast, labels: {disk: ssd, pool: fast}}"
    declared = pools(f"[{shared}, {{name: gpu, labels: {{pool: gpu}}}}]")
    nodes = [Machine("n1", {"disk": "ssd", "pool": "fast"}), Machine("n2", {"disk": "ssd", "pool": "fast"})]
    made = pools_of(nodes, declared)
    assert [(pool.name, pool.varying is None) for pool in made] == [("fast", False), ("gpu", True)]
    assert [fleet_pool(node, declared) for node in nodes] == ["fast", "fast"]
    assert lint_placement(context(job(pod(nodeSelector={"pool": "gpu"})))._replace(pools=made)) == ()


@given(st.lists(selectors(), max_size=4), st.lists(selectors(), max_size=4))
def test_a_node_of_a_declared_pool_has_one_name_for_lint_and_for_place(
    labels: list[Data], declared: list[Data]
) -> None:
    platform = [Pool(f"p{number}", one, (), {}) for number, one in enumerate(declared)]
    nodes = [Machine(f"n{number}", {**one, "kubernetes.io/hostname": "h"}) for number, one in enumerate(labels)]
    named = {fleet_pool(node, platform) for node in nodes} - {ALL_NODES}
    of_nodes = {pool.name for pool in pools_of(nodes, platform) if pool.varying is not None}
    event(f"named: {bool(named)}")
    assert named == {name for name in of_nodes if name.startswith("p")}


def test_a_finding_without_a_pin_points_to_the_name_of_the_object(call: Call) -> None:
    Path("run.yaml").write_text("image: a:1\nname: train\naction: job\n")
    Path("platform.yaml").write_text(
        'pools: [{name: a, taints: ["a:NoSchedule"]}, {name: b, taints: ["b:NoSchedule"]}]\n'
    )
    stderr = call("lint", "run.yaml", "--platform", "platform.yaml").stderr
    assert (
        "requires a toleration for `a:NoSchedule`, and 1 other pool is tainted as well\n  --> run.yaml:2:7\n" in stderr
    )
    (finding,) = found(job(pod()), declared='[{name: a, taints: ["a:NoSchedule"]}]')
    assert finding.span is not None
    assert '"train"' in finding.span.source.text.splitlines()[finding.span.line - 1]


def test_daemons_are_linted_and_may_be_everywhere() -> None:
    def daemons(spec: Data) -> Data:
        return {**deployment(spec), "kind": "DaemonSet"}

    everywhere = [{"operator": "Exists"}, ON_CRITICAL, {"key": "node-role.kubernetes.io/control-plane"}]
    for allowed in everywhere:
        assert codes(deployment(pod(tolerations=[allowed])), declared=CRITICAL) != []
        assert codes(daemons(pod(tolerations=[allowed])), declared=CRITICAL) == []
    softly = {"nodeAffinity": {PREFERRED_AFFINITY_PATH: [{"weight": 1, "preference": {}}]}}
    assert codes(daemons(pod(GPU, affinity=softly))) == []
    assert codes(daemons(pod(nodeSelector={"a": 5}))) == ["not-text"]
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "cache"}}]
    assert codes(daemons(pod(volumes=volumes)), claim("ReadWriteOnce")) == ["claim-of-one-node"]


@pytest.mark.parametrize(
    ("taints", "expected"),
    [
        ([], ["open-pool"]),
        (["a:PreferNoSchedule"], ["open-pool"]),
        (["a:NoSchedule"], ["stays-on-pool"]),
        (["a:NoSchedule", "a:NoExecute"], []),
    ],
)
def test_an_exclusive_pool_is_closed(taints: list[str], expected: list[str]) -> None:
    declared = json.dumps([{"name": "x", "labels": {"pool": "x"}, "taints": taints, "exclusive": True}])
    assert codes(declared=declared) == expected
    assert codes(declared=declared.replace("true", "false")) == []


@pytest.mark.parametrize(
    ("modes", "spec", "expected"),
    [
        (["ReadWriteOnce"], {"replicas": 2}, ["claim-of-one-node"]),
        (["ReadWriteOncePod"], {"replicas": 2}, ["claim-of-one-node"]),
        (["ReadWriteOnce", "ReadWriteMany"], {"replicas": 2}, []),
        (["ReadOnlyMany"], {"replicas": 2}, []),
        ([], {"replicas": 2}, []),
        (["ReadWriteOnce"], {}, ["update-waits-for-claim"]),
        (["ReadWriteOnce"], {"replicas": 0}, []),
        (["ReadWriteOnce"], {"strategy": {"type": "Recreate"}}, []),
        (["ReadWriteOnce"], {"strategy": {"rollingUpdate": {"maxSurge": 0}}}, []),
        (["ReadWriteOnce"], {"strategy": {"rollingUpdate": {"maxSurge": 1}}}, ["update-waits-for-claim"]),
    ],
)
def test_claims(modes: list[str], spec: Data, expected: list[str]) -> None:
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "cache"}}]
    assert codes(claim(*modes), deployment(pod(volumes=volumes), **spec)) == expected
    assert codes(deployment(pod(volumes=volumes), **spec), existing=[claim(*modes)]) == expected
    user = deployment(pod(volumes=volumes), **spec)
    # An object without a namespace may be applied to that of the other.
    assert codes(user, existing=[within("here", claim(*modes))]) == expected
    assert codes(within("here", user), existing=[claim(*modes)]) == expected
    assert codes(within("here", user), existing=[within("other", claim(*modes))]) == []


def within(namespace: str, tree: Data) -> Data:
    return {**tree, "metadata": {**tree["metadata"], "namespace": namespace}}


def test_of_claims_with_one_name_the_one_of_the_namespace_counts_or_all_of_them() -> None:
    volumes = [{"name": "c", "persistentVolumeClaim": {"claimName": "cache"}}]
    user = deployment(pod(volumes=volumes), replicas=2)
    once, many = within("a", claim("ReadWriteOnce")), within("b", claim("ReadWriteMany"))
    assert codes(within("a", user), existing=[once, many]) == ["claim-of-one-node"]
    assert codes(within("b", user), existing=[once, many, claim("ReadWriteOnce")]) == []
    assert codes(user, existing=[once, many]) == []
    assert codes(user, existing=[once, within("c", claim("ReadWriteOnce"))]) == ["claim-of-one-node"]


def test_what_must_be_text_is_no_number_and_no_truth_value() -> None:
    fields = {"nodeSelector": {"a": 1}, "tolerations": [{"key": "b", "value": True, "effect": "NoSchedule"}]}
    findings = found(job(pod({"env": [{"name": "C", "value": 1.5}]}, **fields, affinity=terms([asked("d", "In", 4)]))))  # type: ignore[arg-type]
    assert [finding.code for finding in findings] == ["placement/not-text"] * 4
    variable, *others = sorted(findings, key=lambda finding: "variable" not in finding.message)
    assert [finding.message.split("`")[1] for finding in sorted(others)] == ["1", "4", "true"]
    assert "1.5" not in f"{variable.message} {variable.help}"


def test_what_is_in_the_cluster_is_looked_at_and_not_judged() -> None:
    assert codes(existing=[job(pod(nodeName="n1", tolerations=[{"operator": "Exists"}]))]) == []


def test_equal_findings_are_reported_once_with_their_objects(tmp_path: Path) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("id: p\ntolerations: [{key: team, effect: NoSchedule}]\n")
    runs = [{"name": f"run-{number}", "action": "job", "image": "a:1", "profile": "p"} for number in range(6)]
    results = compile_many(runs, profiles=[profile])
    made = [manifest.tree for result in results if isinstance(result, Compiled) for manifest in result.manifests]
    (finding,) = lint_placement(
        PlacementContext(tuple(made), {id(tree): BUILT_IN for tree in made}, pods_of(made).workloads, ())
    )
    named = [note.message for note in finding.notes][1:]
    assert named == ["in Job `run-0`", "in Job `run-1`", "in Job `run-2`", "and in 3 more"]
    assert finding.span is not None
    assert finding.span.source.layer is Layer.PROFILE


def test_a_value_of_a_template_is_reported_at_the_name_of_the_run() -> None:
    compiled = compile_run({"name": "a", "action": "job", "image": "b:1"})
    (tree,) = (manifest.tree for manifest in compiled.manifests)
    template = Source("t.j2", "nodeName: n1\n", Layer.TEMPLATE)
    spec = tree.at(("spec", "template", "spec"))
    assert spec is not None
    named = spec.with_fields({**spec.fields, "nodeName": Node("n1", Span(template, 1, 11, 1, 13))})
    owner = tree.with_fields({**tree.fields, "spec": Node({"template": Node({"spec": named}, tree.span)}, tree.span)})
    place = Span(Source("run.yaml", "name: a\n", Layer.RUN), 1, 7, 1, 8)
    (finding,) = lint_placement(PlacementContext((owner,), {id(owner): place}, pods_of([owner]).workloads, ()))
    assert finding.span == place
    assert [note.message for note in finding.notes] == ["set by the template here", "in Job `a`"]


# Properties


@st.composite
def placed_pods(draw: st.DrawFn) -> Data:
    return pod(nodeSelector=draw(selectors()), affinity=draw(required_affinities()))


@given(placed_pods())
def test_what_is_called_a_contradiction_fits_no_node_and_everything_else_fits_some(spec: Data) -> None:
    finding_codes = codes(job(spec))
    is_dead = "contradiction" in finding_codes
    event(f"contradiction: {is_dead}")
    fitting = [*nodes_for(spec, {}, ())]
    assert not (is_dead and fitting)
    # Values at both sides of a bound are tried, and no others: a range without them because of `NotIn` is not found.
    assume(is_dead or fitting or not _has_range(spec))
    assert is_dead or fitting


def _has_range(spec: Data) -> bool:
    return any(one["operator"] in ("Gt", "Lt") for term in _terms(spec) for one in term.get("matchExpressions", ()))


def _terms(spec: Data) -> list[Data]:
    found_terms: list[Data] = spec["affinity"]["nodeAffinity"][REQUIRED_AFFINITY_PATH]["nodeSelectorTerms"]
    return found_terms


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    effects = st.sampled_from(("NoSchedule", "PreferNoSchedule", "NoExecute"))
    taints = st.lists(
        st.builds(Taint, st.sampled_from(("zone", "size")), st.sampled_from(("", "a", "1")), effects), max_size=2
    )
    gpus = draw(st.integers(0, 2))
    allocatable = {"pods": 10, "cpu": draw(st.integers(0, 3)) * 1000, **({"nvidia.com/gpu": gpus} if gpus else {})}
    return Machine("n1", draw(selectors()), tuple(draw(taints)), allocatable=allocatable)


@st.composite
def asking_pods(draw: st.DrawFn) -> Data:
    amounts = draw(
        st.sampled_from(({}, {"cpu": 1}, {"cpu": "1500m"}, {"nvidia.com/gpu": 1}, {"cpu": 3, "nvidia.com/gpu": 2}))
    )
    chosen = draw(placed_pods() | st.just(pod()))
    return {
        **chosen,
        "containers": [{"name": "main", "resources": {"limits": amounts}}],
        "tolerations": draw(st.lists(toleration_items(), max_size=2)),
    }


@given(asking_pods(), machines())
def test_a_pool_of_one_node_is_open_to_the_pods_that_the_filters_let_onto_that_node(
    spec: Data, machine: Machine
) -> None:
    (tree,) = trees([spec])
    (reach,) = match_pools(tree, pools_of([machine]))
    why = rejection_reasons(pod_needs(tree), machine, Usage())
    # A pool has no name of a node.
    assume(not any(ask.fields for ask in pod_needs(tree).constraints.terms or ()))
    event(f"open: {reach.is_usable}")
    assert reach.is_usable == (not why)


@given(st.lists(machines().flatmap(lambda one: st.builds(one._replace, name=st.sampled_from("abcdef"))), max_size=6))
def test_pools_of_nodes_hold_what_is_true_of_all_their_nodes(nodes: list[Machine]) -> None:
    named = {node.name: node for node in nodes}.values()
    made = pools_of([*named])
    for node in named:
        assert any(_is_of(node, pool) for pool in made)


def _is_of(node: Machine, pool: Pool) -> bool:
    labels = {key: value for key, value in node.labels.items() if pool.knows(key)}
    has = all(pool.resources.get(name, 0) >= amount for name, amount in node.allocatable.items())
    return labels == pool.labels and node.taints == pool.taints and has


VALID = (
    claim("ReadWriteOnce"),
    deployment(
        pod(
            {**GPU, "env": [{"name": "A", "value": "b"}]},
            volumes=[{"name": "c", "persistentVolumeClaim": {"claimName": "cache"}}],
            nodeSelector={"pool": "a100"},
            tolerations=[ON_GPUS, {**ON_GPUS, "tolerationSeconds": 4}],
            affinity={**terms([asked("a", "Gt", "1")], [asked("metadata.name", "In", "n")], key="matchFields")},
            initContainers=[{"name": "i", "resources": {"requests": {"memory": "1Gi"}, "limits": {"memory": "2Gi"}}}],
        ),
        replicas=2,
        strategy={"rollingUpdate": {"maxSurge": 1}},
    ),
)


@given(st.data())
def test_malformed_objects_never_raise(data: st.DataObject) -> None:
    objects = copy.deepcopy([*VALID])
    for _ in range(data.draw(st.integers(1, 3))):
        holder, key = data.draw(st.sampled_from([*slots(objects)]))
        holder[key] = data.draw(json_trees())
    whole = context(declared=POOLS)
    nodes = tuple(_node(one) for one in objects)
    linted = {id(node): BUILT_IN for node in nodes}
    for finding in lint_placement(whole._replace(objects=nodes, linted=linted, workloads=pods_of(nodes).workloads)):
        assert finding.message


def _node(value: Any) -> Node:
    if isinstance(value, dict):
        return Node({key: _node(child) for key, child in value.items()}, BUILT_IN)
    return Node(tuple(map(_node, value)) if isinstance(value, list) else value, BUILT_IN)


# No false alarms


@pytest.mark.parametrize("folder", ["examples", "starter"])
def test_bundled_projects_have_no_findings(folder: str, call: Call, tmp_path: Path) -> None:
    shutil.copytree(ROOT / folder, tmp_path / folder)
    answer = call("lint", "--project", tmp_path / folder)
    assert (answer.code, answer.stdout) == (0, "")
    assert re.fullmatch(r"no findings in [0-9]+ runs?\n", answer.stderr)


def test_no_golden_run_that_compiles_has_an_error_of_placement() -> None:
    findings: list[tuple[str, Diagnostic]] = []
    for case in ACCEPTED:
        if case.name.startswith("lint-") or not (case / "manifests.yaml").exists() or (case / "args").exists():
            continue
        linted = trees([*yaml.safe_load_all((case / "manifests.yaml").read_text())])
        findings += (
            (case.name, one)
            for one in lint_placement(
                PlacementContext(linted, {id(one): one.span for one in linted}, pods_of(linted).workloads, ())
            )
        )
    assert [(name, finding) for name, finding in findings if finding.severity is Severity.ERROR] == []
    assert {finding.code for _, finding in findings} <= MILD


MILD = {
    "placement/gpu-without-pin",
    "placement/pins-nothing",
    "placement/preferred-only",
    "placement/tolerates-every-effect",
    "placement/tolerates-everything",
    "placement/update-waits-for-claim",
    "seldon/leaky-pool",
    "seldon/no-memory",
    "seldon/unknown-config",
    "seldon/variable-twice",
}
"""What golden runs show on purpose, or leave out to be short."""


# The command


TOLERANT = run_text(tolerations=[TEAM])
NOTHING = "no findings in 1 run\n"


def test_warnings_go_to_stderr_and_are_errors_only_if_strict(call: Call) -> None:
    Path("run.yaml").write_text(TOLERANT)
    answer = call("lint", "run.yaml")
    assert (answer.code, answer.stdout) == (0, "")
    assert answer.stderr.startswith("warning[placement/pins-nothing]: ")
    assert call("lint", "run.yaml", "--strict").code == 1
    assert call("lint", "run.yaml", "--strict", "--ignore", "placement/pins-nothing") == (0, "", NOTHING)
    assert call("lint", "run.yaml", "--error", "placement/pins-nothing").code == 1
    assert call("lint", "run.yaml", "--quiet") == (0, "", "")


def test_strict_is_about_warnings_and_never_about_notices_of_the_same_code(call: Call) -> None:
    softly = {"nodeAffinity": {PREFERRED_AFFINITY_PATH: [{"weight": 1, "preference": {}}]}}
    Path("notice.yaml").write_text(json.dumps(job(pod(affinity=softly))))
    Path("warning.yaml").write_text(json.dumps(job(pod(affinity=softly, tolerations=[TEAM]))))
    code = "placement/preferred-only"
    for paths, expected in ((["notice.yaml"], 0), (["warning.yaml"], 1), (["notice.yaml", "warning.yaml"], 1)):
        answer = call("lint", *paths, "--strict")
        assert (answer.code, answer.stderr.count(f"error[{code}]")) == (expected, expected)
        assert answer.stderr.count(f"notice[{code}]") == paths.count("notice.yaml")
        assert call("lint", *paths, "--strict", "--notice", code).code == 0
        assert call("lint", *paths, "--strict", "--ignore", code, "--quiet") == (0, "", "")
    Path("speccompile.yaml").write_text(f"severity: {{{code}: ignore}}\n")
    assert call("lint", "notice.yaml", "--strict", "--project", ".") == (0, "", "no findings in 1 manifest\n")
    assert call("lint", "warning.yaml", "--strict", "--project", ".").code == 1


def test_a_project_sets_severities_and_runs(call: Call) -> None:
    Path("runs").mkdir()
    Path("runs/train.yaml").write_text(TOLERANT)
    Path("speccompile.yaml").write_text("runs: [runs]\nseverity: {placement/pins-nothing: error}\n")
    answer = call("lint")
    assert answer.code == 1
    assert "runs/train.yaml:1:" in answer.stderr


def test_formats_for_programs_go_to_stdout(call: Call) -> None:
    Path("run.yaml").write_text(TOLERANT)
    report = json.loads(call("lint", "run.yaml", "--format", "json").stdout)
    assert [finding["code"] for finding in report["findings"]] == ["placement/pins-nothing"]
    assert call("lint", "run.yaml", "--format", "github").stdout.startswith("::warning file=run.yaml,")


def test_objects_come_by_standard_input_as_lists_and_beside_runs(call: Call) -> None:
    item = job(pod(nodeName="n1"))
    answer = call("lint", "-", stdin=yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [item]}))
    assert "<stdin>:" in answer.stderr
    assert "placement/node-name" in answer.stderr
    Path("all.yaml").write_text(f"{TOLERANT}\n---\n{json.dumps(item)}\n")
    answer = call("lint", "all.yaml")
    assert "placement/node-name" in answer.stderr
    assert "placement/pins-nothing" in answer.stderr


def test_runs_that_do_not_compile_are_reported_and_the_others_linted(call: Call) -> None:
    Path("good.yaml").write_text(TOLERANT)
    Path("bad.yaml").write_text(run_text("bad", resources={"mem": "8GB"}))
    answer = call("lint", "good.yaml", "bad.yaml")
    assert answer.code == 1
    assert "schema/quantity" in answer.stderr
    assert "placement/pins-nothing" in answer.stderr


def test_what_a_profile_does_to_a_run_is_no_matter_of_lint(call: Call) -> None:
    Path("run.yaml").write_text(run_text(profile="p", resources={"mem": "1Gi"}))
    Path("p.yaml").write_text("id: p\nresources: {mem: 2Gi}\n")
    assert "merge/overridden" in call("validate", "run.yaml", "--profiles", "p.yaml").stderr
    assert call("lint", "run.yaml", "--profiles", "p.yaml", "--strict") == (0, "", NOTHING)


def test_success_is_reported_once_and_only_to_people(call: Call) -> None:
    Path("runs.yaml").write_text(f"{run_text('a')}\n---\n{run_text('b')}\n---\n{json.dumps(job(pod()))}\n")
    assert call("lint", "runs.yaml") == (0, "", "no findings in 2 runs and 1 manifest\n")
    assert call("lint", "runs.yaml", "--quiet") == (0, "", "")
    assert call("lint", "runs.yaml", "--format", "json").stderr == ""
    assert "no findings" not in call("lint", "missing.yaml").stderr


@pytest.mark.parametrize("option", ["--nodes", "--objects"])
def test_files_of_the_cluster_that_cannot_be_read_are_errors(option: str, call: Call) -> None:
    Path("run.yaml").write_text(run_text())
    Path("invalid.yaml").write_text("a: [\n")
    Path("other.yaml").write_text(run_text())
    for name in ("none.yaml", "invalid.yaml", "other.yaml"):
        answer = call("lint", "run.yaml", option, name, "--ignore", "input/missing-file")
        assert (answer.code, answer.stdout) == (1, "")
        assert name in answer.stderr
    assert call("lint", "run.yaml", option, "-").code == 2


def test_no_value_of_a_secret_is_ever_shown(call: Call) -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "hunter2"}}
    Path("all.yaml").write_text(f"{json.dumps(secret)}\n---\n{json.dumps(job(pod(nodeName='n1')))}\n---\na: [hunter2\n")
    answer = call("lint", "all.yaml", "--objects", "all.yaml")
    assert answer.code == 1
    assert "hunter2" not in answer.stderr


def test_no_value_of_a_variable_is_ever_shown(call: Call) -> None:
    spec = pod({"env": [{"name": "DB_PASSWORD", "value": 8675309}]})
    for text in (
        json.dumps(job(spec), indent=1),
        json.dumps(job({**spec, "nodeName": "n1"})),
        yaml.safe_dump(job(spec)),
    ):
        Path("job.yaml").write_text(text)
        for command in ("lint", "verify"):
            answer = call(command, "job.yaml")
            assert answer.code == 1
            assert "8675309" not in answer.stdout + answer.stderr
            assert "string" in answer.stderr


def with_variable(**fields: str) -> Data:
    return {"name": "agent", "image": "a", "env": [{"name": "LEVEL", **fields}]}


def test_findings_beside_a_variable_do_not_show_its_line(call: Call) -> None:
    Path("job.yaml").write_text(json.dumps(job({"nodeName": "n1", "containers": [with_variable(value="hunter2")]})))
    stderr = call("lint", "job.yaml").stderr
    assert "`nodeName` bypasses the scheduler and assigns the pods to `n1`" in stderr
    assert "(not shown: " in stderr
    assert "hunter2" not in stderr


def test_a_variable_is_not_shown_because_its_key_is_misspelt(call: Call) -> None:
    Path("job.yaml").write_text(json.dumps(job({"containers": [with_variable(valeu="hunter2")]}), indent=1))
    stderr = call("verify", "job.yaml").stderr
    assert "unknown key `valeu`" in stderr
    assert "hunter2" not in stderr


def test_a_note_shows_no_variable_of_another_file(call: Call) -> None:
    for kind, fields in (("ServerConfig", {}), ("Server", {"serverConfig": "a"})):
        spec = {**fields, "podSpec": {"containers": [with_variable(value=f"hunter-{kind}")]}}
        tree = {"apiVersion": "mlops.seldon.io/v1alpha1", "kind": kind, "metadata": {"name": "a"}, "spec": spec}
        Path(f"{kind}.yaml").write_text(json.dumps(tree))
    stderr = call("lint", "Server.yaml", "--objects", "ServerConfig.yaml").stderr
    assert "variable `LEVEL` is set twice" in stderr
    assert "is set here\n  ::: ServerConfig.yaml:1:" in stderr
    assert "hunter-" not in stderr


def test_the_work_for_a_thousand_runs_and_their_pools_is_bounded(call: Call) -> None:
    runs = "\n---\n".join(run_text(f"r{number}", node_selector={"pool": "cpu"}) for number in range(1000))
    Path("run.yaml").write_text(runs)
    Path("platform.yaml").write_text(f"pools: {json.dumps(yaml.safe_load(POOLS))}\n")
    with at_most_calls(6_000_000):
        assert call("lint", "run.yaml", "--platform", "platform.yaml") == (0, "", "no findings in 1000 runs\n")


def test_every_rule_is_in_the_table_once() -> None:
    assert len({*KUBERNETES_RULES}) == len(KUBERNETES_RULES)
