"""Pipes, devices and sockets in place of files, and directories with too many files, are reported at once."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from helpers.command_line import PATIENCE, PROFILE, run_text
from helpers.work import at_most_calls

from speccompile.cli.main import main
from speccompile.files import find


@pytest.fixture(autouse=True)
def _impatient(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A project in the current directory, and an end to calls that block."""
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(run_text())
    before = signal.signal(signal.SIGALRM, lambda *_: pytest.fail("the call blocks"))
    signal.alarm(PATIENCE)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def bind(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)


def link_pipe(path: str) -> None:
    os.mkfifo("pipe")
    Path(path).symlink_to(Path("pipe").absolute())


KINDS: dict[str, tuple[Callable[[str], object], str]] = {
    "pipe": (os.mkfifo, "expected a file, found a pipe"),
    "linked pipe": (link_pipe, "expected a file, found a pipe"),
    "endless device": (lambda path: Path(path).symlink_to("/dev/zero"), "expected a file, found a device"),
    "socket": (bind, "the file cannot be read"),
}
PLACES = {
    "run.yaml": ["validate", "run.yaml"],
    "runs/a.yaml": ["validate", "runs"],
    "profile.yaml": ["validate", "run.yaml", "--profiles", "profile.yaml"],
    "profiles/a.yaml": ["render", "run.yaml", "--profiles", "profiles"],
    "platform.yaml": ["validate", "run.yaml", "--platform", "platform.yaml"],
    "speccompile.yaml": ["validate", "run.yaml"],
    "templates/kubernetes/job.yaml.j2": ["render", "run.yaml", "--templates", "templates"],
    "manifests.yaml": ["verify", "manifests.yaml"],
    "crds/a.yaml": ["verify", "run.yaml", "--crd", "crds"],
    "nodes.yaml": ["place", "run.yaml", "--nodes", "nodes.yaml"],
    "pods.yaml": ["place", "run.yaml", "--nodes", "run.yaml", "--pods", "pods.yaml"],
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("place", PLACES)
def test_what_is_no_file_is_reported(place: str, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    make, message = KINDS[kind]
    Path(place).parent.mkdir(parents=True, exist_ok=True)
    Path(place).unlink(missing_ok=True)
    make(place)
    assert main(PLACES[place]) == 1
    printed = capsys.readouterr()
    report = printed.out + printed.err
    assert message in report
    assert f"--> {place}\n" in report


def test_the_streams_of_the_process_are_read() -> None:
    """As in `speccompile validate <(command)`."""
    reader, writer = os.pipe()
    os.write(writer, run_text().encode())
    os.close(writer)
    assert main(["validate", f"/dev/fd/{reader}"]) == 0
    os.close(reader)


def crowded(folder: str, number: int) -> None:
    for index in range(number):
        Path(folder, f"{index % 3}").mkdir(parents=True, exist_ok=True)
        Path(folder, f"{index % 3}/{index}.txt").touch()


@pytest.mark.parametrize(
    ("arguments", "project", "place"),
    [
        (["validate", "many"], "", "many"),
        (["validate", "run.yaml", "--profiles", "many"], "", "many"),
        (["validate", "run.yaml", "--templates", "many"], "", "many"),
        (["validate"], "runs: [many]", "many"),
        (["validate"], "runs: ['**/*.yaml']", "."),
        (["validate"], "{runs: [run.yaml], profiles: [many]}", "many"),
        (["validate", "run.yaml"], "profiles: [many]", "many"),
        (["validate", "run.yaml"], "templates: many", "many"),
        (["check", "--fix"], "{runs: [run.yaml], output: many}", "many"),
    ],
)
def test_too_many_files_are_an_error(
    arguments: list[str], project: str, place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(find, "MAX_ENTRIES", 50)
    if project:
        Path("speccompile.yaml").write_text(project)
    crowded("many", 60)
    # As text, `runs: [/]` leads here too: nothing that was found before the end is read.
    Path("many/0/a.yaml").write_text("not: a run\n")
    assert main(arguments) == 1
    report = capsys.readouterr().err
    assert "files and directories to search" in report
    assert report.count("error[") == 1
    assert report.split("--> ")[1].split("\n")[0].endswith(place if place != "." else Path.cwd().name)


def test_searches_of_one_project_share_their_limit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Many names of one directory, which is within the limit itself."""
    monkeypatch.setattr(find, "MAX_ENTRIES", 1000)
    crowded("many", 600)
    for key in ("profiles", "runs"):
        names = [f"many/../{'./' * number}many" for number in range(200)]
        others = "" if key == "runs" else "runs: [run.yaml]\n"
        Path("speccompile.yaml").write_text(f"{others}{key}: [{', '.join(names)}]\n")
        with at_most_calls(3_000_000):
            assert main(["validate"]) == 1
        assert "files and directories to search" in capsys.readouterr().err


def test_usual_numbers_of_files_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(find, "MAX_ENTRIES", 50)
    crowded("few", 30)
    Path("few/profile.yaml").write_text(PROFILE)
    assert main(["validate", "run.yaml", "--profiles", "few"]) == 0
