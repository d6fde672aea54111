"""`speccompile profiles`: which stream says what, exit codes, and impact against a real git history."""

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


class Said(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture(autouse=True)
def _own_git(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No configuration of this machine, and no repository around the tests."""
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
def say(capsys: pytest.CaptureFixture[str]) -> Any:
    def call(*arguments: str) -> Said:
        code = main(["profiles", *arguments])
        captured = capsys.readouterr()
        return Said(code, captured.out, captured.err)

    return call


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


# Impact.


@pytest.mark.usefixtures("project")
def test_an_edit_of_a_profile_against_the_last_commit(say: Any) -> None:
    assert say("impact", "--old", "HEAD") == Said(0, "4 unchanged\n", "")
    write({"profiles/gpu.yaml": "id: gpu\nnode_selector: {gpu: a100}\nrules: {resources.mem: {max: 32Gi}}\n"})
    assert say("impact", "--old", "HEAD") == Said(
        1,
        "1 unchanged\n"
        "\n"
        "2 runs lose toleration nvidia.com/gpu=a100:NoSchedule\n"
        "  - default/a (runs/a.yaml:1:1)\n"
        "  - default/b (runs/b.yaml:1:1)\n"
        "\n"
        "1 run no longer compiles\n"
        "  - default/c (runs/c.yaml:1:1)\n"
        "    error[rule/max]: `resources.requests.memory`: `64Gi` is above the maximum `32Gi` (runs/c.yaml:5:18)\n",
        "",
    )


@pytest.mark.usefixtures("project")
def test_something_changes_and_nothing_breaks(say: Any) -> None:
    write({"profiles/gpu.yaml": "id: gpu\nnode_selector: {gpu: a100}\n"})
    commit()
    said = say("impact", "--old", "HEAD~1", "--json")
    assert said.code == 4
    data = json.loads(said.out)
    assert data["exit_code"] == 4
    assert data["counts"] == {"unchanged": 1, "changed": 3, "mended": 0, "broken": 0, "still_broken": 0}
    assert data["groups"][0]["phrases"] == ["loses toleration nvidia.com/gpu=a100:NoSchedule"]
    back = say("impact", "--old", "profiles", "--new", "profiles")
    assert back == Said(0, "4 unchanged\n", "")


@pytest.mark.usefixtures("project")
def test_a_profile_that_is_renamed_breaks_the_runs_that_name_it(say: Any) -> None:
    Path("profiles/gpu.yaml").unlink()
    write({"profiles/a100.yaml": "id: a100\n"})
    said = say("impact", "--old", "main")
    assert said.code == 1
    assert said.out.count("error[profile/unknown]") == 3
    commit()
    write({"profiles/gpu.yaml": "id: gpu\n"})
    assert say("impact", "--old", "main").out == (
        "1 unchanged\n"
        "\n"
        "3 runs now compile, and did not before\n"
        "  - default/a (runs/a.yaml:1:1)\n"
        "  - default/b (runs/b.yaml:1:1)\n"
        "  - default/c (runs/c.yaml:1:1)\n"
    )


def test_two_directories_without_git(say: Any) -> None:
    write(
        {
            "old/gpu.yaml": "id: gpu\nfs_group: 1\n",
            "new/gpu.yaml": "id: gpu\nfs_group: 2\n",
            "runs/a.yaml": run("a") + "---\n" + run("b"),
            "runs/bad.yaml": "name: [",
        }
    )
    said = say("impact", "--old", "old", "--new", "new", "runs")
    assert said == Said(
        1,
        "2 runs: security context fsGroup 1 → 2\n"
        "  - default/a (runs/a.yaml:1:1)\n"
        "  - default/b (runs/a.yaml:6:1)\n"
        "\n"
        "1 run compiles neither before nor now\n"
        "  - runs/bad.yaml\n"
        "    error[yaml/syntax]: expected the node content, but found the end of the file (runs/bad.yaml:1:8)\n",
        "",
    )
    assert say("impact", "--old", "old", "--profiles", "new", "runs/a.yaml").code == 4


def test_runs_from_standard_input(say: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"old.yaml": "id: gpu\n", "new.yaml": "id: gpu\nfs_group: 2\n"})
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(run("a").encode())))
    said = say("impact", "--old", "old.yaml", "--new", "new.yaml", "-")
    assert said.out == "1 run gains security context fsGroup 2\n  - default/a (<stdin>:1:1)\n"
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(SystemExit) as caught:
        say("impact", "--old", "old.yaml", "--new", "new.yaml", "-")
    assert caught.value.code == 2


def test_a_run_that_does_not_compile_is_called_by_what_it_says(say: Any) -> None:
    write(
        {
            "p.yaml": "id: gpu\n",
            "runs/flat.yaml": "name: flat\nproject: vision\naction: job\n",
            "runs/kube.yaml": KUBERNETES_STYLE,
            "runs/odd.yaml": "- 1\n",
            "runs/odder.yaml": "name: {a: b}\naction: job\n",
        }
    )
    said = say("impact", "--old", "p.yaml", "--new", "p.yaml", "runs")
    assert [line for line in said.out.splitlines() if line.startswith("  - ")] == [
        "  - vision/flat (runs/flat.yaml:1:1)",
        "  - default/kube (runs/kube.yaml:1:1)",
        "  - runs/odd.yaml:1:1",
        "  - runs/odder.yaml:1:1",
    ]


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize("old", ["nope", "-x", "--all"])
def test_an_old_that_is_neither_path_nor_revision(say: Any, old: str) -> None:
    said = say("impact", f"--old={old}")
    assert (said.code, said.out) == (1, "")
    assert f"error[revision/unknown]: git knows no commit `{old}`\n" in said.err


@pytest.mark.usefixtures("project")
def test_faults_of_either_side_are_told_before_anything_is_compiled(say: Any) -> None:
    write({"profiles/gpu.yaml": "id: gpu\nresorces: {}\n"})
    said = say("impact", "--old", "HEAD")
    assert (said.code, said.out) == (1, "")
    assert "  --> profiles/gpu.yaml:2:1\n" in said.err
    commit()
    write({"profiles/gpu.yaml": "id: gpu\n"})
    said = say("impact", "--old", "HEAD")
    assert (said.code, said.out) == (1, "")
    assert "  --> HEAD:profiles/gpu.yaml:2:1\n" in said.err


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
def test_a_call_that_cannot_be_understood(say: Any, arguments: list[str]) -> None:
    write({"run.yaml": run("a")})
    with pytest.raises(SystemExit) as caught:
        say(*arguments)
    assert caught.value.code == 2


# The others; golden/ has what they print.


@pytest.mark.usefixtures("project")
def test_the_project_says_which_profiles(say: Any) -> None:
    assert say("list").out.startswith("ID   FIXES\ngpu  node_selector, tolerations\n")
    assert json.loads(say("list", "--json").out)[0]["where"] == "profiles/gpu.yaml:1"
    assert say("show", "gpu").out.startswith("id: gpu")
    assert say("lint") == Said(0, "", "")
    assert say("list", "--project", "speccompile.yaml").code == 0


@pytest.mark.usefixtures("project")
def test_a_project_whose_runs_are_gone_still_has_profiles(say: Any) -> None:
    for path in Path("runs").iterdir():
        path.unlink()
    assert say("list").code == 0


def test_no_profiles_are_no_fault(say: Any) -> None:
    write({"speccompile.yaml": "runs: [runs]\n"})
    assert say("list") == Said(0, "there are no profiles\n", "")
    assert say("list", "--json").out == "[]\n"
    assert say("lint") == Said(0, "", "")


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
