"""What changes between the manifests of a run: nothing missed, nothing twice, and each in words that people use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from speccompile import CompileError, compile_run
from speccompile.diff.list_keys import KEYED, SETS, is_unordered
from speccompile.diff.manifests import ManifestChange, difference, is_same
from speccompile.model.key_path import KeyPath
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases

MAIN: KeyPath = ("spec", "template", "spec", "containers", 0)
POD: KeyPath = ("spec", "template", "spec")


def job(**fields: Any) -> Data:
    """A small Job; the fields are its container's, those with a prefix its pod's, its spec's and its metadata's."""
    of = {prefix: {k.removeprefix(prefix): v for k, v in fields.items() if k.startswith(prefix)} for prefix in PREFIXES}
    own = {key: value for key, value in fields.items() if not key.startswith(PREFIXES)}
    pod = {"containers": [{"name": "main", "image": "python:3.12", **own}], **of["pod_"]}
    meta = {"name": "train", **of["meta_"]}
    template = {"spec": pod}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": template, **of["job_"]}}


PREFIXES = ("pod_", "job_", "meta_")


def summaries(before: Any, after: Any, **more: Any) -> list[str]:
    """The distinct summaries, in order."""
    old, new = (made if isinstance(made, list) else [made] for made in (before, after))
    return list(dict.fromkeys(change.summary for change in difference(old, new, **more)))


def thing(kind: str, name: str, **fields: Any) -> Data:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}


GPU = {"key": "nvidia.com/gpu", "operator": "Equal", "value": "a100", "effect": "NoSchedule"}
ZONE = {
    "matchExpressions": [{"key": "zone", "operator": "In", "values": ["a", "b"]}, {"key": "spot", "operator": "Exists"}]
}
DISK = {
    "matchExpressions": [{"key": "disk", "operator": "Gt", "values": ["40"]}],
    "matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n1"]}],
}
NODES = "requiredDuringSchedulingIgnoredDuringExecution"
WISHES = "preferredDuringSchedulingIgnoredDuringExecution"
SECRET = {"secretKeyRef": {"name": "s", "key": "TOKEN"}}


def near(*terms: Data) -> Data:
    return {"nodeAffinity": {NODES: {"nodeSelectorTerms": [*terms]}}}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Placement
        ({"pod_tolerations": [GPU]}, {}, ["toleration nvidia.com/gpu=a100:NoSchedule removed"]),
        ({}, {"pod_tolerations": [{"operator": "Exists"}]}, ["toleration everything added"]),
        (
            {"pod_tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}]},
            {"pod_tolerations": [{"key": "k", "effect": "NoExecute"}]},
            ["toleration k:NoExecute for 300 s removed", "toleration k=:NoExecute added"],
        ),
        (
            {"pod_tolerations": [GPU]},
            {"pod_tolerations": [{key: value for key, value in GPU.items() if key != "operator"}]},
            ["toleration nvidia.com/gpu=a100:NoSchedule is written differently"],
        ),
        ({}, {"pod_nodeSelector": {"pool": "gpu"}}, ["node selector pool=gpu added"]),
        (
            {"pod_nodeSelector": {"pool": "cpu"}},
            {"pod_nodeSelector": {"pool": "gpu"}},
            ["node selector pool changed from cpu to gpu"],
        ),
        ({}, {"pod_affinity": near(ZONE)}, ["required node affinity zone in (a, b), spot added"]),
        (
            {"pod_affinity": near(ZONE, DISK)},
            {"pod_affinity": near(ZONE)},
            ["required node affinity disk > 40, metadata.name not in (n1) removed"],
        ),
        (
            {},
            {"pod_affinity": {"nodeAffinity": {WISHES: [{"weight": 10, "preference": ZONE}]}}},
            ["preferred node affinity zone in (a, b), spot (weight 10) added"],
        ),
        (
            {},
            {"pod_affinity": {"podAntiAffinity": {NODES: [{"topologyKey": "host", "labelSelector": {}}]}}},
            ["required pod anti-affinity topologyKey=host, labelSelector added"],
        ),
        # Resources
        (
            {"resources": {"limits": {"memory": "32Gi"}}},
            {"resources": {"limits": {"memory": "64Gi"}}},
            ["memory limit 32Gi → 64Gi"],
        ),
        ({}, {"resources": {"requests": {"nvidia.com/gpu": "1"}}}, ["nvidia.com/gpu request set to 1"]),
        (
            {"resources": {"limits": {"memory": "1Gi"}}},
            {"resources": {"limits": {"memory": "1024Mi"}}},
            ["memory limit 1Gi → 1024Mi (same amount)"],
        ),
        (
            {"pod_volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}]},
            {"pod_volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1024Mi"}}]},
            ["volume a: `emptyDir.sizeLimit` 1Gi → 1024Mi (same amount)"],
        ),
        ({"image": "a:1"}, {"image": "a:2"}, ["image a:1 → a:2"]),
        (
            {"image": f"registry.example.org/{'team/' * 20}model:1.2.3"},
            {"image": f"registry.example.org/{'team/' * 20}model:1.3.0"},
            ["image …m/team/team/model:1.2.3 → …m/team/team/model:1.3.0"],
        ),
        ({"args": ["--epochs", "3"]}, {"args": ["--epochs", "4"]}, ["args [--epochs, 3] → [--epochs, 4]"]),
        ({}, {"args": ["a"]}, ["args set to [a]"]),
        # Environment
        (
            {"env": [{"name": "HF_HOME", "value": "/a"}]},
            {"env": [{"name": "HF_HOME", "value": "/b"}]},
            ["env HF_HOME changed from /a to /b"],
        ),
        ({}, {"env": [{"name": "A", "value": "A"}]}, ["env A=A added"]),
        ({"env": [{"name": "A", "value": ""}]}, {}, ['env A="" removed']),
        ({}, {"env": [{"name": "A", "value": "x" * 99}]}, [f"env A={'x' * 40}… added"]),
        ({}, {"env": [{"name": "A", "value": "x\x1b[2J\ny"}]}, ["env A=x\\x1b[2J\\ny added"]),
        (
            {},
            {"env": [{"name": "A", "valueFrom": SECRET}]},
            ["env A (valueFrom.secretKeyRef.name=s, valueFrom.secretKeyRef.key=TOKEN) added"],
        ),
        (
            {"env": [{"name": "A", "value": "x"}]},
            {"env": [{"name": "A", "valueFrom": SECRET}]},
            [
                "env A: `valueFrom.secretKeyRef.name` set to s",
                "env A: `valueFrom.secretKeyRef.key` set to TOKEN",
                "env A=x removed",
            ],
        ),
        (
            {"env": [{"name": "A", "value": "x"}, {"name": "B", "value": "y"}]},
            {"env": [{"name": "B", "value": "y"}, {"name": "A", "value": "x"}]},
            ["order of `env` [A, B] → [B, A]"],
        ),
        # Volumes and ports.
        (
            {},
            {"pod_volumes": [{"name": "tmp", "emptyDir": {}}], "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}]},
            ["mount /tmp (name=tmp) added", "volume tmp (emptyDir) added"],
        ),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/a"}]},
            {"volumeMounts": [{"name": "a", "mountPath": "/a", "readOnly": True}]},
            ["mount /a: `readOnly` set to true"],
        ),
        (
            {"ports": [{"containerPort": 53}]},
            {"ports": [{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]},
            ["port 53/UDP added"],
        ),
        ({"pod_imagePullSecrets": [{"name": "a"}]}, {}, ["image pull secret a removed"]),
        # Identity
        ({}, {"pod_runtimeClassName": "nvidia"}, ["runtime class set to nvidia"]),
        (
            {"pod_securityContext": {"fsGroup": 1}},
            {"pod_securityContext": {"fsGroup": 2}},
            ["security context fsGroup 1 → 2"],
        ),
        ({}, {"securityContext": {"capabilities": {"drop": ["ALL"]}}}, ["dropped capability ALL added"]),
        ({"meta_labels": {"team": "a"}}, {"meta_labels": {"team": "b"}}, ["label team changed from a to b"]),
        ({}, {"meta_annotations": {"note": "a\nb"}}, ["annotation note=a\\nb added"]),
        ({"meta_namespace": "a"}, {"meta_namespace": "b"}, ["namespace a → b"]),
        ({"job_backoffLimit": 0}, {"job_backoffLimit": 3}, ["backoff limit 0 → 3"]),
        # Other containers
        (
            {},
            {"pod_initContainers": [{"name": "fetch", "image": "curl:8"}]},
            ["init container fetch (image=curl:8) added"],
        ),
        (
            {"pod_initContainers": [{"name": "fetch", "image": "curl:7", "env": [{"name": "A", "value": "1"}]}]},
            {"pod_initContainers": [{"name": "fetch", "image": "curl:8", "env": [{"name": "A", "value": "2"}]}]},
            ["init container fetch: image curl:7 → curl:8", "init container fetch: env A changed from 1 to 2"],
        ),
        # Fields without a name
        ({"pod_x": 1}, {"pod_x": 2}, ["`spec.template.spec.x` 1 → 2"]),
        ({"pod_x": 1}, {"pod_x": "1"}, ['`spec.template.spec.x` 1 → "1"']),
        ({"pod_x": 1}, {"pod_x": True}, ["`spec.template.spec.x` 1 → true"]),
        ({}, {"pod_x": {"y": {}}}, ["`spec.template.spec.x.y` set to {}"]),
        ({"pod_x": []}, {}, ["`spec.template.spec.x` removed (was [])"]),
        ({"pod_x": {"a": 1}}, {"pod_x": [1]}, ["`spec.template.spec.x` a=1 → [1]"]),
        ({"pod_x": [{"a": 1}]}, {"pod_x": [{"a": 2}]}, ["`spec.template.spec.x` [a=1] → [a=2]"]),
        ({"workingDir": "/a"}, {"workingDir": "/b"}, ["container main: `workingDir` /a → /b"]),
    ],
)
def test_a_change_in_words(before: Data, after: Data, expected: list[str]) -> None:
    assert summaries(job(**before), job(**after)) == expected


def test_a_change_has_a_path() -> None:
    env = {"name": "A", "value": "x"}
    (change,) = difference([job(env=[env])], [job(env=[{**env, "value": "y"}])])
    assert change == ManifestChange(
        kind="Job",
        name="train",
        path=("spec", "template", "spec", "containers", "main", "env", "A", "value"),
        before="x",
        after="y",
        summary="env A changed from x to y",
    )


def test_a_cron_job_changes_in_the_words_of_a_job() -> None:
    def cron(**fields: Any) -> Data:
        inner = {"spec": job(**fields)["spec"], "metadata": {"labels": fields.get("meta_labels", {})}}
        return {"kind": "CronJob", "metadata": {"name": "train"}, "spec": {"jobTemplate": inner}}

    before = {"image": "a:1", "job_backoffLimit": 1, "meta_labels": {"a": "b"}, "pod_priorityClassName": "low"}
    after = {"image": "a:2", "job_backoffLimit": 2, "meta_labels": {"a": "c"}, "pod_priorityClassName": "high"}
    assert summaries(cron(**before), cron(**after)) == [
        "image a:1 → a:2",
        "priority class low → high",
        "backoff limit 1 → 2",
        "label a changed from b to c",
    ]


def test_the_pod_of_a_model_server_changes_in_the_words_of_a_pod() -> None:
    def server(**pod: Any) -> Data:
        return thing("Server", "mlserver", spec={"serverConfig": "mlserver", "podSpec": pod})

    assert summaries(server(tolerations=[GPU]), server()) == ["toleration nvidia.com/gpu=a100:NoSchedule removed"]


# Objects


def test_objects_are_added_and_removed() -> None:
    claim = thing("PersistentVolumeClaim", "train-data", spec={})
    assert summaries([job()], [claim, job()]) == ["PersistentVolumeClaim train-data added"]
    assert summaries([claim, job()], [job()]) == ["PersistentVolumeClaim train-data removed"]
    (change,) = difference([job()], [claim, job()])
    assert (change.path, change.before, change.after) == ((), None, claim)


def test_the_same_change_of_several_objects_has_one_summary() -> None:
    def both(team: str) -> list[Data]:
        labels = {"labels": {"team": team}}
        deployment = job(meta_labels=labels["labels"])
        deployment["spec"]["template"]["metadata"] = labels
        service = {**thing("Service", "train"), "metadata": {"name": "train", **labels}}
        return [deployment, service]

    changes = difference(both("a"), both("b"))
    assert [(change.kind, change.path[-1]) for change in changes] == [("Job", "team")] * 2 + [("Service", "team")]
    assert {change.summary for change in changes} == {"label team changed from a to b"}


def service(name: str, kind: str = "ClusterIP") -> Data:
    return thing("Service", name, spec={"type": kind, "ports": [{"port": 80}]})


def test_a_change_of_all_objects_of_a_kind_names_the_kind() -> None:
    before, after = [service("a"), service("b")], [service("a", "NodePort"), service("b", "NodePort")]
    assert summaries(before, after) == ["Service: type ClusterIP → NodePort"]
    assert summaries(before[:1], after[:1]) == ["Service: type ClusterIP → NodePort"]


def test_a_change_of_one_of_several_objects_names_the_object() -> None:
    assert summaries([service("a"), service("b")], [service("a", "NodePort"), service("b")]) == [
        "Service a: type ClusterIP → NodePort"
    ]


def test_the_file_of_a_config_map_and_the_size_of_a_claim() -> None:
    assert summaries(
        [thing("ConfigMap", "a", data={"image": "x\ny"}), thing("PersistentVolumeClaim", "b", spec=storage("1Gi"))],
        [thing("ConfigMap", "a", data={"image": "x\nz"}), thing("PersistentVolumeClaim", "b", spec=storage("2Gi"))],
    ) == ["ConfigMap: file image x\\ny → x\\nz", "PersistentVolumeClaim: storage request 1Gi → 2Gi"]


def storage(size: str) -> Data:
    return {"resources": {"requests": {"storage": size}}}


@pytest.mark.parametrize(
    ("run_name", "name", "expected"),
    [
        ("train", "train-data", "<run>-data"),
        ("train-a", "train-a--data", "<run>-data"),
        ("train", "v-train-data", "v-<run>-data"),
        ("train", "train", "<run>"),
        ("a", "data", "data"),
        ("", "train-data", "train-data"),
        ("other", "train-data", "train-data"),
    ],
)
def test_the_name_of_the_run_is_replaced(run_name: str, name: str, expected: str) -> None:
    """Runs that get a claim then have the same summary, whatever their names."""
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": name}}
    assert summaries([job()], [thing("PersistentVolumeClaim", name), job(pod_volumes=[volume])], run_name=run_name) == [
        f"PersistentVolumeClaim {expected} added",
        f"volume data (persistentVolumeClaim.claimName={expected}) added",
    ]


def test_only_names_of_objects_of_the_run_are_replaced() -> None:
    assert summaries(job(), job(image="train-data"), run_name="train") == ["image python:3.12 → train-data"]
    assert summaries(job(), job(image="train"), run_name="train") == ["image python:3.12 → <run>"]


# Order


@pytest.mark.parametrize(
    "fields",
    [
        {"pod_tolerations": [GPU, {"operator": "Exists"}]},
        {"pod_volumes": [{"name": "a", "emptyDir": {}}, {"name": "b", "emptyDir": {}}]},
        {"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]},
        {"ports": [{"containerPort": 1}, {"containerPort": 2}]},
        {"pod_affinity": near(ZONE, DISK)},
    ],
)
def test_an_order_without_meaning_is_not_a_change(fields: Data) -> None:
    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(child) for key, child in reversed(value.items())}
        return [turned(item) for item in reversed(value)] if isinstance(value, list) else value

    assert summaries(job(**fields), turned(job(**fields))) == []


def test_duplicate_items_are_counted() -> None:
    assert summaries(job(pod_tolerations=[GPU, GPU]), job(pod_tolerations=[GPU])) == [
        "toleration nvidia.com/gpu=a100:NoSchedule removed"
    ]


def test_items_are_compared_by_key_in_any_order() -> None:
    before = [{"name": name, "image": name} for name in ("main", "a", "b")]
    after = [before[0], {"name": "new", "image": "new"}, before[2]]
    assert summaries(job(pod_containers=before), job(pod_containers=after)) == [
        "container new (image=new) added",
        "container a (image=a) removed",
    ]


@pytest.mark.parametrize("items", [[{"name": "a"}, {"name": "a"}], [{}], [1, None], [{"name": ["x"]}], [{"name": ""}]])
@pytest.mark.parametrize("role", sorted({*KEYED, *SETS}))
def test_lists_in_an_unexpected_shape_are_compared_all_the_same(role: str, items: list[Any]) -> None:
    changes = difference([job(**{f"pod_{role}": items})], [job(**{f"pod_{role}": [*items, "more"]})])
    assert changes
    assert all("more" in change.summary or change.before != change.after for change in changes)


# Properties

SCALARS = (
    st.none() | st.booleans() | st.integers(-2, 2) | st.floats(-1, 1) | st.sampled_from(["", "1", "a", "1Gi", "1024Mi"])
)
KEYS = st.sampled_from(["name", "a", "value", "key", "port", "mountPath", "spec", "template", "resources", "limits"])
LISTS = st.sampled_from(sorted({*KEYED, *SETS, "args"}))
TREES: st.SearchStrategy[Any] = st.recursive(
    SCALARS,
    lambda inner: (
        st.dictionaries(KEYS, inner, max_size=3)
        | st.dictionaries(LISTS, st.lists(inner, max_size=3), max_size=2)
        | st.lists(inner, max_size=3)
    ),
    max_leaves=12,
)
OBJECTS = st.builds(
    lambda kind, name, rest: {**rest, "kind": kind, "metadata": {"name": name}},
    st.sampled_from(["Job", "Service"]),
    st.sampled_from(["a", "b"]),
    st.dictionaries(st.sampled_from(["spec", "data", "apiVersion"]), TREES, max_size=2),
)
MANIFESTS = st.lists(OBJECTS, max_size=3, unique_by=lambda one: (one["kind"], one["metadata"]["name"]))


def shuffled(data: Any, value: Any, role: str = "") -> Any:
    """The value with unordered collections shuffled."""
    if isinstance(value, dict):
        keys = data.draw(st.permutations(list(value)))
        return {key: shuffled(data, value[key], key) for key in keys}
    if isinstance(value, list):
        items = [shuffled(data, item) for item in value]
        return data.draw(st.permutations(items)) if is_unordered(role) else items
    return value


@given(MANIFESTS, st.data())
def test_property_nothing_changes_where_nothing_differs(manifests: list[Data], data: st.DataObject) -> None:
    assert difference(manifests, deepcopy(manifests)) == ()
    assert difference(manifests, shuffled(data, manifests)) == ()


def are_same(before: list[Data], after: list[Data]) -> bool:
    old, new = ({(one["kind"], one["metadata"]["name"]): one for one in made} for made in (before, after))
    return old.keys() == new.keys() and all(is_same(old[key], new[key]) for key in old)


@given(MANIFESTS, MANIFESTS)
def test_property_something_changes_where_something_differs(before: list[Data], after: list[Data]) -> None:
    assert (difference(before, after) == ()) == are_same(before, after)


@given(MANIFESTS, MANIFESTS)
def test_property_the_way_back_undoes_every_change(before: list[Data], after: list[Data]) -> None:
    def places(changes: tuple[ManifestChange, ...], *, back: bool = False) -> Counter[Any]:
        return Counter(
            (one.kind, one.name, one.path, *map(repr, (one.after, one.before) if back else (one.before, one.after)))
            for one in changes
        )

    assert places(difference(before, after)) == places(difference(after, before), back=True)


@given(MANIFESTS, MANIFESTS)
def test_property_a_phrase_is_one_printable_line(before: list[Data], after: list[Data]) -> None:
    for change in difference(before, after, run_name="a"):
        assert change.summary.isprintable()
        assert change.summary.strip() == change.summary != ""


@given(MANIFESTS, MANIFESTS)
def test_property_comparing_leaves_its_inputs_alone(before: list[Data], after: list[Data]) -> None:
    kept = deepcopy((before, after))
    difference(before, after)
    assert (before, after) == kept


def manifests_of(case: Case, profile: Mapping[str, Any] | None) -> list[Data] | None:
    try:
        compiled = compile_run(case.run, profiles=[profile] if profile else [], platform=case.platform)
    except CompileError:
        return None
    return [manifest.data for manifest in compiled.manifests]


@given(cases(alone=True, built_in=True), cases(built_in=True))
def test_property_runs_that_compile_can_be_compared(one: Case, other: Case) -> None:
    without = manifests_of(one, None)
    profile = {**other.profile, "id": "default"} if other.profile else None
    under = manifests_of(Case({k: v for k, v in one.run.items() if k != "profile"}, None, None), profile)
    if without is None or under is None:
        return
    changes = difference(without, under)
    assert (changes == ()) == are_same(without, under)
    assert all(change.summary.isprintable() for change in changes)
