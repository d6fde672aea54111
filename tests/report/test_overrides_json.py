"""What admins did to users' values, as data: replaced, added to, refused; and none of it tells a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from speccompile import Compiled, CompileError, compile_many
from speccompile.compiler.compiled import Result
from speccompile.report.explain_html import as_page
from speccompile.report.explain_json import as_explained_json
from speccompile.report.explain_text import as_listing
from speccompile.report.formats import FORMATS, as_format
from speccompile.report.overrides_json import as_overrides_json, override_entries
from speccompile.schema.bundled import bundled_codes

RUN = "name: train\naction: job\nimage: python:3.12\nprofile: p\n"


def result_of(tmp_path: Path, run: str, profile: str, platform: str = "") -> Result:
    """One run under one profile, from files, so that everything has its line."""
    texts = {"run": RUN + run, "p": f"id: p\n{profile}", "platform": platform or "namespace: x\n"}
    paths = {name: tmp_path / f"{name}.yaml" for name in texts}
    for name, text in texts.items():
        paths[name].write_text(text)
    (result,) = compile_many([paths["run"]], profiles=[paths["p"]], platform=paths["platform"])
    return result


def entries(result: Result) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(as_overrides_json(override_entries(result, bundled_codes())))["overrides"]
    return found


def test_an_override_is_told_alike_whether_or_not_something_else_fails(tmp_path: Path) -> None:
    fine = result_of(tmp_path, "args: [a]\npriority_class: low\n", "args: [x]\npriority_class: high\n")
    failed = result_of(
        tmp_path,
        "args: [a]\npriority_class: low\n",
        "args: [x]\npriority_class: high\n",
        "ceilings: {mem: 1}\nenforce: {resources: {mem: 2Gi}}\n",
    )
    assert isinstance(failed, CompileError)
    assert entries(fine) == [entry for entry in entries(failed) if entry["change"] == "replaced"] != []
    assert [entry["value"] for entry in entries(fine)] == [["a"], "low"]


def test_what_is_refused_has_the_value_the_run_and_what_stands_against_it(tmp_path: Path) -> None:
    result = result_of(
        tmp_path,
        "secrets: [S]\nresources: {mem: 4Gi}\n",
        "forbid: [secrets]\n",
        "ceilings: {mem: 1Gi}\n",
    )
    told = {entry["code"]: entry for entry in entries(result)}
    ban, ceiling = told["rule/forbidden"], told["policy/ceiling"]
    assert (ban["run"], ban["value"], ban["by"][0]["origin"]["part"]) == ("default/train", ["S"], "rule")
    assert (ceiling["run"], ceiling["value"], ceiling["by"][0]["origin"]["part"]) == ("default/train", "4Gi", "setting")
    assert Path(ceiling["by"][0]["origin"]["place"]["file"]).name == "platform.yaml"


def test_what_is_refused_in_a_list_is_the_item_and_not_the_list(tmp_path: Path) -> None:
    volumes = "volumes:\n- {name: a, volume_type: empty_dir, mount_path: /a}\n"
    volumes += "- {name: b, volume_type: shared_volume, mount_path: /b}\nenvs: {HF_HOME: /tmp}\n"
    rule = "rules: {envs.HF_HOME: {options: [/cache]}}\n"
    told = {entry["path"]: entry["value"] for entry in entries(result_of(tmp_path, volumes, rule))}
    assert told["envs.HF_HOME"] == {"name": "HF_HOME", "value": "/tmp"}
    assert told["volumes.b"]["mount_path"] == "/b"


def test_a_fault_of_the_profile_is_no_value_of_a_user(tmp_path: Path) -> None:
    result = result_of(tmp_path, "", "resources: {mem: 4Gi}\n", "ceilings: {mem: 1Gi}\n")
    assert isinstance(result, CompileError)
    assert entries(result) == []


RULE = 'rules:\n  annotations["my-secret"]: {options: [good]}\n'
HIDING = {
    "overridden": ("annotations:\n  my-secret: hunter2\n", "annotations:\n  my-secret: other\n", ""),
    "ruled": ("annotations:\n  my-secret: hunter2\n", RULE, ""),
    "typed": ("annotations:\n  my-secret: 420242024202\n", "", ""),
    "labelled": ("labels:\n  db_secret: hunter2!\n", "", ""),
    "block": ("parameters:\n  client_secret: |\n    hunter2\n", "parameters: {a: 1}\n", ""),
    "listed": ("parameters:\n  client_secret:\n  - hunter2\n", "parameters: {a: 1}\n", ""),
    "flow": ("parameters:\n  client_secret: [hunter2]\n", "parameters: {a: 1}\n", ""),
    "below": ("annotations:\n  my-secret:\n    hunter2\n", "annotations:\n  my-secret: other\n", ""),
    "domain": ("annotations:\n  acme.com/secret: hunter2\n", "annotations:\n  acme.com/secret: other\n", ""),
    "image": ("labels: {secret: x}\nvolumes: [{secret: a, name: hunter2}]\n", "", ""),
    "escaped": ('annotations:\n  my-secret: "hun\\"ter2"\n', RULE, ""),
    "backtick": ("annotations:\n  my-secret: hun`ter2\n", RULE, ""),
    "strict": ("annotations:\n  my-secret: hunter2\n", "annotations:\n  my-secret: other\n", "overrides: error\n"),
}


@pytest.mark.parametrize("case", HIDING)
def test_no_message_and_no_report_tells_what_an_excerpt_hides(case: str, tmp_path: Path) -> None:
    result = result_of(tmp_path, *HIDING[case])
    assert result.diagnostics
    texts = [as_format(name, result.diagnostics) for name in FORMATS] + [json.dumps(entries(result))]
    if isinstance(result, Compiled):
        texts += [as_listing(result), as_page([result]), as_explained_json([(result, result.explain())])]
    assert "not shown" in "".join(texts)
    for text in texts:
        assert "hunter2" not in text
        assert "ter2" not in text
        assert "420242024202" not in text
