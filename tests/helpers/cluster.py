"""Nodes, pods and strategies for them, as the tests of the scheduler need them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import yaml
from hypothesis import strategies as st

from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.placement.cluster_snapshot import Cluster, snapshot
from speccompile.placement.cluster_snapshot_reader import read_snapshot
from speccompile.placement.fit import LocatedWorkload
from speccompile.placement.machine import Machine, Taint
from speccompile.placement.workloads import PodWorkload
from speccompile.yaml_text.from_python import wrap

Plain = Mapping[str, Any]
ROOMY = {"cpu": 10**9, "memory": 10**15, "ephemeral-storage": 10**15, "nvidia.com/gpu": 1000, "pods": 110}
TAINT = Taint("dedicated", "gpu", "NoSchedule")
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
PLACE = Span(Source("run.yaml", "", Layer.RUN))
MOST = 8 * 1024 * 1024
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"


def tree(data: object) -> Node:
    (document,) = wrap(data, Source("test", "", Layer.RUN)).documents
    return document.root


def machine(name: str = "a", **about: Any) -> Machine:
    return Machine(name, about.pop("labels", {}), **{"allocatable": ROOMY, **about})


def wanting(*terms: Plain) -> Plain:
    return {"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}}


def container(requests: Plain | None = None, limits: Plain | None = None, **more: Any) -> Plain:
    resources = {"requests": requests, "limits": limits}
    return {"name": "c", "resources": {side: told for side, told in resources.items() if told is not None}, **more}


words = st.sampled_from(["a", "b", "c"])
numbers = st.sampled_from(["1", "2", "10", "x", "-3", "007"])
keys = st.sampled_from(["k1", "k2", "k3"])
labels = st.dictionaries(keys, words | numbers)
taints = st.builds(Taint, keys, words | numbers | st.just(""), st.sampled_from(EFFECTS))
tolerations = st.fixed_dictionaries(
    {},
    optional={
        "key": keys | st.just(""),
        "operator": st.sampled_from(["Equal", "Exists", "Lt", "Gt", "Other"]),
        "value": words | numbers,
        "effect": st.sampled_from(EFFECTS),
    },
)
amounts = st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 5).map(str), max_size=3)
containers = st.builds(container, amounts, st.none() | amounts)
sidecars = st.builds(
    lambda one, always: {**one, **({"restartPolicy": "Always"} if always else {})}, containers, st.booleans()
)
pods = st.fixed_dictionaries(
    {"containers": st.lists(containers, max_size=3), "initContainers": st.lists(sidecars, max_size=3)},
    optional={"overhead": amounts},
)
anything = st.builds(
    lambda *parts: {key: value for part in parts for key, value in part.items()},
    pods,
    st.fixed_dictionaries(
        {"tolerations": st.lists(tolerations, max_size=2), "nodeSelector": st.dictionaries(keys, words, max_size=2)}
    ),
)
clusters = st.lists(
    st.builds(
        lambda has, tainted, amount: machine(
            labels=has,
            taints=tuple(tainted),
            allocatable={**dict.fromkeys(("cpu", "memory", "nvidia.com/gpu"), amount), "pods": 1},
        ),
        labels,
        st.lists(taints, max_size=2),
        st.integers(0, 20),
    ),
    max_size=5,
)


def node(name: str, allocatable: Plain | None = None, **spec: Any) -> dict[str, Any]:
    labels = spec.pop("labels", {})
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "spec": spec,
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110", **(allocatable or {})}},
    }


def pod(name: str, where: str, phase: str = "Running", **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"nodeName": where, "containers": [container({"cpu": "1"})], **spec},
        "status": {"phase": phase},
    }


def listed(*objects: Plain, kind: str = "List") -> dict[str, Any]:
    return {"apiVersion": "v1", "items": list(objects), "kind": kind, "metadata": {"resourceVersion": ""}}


def printed(data: Plain) -> str:
    """As kubectl prints it: keys in order, dashes right below their key, long lines folded."""
    return yaml.safe_dump(data, default_flow_style=False, width=80)


def cluster_of(*objects: Plain, pods: Sequence[Plain] | None = None) -> Cluster:
    read = read_snapshot(Source("nodes", printed(listed(*objects)), Layer.PLATFORM), "Node", MOST)
    running = None
    if pods is not None:
        running = read_snapshot(Source("pods", printed(listed(*pods)), Layer.PLATFORM), "Pod", MOST).documents
    seen = snapshot(read.documents, running)
    assert seen.findings == ()
    return seen.cluster


def subject(spec: Plain, replicas: int = 1, name: str = "train") -> LocatedWorkload:
    owner = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}}
    return LocatedWorkload(PodWorkload(tree(owner), tree(spec), replicas), PLACE)
