"""Streams and targets in any state: closed, full, without a reader, or no files at all."""

from __future__ import annotations

import io
import os
import re
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, NoReturn

import pytest
from helpers.command_line import BAD, GOOD, OURS, PATIENCE, PROFILE, Answer, job, run_text, start
from hypothesis import given
from hypothesis import strategies as st

from speccompile.cli.main import main
from speccompile.cli.streams import Stream
from speccompile.terminal.style import coloured

FULL = Path("/dev/full")
LOST = b"speccompile: cannot write to standard output: "
CLOSED, NO_SPACE = LOST + b"standard output is closed\n", LOST + b"No space left on device\n"


class Said(NamedTuple):
    """What one process gave."""

    code: int
    stdout: bytes
    stderr: bytes


def redirected(redirection: str, *arguments: str, before: str = "", unbuffered: str = "") -> Said:
    """The command in a process of its own, with its streams as a shell sets them."""
    if str(FULL) in redirection and not FULL.exists():
        pytest.skip("this machine has no full device")
    command = ["sh", "-c", f'{before}exec "$@" {redirection}', "sh", sys.executable, "-m", "speccompile", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False, env=environment)
    return Said(done.returncode, done.stdout, done.stderr)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder with a run, a faulty one, and one that gives a notice."""
    monkeypatch.chdir(tmp_path)
    Path("run.yaml").write_text(GOOD)
    Path("bad.yaml").write_text(BAD)
    Path("noticed.yaml").write_text(run_text(profile="small", resources={"mem": "16Gi"}))
    Path("small.yaml").write_text(PROFILE)


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> Answer:
    """What a call in this process gives."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:  # argparse ends wrong calls in this way
        code = int(stop.code or 0)
    return Answer(code, *capsys.readouterr())


# Standard output.


@pytest.mark.parametrize(
    ("redirection", "arguments", "sentence"),
    [
        (">&-", "render run.yaml", CLOSED),
        (">&-", "explain run.yaml", CLOSED),
        (">&-", "explain --code schema/quantity", CLOSED),
        (">&-", "--help", CLOSED),
        (">/dev/full", "render run.yaml", NO_SPACE),
        (">/dev/full", "explain --code schema/quantity", NO_SPACE),
        (">/dev/full", "validate bad.yaml --format json", NO_SPACE),
        (">/dev/full", "--version", NO_SPACE),
        (">/dev/full 2>&-", "--version", b""),
    ],
)
def test_results_that_cannot_be_printed_are_1_and_one_sentence(
    redirection: str, arguments: str, sentence: bytes
) -> None:
    assert redirected(redirection, *arguments.split()) == Said(1, b"", sentence)


def test_a_closed_standard_output_is_no_fault_where_nothing_is_printed() -> None:
    assert redirected(">&-", "render", "run.yaml", "-o", "out") == Said(0, b"", b"wrote 1 file to out/\n")
    assert Path("out/train.yaml").read_text() == job("train")
    assert redirected(">&-", "profiles", "lint", "--profiles", "small.yaml", "--quiet") == Said(0, b"", b"")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_manifests_that_are_cut_short_are_1(unbuffered: str) -> None:
    """As on a disk that fills up; unbuffered, Python itself does not notice."""
    Path("runs.yaml").write_text("\n---\n".join(run_text(f"run-{number}") for number in range(10)))
    said = redirected("> cut.yaml", "render", "runs.yaml", before="ulimit -f 2; ", unbuffered=unbuffered)
    assert said == Said(1, b"", LOST + b"File too large\n")
    assert Path("cut.yaml").stat().st_size in (1024, 2048)


def test_errors_stay_1_where_the_reader_of_a_document_has_gone() -> None:
    with start("validate", "bad.yaml", "--format", "json") as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 1


def test_changes_that_cannot_be_printed_are_1_and_not_4() -> None:
    Path("new.yaml").write_text(PROFILE.replace("8Gi", "9Gi"))
    comparing = ("profiles", "impact", "--old", "small.yaml", "--new", "new.yaml", "noticed.yaml")
    assert redirected(">/dev/full", *comparing) == Said(1, b"", NO_SPACE)


# Standard error.


