"""The table "What a change touches" in ARCHITECTURE.md: each change is made on a copy, with nothing else touched.

A target, which is a folder of templates, is tried in the tests of `compiler/documents/`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.paths import ROOT

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.merge import STRATEGIES

FIELDS = "schemas/fields.schema.json"
POD, VOLUME = "templates/kubernetes/_pod.j2", "templates/kubernetes/_volume.j2"
RUN = {"name": "train", "action": "job", "image": "python:3.12"}


class Copy:
    """A copy of the package and its bundled files, to change and to run."""

    def __init__(self, root: Path) -> None:
        self._root, self.home = root, root / "home"
        for name in ("speccompile", "schemas", "templates", "presets", "starter"):
            shutil.copytree(ROOT / name, root / name)
        shutil.copy2(ROOT / "pyproject.toml", root)
        self.home.mkdir()

    def add(self, path: str, text: str) -> None:
        assert not (self._root / path).exists()
        (self._root / path).write_text(text, encoding="utf-8")

    def insert(self, path: str, before: str, text: str) -> None:
        """Inserts text before the one place in the file where `before` is."""
        file = self._root / path
        old = file.read_text(encoding="utf-8")
        assert old.count(before) == 1, f"{path}: {before!r}"
        file.write_text(old.replace(before, text + before), encoding="utf-8")

    def declare(self, path: str, *steps: str, **added: Any) -> None:
        """Adds keys to the mapping at these steps of a schema."""
        file = self._root / path
        schema = place = json.loads(file.read_text(encoding="utf-8"))
        for step in steps:
            place = place[step]
        place |= added
        file.write_text(json.dumps(schema), encoding="utf-8")

    def python(self, *arguments: str, **files: Any) -> subprocess.CompletedProcess[str]:
        """The outcome of Python with the copy, beside YAML files by name."""
        for name, data in files.items():
            documents = data if isinstance(data, list) else [data]
            (self.home / f"{name}.yaml").write_text(yaml.safe_dump_all(documents), encoding="utf-8")
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.home,
            env={**os.environ, "PYTHONPATH": str(self._root)},
            capture_output=True,
            text=True,
            check=False,
        )

    def call(self, *arguments: str, **files: Any) -> subprocess.CompletedProcess[str]:
        """The outcome of a call of the command."""
        return self.python("-m", "speccompile", *arguments, **files)

    def render(self, run: Any, *arguments: str, **files: Any) -> list[Any]:
        """The manifests of a run that has some."""
        done = self.call("render", "run.yaml", *arguments, run={**RUN, **run}, **files)
        assert done.returncode == 0, done.stderr
        return list(yaml.safe_load_all(done.stdout))

    def refusal(self, run: Any, *arguments: str, **files: Any) -> str:
        """Why a run has no manifests."""
        done = self.call("render", "run.yaml", *arguments, run={**RUN, **run}, **files)
        assert (done.returncode, done.stdout) == (1, ""), done.stderr
        return done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def pod_of(manifest: Any) -> Any:
    return manifest["spec"]["template"]["spec"]


def property_named(name: str, **schema: Any) -> dict[str, Any]:
    return {name: {"description": "New.", **schema}}


def test_a_copy_is_what_runs(copy: Copy) -> None:
    done = copy.python("-c", "import speccompile; print(speccompile.__file__)")
    assert Path(done.stdout.strip()).parent.parent == copy.home.parent


# Fields and settings


def test_a_pass_through_field(copy: Copy) -> None:
    copy.declare(FIELDS, "properties", **property_named("dns_policy", type="string", examples=["Default"]))
    copy.insert(POD, "  containers:\n", "  dnsPolicy: {{ spec.dns_policy }}\n")
    run, profile = {"dnsPolicy": "Default"}, {"id": "default", "dns_policy": "None"}
    (alone,), (under,) = copy.render(run), copy.render(run, "--profiles", "profile.yaml", profile=profile)
    assert (pod_of(alone)["dnsPolicy"], pod_of(under)["dnsPolicy"]) == ("Default", "None")
    assert "dnsPolicy" in copy.call("schema", "run").stdout


def test_a_field_with_several_shapes(copy: Copy) -> None:
    copy.declare(FIELDS, "properties", **property_named("shell", type=["string", "array"], items={"type": "string"}))
    copy.insert(POD, "    args:", "    stdin: {{ spec.shell }}\n")
    copy.insert("speccompile/compiler/normalize.py", '    "tolerations": _dist', '    "shell": _executable,\n')
    ((one,), (same,)) = copy.render({"shell": "sh"}), copy.render({"shell": ["sh"]})
    assert pod_of(one)["containers"][0]["stdin"] == ["sh"]
    assert one == same


def test_a_constraint_and_its_diagnostic_code(copy: Copy) -> None:
    copy.insert(
        "speccompile/compiler/policy.py",
        "SPEC_CHECKS: tuple[SpecCheck, ...] = (\n",
        'def _name_is_short(merged: Merged) -> Iterator[Diagnostic]:\n    if str(merged.run.name.value) == "long":\n'
        '        yield Diagnostic(code="policy/long", message="too long", span=merged.run.name.span)\n\n\n',
    )
    copy.insert("speccompile/compiler/policy.py", "    _required_fields_are_set,\n", "    _name_is_short,\n")
    copy.insert(
        "speccompile/model/diagnostic_codes.toml",
        '["policy/ceiling"]\n',
        '["policy/long"]\nseverity = "error"\nmeans = "Too long a name."\nbad = "name: long"\ngood = "name: a"\n\n',
    )
    assert "error[policy/long]: too long" in copy.refusal({"name": "long"})
    assert copy.render({"name": "short"})
    assert "Too long a name." in copy.call("explain", "--code", "policy/long").stdout


def test_a_platform_setting(copy: Copy) -> None:
    setting = property_named("dns_policy", type="string", default="ClusterFirst")
    copy.declare("schemas/platform.schema.json", "properties", **setting)
    copy.insert(POD, "  containers:\n", "  dnsPolicy: {{ platform.dns_policy }}\n")
    (usual,), (other,) = copy.render({}), copy.render({}, "--platform", "p.yaml", p={"dns_policy": "Default"})
    assert (pod_of(usual)["dnsPolicy"], pod_of(other)["dnsPolicy"]) == ("ClusterFirst", "Default")


def test_a_keyed_list_in_base_documents(copy: Copy) -> None:
    keyed = {"type": "array", "items": {"required": ["at"]}, "x-list": "whole", "x-keys": {"at": None}}
    copy.declare("schemas/base.schema.json", "$defs", "pod", "properties", hooks=keyed)
    copy.insert(POD, "  containers:\n", "  hooks:\n  - at: start\n    run: {{ run.name }}\n")
    base = {"apiVersion": "batch/v1", "kind": "Job", "spec": {"template": {"spec": {"hooks": [{"at": "end"}]}}}}
    (job,) = copy.render({}, "--profiles", "profile.yaml", profile=[{"id": "default"}, base])
    assert pod_of(job)["hooks"] == [{"at": "end"}, {"at": "start", "run": "train"}]


def test_a_kind_of_manifest(copy: Copy) -> None:
    copy.add(
        "templates/kubernetes/account.yaml.j2",
        "apiVersion: v1\nkind: ServiceAccount\nmetadata:\n  name: {{ spec.service_account }}\n",
    )
    copy.insert(
        "templates/kubernetes/target.yaml",
        "- kind: Job\n",
        "- {kind: ServiceAccount, template: account.yaml.j2, with: [service_account]}\n",
    )
    assert [one["kind"] for one in copy.render({})] == ["Job"]
    account, _ = copy.render({"service_account": "trainer"})
    assert (account["kind"], account["metadata"]["name"]) == ("ServiceAccount", "trainer")


# Volume types

MOUNT = {"volume_type": "host_path", "name": "data", "mount_path": "/data", "spec": {"host": "/srv"}}


def add_host_path(copy: Copy, **keywords: str) -> None:
    """The change: an entry in the schema, and a branch of the template."""
    keys = {"host": {"description": "A directory of the node.", "type": "string", "format": "mount-path"}}
    names = {"enum": ["host", "sub_path"]}
    spec = {"properties": keys, "propertyNames": names, "required": ["host"], "examples": [{"host": "/srv"}]}
    entry = {"required": ["spec"], "properties": {"spec": spec}, **keywords}
    copy.declare(FIELDS, "$defs", "volume_types", host_path=entry)
    copy.insert(
        VOLUME,
        '{% elif item.volume_type == "image" %}\n',
        '{% elif item.volume_type == "host_path" %}\nhostPath:\n  path: {{ item.spec.host }}\n',
    )


def test_a_volume_type(copy: Copy) -> None:
    add_host_path(copy, **{"x-mounts": "existing", "x-object": "host"})
    refused = copy.refusal({"volumes": [MOUNT]})
    assert "error[policy/existing-volume]: existing volumes are not allowed, and this mounts `/srv`" in refused
    assert "help: ask the platform's admin to allow existing volumes" in refused
    (job,) = copy.render({"volumes": [MOUNT]}, "--platform", "p.yaml", p={"volumes": {"allow_existing": True}})
    assert pod_of(job)["volumes"] == [{"name": "data", "hostPath": {"path": "/srv"}}]
    assert "missing `host`" in copy.refusal({"volumes": [{**MOUNT, "spec": {}}]})
    assert "unknown key `size`" in copy.refusal({"volumes": [{**MOUNT, "spec": {"host": "/srv", "size": "1Gi"}}]})


@pytest.mark.parametrize("keywords", [{}, {"x-mounts": "nothing"}], ids=["unmarked", "marked with another word"])
def test_a_volume_type_that_does_not_say_what_it_mounts(keywords: dict[str, str], copy: Copy) -> None:
    """The schema is not loaded, so that not even a run without volumes compiles."""
    add_host_path(copy, **keywords)
    done = copy.call("render", "run.yaml", run=RUN)
    assert (done.returncode, done.stdout) == (3, "")
    assert all(part in done.stderr for part in ("needs `x-mounts`", "ValueError\n"))


PROPERTY = """
from hypothesis import find
from speccompile.testing.admin import AdminConfig
from speccompile.testing.properties.mounts import blocked_volumes_cannot_be_mounted
from speccompile.testing.strategies.volumes import volumes

