"""`speccompile profiles`: streams, exit codes, and impact with a real git history."""

from __future__ import annotations

import io
import json
import os
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from speccompile.cli.main import main

TAINT = "tolerations: [{key: nvidia.com/gpu, operator: Equal, value: a100, effect: NoSchedule}]\n"


KUBERNETES_STYLE = """\
apiVersion: speccompile.dev/v1alpha1
kind: Run
metadata: {name: kube}
spec: {action: job}
"""


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _isolated_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Isolate git from the configuration of the machine and from outer repositories."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for who in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{who}_NAME", "Ada")
        monkeypatch.setenv(f"GIT_{who}_EMAIL", "ada@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.chdir(tmp_path)


def write(files: dict[str, str]) -> None:
    for name, text in files.items():
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def git(*arguments: str) -> None:
    subprocess.run(["git", *arguments], check=True, capture_output=True)


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", "a change")


def run(name: str, more: str = "") -> str:
    return f"name: {name}\naction: job\nimage: python:3.12\nprofile: gpu\n{more}"


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Any:
    def run_command(*arguments: str) -> Result:
        code = main(["profiles", *arguments])
        captured = capsys.readouterr()
        return Result(code, captured.out, captured.err)

    return run_command


@pytest.fixture
def project() -> None:
    """A project in a git repository: three runs under one profile, and a fourth under none."""
    write(
        {
            "speccompile.yaml": "runs: [runs]\nprofiles: [profiles]\n",
            "profiles/gpu.yaml": f"id: gpu\n{TAINT}node_selector: {{gpu: a100}}\n",
            "runs/a.yaml": run("a"),
            "runs/b.yaml": run("b"),
            "runs/c.yaml": run("c", "resources: {mem: 64Gi}\n"),
            "runs/free.yaml": run("free").replace("profile: gpu\n", ""),
        }
    )
    git("init", "--quiet", "--initial-branch", "main")
    commit()


# Impact


@pytest.mark.usefixtures("project")
def test_an_edit_of_a_profile_against_the_last_commit(call: Any) -> None:
    assert call("impact", "--old", "HEAD") == Result(0, "4 unchanged\n", "")
    write({"profiles/gpu.yaml": "id: gpu\nnode_selector: {gpu: a100}\nrules: {resources.mem: {max: 32Gi}}\n"})
    assert call("impact", "--old", "HEAD") == Result(
        1,
        "1 unchanged\n"
        "\n"
        "2 runs:\n"
        "  toleration nvidia.com/gpu=a100:NoSchedule removed\n"
        "  - default/a (runs/a.yaml:1:1)\n"
        "  - default/b (runs/b.yaml:1:1)\n"
        "\n"
        "1 run no longer compiles\n"
        "  - default/c (runs/c.yaml:1:1)\n"
        "    error[rule/max]: `resources.requests.memory`: `64Gi` is above the maximum `32Gi` (runs/c.yaml:5:18)\n",
        "",
    )


@pytest.mark.usefixtures("project")
def test_something_changes_and_nothing_breaks(call: Any) -> None:
    write({"profiles/gpu.yaml": "id: gpu\nnode_selector: {gpu: a100}\n"})
    commit()
    result = call("impact", "--old", "HEAD~1", "--json")
    assert result.code == 4
    data = json.loads(result.out)
    assert data["exit_code"] == 4
    assert data["counts"] == {"unchanged": 1, "changed": 3, "fixed": 0, "broken": 0, "still_broken": 0}
    assert data["groups"][0]["summary"] == ["toleration nvidia.com/gpu=a100:NoSchedule removed"]
    back = call("impact", "--old", "profiles", "--new", "profiles")
    assert back == Result(0, "4 unchanged\n", "")


@pytest.mark.usefixtures("project")
def test_a_profile_that_is_renamed_breaks_the_runs_that_name_it(call: Any) -> None:
    Path("profiles/gpu.yaml").unlink()
    write({"profiles/a100.yaml": "id: a100\n"})
    result = call("impact", "--old", "main")
    assert result.code == 1
    assert result.out.count("error[profile/unknown]") == 3
    commit()
    write({"profiles/gpu.yaml": "id: gpu\n"})
    assert call("impact", "--old", "main").out == (
        "1 unchanged\n"
        "\n"
        "3 runs now compile\n"
        "  - default/a (runs/a.yaml:1:1)\n"
        "  - default/b (runs/b.yaml:1:1)\n"
        "  - default/c (runs/c.yaml:1:1)\n"
    )


def test_two_directories_without_git(call: Any) -> None:
    write(
        {
            "old/gpu.yaml": "id: gpu\nfs_group: 1\n",
            "new/gpu.yaml": "id: gpu\nfs_group: 2\n",
            "runs/a.yaml": run("a") + "---\n" + run("b"),
            "runs/bad.yaml": "name: [",
        }
    )
    result = call("impact", "--old", "old", "--new", "new", "runs")
    assert result == Result(
        1,
        "2 runs:\n"
        "  security context fsGroup 1 → 2\n"
        "  - default/a (runs/a.yaml:1:1)\n"
        "  - default/b (runs/a.yaml:6:1)\n"
        "\n"
        "1 run still does not compile\n"
        "  - runs/bad.yaml\n"
        "    error[yaml/syntax]: `[` is never closed (runs/bad.yaml:1:7)\n",
        "",
    )
    assert call("impact", "--old", "old", "--profiles", "new", "runs/a.yaml").code == 4


def test_runs_from_standard_input(call: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"old.yaml": "id: gpu\n", "new.yaml": "id: gpu\nfs_group: 2\n"})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(run("a").encode())))
    result = call("impact", "--old", "old.yaml", "--new", "new.yaml", "-")
    assert result.out == "1 run:\n  security context fsGroup set to 2\n  - default/a (<stdin>:1:1)\n"
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit) as caught:
        call("impact", "--old", "old.yaml", "--new", "new.yaml", "-")
    assert caught.value.code == 2


