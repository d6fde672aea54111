"""Names, labels and selectors: valid in Kubernetes, distinct, and consistent between objects."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from helpers.cases import compiled, stages
from helpers.manifest_data import annotations_on, of_kind
from hypothesis import assume, example, given
from hypothesis import strategies as st

from speccompile import CompileError, compile_run
from speccompile.testing.manifest_facts import pod_templates
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.documents import Case, cases
from speccompile.testing.strategies.fields import ACTIONS
from speccompile.testing.strategies.text import dns_labels, run_names


def objects(run: Data) -> set[tuple[str, str]]:
    return {(manifest.kind, manifest.name) for manifest in compile_run(run).manifests}


def run_named(name: str, action: str, **fields: Any) -> Data:
    ports = {"service_ports": [{"port": 80}]} if action == "serve" else {}
    return {"name": name, "action": action, "image": "a", **ports, **fields}


@given(run_names(), run_names(), st.sampled_from(ACTIONS), st.booleans())
@example("a", "A", "serve", False)
@example("1a", "s-1a", "serve", False)
@example("x" * 63, "x" * 64, "job", True)
@example("x" * 52, "x" * 53, "job", True)
def test_names_of_distinct_runs_are_distinct(one: str, other: str, action: str, scheduled: bool) -> None:
    """Two runs with different names share no object, and neither can take over an object of the other."""
    assume(one != other)
    schedule = {"schedule": "@daily"} if scheduled and action == "job" else {}
    volumes = [{"volume_type": "persistent_volume_claim", "name": "data", "mount_path": "/data"}]
    made = [objects(run_named(name, action, volumes=volumes, **schedule)) for name in (one, other)]
    assert not made[0] & made[1]
    # Nor is a run that is called what the other's object is called.
    for _, name in made[0]:
        if name != one:
            assert not made[0] & objects(run_named(name, action, volumes=volumes, **schedule))


@given(st.tuples(run_names(), dns_labels()), st.tuples(run_names(), dns_labels()))
@example(("a", "b-c"), ("a-b", "c"))
@example(("a", "b"), ("A", "b"))
@example(("a-b", "c"), ("a-b-c", "c"))
def test_names_of_claims_are_distinct(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Claims of different runs, or of different volumes of one run, have different names."""
    assume(one != other)
    names = []
    for run, volume in (one, other):
        volumes = [{"volume_type": "persistent_volume_claim", "name": volume, "mount_path": "/data"}]
        result = compile_run(run_named(run, "job", volumes=volumes))
        names += [claim["metadata"]["name"] for claim in of_kind(result, "PersistentVolumeClaim")]
    assert len(set(names)) == len(names) == 2


LONGEST = {"CronJob": 52}


@given(cases())
def test_names_are_what_kubernetes_accepts(case: Case) -> None:
    """Names are DNS-1123 labels of at most 63 characters, CronJobs' of 52, and Services' begin with a letter."""
    for manifest in compiled(case).manifests:
        name = manifest.name
        assert name.isascii()
        assert name == name.lower()
        assert name.replace("-", "").isalnum()
        assert not name.startswith("-")
        assert not name.endswith("-")
        assert len(name) <= LONGEST.get(manifest.kind, 63)
        assert manifest.kind != "Service" or name[0].isalpha()


@given(dns_labels(), st.booleans(), cases(action="serve", alone=True, spelling=False))
@example("a", True, Case({"name": "b", "action": "serve", "image": "a", "service_ports": [{"port": 80}]}))
def test_names_of_objects_are_unique(name: str, alias: bool, case: Case) -> None:
    """No two objects of one compilation have one kind and name, even where a run's alias is its own name."""
    assume(not alias or name[0].isalpha())
    run = {**case.run, "name": name, **({"service_name": name} if alias else {})}
    made = [(manifest.kind, manifest.name) for manifest in compiled_or_none(case._replace(run=run))]
    assert len(made) == len(set(made))


def compiled_or_none(case: Case) -> tuple[Any, ...]:
    try:
        return case.compile().manifests
    except CompileError:
        return ()


