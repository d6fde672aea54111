"""Names of objects that belong to the cluster, and projects that share a namespace."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import Call
from hypothesis import given
from hypothesis import strategies as st

from speccompile import Compiled, CompileError, compile_many, compile_run
from speccompile.testing.plain_data import Data

SERVER = {"action": "serve", "image": "nginx", "service_ports": [{"port": 80}]}
PIECES = ("kubernetes", "kube", "rnetes", "netes", "a", "kubernetes-a")
PATTERNS = ("{name}", "kube{name}", "{project}{name}", "{name}netes")


@given(
    name=st.sampled_from(PIECES),
    project=st.sampled_from(PIECES),
    alias=st.none() | st.sampled_from(PIECES),
    service=st.sampled_from(PATTERNS),
)
def test_no_run_replaces_the_service_of_the_api_server(
    name: str, project: str, alias: str | None, service: str
) -> None:
    """However the name is put together: by the run's name, its project, the pattern or the alias."""
    run = {**SERVER, "name": name, "project": project, **({"service_name": alias} if alias else {})}
    for result in compile_many([run], platform={"names": {"service": service, "alias": "kube{service_name}"}}):
        if isinstance(result, Compiled):
            assert "kubernetes" not in [created.name for created in result.objects if created.kind == "Service"]


def refused(run: Data, platform: Data | None = None) -> list[str]:
    try:
        compile_run(run, platform=platform)
    except CompileError as error:
        return [finding.code for finding in error.diagnostics]
    return []


def test_a_platform_adds_reserved_names_and_removes_none() -> None:
    run = {**SERVER, "name": "web", "service_name": "kubernetes"}
    additions: list[Data] = [{}, {"Service": []}, {"Service": ["db-*"]}]
    for names in additions:
        assert refused(run, {"reserved_names": names}) == ["policy/reserved-name"]
    assert refused({**run, "service_name": "db-main"}, {"reserved_names": {"Service": ["db-*"]}})
    assert not refused({**run, "service_name": "main-db"}, {"reserved_names": {"Service": ["db-*"]}})


@pytest.mark.parametrize("namespace", ["kube-system", "openshift-monitoring"])
def test_a_run_cannot_choose_a_namespace_of_the_cluster(namespace: str) -> None:
    run: dict[str, Any] = {
        "apiVersion": "speccompile.dev/v1alpha1",
        "kind": "Run",
        "metadata": {"name": "coredns", "namespace": namespace},
        "spec": {"action": "deploy", "image": "nginx"},
    }
    assert refused(run) == ["policy/reserved-name"]
    assert not refused(run, {"namespace": namespace})
    assert not refused(run, {"namespace": "ai-jobs"})


def warned(platform: Data, *projects: str) -> list[int]:
    """The numbers of the runs, one for each project, that are reported for sharing a namespace."""
    runs = [
        {"name": f"r{number}", "project": project, "action": "job", "image": "python"}
        for number, project in enumerate(projects)
    ]
    results = compile_many(runs, platform=platform)
    return [
        number
        for number, result in enumerate(results)
        if any(finding.code == "run/shared-namespace" for finding in result.diagnostics)
    ]


def test_projects_in_one_namespace_are_reported_once() -> None:
    shared = {"namespace": "ai-jobs"}
    assert warned(shared, "a", "a", "b", "c", "b") == [2]
    assert warned(shared, "a", "a") == []
    assert warned({**shared, "names": {"job": "{project}-{name}"}}, "a", "b") == []
    assert warned({**shared, "names": {"deployment": "{project}-{name}"}}, "a", "b") == [1]
    assert warned({**shared, "project": "a"}, "a", "b") == []
    # Whoever applies them can use a namespace for each project.
    assert warned({}, "a", "b") == []


def test_a_run_cannot_use_the_secret_store_of_another_project() -> None:
    run = {"name": "a", "project": "theirs", "action": "job", "image": "python", "secrets": ["TOKEN"]}
    compiled = compile_run(run, platform={"project": "ours"})
    assert compiled.project == "ours"
    assert "ours-secrets" in compiled.to_yaml()
    assert "theirs" not in compiled.to_yaml()
    assert [finding.code for finding in compiled.diagnostics] == ["merge/overridden"]


@pytest.mark.parametrize("arguments", [[], ["--no-cache"], ["--jobs", "2"], ["--plain"]])
def test_a_project_file_fixes_the_project_of_every_run(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("speccompile.yaml").write_text("project: vision\nruns: ['*.yaml']\n")
    for name in ("a", "b"):
        Path(f"{name}.yaml").write_text(f"name: {name}\nproject: speech\naction: job\nimage: x:1\nsecrets: [TOKEN]\n")
    for project in ("vision", "speech", "vision"):
        Path("speccompile.yaml").write_text(f"project: {project}\nruns: ['*.yaml']\n")
        code, stdout, _ = call("render", *arguments)
        assert code == 0
        assert (stdout.count("-secrets"), stdout.count(f"name: {project}-secrets")) == (2, 2)


def test_a_caller_fixes_the_project_of_every_run() -> None:
    run = {"name": "a", "project": "speech", "action": "job", "image": "x:1", "secrets": ["TOKEN"]}
    compiled = compile_run(run, project="vision")
    assert compiled.project == "vision"
    assert "name: vision-secrets" in compiled.to_yaml()
    assert [one.code for one in compiled.diagnostics] == ["merge/overridden"]
    with pytest.raises(CompileError, match="schema/needs-quotes"):
        compile_run(run, project=1)  # type: ignore[arg-type]
