"""Violations of the APIs of real Kubernetes versions are reported at the line that caused them."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from helpers.kubernetes_objects import anything, node_of
from helpers.paths import GOLDEN
from helpers.plain_data import paths, with_change
from helpers.programs import program
from helpers.work import at_most_cpu_seconds
from hypothesis import given
from hypothesis import strategies as st

from speccompile import Compiled, Diagnostic, compile_run
from speccompile.cli.main import main
from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.pipeline import compile_document
from speccompile.files.load_admin_config import read_setting
from speccompile.model.key_path import format_path
from speccompile.model.source import Layer, Source
from speccompile.verify.crds import Definitions, definitions
from speccompile.verify.documents import sorted_out
from speccompile.verify.go_regex import compile_pattern
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.verify.kubernetes_api import kinds, known_version, near_versions, versions
from speccompile.verify.verify import Api, LocatedObject, result_findings, verify_object, violations
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.plain_scalars import OutOfRange, resolve

VERSION = "1.33"
RUN = "name: train\naction: job\nimage: python:3.12\n"
OLD_SCALER = "apiVersion: autoscaling/v2beta2\nkind: HorizontalPodAutoscaler\nmetadata: {name: a}\n"


def with_template(name: str, old: str, new: str) -> Compiled:
    """A run under templates of which one has a slip of the pen."""
    known = bundled_library()
    assert old in known.templates[name]
    library = known.but({**known.templates, name: known.templates[name].replace(old, new)})
    (document,) = parse(Source("run.yaml", RUN, Layer.RUN)).documents
    return compile_document(document, read_setting((), None)._replace(library=library))


def summary(found: Diagnostic) -> tuple[str, str, int]:
    assert found.span
    return found.message, found.span.source.name, found.span.line


def faults_of(text: str, *names: str, customs: Mapping[Any, Any] | None = None) -> list[Diagnostic]:
    """What the versions have against the objects of a text."""
    apis = [Api(name, customs or {}) for name in names or (VERSION,)]
    objects = sorted_out(parse(Source("manifest.yaml", text, Layer.RUN))).objects
    return [found for subject in objects for found in result_findings(verify_object(subject, apis))]


# Manifests of runs.


def test_a_good_manifest_has_none() -> None:
    assert violations(compile_run(RUN), VERSION) == violations(compile_run(RUN), "v1.33.7") == ()


def test_a_base_document_is_reported_at_the_line_of_the_profile(tmp_path: Any) -> None:
    profile = tmp_path / "p.yaml"
    profile.write_text("id: default\n---\napiVersion: batch/v1\nkind: Job\nspec:\n  backofLimit: 3\n")
    (found,) = violations(compile_run(RUN, profiles=[profile]), VERSION)
    assert summary(found) == ("unknown key `backofLimit`", str(profile), 6)
    assert (found.code, found.path, found.help) == (
        "api/violation",
        ("spec", "backofLimit"),
        "did you mean `backoffLimit`?",
    )
    assert found.notes[-1].message.endswith("in Job `train`, in the API of Kubernetes 1.33")


def test_a_template_is_reported_at_its_line() -> None:
    compiled = with_template("kubernetes/_pod.j2", "restartPolicy: Never", "restartPolicy: [Never]")
    (found,) = violations(compiled, VERSION)
    line = bundled_library().templates["kubernetes/_pod.j2"].splitlines().index("  restartPolicy: Never") + 1
    assert summary(found) == (
        "expected a string or null, found a list",
        "templates/kubernetes/_pod.j2",
        line,
    )


def test_a_misplaced_value_is_reported_at_the_line_of_the_run() -> None:
    compiled = with_template(
        "kubernetes/_job.j2",
        "ttlSecondsAfterFinished: {{ spec.ttl_seconds }}",
        "ttlSecondsAfterFinished: {{ spec.image }}",
    )
    (found,) = violations(compiled, VERSION)
    assert summary(found) == ("expected a whole number or null, found the string `python:3.12`", "run.yaml", 3)


def test_a_value_without_a_line_is_reported_at_its_nearest_parent() -> None:
    """A setting of the built-in platform has no line, and somebody has to be shown one."""
    compiled = with_template(
        "kubernetes/job.yaml.j2", "suspend: {{", "suspended: {{ platform.service_type }}\n  suspend: {{"
    )
    (found,) = violations(compiled, VERSION)
    assert found.span
    assert found.span.line > 0


# Versions and kinds.


@pytest.mark.parametrize("version", ["0.9.0", "1", "", "1.33.0.0", "../1.33", "1.33-local", "newest", "1.٣٣"])
def test_an_unknown_version_is_reported(version: str) -> None:
    with pytest.raises(LookupError, match="available: "):
        violations(compile_run(RUN), version)


def test_versions_are_known_with_and_without_their_patch() -> None:
    assert [known_version(text) for text in ("1.33", "v1.33", "1.33.0", "1.33.12")] == ["1.33"] * 4


def test_near_versions_come_first() -> None:
    assert near_versions("1.30.1")[:3] == ("1.30", "1.31", "1.29")
    assert near_versions("1.2")[:2] == versions()[:2]
    assert near_versions(" 1.30 ")[0] == "1.30"
    assert near_versions("no")[0] == near_versions("1.999")[0] == versions()[-1]
    assert {*near_versions("2.0")} == {*versions()}


def test_a_fault_of_several_versions_is_reported_once() -> None:
    text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndate: {}\n"
    (found,) = faults_of(text, "1.31", "1.32", "1.33")
    assert summary(found) == ("unknown key `date`", "manifest.yaml", 4)
    assert found.notes[-1].message == "`date` in ConfigMap `a`, in the API of Kubernetes 1.31, 1.32 and 1.33"


def test_a_field_that_came_later_is_a_fault_of_older_versions() -> None:
    text = (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n"
        "  volumes: [{name: model, image: {reference: 'a:1'}}]\n  containers: [{name: main, image: a}]\n"
    )
    (found,) = faults_of(text, "1.29", "1.33")
    assert found.message == "unknown key `image`"
    assert found.notes[-1].message.endswith("in the API of Kubernetes 1.29")


def test_a_removed_kind_lists_its_versions_and_replacement() -> None:
    (found,) = faults_of(OLD_SCALER, "1.25", "1.33")
    assert summary(found) == (
        "unknown kind `HorizontalPodAutoscaler` in `autoscaling/v2beta2`",
        "manifest.yaml",
        2,
    )
    assert [note.message for note in found.notes] == [
        "Kubernetes 1.25 has it",
        "in HorizontalPodAutoscaler `a`, in the API of Kubernetes 1.33",
    ]
    assert found.help == "write `apiVersion: autoscaling/v2`"


def test_a_fault_of_several_versions_has_the_help_of_the_newest() -> None:
    (found,) = faults_of("{apiVersion: flowcontrol.apiserver.k8s.io/v1beta1, kind: FlowSchema}", "1.28", "1.33")
    assert found.notes[-1].message.endswith("in the API of Kubernetes 1.28 and 1.33")
    assert found.help == "write `apiVersion: flowcontrol.apiserver.k8s.io/v1`"


def test_a_kind_that_other_versions_have_is_no_custom_kind() -> None:
    (found,) = faults_of("{apiVersion: resource.k8s.io/v1alpha2, kind: PodSchedulingContext}", "1.37")
    assert "have it" in found.notes[0].message
    assert found.help == "remove it for this version, or verify against a version that has it"


@pytest.mark.parametrize(
    ("kind", "fix"),
    [
        ("{apiVersion: batch/v1beta1, kind: CronJob}", "write `apiVersion: batch/v1`"),
        ("{apiVersion: batch/v1, kind: Jop}", "did you mean `Job`?"),
        ("{apiVersion: batch/v1, kind: job}", "did you mean `Job`?"),
        ("{apiVersion: batch.example.com/v1, kind: Job}", "write `apiVersion: batch/v1`"),
        ("{apiVersion: example.com/v1, kind: Widget}", "pass its CustomResourceDefinition with --crd"),
        ("{apiVersion: ../v1, kind: ../../_definitions}", "pass its CustomResourceDefinition with --crd"),
        ("{apiVersion: v1, kind: DeleteOptions}", "pass its CustomResourceDefinition with --crd"),
        ("{apiVersion: v1, kind: Container}", "pass its CustomResourceDefinition with --crd"),
        ("{apiVersion: v1}", "add them"),
        ("{apiVersion: v1, kind: [Job]}", "add them"),
        ("{apiVersion: [v1], kind: Job}", "add them"),
        ("{apiVersion: v1, kind: List, items: [null]}", "add them"),
    ],
)
def test_what_no_schema_is_of_is_an_unknown_kind(kind: str, fix: str) -> None:
    (found,) = faults_of(kind)
    assert found.code == "api/unknown-kind"
    assert str(found.help).startswith(fix)


@pytest.mark.parametrize("version", [versions()[0], VERSION, versions()[-1]])
def test_every_kind_of_every_version_has_a_schema(version: str) -> None:
    api = Api(version)
    for api_version, kind in kinds(version):
        check = api.check((api_version, kind))
        assert check
        assert check.accepts
        assert not check.accepts([])
        assert not check.accepts({"apiVersion": api_version, "kind": kind, "noSuchField": 1})


# Documents.


def test_documents_are_separated_one_by_one() -> None:
    text = f"{RUN}---\n{OLD_SCALER}---\napiVersion: speccompile.dev/v1alpha1\nkind: Run\n---\nkind: container+job:run\n"
    parsed = sorted_out(parse(Source("mixed.yaml", text, Layer.RUN)))
    assert [subject.kind[1] for subject in parsed.objects] == ["HorizontalPodAutoscaler"]
    assert len(parsed.runs.documents) == 3


def test_lists_are_their_items_and_what_kustomize_reads_is_no_object() -> None:
    text = (
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Pod}\n- {apiVersion: v1, kind: Service}\n"
        "---\napiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n"
    )
    objects = sorted_out(parse(Source("list.yaml", text, Layer.RUN))).objects
    assert [(subject.kind[1], subject.place.line) for subject in objects] == [("Pod", 4), ("Service", 5)]


@pytest.mark.parametrize("depth", [1, 3])
def test_lists_in_lists_are_their_items(depth: int) -> None:
    text = "{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {containers: 1}}"
    for _ in range(depth):
        text = f"{{apiVersion: v1, kind: List, items: [{text}]}}"
    assert [found.path for found in faults_of(text)] == [("spec", "containers")]


SCALARS = (
    "y N on OFF True FALSE ~ = 0o17 -0o17 0O7 0o8 1_000 0b11 0B1 +0b1 0b2 0x1F 0X1F -0X1f 0x_1 0x 0xG 0_1 1_0.5 0644"
    " -010 08 0_8 00 -00 -0 1e3 1E+3 1_e3 1e1_0 .5 +.5 ._5 -.5_1 1. 0. .e3 ..5 _1 1__2 1_ -_1 12:30:45 2024-01-01"
    " 0x1.8p1 18446744073709551615 -9223372036854775808"
)


def as_read(text: str) -> Any:
    (document,) = as_kubernetes_reads(parse(Source("a.yaml", text, Layer.RUN))).documents
    return document.root.plain()


def as_kubectl_reads(text: str, folder: Path) -> Any:
    """The witness: what kubectl would send to a server."""
    (folder / "a.yaml").write_text(text, encoding="utf-8")
    call = [program("kubectl"), "label", "--local", "-f", str(folder / "a.yaml"), "-o", "json", "a=b"]
    environment = {"HOME": str(folder), "KUBECONFIG": os.devnull}
    done = subprocess.run(call, capture_output=True, text=True, check=True, env=environment)
    return json.loads(done.stdout)


def test_other_peoples_scalars_are_read_as_kubectl_reads_them(tmp_path: Path) -> None:
    """Over a table, and over whatever can be made of the signs that numbers are made of."""
    letters = random.Random(1)  # noqa: S311  the same ones each time
    made = ("".join(letters.choices("01789_xXbBoOeE+-.aF", k=letters.randint(1, 6))) for _ in range(500))
    # What no server could hold is an error in manifests, too.
    numbers = [one for one in dict.fromkeys((*SCALARS.split(), *made)) if not isinstance(resolve(one), OutOfRange)]
    written = [text for one in numbers if one not in ("-", "---", "...") for text in (one, f"'{one}'")]
    text = "apiVersion: a/v1\nkind: Custom\nmetadata: {name: a}\nspec:\n"
    text += "".join(f"  k{at}: {one}\n" for at, one in enumerate(written))
    our_values, kubectl_values = as_read(text)["spec"], as_kubectl_reads(text, tmp_path)["spec"]
    for at, one in enumerate(written):
        our_value, real = our_values[f"k{at}"], kubectl_values[f"k{at}"]
        assert (our_value, isinstance(our_value, bool)) == (real, isinstance(real, bool)), one


def test_other_peoples_keys_are_read_as_kubectl_reads_them(tmp_path: Path) -> None:
    head = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"
    text = f'{head}data: {{1: a, on: b, 1.5: c, 0x1F: d, 010: e, 1e3: f, "0o17": g}}\n'
    assert as_read(text)["data"] == as_kubectl_reads(text, tmp_path)["data"]
    parsed = as_kubernetes_reads(parse(Source("a.yaml", f"{head}data: {{1: [x], 1.23456789: b}}\n", Layer.RUN)))
    assert [finding.severity for finding in parsed.findings] == ["warning", "error"]
    (found,) = faults_of(f"{head}data: {{1: [x]}}\n")
    assert (summary(found)[1:], found.path, found.span.source.text[:3] if found.span else "") == (
        ("manifest.yaml", 4),
        ("data", "1"),
        "api",
    )


# Checks beyond the schemas of Kubernetes.


def pod(container: str) -> str:
    return (
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        f"spec: {{containers: [{{name: main, image: a, {container}}}]}}\n"
    )


@pytest.mark.parametrize(
    ("resources", "messages"),
    [
        ("{requests: {cpu: 1, memory: 1Gi}, limits: {cpu: 1000m, memory: 1Gi}}", []),
        ("{limits: {nvidia.com/gpu: 1}}", []),
        ("{requests: {cpu: 2}, limits: {cpu: 1999m}}", ["the request of `2` is above the limit of `1999m`"]),
        ("{requests: {a.b/c: 1}}", ["`a.b/c` has a request but no limit"]),
        ("{requests: {a.b/c: 1}, limits: {a.b/c: 2}}", ["the request of `1` differs from the limit of `2`"]),
        ("{requests: {cpu: 1, hugepages-2Mi: 2Mi}}", ["`hugepages-2Mi` has a request but no limit"]),
        ("{limits: {hugepages-2Mi: 2Mi}}", ["huge pages need `cpu` or `memory`"]),
        ("{limits: {cpu: 1, hugepages-2Mi: 3Mi}}", ["`3Mi` is not a multiple of the page size `2Mi`"]),
        ("{requests: {cpu: 1}, limits: {cpu: null}}", ["the request of `1` is above the limit of `0`"]),
        ("{limits: {a./b: 1}}", ["`a.` is not a DNS name before `/`"]),
        ("{requests: {x.kubernetes.io/y: 1}}", []),
        ("{limits: {a.b/c: 500m}}", ["`500m` is not a whole number"]),
        ("{limits: {cpu: 8GB}}", ["`8GB` does not end in a known suffix"]),
        ("{limits: {cpu: -1}}", ["`-1` is negative"]),
        ("{limits: {cpu: [1]}}", ["expected a string, a number or null, found a list"]),
        ("{limits: {cpu: null}}", []),
        ("{limits: {memory: 16Ei, cpu: 1e30}}", []),
        ("{limits: {mem: 1Gi}}", ["unknown resource `mem`"]),
        (
            "{limits: {gpu: 1}, requests: {storage: 1Gi}}",
            [f"unknown resource `{name}`" for name in ("storage", "gpu")],
        ),
        ("{limits: {ephemeral-storage: 1Gi, cpu: 1, hugepages-2Mi: 4Mi}}", []),
    ],
)
def test_resources_are_looked_at_as_servers_do(resources: str, messages: list[str]) -> None:
    assert [found.message for found in faults_of(pod(f"resources: {resources}"))] == messages


@pytest.mark.parametrize(
    ("container", "count"),
    [
        ("imagePullPolicy: Always", 0),
        ("imagePullPolicy: ''", 0),
        ("imagePullPolicy: always", 1),
        ("ports: [{containerPort: 80, protocol: tcp}]", 1),
        ("ports: [{containerPort: 3000000000}]", 1),
        ("livenessProbe: {httpGet: {port: http}}", 0),
        ("livenessProbe: {httpGet: {port: null}}", 1),
        ("livenessProbe: {httpGet: {port: 2147483648}}", 1),
        ("livenessProbe: {httpGet: {port: 1.5}}", 1),
    ],
)
def test_options_and_ranges_are_looked_at_as_servers_do(container: str, count: int) -> None:
    assert len(faults_of(pod(container))) == count


@pytest.mark.parametrize(
    ("name", "meant"), [("mem", "memory"), ("gpu", "nvidia.com/gpu"), ("cpus", "cpu"), ("Memory", "memory")]
)
def test_an_unknown_resource_has_a_suggestion(name: str, meant: str) -> None:
    (found,) = faults_of(pod(f"resources: {{limits: {{{name}: 1}}}}"))
    assert found.help == f"did you mean `{meant}`?"


def object_of(kind: str, rest: str) -> str:
    return f"{{apiVersion: {kind.replace(' ', ', kind: ')}, metadata: {{name: a}}, {rest}}}"


SELECTOR = "selector: {matchLabels: {a: b}}"
TEMPLATE = "template: {metadata: {labels: {a: b}}, spec: {containers: [{name: a, image: a}]}}"


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        # To a server null is not there.
        (object_of("apps/v1 Deployment", f"spec: {{selector: null, {TEMPLATE}}}"), ["spec"]),
        (object_of("v1 Pod", "spec: {containers: [{name: null, image: a}]}"), ["spec.containers[0]"]),
        # What servers fill in, or never ask for.
        (object_of("apps/v1 StatefulSet", f"spec: {{{SELECTOR}, {TEMPLATE}}}, status: {{}}"), []),
        (object_of("apps/v1 DaemonSet", f"spec: {{{SELECTOR}, {TEMPLATE}}}, status: {{}}"), []),
        (object_of("rbac.authorization.k8s.io/v1 RoleBinding", "roleRef: {kind: Role, name: a}"), []),
        (object_of("rbac.authorization.k8s.io/v1 RoleBinding", "roleRef: {kind: Role}"), ["roleRef"]),
        (object_of("networking.k8s.io/v1 NetworkPolicy", "spec: {ingress: []}"), []),
        (
            object_of(
                "batch/v1 Job",
                "spec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}, podFailurePolicy:"
                " {rules: [{action: Ignore, onPodConditions: [{type: DisruptionTarget}]},"
                " {action: FailJob, onExitCodes: {operator: In, values: [42]}}]}}",
            ),
            [],
        ),
        # Words.
        (
            object_of("networking.k8s.io/v1 NetworkPolicy", "spec: {ingress: [{ports: [{protocol: tcp}]}]}"),
            ["spec.ingress[0].ports[0].protocol"],
        ),
        (object_of("v1 Node", "spec: {taints: [{key: a, effect: NoRun}]}"), ["spec.taints[0].effect"]),
        (
            object_of(
                "v1 Pod", "spec: {containers: [{name: a, image: a}], tolerations: [{key: a, operator: '', effect: ''}]}"
            ),
            [],
        ),
        (
            object_of(
                "v1 Pod", "spec: {containers: [{name: a, image: a}], tolerations: [{key: a, operator: Gt, value: '1'}]}"
            ),
            ["spec.tolerations[0].operator"],
        ),
        (
            object_of(
                "apps/v1 Deployment",
                f"spec: {{selector: {{matchExpressions: [{{key: a, operator: ''}}]}}, {TEMPLATE}}}",
            ),
            ["spec.selector.matchExpressions[0].operator"],
        ),
        (
            object_of(
                "v1 Pod", "spec: {containers: [{name: a, image: a}], resources: {requests: {cpu: 2}, limits: {cpu: 1}}}"
            ),
            ["spec.resources.requests.cpu"],
        ),
        # Times and names.
        (
            "{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: yesterday}}",
            ["metadata.creationTimestamp"],
        ),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: null}}", []),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: a, creationTimestamp: '2026-02-01T10:00:00Z'}}", []),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}", []),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: ''}}", ["metadata"]),
        ("{apiVersion: v1, kind: ConfigMap, metadata: {name: null}}", ["metadata"]),
        ("{apiVersion: v1, kind: ConfigMap}", ["metadata"]),
        ("{apiVersion: v1, kind: ConfigMap, metadata: [a]}", ["metadata"]),
        ("{apiVersion: authentication.k8s.io/v1, kind: TokenReview, spec: {token: a}}", []),
        ("{apiVersion: v1, kind: ConfigMapList, items: []}", []),
    ],
)
def test_objects_are_looked_at_as_servers_do(text: str, paths: list[str]) -> None:
    """By version 1.33, or by the others where its schemas ask for less."""
    assert [format_path(found.path) for found in faults_of(text)] == paths
    if not paths:
        assert faults_of(text, *versions()) == []


def test_options_that_came_later_are_those_that_the_schemas_name() -> None:
    text = object_of(
        "v1 Pod", "spec: {containers: [{name: a, image: a}], tolerations: [{key: a, operator: Gt, value: '1'}]}"
    )
    (found,) = faults_of(text, "1.34", "1.35")
    assert found.notes[-1].message.endswith("in the API of Kubernetes 1.34")


# Custom kinds.

CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: widgets.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{plural: widgets, kind: Widget}}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {{openAPIV3Schema: {{type: object, properties: {{spec: {schema}}}}}}}
  - {{name: v0, served: false, storage: false, schema: {{openAPIV3Schema: {{type: object}}}}}}
"""


