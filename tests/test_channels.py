"""One contract, many channels: the same run gives the same bytes through every one of them."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings

from speccompile.cli import main
from speccompile.testing.strategies import Case, cases

ENVELOPE = {"apiVersion": "speccompile.dev/v1alpha1", "kind": "Run"}
LIST = {"apiVersion": "config.kubernetes.io/v1", "kind": "ResourceList"}


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("channels"))
        yield


def printed(*arguments: str, stdin: str = "") -> str:
    """What a call prints, if all is well."""
    stdout, stderr = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        assert main([*arguments, "--quiet"]) == 0, stderr.getvalue()
    return stdout.getvalue()


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
    replaced = printed("krm", *options, stdin=f"{yaml.safe_dump(LIST)}items:\n- {json.dumps(run)}\n")
    assert yaml.safe_load(replaced)["items"] == manifests
