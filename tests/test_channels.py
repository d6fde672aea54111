"""One contract, many channels: the same run gives the same bytes through every one of them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.command_line import piped
from helpers.programs import program
from hypothesis import given, settings

from speccompile.testing.strategies.documents import Case, cases

ENVELOPE = {"apiVersion": "speccompile.dev/v1alpha1", "kind": "Run"}
LIST = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("channels"))
        yield


def printed(*arguments: str, stdin: str = "") -> str:
    """What a call prints, if all is well."""
    answer = piped(stdin, *arguments, "--quiet")
    assert answer.code == 0, answer.stderr
    return answer.stdout


def in_kubernetes_style(run: dict[str, Any]) -> dict[str, Any]:
    metadata = {key: run[key] for key in ("name", "labels", "annotations") if key in run}
    return {**ENVELOPE, "metadata": metadata, "spec": {key: run[key] for key in run if key not in metadata}}


def written(case: Case) -> list[str]:
    """The files of a case, and the options that name them."""
    Path("run.json").write_text(json.dumps(case.run), encoding="utf-8")
    Path("profile.json").write_text(json.dumps(case.profile), encoding="utf-8")
    Path("platform.json").write_text(json.dumps(case.platform), encoding="utf-8")
    profiles = ["--profiles", "profile.json"] if case.profile else []
    return [*profiles, *(["--platform", "platform.json"] if case.platform else [])]


def writable(case: Case) -> Case:
    """The case without fields that hold any number: one with an exponent is refused where it is read as text."""
    for data in (case.run, case.profile or {}):
        data.pop("inputs", None)
        data.pop("parameters", None)
    return case


@settings(max_examples=max(settings().max_examples // 3, 1))
@given(case=cases().map(writable))
def test_every_channel_gives_the_same_bytes(case: Case) -> None:
    expected = case.compile().to_yaml()
    options, run = written(case), in_kubernetes_style(case.run)
    assert printed("render", "run.json", *options) == expected
    assert printed("render", "-", *options, stdin=json.dumps(run)) == expected
    assert printed("helm", *options, stdin=json.dumps(run)) == expected
    Path("speccompile.yaml").write_text("runs: [run.json]\n")
    try:
        assert printed("argocd", "generate", *options) == expected
    finally:
        Path("speccompile.yaml").unlink()
    manifests = list(yaml.safe_load_all(expected))
    generated = yaml.safe_load(printed("krm", *options, stdin=json.dumps({**LIST, "functionConfig": run})))
    assert generated["items"] == manifests
    inline = {"runs": [case.run], "profiles": [case.profile] if case.profile else [], "platform": case.platform}
    config = {**ENVELOPE, "kind": "Compile", "spec": inline}
    text = f"{yaml.safe_dump(LIST)}items:\n- kind: Other\nfunctionConfig: {json.dumps(config)}\n"
    assert yaml.safe_load(printed("krm", stdin=text))["items"] == [{"kind": "Other"}, *manifests]
    assert items_of(printed("krm", stdin=text)) == f"kind: Other\n---\n{expected}"
    head = f"{yaml.safe_dump(LIST)}items:\n"
    replaced = printed("krm", *options, stdin=f"{head}- {json.dumps(run)}\n")
    assert replaced.startswith(head)
    assert items_of(replaced) == expected


def items_of(resources: str) -> str:
    """The items of a ResourceList in block style, each as the document that it is."""
    _, _, items = resources.partition("\nitems:\n")
    lines = takewhile(lambda line: line[0] in "- \n", items.splitlines(keepends=True))
    parted = (f"---\n{line[2:]}" if line.startswith("- ") else line[2:] or "\n" for line in lines)
    return "".join(parted).removeprefix("---\n")


PROJECT = {
    "speccompile.yaml": "runs: [runs]\nprofiles: [profiles]\noutput: base\n",
    "profiles/gpu.yaml": (
        "id: gpu\nresources: {gpu: 1}\nnode_selector: {gpu: a100}\n"
        "---\napiVersion: batch/v1\nkind: Job\nspec: {template: {spec: {terminationGracePeriodSeconds: 5}}}\n"
    ),
    "runs/train.yaml": """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata:
  name: train
  annotations: {note: "yes: 'quoted' {braces}"}
spec:
  action: job
  profile: gpu
  image: python:3.12
  command: [python]
  args: [-c, "print('a')\\n", "0123", "on"]
  envs: {EMPTY: "", FLAG: "true", LINES: "a\\n\\nb\\n"}
  secrets: [TOKEN]
""",
    "runs/web.yaml": """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata: {name: web}
spec:
  action: serve
  image: nginx:1.29
  service_ports: [{port: 80}]
  volumes:
  - {name: conf, volume_type: config_map, mount_path: /conf, spec: {data: {a.txt: "x: 1\\n"}}}
  - {name: data, volume_type: persistent_volume_claim, mount_path: /data}
""",
    "chart/Chart.yaml": "apiVersion: v2\nname: chart\nversion: 1.0.0\n",
    "post/Chart.yaml": "apiVersion: v2\nname: post\nversion: 1.0.0\n",
    "generator/kustomization.yaml": "generators: [compile.yaml]\n",
    "transformer/kustomization.yaml": "resources: [train.yaml, web.yaml]\ntransformers: [compile.yaml]\n",
}
COMPILE = """\
apiVersion: speccompile.dev/v1alpha1
kind: Compile
metadata:
  name: compile
  annotations:
    config.kubernetes.io/function: "exec: {path: ./speccompile-krm}"
"""


def test_every_real_tool_gives_the_same_objects(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    for kind in ("DATA", "CACHE", "CONFIG"):
        monkeypatch.setenv(f"HELM_{kind}_HOME", str(tmp_path / kind))
    files = {
        **PROJECT,
        "generator/compile.yaml": f"{COMPILE}spec: {{runs: [../runs/train.yaml, ../runs/web.yaml]}}\n",
        "transformer/compile.yaml": COMPILE,
        **{
            f"{folder}/{name}.yaml": PROJECT[f"runs/{name}.yaml"]
            for folder in ("transformer", "post/templates")
            for name in ("train", "web")
        },
    }
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)
    for folder in ("generator", "transformer"):
        shutil.copy(root / "examples/kustomize" / folder / "speccompile-krm", folder)
    expected = objects(printed("render", "-o", "-"))
    assert len(expected) == 5
    printed("render", "--kustomization")
    printed("render", "-o", "chart/templates", "--helm")
    subprocess.run([program("helm"), "plugin", "install", str(root / "contrib/helm")], capture_output=True, check=True)
    kustomize = (program("kustomize"), "build", "--enable-alpha-plugins", "--enable-exec")
    executable = str(root / "contrib/helm/speccompile-postrender")
    channels = {
        "files for kubectl kustomize": (program("kubectl"), "kustomize", "base"),
        "files for kustomize": (*kustomize, "base"),
        "a generator": (*kustomize, "generator"),
        "a transformer": (*kustomize, "transformer"),
        "templates for Helm 4": (program("helm"), "template", "chart"),
        "templates for Helm 3": (program("helm3"), "template", "chart"),
        "a plugin of Helm 4": (program("helm"), "template", "post", "--post-renderer", "speccompile"),
        "a program of Helm 3": (program("helm3"), "template", "post", "--post-renderer", executable),
        "Argo CD": ("speccompile", "argocd", "generate"),
    }
    for channel, command in channels.items():
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{channel}: {done.stderr}"
        assert objects(done.stdout) == expected, channel


def objects(text: str) -> dict[tuple[str, str], Any]:
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(text) if one}