def defined(schema: str) -> Definitions:
    (document,) = parse(Source("crd.yaml", CRD.format(schema=schema), Layer.PLATFORM)).documents
    return definitions([document.root], Api(VERSION))


def widget(spec: str, version: str = "v1") -> str:
    return f"apiVersion: example.com/{version}\nkind: Widget\nmetadata: {{name: a}}\nspec: {spec}\n"


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ("{type: integer, minimum: 1, maximum: 3}", ["1", "3", "2.0", "null"], ["0", "4", "1.5", "'1'", "true"]),
        ("{type: integer, minimum: 1, exclusiveMinimum: true}", ["2"], ["1"]),
        ("{type: number, maximum: 1.5, exclusiveMaximum: true}", ["1.4"], ["1.5"]),
        ("{type: number, multipleOf: 0.5}", ["1.5", "2"], ["1.2"]),
        ("{type: string, nullable: true}", ["a", "null"], ["1", "[]"]),
        ("{type: string, default: a}", ["b", "null"], ["1"]),
        ("{type: string, enum: [a, b]}", ["a", "null"], ["c"]),
        ("{type: string, nullable: true, enum: [a, b]}", ["a"], ["c", "null"]),
        ("{type: string, minLength: 2, maxLength: 3}", ["ab"], ["a", "abcd"]),
        ("{type: string, pattern: '^(a+)+$'}", ["aa"], ["b", f"{'a' * 100}b"]),
        (
            "{type: array, items: {type: string}, minItems: 1, maxItems: 2}",
            ["[a]"],
            ["[]", "[1]", "[null]", "[a, b, c]", "{}"],
        ),
        ("{type: object}", ["{}"], ["{a: 1}", "[]"]),
        ("{type: object, properties: {a: {type: string}}, required: [a]}", ["{a: b}"], ["{}", "{a: b, c: d}"]),
        ("{type: object, properties: {a: {type: string}}, required: [a]}", ["{a: b}"], ["{a: null}"]),
        ("{type: object, properties: {a: {type: string, nullable: true}}, required: [a]}", ["{a: null}"], ["{}"]),
        ("{type: object, properties: {a: {type: string, default: b}}, required: [a]}", ["{a: null}", "{}"], ["{a: 1}"]),
        (
            (
                "{type: object, properties: {a: {x-kubernetes-int-or-string: true, nullable: true,"
                " anyOf: [{type: integer}, {type: string}]}}}"
            ),
            ["{a: null}", "{a: 1}"],
            ["{a: []}"],
        ),
        (
            "{type: object, properties: {a: {type: string, nullable: true, minLength: 2, not: {enum: [bb]}}}}",
            ["{a: null}", "{a: aa}"],
            ["{a: a}", "{a: bb}"],
        ),
        ("{type: object, additionalProperties: {type: integer}}", ["{}", "{a: 1, b: null}"], ["{a: b}"]),
        ("{type: object, additionalProperties: true}", ["{a: b}"], ["[]"]),
        ("{type: object, maxProperties: 1, additionalProperties: true}", ["{a: b}"], ["{a: b, c: d}"]),
        ("{type: object, x-kubernetes-preserve-unknown-fields: true}", ["{a: {b: [c]}}"], ["[]"]),
        ("{x-kubernetes-preserve-unknown-fields: true}", ["{a: b}", "[]", "1"], []),
        ("{x-kubernetes-int-or-string: true}", ["1", "a", "null"], ["1.5", "[]", "true"]),
        ("{x-kubernetes-int-or-string: true, anyOf: [{type: integer}, {type: string}]}", ["1", "a"], ["[]"]),
        ("{type: string, anyOf: [{enum: [a]}, {pattern: ^b}]}", ["a", "bc"], ["c"]),
        ("{type: string, oneOf: [{pattern: ^a}, {pattern: b$}]}", ["a", "b"], ["ab", "c"]),
        ("{type: string, not: {enum: [a]}}", ["b"], ["a"]),
        ("{type: string, allOf: [{minLength: 2}, {pattern: ^a}]}", ["ab"], ["a", "bb"]),
        (
            (
                "{type: object, properties: {a: {type: string}, b: {type: string}},"
                " oneOf: [{required: [a]}, {required: [b]}]}"
            ),
            ["{a: x}", "{b: x}"],
            ["{}", "{a: x, b: y}", "{a: x, c: y}"],
        ),
        (
            "{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}",
            ["{apiVersion: v1, kind: Pod, metadata: {name: a}, spec: {}}"],
            ["{}", "{apiVersion: v1, kind: Pod, metadata: {nam: a}}", "{apiVersion: v1, kind: Pod, extra: 1}"],
        ),
    ],
)
def test_a_custom_kind_is_validated_by_its_definition(schema: str, good: list[str], bad: list[str]) -> None:
    known = defined(schema)
    assert known.findings == ()
    assert {text: [one.message for one in faults_of(widget(text), customs=known.kinds)] for text in good} == {
        text: [] for text in good
    }
    for text in bad:
        found = faults_of(widget(text), customs=known.kinds)
        assert found, text
        assert {one.code for one in found} == {"api/violation"}
        assert not [one for one in found if "exclude each other" in one.message]