drawn = find(volumes(), lambda drawn: any(one["volume_type"] == "host_path" for one in drawn))
blocked_volumes_cannot_be_mounted({"name": "train", "action": "job", "image": "a", "volumes": drawn}, AdminConfig())
"""
"""An example of what property tests draw, held to one of the properties."""


@pytest.mark.parametrize(("mounts", "is_safe"), [("existing", True), ("pod", False)])
def test_property_tests_draw_a_new_volume_type_and_find_a_wrong_mark(mounts: str, is_safe: bool, copy: Copy) -> None:
    add_host_path(copy, **{"x-mounts": mounts})
    done = copy.python("-c", PROPERTY)
    assert (done.returncode == 0) is is_safe, done.stderr
    assert ("mounts hostPath" in done.stderr) is not is_safe


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"volumes": {"type": "array", "description": "Ours."}}},
        {"properties": {"a": {"type": "string", "description": "A."}}, "$defs": {"volume_types": {}}},
        {"properties": {"a": {"type": "string", "description": "A.", "x-mounts": "pod"}}},
    ],
    ids=["the field", "the types", "the keyword"],
)
def test_a_custom_target_changes_no_volume_type(schema: Any, copy: Copy) -> None:
    folder = copy.home / "own" / "acme"
    shutil.copytree(ROOT / "templates" / "kubernetes", folder)
    (folder / "fields.schema.json").write_text(json.dumps(schema))
    profile = {"id": "default", "target": "acme"}
    refused = copy.refusal({}, "--templates", "own", "--profiles", "profile.yaml", profile=profile)
    assert "fields.schema.json" in refused


# Merge strategies


def test_a_merge_strategy(copy: Copy) -> None:
    copy.insert(
        "speccompile/compiler/merge.py",
        "class Strategy(NamedTuple):\n",
        "def _most(_: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:\n"
        "    return max(stronger, weaker, key=lambda node: int(str(node.value)))\n\n\n",
    )
    copy.insert("speccompile/compiler/merge.py", '    "union": Strategy(', '    "most": Strategy(_most, "the most"),\n')
    copy.declare(FIELDS, "properties", "parallelism", **{"x-merge": "most"})
    profile = {"id": "default", "parallelism": 2}
    for asked, expected in ((1, 2), (3, 3)):
        (job,) = copy.render({"parallelism": asked}, "--profiles", "profile.yaml", profile=profile)
        assert job["spec"]["parallelism"] == expected


def test_a_word_for_no_merge_strategy(copy: Copy) -> None:
    copy.declare(FIELDS, "properties", "parallelism", **{"x-merge": "most"})
    done = copy.call("render", "run.yaml", run=RUN)
    assert (done.returncode, done.stdout) == (3, "")
    assert all(part in done.stderr for part in ("`x-merge` of field", "ValueError\n"))


def test_custom_targets_can_use_known_merge_strategies_only() -> None:
    field = bundled_library().schemas["targetfields"]["$defs"]["field"]
    assert set(field["properties"]["x-merge"]["enum"]) <= STRATEGIES.keys()


# The command line


def test_a_report_format(copy: Copy) -> None:
    copy.add(
        "speccompile/report/findings_codes.py",
        '"""Findings as their codes."""\n\n\ndef format_findings(findings, _):\n'
        '    return "".join(f"{finding.code}\\n" for finding in findings)\n',
    )
    copy.insert("speccompile/report/formats.py", '    "github": Format(', '    "codes": Format("findings_codes"),\n')
    run = {**RUN, "resources": {"mem": "8GB"}}
    done = copy.call("validate", "run.yaml", "--format", "codes", run=run)
    assert (done.returncode, done.stdout, done.stderr) == (1, "schema/quantity\n", "")
    assert "{text,json,sarif,codes,github}" in copy.call("lint", "--help").stdout
    assert "codes" in copy.call("completion", "bash").stdout


def test_help_loads_no_module_of_a_format(copy: Copy) -> None:
    script = "import sys\nfrom speccompile.cli.main import parser\nparser([])\nprint(*sys.modules)"
    loaded = copy.python("-c", script).stdout.split()
    assert [name for name in loaded if name.startswith("speccompile.report.")] == ["speccompile.report.formats"]


def test_a_placement_lint_rule(copy: Copy) -> None:
    copy.insert(
        "speccompile/placement/lint/volumes.py",
        "VOLUME_LINT_RULES: ",
        "def _pods_are_few(context: PlacementContext) -> Iterator[Diagnostic]:\n"
        "    for workload in context.linted_workloads:\n"
        '        wording = LintWording("placement/pods", "a pod", "use none")\n'
        "        yield finding_at(context, wording, workload.owner, workload.pod)\n\n\n",
    )
    copy.insert("speccompile/placement/lint/volumes.py", "_check_shared_claims, ", "_pods_are_few, ")
    copy.insert(
        "speccompile/model/diagnostic_codes.toml",
        '["policy/ceiling"]\n',
        '["placement/pods"]\nseverity = "warning"\nmeans = "A pod."\nbad = "name: a"\ngood = "name: b"\n\n',
    )
    assert "warning[placement/pods]: a pod" in copy.call("lint", "run.yaml", run=RUN).stderr


def test_a_command(copy: Copy) -> None:
    copy.add(
        "speccompile/cli/commands/hello.py",
        "from speccompile.cli.options import COMMANDS, add_command\n\n\ndef add_hello(commands):\n"
        '    parser = add_command(commands, "hello", COMMANDS["hello"].summary, "")\n'
        '    parser.set_defaults(run=lambda arguments, stdout, stderr: stdout.write("hello\\n") and 0)\n',
    )
    copy.insert(
        "speccompile/cli/options.py", '    "krm": CommandInfo(', '    "hello": CommandInfo(_EVERYDAY, "say hello"),\n'
    )
    assert copy.call("hello").stdout == "hello\n"
    assert "say hello" in copy.call("--help").stdout