def test_a_run_that_does_not_compile_is_listed_by_its_name(call: Any) -> None:
    write(
        {
            "p.yaml": "id: gpu\n",
            "runs/flat.yaml": "name: flat\nproject: vision\naction: job\n",
            "runs/kube.yaml": KUBERNETES_STYLE,
            "runs/odd.yaml": "- 1\n",
            "runs/odder.yaml": "name: {a: b}\naction: job\n",
        }
    )
    result = call("impact", "--old", "p.yaml", "--new", "p.yaml", "runs")
    assert [line for line in result.out.splitlines() if line.startswith("  - ")] == [
        "  - vision/flat (runs/flat.yaml:1:1)",
        "  - default/kube (runs/kube.yaml:1:1)",
        "  - runs/odd.yaml:1:1",
        "  - runs/odder.yaml:1:1",
    ]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("old", ["nope", "-x", "--all"])
def test_old_is_neither_path_nor_revision(call: Any, old: str) -> None:
    result = call("impact", f"--old={old}")
    assert (result.code, result.out) == (1, "")
    assert f"error[revision/unknown]: no commit `{old}` in the repository\n" in result.err


@pytest.mark.usefixtures("project")
def test_errors_of_either_side_are_reported_first(call: Any) -> None:
    write({"profiles/gpu.yaml": "id: gpu\nresorces: {}\n"})
    result = call("impact", "--old", "HEAD")
    assert (result.code, result.out) == (1, "")
    assert "  --> profiles/gpu.yaml:2:1\n" in result.err
    commit()
    write({"profiles/gpu.yaml": "id: gpu\n"})
    result = call("impact", "--old", "HEAD")
    assert (result.code, result.out) == (1, "")
    assert "  --> HEAD:profiles/gpu.yaml:2:1\n" in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["impact"],
        ["impact", "--old", "HEAD"],
        ["impact", "--old", "HEAD", "run.yaml"],
        ["impact", "--old", ""],
        ["list"],
        ["show"],
        ["lint"],
        [],
        ["other"],
    ],
)
def test_wrong_arguments(call: Any, arguments: list[str]) -> None:
    write({"run.yaml": run("a")})
    with pytest.raises(SystemExit) as caught:
        call(*arguments)
    assert caught.value.code == 2


# Other subcommands; golden/ contains their output


@pytest.mark.usefixtures("project")
def test_profiles_of_the_project(call: Any) -> None:
    assert call("list").out.startswith("ID   FIXES\ngpu  node_selector, tolerations\n")
    assert json.loads(call("list", "--json").out)[0]["where"] == "profiles/gpu.yaml:1"
    assert call("show", "gpu").out.startswith("id: gpu")
    assert call("lint") == Result(0, "", "no findings in 1 profile\n")
    assert call("lint", "--quiet") == Result(0, "", "")
    assert call("lint", "--format", "github") == Result(0, "", "")
    assert call("lint", "--format", "json").err == ""
    assert call("list", "--project", "speccompile.yaml").code == 0


@pytest.mark.usefixtures("project")
def test_profiles_of_a_project_without_runs(call: Any) -> None:
    for path in Path("runs").iterdir():
        path.unlink()
    assert call("list").code == 0


def test_no_profiles_are_not_an_error(call: Any) -> None:
    write({"speccompile.yaml": "runs: [runs]\n"})
    assert call("list") == Result(0, "no profiles\n", "")
    assert call("list", "--json").out == "[]\n"
    assert call("lint") == Result(0, "", "no findings in 0 profiles\n")


FUNCTION = "kind: container\nproject: demo\nname: tool\nspec: {image: 'a/b:1'}\n"
# PyYAML, which wrote a time without quotes, means text.
EXPORTED = """\
kind: container+job:run
project: demo
name: exported
metadata: {created: 2026-11-18T08:00:00Z}
spec: {function: 'container://demo/tool'}
"""


def test_functions_beside_runs_are_used_on_both_sides(call: Any) -> None:
    """They are in the same directory, in the same file, named by an option, or by the project file."""
    write({"runs/tool.yaml": FUNCTION, "runs/run.yaml": EXPORTED, "both.yaml": f"{EXPORTED}---\n{FUNCTION}"})
    write({"old/p.yaml": "id: default\nfs_group: 5\n", "new/p.yaml": "id: default\nfs_group: 6\n"})
    profiles = ("impact", "--old", "old", "--new", "new")
    for paths in (["runs"], ["both.yaml"], ["runs/run.yaml", "--functions", "runs/tool.yaml"]):
        result = call(*profiles, *paths)
        assert (result.code, result.err) == (4, ""), result
        assert "1 run:" in result.out
    write({"speccompile.yaml": "runs: [runs/run.yaml]\nfunctions: [runs/tool.yaml]\nprofiles: [new]\n"})
    assert call(*profiles).code == 4


@pytest.mark.parametrize("arguments", [[], ["list"], ["show"], ["lint"], ["impact"]])
def test_help_has_examples_and_fits_a_screen(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit) as caught:
        main(["profiles", *arguments, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert f"  speccompile profiles {' '.join(arguments)}" in text.partition("examples:\n")[2]
    assert len(text.splitlines()) <= 45
