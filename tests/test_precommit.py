"""The hooks under the real pre-commit, in a real repository, taken from this one by its path."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from helpers.programs import program

PROJECT = "runs: [runs]\nprofiles: [profiles]\nplatform: platform.yaml\noutput: manifests\n"
PLATFORM = "enforce: {labels: {team: research}}\n"
RUN = "name: {name}\naction: job\nimage: python:3.12\nprofile: {profile}\n"
HOOKS = ("speccompile-validate", "speccompile-render", "speccompile-check")


class Repository:
    """A repository of somebody who uses the hooks."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        # A git hook that runs the tests points git at the repository it stands in, wherever a command is run.
        others = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "PRE_COMMIT"))}
        self.environment = {
            **others,
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "PRE_COMMIT_HOME": str(home),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@example.org",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@example.org",
        }

    def call(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, cwd=self.folder, env=self.environment, capture_output=True, text=True, check=False
        )

    def must(self, *command: str) -> str:
        done = self.call(*command)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def write(self, files: dict[str, str]) -> None:
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text)

    def commit(self) -> subprocess.CompletedProcess[str]:
        self.must("git", "add", "--all")
        return self.call("git", "commit", "--message", "a change")

    def stopped(self) -> str:
        """What is printed when the commit is stopped, as it has to be."""
        done = self.commit()
        assert done.returncode != 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def passed(self) -> str:
        done = self.commit()
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr

    def text(self, name: str) -> str:
        return (self.folder / name).read_text()


@pytest.fixture
def repository(root: Path, tmp_path: Path) -> Repository:
    """A repository with two runs under two profiles, whose hooks come from this work tree as it is now."""
    program("pre-commit")
    ours = Repository(tmp_path / "ours", tmp_path / "home")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
    )
    wanted = ("pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
    for name in listed.stdout.split("\0")[:-1]:
        top = name.partition("/")[0]
        if (top in ("speccompile", "templates", "schemas", "presets", "starter") or name in wanted) and (
            root / name
        ).is_file():
            (ours.folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / name, ours.folder / name)
    ours.must("git", "init", "--quiet")
    ours.passed()
    revision = ours.must("git", "rev-parse", "HEAD").strip()
    theirs = Repository(tmp_path / "theirs", tmp_path / "home")
    hooks = "".join(f"  - id: {hook}\n    verbose: true\n" for hook in HOOKS)
    theirs.write(
        {
            ".pre-commit-config.yaml": f"repos:\n- repo: {ours.folder}\n  rev: {revision}\n  hooks:\n{hooks}",
            "speccompile.yaml": PROJECT,
            "platform.yaml": PLATFORM,
            "profiles/cpu.yaml": "id: cpu\nresources: {cpu: 1}\n",
            "profiles/gpu.yaml": "id: gpu\nresources: {gpu: 1}\n",
            "runs/train.yaml": RUN.format(name="train", profile="gpu"),
            "runs/clean.yaml": RUN.format(name="clean", profile="cpu"),
        }
    )
    theirs.must("git", "init", "--quiet")
    theirs.must("pre-commit", "install")
    return theirs


def test_a_commit_with_stale_manifests_is_stopped_and_mended_and_the_next_one_passes(repository: Repository) -> None:
    told = repository.stopped()
    assert "wrote manifests/clean.yaml\nwrote manifests/train.yaml\n" in told
    assert "2 files up to date" in repository.passed()

    # A run: only its manifests are looked at.
    repository.write({"runs/train.yaml": RUN.format(name="train", profile="gpu").replace("3.12", "3.13")})
    assert "wrote manifests/train.yaml\n" in repository.stopped()
    assert "python:3.13" in repository.text("manifests/train.yaml")
    assert "1 file up to date (checked 1 of 2 runs)" in repository.passed()

    # A profile: all runs that use it, and no others.
    repository.write({"profiles/gpu.yaml": "id: gpu\nresources: {gpu: 2}\n"})
    told = repository.stopped()
    assert "wrote manifests/train.yaml\n" in told
    assert "clean" not in told
    assert "1 file up to date (checked 1 of 2 runs)" in repository.passed()

    # The platform: all runs.
    repository.write({"platform.yaml": "enforce: {labels: {team: production}}\n"})
    assert "wrote manifests/clean.yaml\nwrote manifests/train.yaml\n" in repository.stopped()
    assert "2 files up to date" in repository.passed()

    # Manifests that somebody edits are written anew.
    repository.write({"manifests/clean.yaml": repository.text("manifests/clean.yaml").replace("3.12", "3.11")})
    assert "wrote manifests/clean.yaml\n" in repository.stopped()
    assert "python:3.12" in repository.text("manifests/clean.yaml")

    # Runs that are removed leave nothing behind, though a commit does not name what it removes.
    (repository.folder / "runs/clean.yaml").unlink()
    assert "removed manifests/clean.yaml\n" in repository.stopped()
    repository.passed()

    # What is wrong is told at its line, and nothing is written.
    repository.write({"runs/train.yaml": RUN.format(name="train", profile="gpus")})
    told = repository.stopped()
    assert "runs/train.yaml:4:10" in told
    assert "did you mean `gpu`?" in told
    assert repository.must("git", "diff", "--name-only") == ""

    # What concerns no run costs no compilation.
    repository.must("git", "checkout", "HEAD", "--", "runs")
    repository.write({"README.md": "hello\n"})
    assert "no run is affected by the changes" in repository.passed()

    # A hook that writes nothing says what differs.
    repository.must("git", "config", "core.hooksPath", "nowhere")
    repository.write({"manifests/train.yaml": repository.text("manifests/train.yaml").replace("3.13", "3.11")})
    repository.passed()
    done = repository.call("pre-commit", "run", "speccompile-check", "--all-files")
    assert done.returncode == 1
    assert "error[check/stale]" in done.stdout
    assert "-        image: python:3.11\n+        image: python:3.13\n" in done.stdout
    assert "3.11" in repository.text("manifests/train.yaml")
    repository.call("pre-commit", "run", "speccompile-render", "--all-files")

    # No file name is an option, and what a link leads to counts.
    repository.must("git", "config", "--unset", "core.hooksPath")
    repository.write({"--project=other.yaml": "a\n", "other/gpu.yaml": "id: gpu\nresources: {gpu: 3}\n"})
    (repository.folder / "profiles/gpu.yaml").unlink()
    (repository.folder / "profiles/gpu.yaml").symlink_to("../other/gpu.yaml")
    assert "wrote manifests/train.yaml\n" in repository.stopped()
    repository.passed()
    assert repository.must("pre-commit", "run", "--all-files").count("Passed") == len(HOOKS)