@given(cases(always=("labels", "annotations", "volumes")))
def test_names_labels_and_annotations_are_on_every_object(case: Case) -> None:
    """`labels` and `annotations` are on every object and every pod template."""
    spec = stages(case).merged.spec.plain()
    manifests = [manifest.data for manifest in compiled(case).manifests]
    nested = [manifest["spec"]["jobTemplate"] for manifest in manifests if manifest["kind"] == "CronJob"]
    for holder in (*manifests, *nested, *pod_templates(manifests)):
        assert spec["labels"].items() <= holder["metadata"]["labels"].items()
        assert spec["annotations"].items() <= annotations_on(holder).items()


@given(cases(always=("volumes",)))
def test_names_of_created_and_mounted_objects_agree(case: Case) -> None:
    """Every created claim and ConfigMap is mounted, and every volume of these types has its object."""
    manifests = [manifest.data for manifest in compiled(case).manifests]
    volumes = {volume["name"]: volume for volume in stages(case).merged.spec.plain()["volumes"]}
    (template,) = pod_templates(manifests)
    mounted = {volume["name"]: volume for volume in template["spec"].get("volumes", ())}
    claims = [name for name, volume in volumes.items() if volume["volume_type"] == "persistent_volume_claim"]
    configs = [name for name, volume in volumes.items() if "data" in volume["spec"]]
    made = {
        kind: [manifest["metadata"]["name"] for manifest in manifests if manifest["kind"] == kind]
        for kind in ("PersistentVolumeClaim", "ConfigMap")
    }
    assert made["PersistentVolumeClaim"] == [mounted[name]["persistentVolumeClaim"]["claimName"] for name in claims]
    assert made["ConfigMap"] == [mounted[name]["configMap"]["name"] for name in configs]


SCRATCH = Case(
    {
        "name": "a",
        "action": "job",
        "image": "a",
        "resources": {"disk": "1Gi"},
        "volumes": [{"volume_type": "empty_dir", "name": "scratch", "mount_path": "/x"}],
    },
    None,
    {"disk": {"as": "volume"}},
)


def keyed_lists(manifests: list[Data]) -> Iterator[tuple[str, list[Any]]]:
    """The keys of every list that Kubernetes merges by key, which rejects duplicates."""
    for template in pod_templates(manifests):
        pod = template["spec"]
        yield "volumes", [volume["name"] for volume in pod.get("volumes", ())]
        for container in pod["containers"]:
            yield "env", [env["name"] for env in container.get("env", ())]
            yield "ports", [port["containerPort"] for port in container.get("ports", ())]
            yield "volumeMounts", [mount["mountPath"].rstrip("/") for mount in container.get("volumeMounts", ())]
    for service in manifests:
        if service["kind"] == "Service":
            yield "service ports", [port["port"] for port in service["spec"]["ports"]]
            yield "service port names", [port["name"] for port in service["spec"]["ports"]]


@given(cases())
@example(SCRATCH)
def test_names_are_unique_in_lists(case: Case) -> None:
    """Volumes, mounts, variables and ports are unique, and every mount has its volume."""
    manifests = [manifest.data for manifest in compiled(case).manifests]
    for what, found in keyed_lists(manifests):
        assert len(found) == len(set(found)), what
    for template in pod_templates(manifests):
        known = {volume["name"] for volume in template["spec"].get("volumes", ())}
        for container in template["spec"]["containers"]:
            assert {mount["name"] for mount in container.get("volumeMounts", ())} == known


@given(cases(action="serve"), st.dictionaries(dns_labels(), dns_labels(), max_size=3))
def test_selectors_never_change(case: Case, labels: Data) -> None:
    """A Deployment's selector is part of its pods' labels and is its Services' selector, whatever labels are set."""

    def selectors_of(case: Case) -> list[Any]:
        result = compiled(case)
        (deployment,) = of_kind(result, "Deployment")
        selector = deployment["spec"]["selector"]["matchLabels"]
        assert selector
        assert selector.items() <= deployment["spec"]["template"]["metadata"]["labels"].items()
        assert selector.items() <= deployment["metadata"]["labels"].items()
        services = [service["spec"]["selector"] for service in of_kind(result, "Service")]
        assert services
        assert all(service == selector for service in services)
        return [selector]

    named: Data = {key: value for key, value in case.run.items() if key in ("name", "project", "action")}
    bare = Case({**named, "image": "a", "service_ports": [{"port": 80}]})
    assert selectors_of(case) == selectors_of(case._replace(run={**case.run, "labels": labels})) == selectors_of(bare)