def test_the_metadata_of_a_custom_kind_is_that_of_every_kind() -> None:
    known = defined("{type: object}").kinds
    (found,) = faults_of(widget("{}").replace("{name: a}", "{name: a, label: {}}"), customs=known)
    assert (found.message, found.path) == ("unknown key `label`", ("metadata", "label"))


def test_a_version_that_is_not_served_is_no_kind() -> None:
    (found,) = faults_of(widget("{}", "v0"), customs=defined("{type: object}").kinds)
    assert (found.code, found.help) == ("api/unknown-kind", "write `apiVersion: example.com/v1`")


@pytest.mark.parametrize(
    "schema",
    [
        "{$ref: '#/a'}",
        "{type: string, $defs: {}}",
        "{type: array, items: [{type: string}]}",
        "{type: object, patternProperties: {a: {}}}",
        "{type: [string]}",
        "{type: nothing}",
        "{type: string, pattern: 1}",
        "{type: string, pattern: '(?=a)'}",
        "{type: string, pattern: '((a?){50}){50}b'}",
        "{type: object, properties: {a: {not: {pattern: '('}}}}",
        "{type: integer, minimum: '1'}",
        "{type: integer, multipleOf: 0}",
        "{type: integer, exclusiveMinimum: 1}",
        "{type: string, nullable: 'yes'}",
        "{allOf: [1]}",
        "{not: [1]}",
        "{properties: {a: true}}",
        "{additionalProperties: 1}",
        "1",
        "[]",
    ],
)
def test_an_unknown_keyword_in_a_definition_is_reported_at_its_line(schema: str) -> None:
    known = defined(schema)
    assert known.kinds == {}
    assert {(found.code, found.span.line) for found in known.findings if found.span} <= {
        ("api/bad-definition", 12),
        ("api/violation", 12),
    }
    assert known.findings


