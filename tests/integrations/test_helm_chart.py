"""`render --helm`: Helm renders the manifests unchanged, whatever their values."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from helpers.programs import program
from hypothesis import example, given, settings
from hypothesis import strategies as st

from speccompile import compile_run
from speccompile.cli.main import main
from speccompile.files.manifest_text import TEXTS as MANIFEST_TEXTS
from speccompile.files.write import manifest_path
from speccompile.integrations.helm_chart import as_chart_template, from_chart_template

HELMS = ["helm", "helm3"]
CHART = "apiVersion: v2\nname: chart\nversion: 1.0.0\n"
FRAGMENTS = ["{{", "}}", *"{}`\"'-\\\n \t#$é:", "---", ".Values.x", "/*", "*/"]
EXAMPLES = [
    *("{{ .Values.x }}", "{{{", "{{{{{", "}}", "{{`", "{{ `{{` }}", '{{ "{{" }}', "{{/* x */}}", "{{- x -}}"),
    *("x\n\n", "\n---\n"),
]
TEXTS = st.lists(st.sampled_from(FRAGMENTS), max_size=8).map("".join) | st.text(
    st.characters(codec="utf-8", exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"]), max_size=20
)
SOURCE = re.compile(r"^---\n# Source: chart/templates/(.*)\n", re.MULTILINE)


def run_of(number: int, text: str) -> dict[str, Any]:
    """A run that has the text wherever a run may have any."""
    files = {"data": {"a": text, "b": text}}
    return {
        "name": f"run-{number}",
        "action": "job",
        "image": "python:3.12",
        "command": ["echo", text],
        "args": [text, text],
        "envs": [{"name": "TEXT", "value": text}],
        "annotations": {"text": text},
        "parameters": {text: text},
        "volumes": [{"name": "conf", "volume_type": "config_map", "mount_path": "/conf", "spec": files}],
    }


def templated(helm: str, chart: Path) -> dict[str, list[str]]:
    """The documents that Helm renders for each template, in order."""
    done = subprocess.run([program(helm), "template", str(chart)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, *parts = SOURCE.split(done.stdout)
    found: dict[str, list[str]] = {}
    for name, text in zip(parts[::2], parts[1::2], strict=True):
        found.setdefault(name, []).append(text)
    return found


@pytest.mark.parametrize("helm", HELMS)
@given(texts=st.lists(TEXTS, min_size=30, max_size=60))
@settings(max_examples=4)
@example(texts=EXAMPLES)
def test_helm_renders_the_same_manifests(helm: str, texts: Sequence[str]) -> None:
    made = [compile_run(run_of(number, text)) for number, text in enumerate(texts)]
    with tempfile.TemporaryDirectory() as folder:
        chart = Path(folder)
        (chart / "Chart.yaml").write_text(CHART)
        (chart / "templates").mkdir()
        for compiled in made:
            file = manifest_path(compiled.project, compiled.name, "helm")
            (chart / "templates" / file).write_text(MANIFEST_TEXTS["helm"](compiled), encoding="utf-8")
        given_back = templated(helm, chart)
    for compiled in made:
        documents = given_back[f"{compiled.name}.yaml"]
        expected = compiled.to_yaml().split("\n---\n")
        assert sorted(document.strip("\n") for document in documents) == sorted(text.strip("\n") for text in expected)
        data = [yaml.safe_load(document) for document in documents]
        assert sorted(data, key=str) == sorted((manifest.data for manifest in compiled.manifests), key=str)


@given(TEXTS)
def test_a_template_can_be_read_back(text: str) -> None:
    assert from_chart_template(as_chart_template(text)) == text


@pytest.mark.parametrize("helm", HELMS)
def test_a_chart_with_rendered_runs_is_templated(
    helm: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text("name: train\naction: job\nimage: python:3.12\nargs: ['{{ not a template }}']\n")
    Path("chart").mkdir()
    Path("chart/Chart.yaml").write_text(CHART)
    assert main(["render", "run.yaml", "-o", "chart/templates", "--helm"]) == 0
    assert main(["check", "run.yaml", "-o", "chart/templates", "--helm"]) == 0
    [document] = templated(helm, Path("chart"))["train.yaml"]
    capsys.readouterr()
    main(["render", "run.yaml"])
    assert document == capsys.readouterr().out
    # Without the option, Helm executes what is in braces.
    main(["render", "run.yaml", "-o", "chart/templates"])
    done = subprocess.run([program(helm), "template", "chart"], capture_output=True, text=True, check=False)
    assert done.returncode != 0
