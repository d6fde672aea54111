"""Values of exported entities are read as DigitalHub reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from speccompile import CompileError, compile_run
from speccompile.compiler.compiled import Compiled


def entity(folder: Path, envs: str) -> Compiled:
    text = f"kind: container+job:run\nproject: demo\nid: a1\nspec: {{image: 'a:1', envs: {envs}}}\n"
    (folder / "run.yaml").write_text(text, encoding="utf-8")
    return compile_run(folder / "run.yaml")


def variables(compiled: Compiled) -> dict[str, Any]:
    container = compiled.to_dicts()[0]["spec"]["template"]["spec"]["containers"][0]
    return {one["name"]: one["value"] for one in container["env"]}


@pytest.mark.parametrize(
    ("written", "text"), [("5", "5"), ("-1", "-1"), ("2.5", "2.5"), ("true", "true"), ("True", "true"), ('""', "")]
)
def test_numbers_and_booleans_are_strings(written: str, text: str, tmp_path: Path) -> None:
    assert variables(entity(tmp_path, f"[{{name: A, value: {written}}}]")) == {"A": text}


@pytest.mark.parametrize("written", ["1.10", "0x1F", "1e3", "+5", "[1]"])
def test_numbers_that_would_be_written_in_another_way_are_errors(written: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError):
        entity(tmp_path, f"[{{name: A, value: {written}}}]")


def test_runs_of_other_forms_need_quotes() -> None:
    with pytest.raises(CompileError, match="expected a string, found the number `5`"):
        compile_run({"name": "a", "action": "job", "image": "a:1", "envs": [{"name": "A", "value": 5}]})


def test_a_blank_value_overrides_that_of_the_run() -> None:
    run = {"kind": "container+job:run", "project": "demo", "id": "a1"}
    spec = {"function": "container://demo/f:1", "command": "x"}
    function = {"kind": "container", "project": "demo", "name": "f", "id": "1", "spec": {"image": "a:1", "command": ""}}
    compiled = compile_run({**run, "spec": spec}, functions=[function])
    assert "command" not in compiled.to_dicts()[0]["spec"]["template"]["spec"]["containers"][0]
    assert [finding.code for finding in compiled.diagnostics] == ["merge/overridden"]