@pytest.mark.parametrize(
    "keyword", ["allOf: [%s]", "anyOf: [%s]", "oneOf: [%s, {enum: [b]}]", "not: %s", "not: {not: %s}"]
)
def test_a_pattern_that_is_not_judged_is_a_warning_and_refuses_nothing(keyword: str) -> None:
    known = defined("{type: string, maxLength: 2, %s}" % (keyword % r"{pattern: '^\pL{900}$'}"))
    (warning,) = known.findings
    assert (warning.code, warning.severity, warning.path[-1]) == ("api/not-judged", "warning", "pattern")
    assert warning.message == "this pattern is not checked: it takes too much memory"
    assert faults_of(widget("a"), customs=known.kinds) == faults_of(widget("b"), customs=known.kinds) == []
    (found,) = faults_of(widget("abc"), customs=known.kinds)
    assert found.path == ("spec",)


def test_without_its_package_patterns_are_not_checked_and_one_warning_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    compile_pattern.cache_clear()
    monkeypatch.setitem(sys.modules, "re2", None)
    known = defined("{type: object, properties: {a: {pattern: ^a}, b: {pattern: ^b}}}")
    (warning,) = known.findings
    assert (warning.code, warning.severity) == ("api/not-judged", "warning")
    assert warning.message == "patterns are not checked: the package `google-re2` is not installed"
    assert faults_of(widget("{a: b, b: a}"), customs=known.kinds) == []
    compile_pattern.cache_clear()