@pytest.mark.parametrize(
    ("redirection", "arguments", "code"),
    [
        ("2>/dev/full", "validate noticed.yaml --profiles small.yaml", 0),
        ("2>&-", "validate noticed.yaml --profiles small.yaml", 0),
        ("2>/dev/full", "validate bad.yaml", 1),
        ("2>&-", "explain bad.yaml", 1),
        ("2>/dev/full", "validate --nonsense", 2),
        ("2>&-", "validate --nonsense", 2),
        (">&- 2>&-", "validate bad.yaml", 1),
    ],
)
def test_what_cannot_be_told_changes_no_exit_code(redirection: str, arguments: str, code: int) -> None:
    assert redirected(redirection, *arguments.split()) == Said(code, b"", b"")


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/full"])
def test_manifests_are_whole_where_notices_cannot_be_told(redirection: str) -> None:
    given = ("render", "noticed.yaml", "--profiles", "small.yaml")
    said = redirected(redirection, *given)
    assert said == Said(0, redirected("", *given).stdout, b"")
    assert said.stdout.startswith(b"apiVersion: batch/v1\n")


def test_a_failure_that_nobody_reads_of_is_still_one() -> None:
    Path("folder").mkdir()
    with start("render", "run.yaml", "--report", "folder") as process:
        assert process.stdout
        assert process.stderr
        process.stderr.close()
        assert process.stdout.read() == b""
        assert process.wait(PATIENCE) == 1


