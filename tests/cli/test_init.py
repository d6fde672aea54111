"""`speccompile init`: a new project works at once, and nothing that was there is lost."""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import jsonschema
import pytest
import yaml
from helpers.programs import program

from speccompile.cli.main import main

SPECCOMPILE = [sys.executable, "-m", "speccompile"]
HOOKS = ".pre-commit-config.yaml"
FILES = [
    HOOKS,
    ".speccompile/platform.schema.json",
    ".speccompile/profile.schema.json",
    ".speccompile/project.schema.json",
    ".speccompile/run.schema.json",
    "manifests/hello.yaml",
    "manifests/train.yaml",
    "platform.yaml",
    "profiles/cpu.yaml",
    "profiles/gpu.yaml",
    "runs/hello.yaml",
    "runs/train.yaml",
    "speccompile.yaml",
]


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def project(here: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A new project in the current directory."""
    assert main(["init"]) == 0
    capsys.readouterr()
    return here


def test_it_tells_what_it_wrote_and_what_to_do_next(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["init"]) == 0
    captured = capsys.readouterr()
    assert not captured.err
    written, _, following = captured.out.partition("\n\nnext:\n")
    assert written.splitlines() == [f"wrote {name}" for name in FILES]
    assert following == "  speccompile explain runs/hello.yaml\n  speccompile render\n"
    assert sorted(tree(here)) == FILES


@pytest.mark.parametrize(
    "call",
    [
        "render",
        "render -o - --strict",
        "validate --strict",
        "check",
        "check --semantic",
        "profiles lint --strict",
        "explain",
        "check --changed runs/hello.yaml .speccompile/run.schema.json .pre-commit-config.yaml",
    ],
)
def test_everything_passes_at_once(call: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(project)
    assert main(call.split()) == 0
    assert not re.search(r"error|warning|notice", capsys.readouterr().err)
    assert tree(project) == before


def test_the_commands_that_it_prints_work_as_they_are_printed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd = 'it\'s $(touch made) "a" folder; *\xe9'
    names = (odd, f"{odd}\x1b[31m\n", "-", "two/levels")
    for name in names:
        assert main(["init", "--", name]) == 0
        told = capsys.readouterr().out
        assert "\x1b" not in told
        script = told.partition("\nnext:\n")[2]
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        done = subprocess.run(
            [program("bash"), "-ec", script], capture_output=True, text=True, check=True, cwd=here, env=environment
        )
        assert "runs/hello.yaml:3" in done.stdout
    assert sorted(path.name for path in here.iterdir()) == sorted(name.partition("/")[0] for name in names)


def test_a_folder_may_hold_other_files(here: Path) -> None:
    others = {"README.md": b"# mine\n", "runs/notes.txt": b"mine\n", ".speccompile/mine": b""}
    for name, data in others.items():
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_bytes(data)
    assert main(["init"]) == 0
    assert sorted(tree(here)) == sorted([*FILES, *others])
    assert {name: tree(here)[name] for name in others} == others
    assert main(["check"]) == 0


def test_everything_in_the_way_is_named_and_nothing_is_written(
    here: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (here / "platform.yaml").write_text("namespace: mine\n", encoding="utf-8")
    (here / "speccompile.yaml").touch()
    (here / "profiles").write_text("no folder", encoding="utf-8")
    (here / "manifests").mkdir()
    (here / "manifests" / "hello.yaml").symlink_to("nowhere")
    (tmp_path / "elsewhere").mkdir()
    (here / "runs").symlink_to(tmp_path / "elsewhere")
    before = sorted(here.rglob("*"))
    assert main(["init"]) == 1
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err == (
        "speccompile: nothing was written, because these paths exist:\n"
        "  profiles\n  runs\n  manifests/hello.yaml\n  platform.yaml\n  speccompile.yaml\n"
        "move them away, or choose another directory: speccompile init DIR\n"
    )
    assert sorted(here.rglob("*")) == before
    assert (here / "platform.yaml").read_text() == "namespace: mine\n"
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_second_time_it_refuses(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tree(project)
    assert main(["init", "."]) == 1
    assert [line.strip() for line in capsys.readouterr().err.splitlines()[1:-1]] == [
        name for name in FILES if name != HOOKS
    ]
    assert tree(project) == before


def test_a_file_is_no_directory(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "file").write_text("mine", encoding="utf-8")
    for name in ("file", "file/below"):
        assert main(["init", name]) == 1
        assert "nothing was written" in capsys.readouterr().err
    assert tree(here) == {"file": b"mine"}


def test_what_cannot_be_written_whole_is_not_begun(here: Path) -> None:
    # The small files fit, and the schemas do not.
    limit = (4096, 4096)
    done = subprocess.run(
        [*SPECCOMPILE, "init", "new/project"],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("speccompile: nothing was written: ")
    assert "Traceback" not in done.stderr
    assert not list(here.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere; the test above covers the same path")
def test_a_folder_that_may_not_be_written_is_left_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "locked").mkdir(mode=0o555)
    assert main(["init", "locked"]) == 1
    assert "Permission denied" in capsys.readouterr().err
    assert not list((here / "locked").iterdir())


def test_the_bytes_are_the_same_everywhere(here: Path) -> None:
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "LC_ALL": "C"}
        subprocess.run([*SPECCOMPILE, "init", seed], check=True, capture_output=True, cwd=here, env=environment)
    assert tree(here / "1") == tree(here / "2")


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".yaml") and "/." not in f"/{name}"])
def test_the_first_line_leads_an_editor_to_a_schema_that_the_file_fits(name: str, project: Path) -> None:
    text = (project / name).read_text(encoding="utf-8")
    line = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    if name.startswith("manifests/"):
        assert line is None
        return
    assert line
    schema: Any = json.loads((project / name).parent.joinpath(line[1]).read_text(encoding="utf-8"))
    kind = {"runs": "run", "profiles": "profile", "platform.yaml": "platform", "speccompile.yaml": "project"}
    assert line[1].endswith(f"{kind[name.split('/', maxsplit=1)[0]]}.schema.json")
    jsonschema.validate(yaml.safe_load(text), schema)


def test_its_hook_is_the_one_that_this_repository_offers(root: Path, project: Path) -> None:
    offered = {hook["id"]: hook for hook in yaml.safe_load((root / ".pre-commit-hooks.yaml").read_text())}
    (repo,) = yaml.safe_load((project / ".pre-commit-config.yaml").read_text())["repos"]
    assert repo["hooks"]
    for hook in repo["hooks"]:
        theirs = {key: value for key, value in offered[hook["id"]].items() if key not in ("description", "language")}
        assert {**theirs, "language": "system"} == hook


class Repository(NamedTuple):
    """A git work tree with pre-commit."""

    root: Path
    environment: dict[str, str]

    def run(self, call: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            shlex.split(call), capture_output=True, text=True, check=False, cwd=self.root, env=self.environment
        )


@pytest.fixture
def repository(here: Path, tmp_path: Path) -> Repository:
    """One whose root is the current directory."""
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("GIT_")},
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PRE_COMMIT_HOME": str(tmp_path / "pre-commit"),
        "GIT_CONFIG_GLOBAL": os.devnull,
    }
    made = Repository(here, environment)
    made.run("git init -q")
    return made


def brings_manifests_up_to_date(repository: Repository, project: Path) -> None:
    """The hook passes, then writes what a changed run asks for, and passes again."""
    repository.run("git add -A")
    first = repository.run("pre-commit run --all-files")
    assert first.returncode == 0, first.stdout + first.stderr
    assert "Passed" in first.stdout
    hello = project / "runs" / "hello.yaml"
    hello.write_text(hello.read_text(encoding="utf-8").replace("64Mi", "96Mi"), encoding="utf-8")
    repository.run("git add -A")
    assert repository.run("pre-commit run").returncode == 1
    assert "memory: 96Mi" in (project / "manifests" / "hello.yaml").read_text(encoding="utf-8")
    repository.run("git add -A")
    assert repository.run("pre-commit run").returncode == 0


def test_its_hook_passes_and_brings_manifests_up_to_date(repository: Repository) -> None:
    assert main(["init"]) == 0
    assert (repository.root / HOOKS).exists()
    brings_manifests_up_to_date(repository, repository.root)


def advised(told: str) -> tuple[str, str]:
    """The file that a hook should go into, and the hook, as they are printed."""
    advice = told.partition("\nfor pre-commit, add this to `repos` in ")[2].partition("\nnext:\n")[0]
    file, _, hook = advice.partition(":\n")
    return file, hook


@pytest.mark.parametrize("folder", ["deploy/ai", 'it\'s, [a] #1: "folder" é'])
def test_in_a_folder_of_a_repository_it_tells_the_hook_to_add(
    folder: str, repository: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["init", folder]) == 0
    project = repository.root / folder
    assert sorted(tree(project)) == [name for name in FILES if name != HOOKS]
    file, hook = advised(capsys.readouterr().out)
    assert file == str(repository.root / HOOKS)
    Path(file).write_text(f"repos:\n{hook}", encoding="utf-8")
    brings_manifests_up_to_date(repository, project)


def test_a_configuration_of_hooks_is_left_as_it_is(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / HOOKS).write_text("repos: []\n", encoding="utf-8")
    assert main(["init"]) == 0
    assert (here / HOOKS).read_text(encoding="utf-8") == "repos: []\n"
    file, hook = advised(capsys.readouterr().out)
    assert file == HOOKS
    assert yaml.safe_load(hook)[0]["hooks"][0]["args"] == ["--"]


def test_what_it_proposes_lets_its_own_runs_pass(project: Path) -> None:
    platform = project / "platform.yaml"
    proposed = re.sub(r"^# (?=\w+: )", "", platform.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert "\nallowed_registries: [" in proposed
    platform.write_text(proposed, encoding="utf-8")
    assert main(["validate", "--strict"]) == 0


def test_files_are_there_even_if_nobody_can_be_told(here: Path) -> None:
    done = subprocess.run(
        [program("bash"), "-c", f"{shlex.join([*SPECCOMPILE, 'init', 'new'])} >&-"],
        capture_output=True,
        text=True,
        check=False,
        cwd=here,
    )
    assert (done.returncode, sorted(tree(here / "new"))) == (1, FILES)
    assert "cannot write to standard output" in done.stderr