def test_a_definition_of_an_old_version_names_the_new_one() -> None:
    text = CRD.format(schema="{}").replace("apiextensions.k8s.io/v1\n", "apiextensions.k8s.io/v1beta1\n")
    (document,) = parse(Source("crd.yaml", text, Layer.PLATFORM)).documents
    known = definitions([document.root], Api(VERSION))
    assert (known.kinds, [found.help for found in known.findings]) == (
        {},
        ["write `apiVersion: apiextensions.k8s.io/v1`"],
    )


QUANTITY = (
    r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]"
    r"|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
)
MODEL = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  annotations: {controller-gen.kubebuilder.io/version: v0.14.0}
  creationTimestamp: null
  name: models.ml.example.com
spec:
  group: ml.example.com
  names: {kind: Model, listKind: ModelList, plural: models, shortNames: [mlm], singular: model}
  scope: Namespaced
  versions:
  - additionalPrinterColumns:
    - {jsonPath: .status.replicas, name: Replicas, type: integer}
    name: v1alpha1
    schema:
      openAPIV3Schema:
        description: Model is what a server loads
        properties:
          apiVersion: {description: the version of the schema, type: string}
          kind: {description: the kind, type: string}
          metadata: {type: object}
          spec:
            properties:
              memory:
                anyOf:
                - type: integer
                - type: string
                pattern: {quantity}
                x-kubernetes-int-or-string: true
              replicas: {default: 1, format: int32, minimum: 0, type: integer}
              requirements:
                items: {type: string}
                type: array
                x-kubernetes-list-type: set
              storageUri: {pattern: "^(gs|s3|https?)://.+", type: string}
              podSpec:
                type: object
                x-kubernetes-preserve-unknown-fields: true
              conditions:
                items:
                  properties:
                    lastTransitionTime: {format: date-time, type: string}
                    status: {enum: ["True", "False", Unknown], type: string}
                  required: [status]
                  type: object
                type: array
                x-kubernetes-list-map-keys: [status]
                x-kubernetes-list-type: map
            required: [storageUri]
            type: object
            x-kubernetes-validations:
            - {message: no replicas, rule: self.replicas >= 0}
          status: {type: object}
        required: [spec]
        type: object
    served: true
    storage: true
    subresources:
      scale: {specReplicasPath: .spec.replicas, statusReplicasPath: .status.replicas}
      status: {}