def test_a_bug_without_a_standard_error_prints_nothing_among_results(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError

    monkeypatch.setattr("speccompile.compiler.pipeline.merge", fail)
    monkeypatch.setattr(sys, "stderr", None)
    assert answer(capsys, "render", "run.yaml") == Answer(3, "", "")


def test_an_interrupt_while_the_last_of_it_is_printed_is_130_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Slow(io.StringIO):
        """Somebody loses patience with the first flush."""

        flushed = 0

        def flush(self) -> None:
            self.flushed += 1
            if self.flushed == 1:
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdout", Slow())
    assert answer(capsys, "render", "run.yaml") == Answer(130, "", "")


def test_the_streams_of_whoever_calls_are_theirs_again(capsys: pytest.CaptureFixture[str]) -> None:
    before = sys.stdout, sys.stderr
    for arguments in (["render", "run.yaml"], ["--help"], ["nonsense"]):
        answer(capsys, *arguments)
        assert (sys.stdout, sys.stderr) == before


# Reports and pages, which may go anywhere.


def page(capsys: pytest.CaptureFixture[str]) -> str:
    said = answer(capsys, "explain", "run.yaml", "--html", "-")
    assert (said.code, said.stderr) == (0, "")
    assert said.stdout.startswith("<!doctype html>")
    return said.stdout


def bind(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)


def device(path: str) -> None:
    """A null device of our own: if something goes wrong, this machine keeps its one."""
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        Path(path).write_text("")
    except OSError:
        pytest.skip("devices can be made only by root, and not everywhere")


def test_a_dash_is_standard_output_for_a_page(capsys: pytest.CaptureFixture[str]) -> None:
    page(capsys)
    assert not Path("-").exists()


def test_a_dash_is_standard_output_for_a_report_unless_manifests_go_there(capsys: pytest.CaptureFixture[str]) -> None:
    said = answer(capsys, "render", "run.yaml", "--report", "-", "-o", "out")
    assert (said.code, said.stderr) == (0, "wrote 1 file to out/\n")
    assert '"generator": "speccompile"' in said.stdout
    for more in ([], ["-o", "-"]):
        said = answer(capsys, "render", "run.yaml", "--report", "-", *more)
        assert (said.code, said.stdout) == (2, "")
        assert (
            "manifests and report cannot both go to standard output; give --report a file, or use -o DIR" in said.stderr
        )
    assert not Path("-").exists()


def test_a_pipe_is_written_to_and_stays(capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("pipe")
    heard: list[str] = []
    reader = threading.Thread(target=lambda: heard.append(Path("pipe").read_text(encoding="utf-8")), daemon=True)
    reader.start()
    with start("explain", "run.yaml", "--html", "pipe") as process:
        assert process.communicate(timeout=PATIENCE) == (b"", b"")
    reader.join(PATIENCE)
    assert (process.returncode, heard) == (0, [page(capsys)])
    assert Path("pipe").is_fifo()


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_device_is_written_to_and_stays(is_linked: bool, capsys: pytest.CaptureFixture[str]) -> None:
    device("null")
    Path("link").symlink_to("null")
    target = "link" if is_linked else "null"
    assert answer(capsys, "render", "run.yaml", "--report", target) == Answer(0, job("train"), "")
    assert answer(capsys, "explain", "run.yaml", "--html", target) == Answer(0, "", "")
    assert Path("null").is_char_device()
    assert Path("link").is_symlink()


@pytest.mark.parametrize("kind", ["directory", "socket"])
def test_a_report_has_no_place_where_nothing_can_be_written(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    {"directory": os.mkdir, "socket": bind}[kind]("target")
    Path("link").symlink_to("target")
    for target in ("target", "link"):
        said = answer(capsys, "render", "run.yaml", "--report", target)
        assert said == Answer(1, "", f"speccompile: {target} was not written: a {kind} is in the way\n")
    assert Path("link").is_symlink()


def test_the_file_of_standard_output_is_no_other_by_another_name(capsys: pytest.CaptureFixture[str]) -> None:
    """As in `--html /dev/stdout > page.html`, where the name is a link that nobody wants replaced."""
    Path("link").symlink_to("/dev/stdout")
    assert redirected("> page.html", "explain", "run.yaml", "--html", "link") == Said(0, b"", b"")
    assert Path("page.html").read_text(encoding="utf-8") == page(capsys)
    assert Path("link").is_symlink()
    assert redirected("> all.yaml", "render", "run.yaml", "--report", "all.yaml").code == 2


def test_the_file_of_standard_error_holds_no_report() -> None:
    assert redirected("2> told", "render", "run.yaml", "--report", "told") == Said(1, b"", b"")
    assert Path("told").read_text() == "speccompile: told was not written: standard error goes there\n"


# Files for each run.


@pytest.mark.parametrize("kind", ["pipe", "device", "socket"])
def test_a_manifest_replaces_nothing_that_is_no_file(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    target = "out/train.yaml"
    makers: dict[str, Callable[[str], None]] = {"pipe": os.mkfifo, "device": device, "socket": bind}
    makers[kind](target)
    before = Path(target).lstat()
    if kind == "pipe":
        # A pipe with both ends open can be read, and would keep whoever reads it waiting for more.
        ends = os.open(target, os.O_RDWR)
        os.write(ends, OURS.encode())
    said = answer(capsys, "render", "run.yaml", "-o", "out")
    assert said == Answer(1, "", f"speccompile: nothing was written: a {kind} is in the way: {target}\n")
    assert Path(target).lstat().st_ino == before.st_ino
    if kind == "pipe":
        assert os.read(ends, 1000) == OURS.encode()
        os.close(ends)


@pytest.mark.parametrize(("before", "code"), [(1_500_000, 0), (3_000_000, 1)])
def test_our_sign_is_looked_for_as_far_as_an_object_can_reach(
    before: int, code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    """A base document can put large annotations before the labels; no file is read for ever."""
    Path("out").mkdir()
    Path("out/train.yaml").write_text("x" * before + f"\n{OURS}")
    assert answer(capsys, "render", "run.yaml", "-o", "out").code == code


def test_a_link_that_leads_to_itself_is_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    Path("out").mkdir()
    Path("out/train.yaml").symlink_to("train.yaml")
    assert answer(capsys, "render", "run.yaml", "-o", "out") == Answer(0, "", "wrote 1 file to out/\n")
    assert Path("out/train.yaml").read_text() == job("train")


def test_no_folder_is_made_before_everything_is_found_in_order(capsys: pytest.CaptureFixture[str]) -> None:
    Path("runs.yaml").write_text("\n---\n".join([run_text("one", project="vision"), run_text("two")]))
    Path("out").mkdir()
    Path("out/two.yaml").write_text("by hand\n")
    assert answer(capsys, "render", "runs.yaml", "-o", "out").code == 1
    assert [path.name for path in Path("out").iterdir()] == ["two.yaml"]


# Terminals.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@given(st.text())
def test_a_terminal_gets_no_control_characters(text: str) -> None:
    terminal = Terminal()
    Stream(terminal).write(f"{coloured('a', 'error')}{text}")
    written = terminal.getvalue()
    assert written.startswith("\x1b[1;31ma\x1b[0m")
    assert all(char.isprintable() or char in "\n\r\t" for char in re.sub(r"\x1b\[[0-9;]*[mK]", "", written))


def test_a_file_gets_every_character() -> None:
    file = io.StringIO()
    Stream(file).write("a\u202eb")
    assert file.getvalue() == "a\u202eb"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["verify", "-"], 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {"a\u202eb": 1}\n'),
        (["validate", "-", "--platform", "platform.yaml"], "name: a\naction: job\nimage: a\n"),
    ],
)
def test_field_paths_are_printed_without_bidirectional_characters(
    arguments: list[str], text: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("platform.yaml").write_text("rules: {'labels[\"a\u202eb\"]': {required: true}}\n", encoding="utf-8")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
    code, out, err = answer(capsys, *arguments)
    assert code == 1
    assert "\u202e" not in out + err
    assert "a\ufffdb" in err
