"""Entities that the real DigitalHub SDK exports compile as tests/digitalhub_sdk.yaml expects."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import pytest
import yaml
from helpers.command_line import PATIENCE
from helpers.digitalhub_api import serve
from helpers.kubernetes_objects import VERSIONS, faults
from helpers.paths import ROOT
from helpers.programs import digitalhub_python

from speccompile import Compiled, CompileError, Severity, compile_many
from speccompile.cli.main import main

Data: TypeAlias = dict[str, Any]

CASES = ROOT / "tests" / "digitalhub_sdk.yaml"
EXPORTER = ROOT / "tests" / "helpers" / "digitalhub_export.py"
PROFILES = ({"id": "1xa100"},)
CUSTOM_KINDS = frozenset({"Model"})
"""Kinds that are not part of the Kubernetes API."""


class Export(NamedTuple):
    """A folder with `functions`, `tasks` and `runs` as the SDK wrote them."""

    folder: Path
    version: str
    actions: dict[str, list[str]]
    """Actions that the SDK allows, by runtime."""
    unsupported: list[str]
    """Requests that the fake API could not answer."""

    def runs(self) -> Iterator[tuple[str, Path, Data]]:
        for path in sorted((self.folder / "runs").iterdir()):
            yield path.stem, path, yaml.safe_load(path.read_text(encoding="utf-8"))


class Outcome(NamedTuple):
    """Kinds of manifests, or codes of errors."""

    produces: list[str]
    errors: list[str]


@cache
def cases() -> Data:
    loaded: Data = yaml.safe_load(CASES.read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Export:
    """Export all cases with the SDK, without network and without settings of this user."""
    python = digitalhub_python()
    folder = tmp_path_factory.mktemp("digitalhub")
    with serve() as (address, store):
        environment = {
            "DHCORE_ENDPOINT": address,
            "DH_CONFIG": str(folder / "none.ini"),
            "HOME": str(folder),
            "NO_PROXY": "*",
            "PATH": os.environ.get("PATH", os.defpath),
        }
        done = subprocess.run(
            [python, "-W", "ignore", EXPORTER, CASES, folder / "export"],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    return Export(folder / "export", **json.loads(done.stdout), unsupported=store.unsupported)


@pytest.fixture(scope="module")
def outcomes(export: Export) -> dict[str, Outcome]:
    """Compile all runs of the export together."""
    names, paths, _ = zip(*export.runs(), strict=True)
    functions = [export.folder / "functions", export.folder / "tasks"]
    results = compile_many(paths, profiles=PROFILES, platform="digitalhub", functions=functions)
    return {name: outcome(result) for name, result in zip(names, results, strict=True)}


def outcome(result: Compiled | CompileError) -> Outcome:
    if isinstance(result, CompileError):
        return Outcome([], [found.code for found in result.diagnostics if found.severity is Severity.ERROR])
    for manifest in result.manifests:
        for version in VERSIONS:
            assert manifest.data["kind"] in CUSTOM_KINDS or faults(manifest.data, version) == [], version
    return Outcome([manifest.data["kind"] for manifest in result.manifests], [])


def runtime_and_action(run: Data) -> tuple[str, str]:
    """The parts of a kind such as `python+job:run`."""
    runtime, _, action = run["kind"].removesuffix(":run").partition("+")
    return runtime, action


def expected_result(run: Data) -> Data:
    runtime, action = runtime_and_action(run)
    result: Data = cases()["results"][runtime][action]
    return result


def test_the_sdk_exports_a_run_for_each_action(root: Path, export: Export) -> None:
    extras = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert f"digitalhub=={export.version}" in extras["digitalhub"]
    assert export.unsupported == []
    listed = {runtime: sorted(actions) for runtime, actions in cases()["results"].items()}
    assert listed == export.actions
    exported = {runtime_and_action(run) for _, _, run in export.runs()}
    assert exported == {(runtime, action) for runtime, actions in listed.items() for action in actions}


def test_every_run_refers_to_an_exported_function_and_task(export: Export) -> None:
    known = {
        yaml.safe_load(path.read_text(encoding="utf-8"))["id"]
        for kind in ("functions", "tasks")
        for path in (export.folder / kind).iterdir()
    }
    for name, _, run in export.runs():
        spec = run["spec"]
        references = [spec["task"], spec.get("function") or spec["workflow"]]
        assert {re.split("[:/]", reference)[-1] for reference in references} <= known, name


def test_every_exported_run_compiles_or_is_refused_as_listed(export: Export, outcomes: dict[str, Outcome]) -> None:
    unexpected = {name: outcomes[name] for name, _, run in export.runs() if not is_expected(name, run, outcomes[name])}
    assert unexpected == {}
    assert cases()["refused"].keys() <= outcomes.keys()


def is_expected(name: str, run: Data, outcome: Outcome) -> bool:
    expected = expected_result(run)
    if "error" in expected:
        return outcome == Outcome([], [expected["error"]])
    if name in cases()["refused"]:
        return outcome == Outcome([], cases()["refused"][name])
    if name.endswith("-minimal"):
        return outcome == Outcome(expected["produces"], [])
    return not outcome.errors


def test_the_command_compiles_an_exported_folder(export: Export, tmp_path: Path) -> None:
    """Runs that are refused are removed first, because one of them would make the command fail."""
    folder = tmp_path / "export"
    shutil.copytree(export.folder, folder)
    for name, path, run in export.runs():
        if "error" in expected_result(run) or not name.endswith("-minimal"):
            (folder / "runs" / path.name).unlink()
    output = tmp_path / "manifests"
    assert main(["render", str(folder), "--platform", "digitalhub", "--output", str(output)]) == 0
    assert len(list(output.rglob("*.yaml"))) >= len(list((folder / "runs").iterdir()))


def table() -> str:
    """Table of what is compiled for each runtime and action."""
    rows = (
        f"| `{runtime}` | `{action}` | {_result(expected)} | {expected['differs']} |"
        for runtime, actions in cases()["results"].items()
        for action, expected in actions.items()
    )
    return "\n".join(("| runtime | action | compiled | differences |", "|---|---|---|---|", *rows))


def _result(expected: Data) -> str:
    return ", ".join(expected["produces"]) if "produces" in expected else f"no: `{expected['error']}`"


def test_the_page_has_the_table_of_runtimes(root: Path, request: pytest.FixtureRequest) -> None:
    path = root / "docs" / "digitalhub.md"
    before, start, _, end, after = re.split(r"(<!-- /?runtimes.*? -->)", path.read_text(encoding="utf-8"))
    page = f"{before}{start}\n{table()}\n{end}{after}"
    if request.config.getoption("--update-golden"):
        path.write_text(page, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == page, "if this is intended, run pytest --update-golden and read the diff"