"""
"""Written as generators of definitions write them."""


def test_a_definition_as_generators_write_them() -> None:
    (document,) = parse(Source("crd.yaml", MODEL.replace("{quantity}", QUANTITY), Layer.PLATFORM)).documents
    known = definitions([document.root], Api(VERSION))
    assert known.findings == ()
    good = (
        "apiVersion: ml.example.com/v1alpha1\nkind: Model\nmetadata: {name: iris}\nspec:\n  storageUri: gs://a/iris\n"
        "  memory: 100Ki\n  replicas: 2\n  requirements: [sklearn]\n  podSpec: {nodeSelector: {gpu: a100}}\n"
        "  conditions: [{status: 'True'}]\n"
    )
    assert faults_of(good, customs=known.kinds) == []
    for old, new, line in (
        ("gs://", "ftp://", 5),
        ("100Ki", "100KB", 6),
        ("replicas: 2", "replica: 2", 7),
        ("[sklearn]", "sklearn", 8),
        ("'True'", "True", 10),
    ):
        (found,) = faults_of(good.replace(old, new), customs=known.kinds)
        assert (found.code, found.span.line if found.span else 0) == ("api/violation", line)


# Whatever the input.

WIDGET: dict[str, Any] = parse(Source("", widget("{a: [1], b: {c: d}}"), Layer.RUN)).documents[0].root.plain()
DEFINITION: dict[str, Any] = (
    parse(
        Source(
            "",
            CRD.format(
                schema="{type: object, required: [a],"
                " properties: {a: {type: array, minItems: 1, items: {type: integer}},"
                " b: {type: object, additionalProperties: {type: string, pattern: ^d, enum: [d]}}}, not: {enum: [1]},"
                " anyOf: [{required: [b]}, {maxProperties: 3}]}"
            ),
            Layer.PLATFORM,
        )
    )
    .documents[0]
    .root.plain()
)


@given(st.sampled_from(paths(DEFINITION)), anything, st.sampled_from(paths(WIDGET)), anything)
def test_malformed_definitions_and_objects_never_raise(
    where: tuple[Any, ...], definition: Any, place: tuple[Any, ...], value: Any
) -> None:
    trees = [node_of(with_change(DEFINITION, where, definition))]
    known = definitions(trees, Api(VERSION))
    tree = node_of(with_change(WIDGET, place, value))
    assert verify_object(LocatedObject(tree, tree.span), [Api(VERSION, known.kinds)]).faults.keys() == {VERSION}


def test_deep_definitions_and_objects_are_no_trouble() -> None:
    schema, spec = "{type: integer}", "x"
    for _ in range(40):
        schema, spec = f"{{type: object, properties: {{a: {schema}}}}}", f"{{a: {spec}}}"
    (found,) = faults_of(widget(spec), customs=defined(schema).kinds)
    assert found.message.startswith("expected a whole number")


MANY = ", ".join(f"a{at}: {{type: string}}" for at in range(9_000))


@pytest.mark.parametrize(
    ("schema", "spec", "codes"),
    [
        (
            f"{{type: array, items: {{allOf: [{', '.join(['{}'] * 2_000)}]}}}}",
            f"[{', '.join('1' * 2_000)}]",
            {"api/not-judged"},
        ),
        (
            f"{{type: array, items: {{type: object, properties: {{{MANY}}}}}}}",
            f"[{', '.join(['{}'] * 9_000)}]",
            {"api/not-judged"},
        ),
        (
            "{type: array, items: {type: string, pattern: '(?:a?){1000}b'}}",
            f"[{', '.join(['a' * 5_000] * 150)}]",
            {"api/not-judged"},
        ),
        (
            "{type: array, items: {type: string, pattern: '^(a|b)*(c|d)*$'}}",
            f"[{', '.join(['a' * 5_000] * 400)}]",
            set(),
        ),
        ("{type: string, pattern: '^(a|aa)+$'}", "a" * 5_000 + "b", {"api/violation"}),
        ("{type: string, pattern: '((a?){20}){20}b'}", "a" * 2_000, {"api/violation"}),
    ],
)
def test_a_definition_that_would_take_forever_is_passed_over_with_a_warning(
    schema: str, spec: str, codes: set[str]
) -> None:
    known = defined(schema)
    text = widget(spec)
    with at_most_cpu_seconds(40):
        found = faults_of(text, customs=known.kinds)
    assert {(one.code, one.severity == "error") for one in found} == {(code, code == "api/violation") for code in codes}


def test_an_object_of_ordinary_size_is_judged_however_large_its_definition() -> None:
    """As of a workflow of three hundred steps, of a kind whose schema has tens of thousands of values."""
    step = "{type: object, properties: {name: {type: string}, arguments: {type: array, items: {type: string}}}}"
    known = defined(f"{{type: object, properties: {{{MANY}, steps: {{type: array, items: {step}}}}}}}")
    steps = ", ".join(f"{{name: s{at}, arguments: [a, b, c]}}" for at in range(300))
    assert faults_of(widget(f"{{steps: [{steps}]}}"), customs=known.kinds) == []
    (found,) = faults_of(widget(f"{{steps: [{steps}, {{name: 1}}]}}"), customs=known.kinds)
    assert found.path == ("spec", "steps", 300, "name")


def test_manifests_may_contain_the_text_of_functions(capsys: pytest.CaptureFixture[str]) -> None:
    """A ConfigMap with a Python function is not a file of functions."""
    assert main(["verify", str(GOLDEN / "accept" / "digitalhub-python-job" / "manifests.yaml")]) == 0
    assert "2 manifests valid" in capsys.readouterr().err
