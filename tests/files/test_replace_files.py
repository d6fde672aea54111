"""Replacing files on file systems without hard links, and removing what killed processes left."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from helpers.command_line import OURS, files_below

from speccompile.files import replace_files
from speccompile.files.replace_files import Output
from speccompile.files.write import write_file, write_files

NAMES = ("a.yaml", "b.yaml", "c.yaml")
OLD = dict.fromkeys(NAMES, f"{OURS}# old\n")
NEW = dict.fromkeys(NAMES, f"{OURS}# new\n")


@pytest.fixture(autouse=True)
def _old_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("out").mkdir()
    for name, text in OLD.items():
        Path("out", name).write_text(text)


def write_new() -> None:
    write_files([Output(Path(name), text) for name, text in NEW.items()], Path("out"))


@pytest.mark.parametrize("error", [PermissionError(1, "Operation not permitted"), NotImplementedError()])
@pytest.mark.parametrize("fails", [False, True])
def test_files_are_moved_where_they_cannot_be_linked(
    error: Exception, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def refuse_link(*_: object, **__: object) -> None:
        raise error

    def refuse_last(source: str, target: str | Path) -> None:
        if Path(target).name == NAMES[-1] and fails:
            raise OSError(16, "Device or resource busy", source, None, target)
        replace(source, target)

    monkeypatch.setattr(os, "link", refuse_link)
    monkeypatch.setattr(os, "replace", refuse_last)
    if fails:
        with pytest.raises(OSError, match=r"Device or resource busy: 'out/c\.yaml'"):
            write_new()
    else:
        write_new()
    assert files_below(Path("out")) == (OLD if fails else NEW)


def test_a_directory_that_appears_meanwhile_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def make_directory(source: str | Path, target: str, **options: bool) -> None:
        if Path(source).name == "b.yaml":
            Path(source).unlink()
            Path(source).mkdir()
        link(source, target, **options)

    monkeypatch.setattr(os, "link", make_directory)
    with pytest.raises(FileExistsError, match="a directory is in the way"):
        write_new()
    assert Path("out/b.yaml").is_dir()
    assert files_below(Path("out")) == {name: text for name, text in OLD.items() if name != "b.yaml"}


@pytest.mark.parametrize("late", [1, 3])
def test_an_interrupt_while_files_are_made_leaves_no_trace(late: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the worst moment: the file exists, and nothing has recorded it."""
    made: list[object] = []

    def interrupted(*given: Any, **named: Any) -> Any:
        stream = open(*given, **named)  # noqa: PTH123, SIM115  as it is called
        made.append(stream)
        if len(made) == late:
            stream.close()
            raise KeyboardInterrupt
        return stream

    monkeypatch.setattr(replace_files, "open", interrupted, raising=False)
    texts = [Output(Path(f"{number}.yaml"), "a: 1\n") for number in range(4)]
    with pytest.raises(KeyboardInterrupt):
        write_files(texts, Path("new/out"))
    assert [path.name for path in Path().iterdir()] == ["out"]


def ended_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_temporary_files_of_ended_processes_are_removed() -> None:
    ended, suffix = ended_process(), "0123456789abcdef-7"
    Path("out/team").mkdir()
    Path("elsewhere").mkdir()
    Path("out/linked").symlink_to(Path("elsewhere").absolute())
    stale = [
        f"out/.speccompile-{ended}-{suffix}",
        f"out/.speccompile-{os.getpid()}-{suffix}",
        f"out/team/.speccompile-{ended}-{suffix}.old",
    ]
    kept = [
        f"out/.speccompile-{os.getppid()}-{suffix}",
        f"out/.speccompile-{ended}-{suffix}.yaml",
        f"out/.speccompile-{ended}-{suffix}x",
        f"out/.speccompile-99999999999-{suffix}",
        f"out/.speccompile-{ended}",
        f"elsewhere/.speccompile-{ended}-{suffix}",
    ]
    for name in (*stale, *kept):
        Path(name).write_text("x")
    Path(f"out/.speccompile-{ended}-{suffix}1").mkdir()
    os.mkfifo(f"out/.speccompile-{ended}-{suffix}2")
    dangling = Path(f"out/.speccompile-{ended}-{suffix}3.old")
    dangling.symlink_to("nowhere")
    special = {path for path in Path("out").iterdir() if path.is_dir() or path.is_fifo()}
    write_new()
    assert [name for name in stale if Path(name).exists()] == []
    assert [name for name in kept if Path(name).exists()] == kept
    assert not dangling.is_symlink()
    assert special <= {*Path("out").iterdir()}


def test_beside_a_single_file_only_its_own_directory_is_cleaned() -> None:
    stale = f".speccompile-{ended_process()}-0123456789abcdef-0"
    for folder in ("out", "."):
        Path(folder, stale).write_text("x")
    assert write_file(Output(Path("page.yaml"), OURS), Path(), ())
    assert Path("out", stale).exists()
    assert not Path(stale).exists()
