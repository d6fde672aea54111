"""The command line: exit codes, which stream says what, and what is written where."""

from __future__ import annotations

import argparse
import io
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import pytest
import yaml
from helpers.command_line import BAD, GOOD, OURS, PATIENCE, PROFILE, Answer, Call, files_below, job, run_text, start
from helpers.paths import ROOT

from speccompile.cli.main import parser
from speccompile.cli.options import COMMANDS

# Exit codes.


def test_done_is_0_with_manifests_on_stdout_alone(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    assert call("render", "run.yaml") == Answer(0, job("train"), "")
    assert call("validate", "run.yaml") == Answer(0, "", "1 run valid\n")


def test_validate_reports_how_many_runs_are_valid(call: Call) -> None:
    Path("runs.yaml").write_text("\n---\n".join((GOOD, run_text("other"))))
    assert call("validate", "runs.yaml") == Answer(0, "", "2 runs valid\n")
    assert call("validate", "runs.yaml", "--quiet") == Answer(0, "", "")
    assert call("validate", "runs.yaml", "--format", "github") == Answer(0, "", "")
    Path("bad.yaml").write_text(BAD)
    assert "valid" not in call("validate", "runs.yaml", "bad.yaml").stderr
    answer = call("validate", "runs.yaml", "bad.yaml", "--notice", "schema/quantity")
    assert (answer.code, "valid" in answer.stderr) == (0, False)
    assert answer.stderr.endswith(
        "speccompile: skipped 1 run with errors; changing the severity of an error does not fix it\n"
    )


def test_faulty_input_is_1_with_findings_on_stderr_alone(call: Call) -> None:
    Path("run.yaml").write_text(BAD)
    for command in ("render", "validate"):
        answer = call(command, "run.yaml")
        assert (answer.code, answer.stdout) == (1, "")
        assert answer.stderr.startswith("error[schema/quantity]: ")
        assert answer.stderr.endswith("\n\nspeccompile: 1 error\n")


@pytest.mark.parametrize("path", ["missing.yaml", "folder/missing.yaml"])
def test_a_missing_file_is_1(path: str, call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    for arguments in ([path], ["run.yaml", "--profiles", path], ["run.yaml", "--platform", path]):
        answer = call("render", *arguments)
        assert (answer.code, answer.stdout) == (1, "")
        assert answer.stderr.startswith(f"error[input/missing-file]: no such file\n  --> {path}\n")


def test_a_folder_without_runs_is_1(call: Call) -> None:
    Path("empty").mkdir()
    answer = call("render", "empty")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("error[input/empty-directory]: ")


@pytest.mark.parametrize(
    "arguments",
    [[], ["render"], ["validate"], ["rendr", "run.yaml"], ["render", "--no-such", "run.yaml"], ["render", "x", "-o"]],
    ids=" ".join,
)
def test_a_wrong_command_line_is_2(arguments: list[str], call: Call) -> None:
    answer = call(*arguments)
    assert (answer.code, answer.stdout) == (2, "")
    assert answer.stderr.startswith("usage: speccompile")


@pytest.mark.parametrize("stage", ["read_run", "merge", "approve", "plan", "sketch_plan", "manifest_text"])
def test_an_internal_error_is_3_and_is_reported(stage: str, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> NoReturn:
        raise ZeroDivisionError(value) from KeyError(value)

    value = "hunter2"
    Path("run.yaml").write_text(GOOD)
    monkeypatch.setattr(f"speccompile.compiler.pipeline.{stage}", fail)
    answer = call("render", "run.yaml")
    assert (answer.code, answer.stdout) == (3, "")
    assert "KeyError\n" in answer.stderr
    assert "ZeroDivisionError\n" in answer.stderr
    # Messages of Python may quote any value.
    assert value not in answer.stderr
    assert answer.stderr.endswith("speccompile: internal error; please report it with the text above\n")


def test_an_interrupt_is_130_without_a_traceback(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    Path("run.yaml").write_text(GOOD)
    monkeypatch.setattr("speccompile.compiler.pipeline.plan", interrupt)
    assert call("render", "run.yaml", "-o", "out") == Answer(130, "", "")
    assert not Path("out").exists()


# What goes where.


def test_notices_do_not_mix_with_manifests(call: Call) -> None:
    Path("run.yaml").write_text(run_text(profile="small", resources={"mem": "16Gi"}))
    Path("small.yaml").write_text(PROFILE)
    answer = call("render", "run.yaml", "--profiles", "small.yaml")
    assert answer.code == 0
    assert [document["kind"] for document in yaml.safe_load_all(answer.stdout)] == ["Job"]
    assert answer.stderr.startswith("notice[merge/overridden]: ")
    assert answer.stderr.endswith("\n\nspeccompile: 1 notice\n")


def test_quiet_keeps_errors_only(call: Call) -> None:
    Path("run.yaml").write_text(run_text(profile="small", resources={"mem": "16Gi"}))
    Path("small.yaml").write_text(PROFILE)
    Path("bad.yaml").write_text(BAD)
    answer = call("render", "run.yaml", "--profiles", "small.yaml", "--quiet")
    assert (answer.code, answer.stderr) == (0, "")
    assert "kind: Job" in answer.stdout
    answer = call("render", "run.yaml", "bad.yaml", "--profiles", "small.yaml", "--quiet")
    assert (answer.code, answer.stdout) == (1, "")
    assert "notice" not in answer.stderr
    assert answer.stderr.endswith("\n\nspeccompile: 1 error\n")


def test_strict_makes_an_override_an_error(call: Call) -> None:
    Path("run.yaml").write_text(run_text(profile="small", resources={"mem": "16Gi"}))
    Path("small.yaml").write_text(PROFILE)
    for extra in ([], ["--quiet"]):
        answer = call("render", "run.yaml", "--profiles", "small.yaml", "--strict", *extra)
        assert (answer.code, answer.stdout) == (1, "")
        assert answer.stderr.startswith("error[merge/overridden]: ")


def test_nothing_is_printed_when_one_of_many_runs_fails(call: Call) -> None:
    Path("bad.yaml").write_text(BAD)
    Path("good.yaml").write_text(GOOD)
    answer = call("render", "good.yaml", "bad.yaml")
    assert (answer.code, answer.stdout) == (1, "")


def test_faults_of_all_files_are_told_together_in_source_order(call: Call) -> None:
    Path("b.yaml").write_text(BAD)
    Path("a.yaml").write_text(f"{BAD}\n---\n{run_text('third', labels=3)}")
    Path("profile.yaml").write_text("id: x\nrun_as_user: 0\n")
    Path("platform.yaml").write_text("pvc: {size: 2GB}\n")
    answer = call(
        "validate", "b.yaml", "a.yaml", "--profiles", "profile.yaml", "--platform", "platform.yaml", "--verbose"
    )
    places = [line.split()[1] for line in answer.stderr.splitlines() if line.startswith("  -->")]
    assert [place.split(":")[:2] for place in places] == [
        ["a.yaml", "1"],
        ["a.yaml", "3"],
        ["b.yaml", "1"],
        ["platform.yaml", "1"],
        ["profile.yaml", "2"],
    ]
    assert answer.stderr.endswith("speccompile: 5 errors\n")


def test_no_progress_where_nobody_looks(call: Call) -> None:
    for number in range(150):
        Path(f"{number}.yaml").write_text(run_text(f"run-{number}"))
    answer = call("render", ".")
    assert (answer.code, answer.stderr) == (0, "")
    assert "\r" not in answer.stdout
    assert "\x1b" not in answer.stdout


def test_progress_on_a_terminal_is_wiped_at_the_end(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for number in range(120):
        Path(f"{number}.yaml").write_text(run_text(f"run-{number}"))
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    assert call("validate", ".").code == 0
    assert terminal.getvalue().startswith("\rcompiling 0 of 120 files\r")
    assert terminal.getvalue().endswith("\r\x1b[K120 runs valid\n")


# What goes in.


def test_a_dash_is_standard_input(call: Call) -> None:
    assert call("render", "-", stdin=GOOD) == Answer(0, job("train"), "")
    answer = call("render", "-", stdin=BAD)
    assert (answer.code, answer.stdout) == (1, "")
    assert "\n  --> <stdin>:1:" in answer.stderr


def test_a_dash_stands_among_files_in_its_place(call: Call) -> None:
    Path("one.yaml").write_text(run_text("one"))
    Path("three.yaml").write_text(run_text("three"))
    answer = call("render", "one.yaml", "-", "three.yaml", stdin=run_text("two"))
    assert answer == Answer(0, "---\n".join(map(job, ("one", "two", "three"))), "")


def test_a_directory_stands_for_the_files_below_it_in_the_order_of_names(call: Call) -> None:
    names = ("runs/z/deep/er.json", "runs/b.yml", "runs/z/c.yaml", "runs/a.yaml", "runs/B.json")
    passed_over = ("runs/notes.txt", "runs/.hidden.yaml", "runs/.git/config.yaml", "runs/z/run.yaml.bak", "runs/yaml")
    for name in (*names, *passed_over):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(run_text(Path(name).name.replace(".", "-").lower()) if name in names else "{ no YAML")
    answer = call("render", "runs")
    assert (answer.code, answer.stderr) == (0, "")
    made = [document["metadata"]["name"] for document in yaml.safe_load_all(answer.stdout)]
    assert made == ["b-json", "a-yaml", "b-yml", "c-yaml", "er-json"]


def test_a_directory_of_profiles_stands_for_its_files(call: Call) -> None:
    Path("profiles/more").mkdir(parents=True)
    Path("profiles/more/small.yaml").write_text(PROFILE)
    Path("profiles/default.json").write_text('{"id": "default", "priority_class": "low"}')
    Path("large.yaml").write_text("id: large\n")
    Path("runs.yaml").write_text("\n---\n".join([run_text("one"), run_text("two", profile="small")]))
    answer = call("render", "runs.yaml", "--profiles", "profiles", "--profiles", "large.yaml")
    one, two = yaml.safe_load_all(answer.stdout)
    assert one["spec"]["template"]["spec"]["priorityClassName"] == "low"
    assert two["spec"]["template"]["spec"]["containers"][0]["resources"] == {"requests": {"memory": "8Gi"}}


def test_the_same_file_twice_is_one_run_too_many(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    answer = call("render", "run.yaml", "run.yaml")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("error[run/duplicate]: ")
    assert "help: pass the file only once" in answer.stderr


def test_a_misspelt_preset_is_suggested(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    answer = call("render", "run.yaml", "--platform", "digitalub")
    assert "error[input/missing-file]: no such file\n  --> digitalub\n" in answer.stderr
    assert "help: did you mean the preset `digitalhub`?" in answer.stderr
    assert "help: check the path" in call("render", "run.yaml", "--platform", "platform.yaml").stderr


# Files for each run.


def test_a_file_for_each_run_below_the_output_folder(call: Call) -> None:
    Path("runs.yaml").write_text("\n---\n".join([run_text("one"), run_text("two", project="vision")]))
    assert call("render", "runs.yaml", "-o", "new/out") == Answer(0, "", "wrote 2 files to new/out/\n")
    written = files_below(Path("new/out"))
    assert list(written) == ["one.yaml", "vision/two.yaml"]
    assert written["one.yaml"] == job("one")
    assert "part-of: vision" in written["vision/two.yaml"]


@pytest.mark.parametrize("option", [(), ("--json",)])
@pytest.mark.parametrize("platform", ["preset: digitalhub", "own_labels: {acme.com/run: '{name}'}"])
def test_a_platform_with_other_labels_can_be_rendered_twice(platform: str, option: tuple[str, ...], call: Call) -> None:
    """Whatever label tells who manages an object, or none does: files of ours are known, and others are not."""
    Path("run.json").write_text(run_text("train"))
    selector = "" if "preset" in platform else "\nselector_labels: [acme.com/run]"
    Path("platform.yaml").write_text(f"{platform}{selector}\n")
    given = ("render", "run.json", "--platform", "platform.yaml", "-o", "out", *option)
    for _ in range(2):
        assert call(*given).code == 0
    (made,) = Path("out").iterdir()
    made.write_text("apiVersion: batch/v1\nkind: Job\nmetadata:\n  name: theirs\n")
    refused = call(*given)
    assert refused.code == 1
    assert "did not write" in refused.stderr


def test_a_file_of_somebody_else_is_never_replaced(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    Path("out").mkdir()
    Path("out/train.yaml").write_text("by hand\n")
    assert call("render", "run.yaml", "-o", "out").code == 1
    assert Path("out/train.yaml").read_text() == "by hand\n"


def test_writing_again_replaces_and_leaves_the_rest_alone(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    Path("out").mkdir()
    Path("out/train.yaml").write_text(f"{OURS}older, and longer than what replaces it\n" * 100)
    Path("out/other.yaml").write_text("not ours\n")
    for _ in range(2):
        assert call("render", "run.yaml", "-o", "out").code == 0
        assert files_below(Path("out")) == {"train.yaml": job("train"), "other.yaml": "not ours\n"}


def test_files_have_the_usual_permissions(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    Path("usual").touch()
    assert call("render", "run.yaml", "-o", "out").code == 0
    assert Path("out/train.yaml").stat().st_mode == Path("usual").stat().st_mode


def test_nothing_is_written_when_one_run_fails(call: Call) -> None:
    Path("runs").mkdir()
    Path("runs/a.yaml").write_text(GOOD)
    Path("runs/b.yaml").write_text(BAD)
    assert call("render", "runs", "-o", "out").code == 1
    assert not Path("out").exists()


@pytest.mark.parametrize("project", ["default", "vision"])
def test_nothing_is_written_when_one_file_cannot_be(project: str, call: Call) -> None:
    Path("runs.yaml").write_text("\n---\n".join([run_text("one"), run_text("two", project=project)]))
    Path("out").mkdir()
    Path("out/one.yaml").write_text(f"{OURS}as it was\n")
    obstacle = Path("out/two.yaml" if project == "default" else "out/vision")
    if project == "default":
        obstacle.mkdir()
    else:
        obstacle.write_text("a file where the project's folder belongs\n")
    before = files_below(Path("out"))
    answer = call("render", "runs.yaml", "-o", "out")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("speccompile: nothing was written: ")
    assert answer.stderr.endswith(f": {obstacle}\n")
    assert files_below(Path("out")) == before


def test_an_output_folder_that_is_a_file_is_1(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    Path("out").write_text("a file\n")
    answer = call("render", "run.yaml", "-o", "out")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("speccompile: nothing was written: ")
    assert Path("out").read_text() == "a file\n"


@pytest.mark.parametrize("dangling", [False, True])
def test_a_link_at_the_target_is_replaced_and_not_followed(dangling: bool, call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    Path("out").mkdir()
    Path("out/train.yaml").symlink_to("../elsewhere.txt")
    if not dangling:
        Path("elsewhere.txt").write_text("precious\n")
    assert call("render", "run.yaml", "-o", "out") == Answer(0, "", "wrote 1 file to out/\n")
    assert not Path("out/train.yaml").is_symlink()
    assert Path("out/train.yaml").read_text() == job("train")
    assert dangling != Path("elsewhere.txt").exists()
    assert dangling or Path("elsewhere.txt").read_text() == "precious\n"


def test_a_link_to_a_directory_at_the_target_is_replaced(call: Call) -> None:
    Path("run.yaml").write_text(GOOD)
    Path("out").mkdir()
    Path("elsewhere").mkdir()
    Path("out/train.yaml").symlink_to("../elsewhere", target_is_directory=True)
    assert call("render", "run.yaml", "-o", "out") == Answer(0, "", "wrote 1 file to out/\n")
    assert Path("out/train.yaml").read_text() == job("train")
    assert files_below(Path("elsewhere")) == {}


def test_a_link_in_place_of_a_project_folder_is_refused(call: Call) -> None:
    Path("runs.yaml").write_text("\n---\n".join([run_text("one"), run_text("two", project="vision")]))
    Path("out").mkdir()
    Path("elsewhere").mkdir()
    Path("out/vision").symlink_to("../elsewhere", target_is_directory=True)
    answer = call("render", "runs.yaml", "-o", "out")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr == (
        "speccompile: nothing was written: a link in the output directory may point outside it: out/vision\n"
    )
    assert files_below(Path("out")) == files_below(Path("elsewhere")) == {}


HOSTILE_NAMES = ("../../etc/x", "/etc/passwd", "..", ".", "a/b", "a\\b", "~", "-rf", "CON", " ", "é", "x" * 253)


@pytest.mark.parametrize("name", HOSTILE_NAMES)
def test_no_name_leads_out_of_the_output_folder(name: str, call: Call) -> None:
    runs = [run_text(name), run_text("safe", project=name), run_text(name, project=name[::-1])]
    # One call each: without a namespace, two runs of one name would make one object.
    for number, run in enumerate(runs):
        Path("run.json").write_text(run)
        assert call("render", "run.json", "-o", f"deep/er/out{number}").code == 0
    written = files_below(Path())
    written.pop("run.json")
    assert len(written) == len(runs)
    for number, path in enumerate(map(Path, sorted(written))):
        assert path.parts[:3] == ("deep", "er", f"out{number}")
        assert len(path.parts) <= 5
        assert all(part.strip("abcdefghijklmnopqrstuvwxyz0123456789-.") == "" for part in path.parts)


def test_names_that_look_alike_have_files_of_their_own(call: Call) -> None:
    names = ("a/b", "a-b", "A-B", "a b", "a_b")
    for name in names:
        Path("run.json").write_text(run_text(name))
        assert call("render", "run.json", "-o", "out").code == 0
    assert len(files_below(Path("out"))) == len(names)


def test_json_holds_the_same_data(call: Call) -> None:
    Path("runs.yaml").write_text("\n---\n".join([run_text("one"), run_text("two", envs={"A": "é"}, project="vision")]))
    as_yaml, as_json = call("render", "runs.yaml"), call("render", "runs.yaml", "--json")
    assert (as_json.code, as_json.stderr) == (0, "")
    documents = list(yaml.safe_load_all(as_yaml.stdout))
    assert json.loads(as_json.stdout) == {"apiVersion": "v1", "kind": "List", "items": documents}
    assert call("render", "runs.yaml", "--json", "-o", "out") == Answer(0, "", "wrote 2 files to out/\n")
    written = files_below(Path("out"))
    assert list(written) == ["one.json", "vision/two.json"]
    for path, document in zip(written, documents, strict=True):
        assert json.loads(written[path])["items"] == [document]


# Misspelt calls.


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("run.yaml", "to print its manifests, run `speccompile render run.yaml`"),
        ("folder", "to print its manifests, run `speccompile render folder`"),
        ("valdiate run.yaml", "unknown command `valdiate`, did you mean `validate`?"),
        ("xyz", "unknown command `xyz`; run `speccompile --help` for the list"),
        ("", "missing command; run `speccompile --help` for the list"),
        ("--verison", "unknown option `--verison`, did you mean `--version`?"),
        ("render run.yaml --profile gpu", "a run names its profile: write `profile: gpu` in the run"),
        ("render --profile=gpu run.yaml", "a run names its profile: write `profile: gpu` in the run"),
        ("render run.yaml --profile", "write `profile: ID` in the run; `--profiles PATH` names the files of profiles"),
        ("render run.yaml --prof gpu", "unknown option `--prof`, did you mean `--profiles`?"),
        ("render run.yaml --forma json", "unknown option `--forma`, did you mean `--format`?"),
        ("render run.yaml --xyzzy", "error: unknown option `--xyzzy`\n"),
        ("profiles", "missing SUBCOMMAND (one of `list`, `show`, `lint`, `impact`)"),
        ("profiles show", "missing ID\n"),
        ("profiles impact", "missing --old PATH_OR_REVISION\n"),
        ("completion", "missing SHELL (one of `bash`, `zsh`, `fish`)"),
        ("render run.yaml --jobs many", "expected a number from 0 (automatic) to 256, found `many`"),
        ("render run.yaml --dask here", "`here` is not the address of a scheduler"),
        ("profiles lnt", "invalid choice `lnt`, did you mean `lint`?"),
        ("profiles list --platfrom x", "unknown option `--platfrom`, did you mean `--platform`?"),
        ("profiles list extra", "unexpected argument `extra`"),
        ("init a b", "unexpected argument `b`"),
    ],
)
def test_a_misspelt_call_gets_a_suggestion(line: str, message: str, call: Call) -> None:
    Path("folder").mkdir()
    answer = call(*line.split())
    assert (answer.code, answer.stdout) == (2, "")
    assert message in answer.stderr


@pytest.mark.parametrize("word", ["\0", "\x1b[31m", "a\nb.yaml", "\udcff", "x" * 5000, "/" * 5000, "--\x1b=\n"])
@pytest.mark.parametrize("command", [(), ("render", "x", "--format"), ("profiles",), ("explain", "--code")])
def test_hostile_words_are_escaped(command: tuple[str, ...], word: str, call: Call) -> None:
    answer = call(*command, word)
    assert answer.code == 2
    assert answer.stderr.replace("\n", "").isprintable()
    assert len(answer.stderr) < 2000


# Help.


def test_help_lists_all_commands_by_group(call: Call) -> None:
    text = call("--help").stdout
    groups = ["everyday", "setup", "further checks", "for other tools"]
    assert [line[:-1] for line in text.splitlines() if line.endswith(":")][:4] == groups
    listed = [line.split()[0] for line in text.partition("everyday:")[2].splitlines() if line.startswith("  ")]
    assert listed[: len(COMMANDS)] == list(COMMANDS)
    difference = text.partition("`validate` checks")[2].partition("\n\n")[0]
    assert all(f"`{name}`" in difference for name in ("check", "verify", "lint", "place"))


def commands(parser: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The words of every command, those below others too."""
    yield path
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield from commands(inner, (*path, name))


@pytest.mark.parametrize("command", list(commands(parser())), ids=lambda path: " ".join(path) or "all")
def test_help_fits_one_screen_and_has_an_example(
    command: tuple[str, ...], call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    answer = call(*command, "--help")
    assert (answer.code, answer.stderr) == (0, "")
    assert len(answer.stdout.splitlines()) <= 40
    assert f"speccompile {' '.join(command)}" in answer.stdout.rpartition("\noptions:\n")[2]


def test_the_version_is_printed(call: Call) -> None:
    answer = call("--version")
    assert (answer.code, answer.stderr) == (0, "")
    assert answer.stdout.startswith("speccompile ")


# The same in processes of their own.


def test_a_reader_that_has_seen_enough_gets_no_traceback(tmp_path: Path) -> None:
    """As in `speccompile render runs | head -1`, with more output than a pipe holds."""
    runs = tmp_path / "runs.yaml"
    runs.write_text("\n---\n".join(run_text(f"run-{number}", parameters={"a": "x" * 10_000}) for number in range(50)))
    with start("render", runs) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.readline() == b"apiVersion: batch/v1\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


def test_a_reader_that_never_reads_gets_no_traceback() -> None:
    """As in `speccompile render - | true`: what is left in the buffer must not be flushed once more at the end."""
    with start("render", "-") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        process.stdin.write(GOOD.encode())
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(PATIENCE) == 0


def test_findings_that_nobody_reads_to_the_end_are_still_1(tmp_path: Path) -> None:
    """As in `speccompile validate runs 2>&1 | head -1`, in a script that stops at the first failure."""
    runs = tmp_path / "runs.yaml"
    runs.write_text("\n---\n".join(run_text(f"run-{number}", resources={"mem": "8GB"}) for number in range(700)))
    with start("validate", runs) as process:
        assert process.stderr
        assert process.stderr.readline().startswith(b"error[schema/quantity]")
        process.stderr.close()
        assert process.wait(PATIENCE) == 1


def test_an_interrupt_from_the_keyboard_ends_quietly() -> None:
    """Sent while the command waits for standard input, which it reads only when all else is loaded."""
    with start("render", "-") as process:
        assert process.stdin
        assert process.stdout
        assert process.stderr
        _wait_until_it_reads(process.pid)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert (process.stdout.read(), process.stderr.read()) == (b"", b"")


ENTRY_POINT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["speccompile"].split(":")
INTERRUPTING = """
import os, signal, sys

def interrupt(event, arguments):
    if event == "import" and arguments[0] == os.environ["INTERRUPTED_IMPORT"]:
        os.kill(os.getpid(), signal.SIGINT)

sys.addaudithook(interrupt)
"""


@pytest.mark.parametrize("module", ["speccompile.cli", "argparse", "speccompile.cli.options", "speccompile.files.work"])
@pytest.mark.parametrize(
    "command",
    [["-m", "speccompile"], ["-c", "import sys; from {} import {} as main; sys.exit(main())".format(*ENTRY_POINT)]],
    ids=["module", "script"],
)
def test_an_interrupt_during_imports_ends_quietly(command: list[str], module: str, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTING)
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "INTERRUPTED_IMPORT": module}
    done = subprocess.run(
        [sys.executable, *command, "render", "-"],
        input=GOOD,
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env=environment,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def _wait_until_it_reads(pid: int) -> None:
    status = Path(f"/proc/{pid}/syscall")
    if not status.exists():
        pytest.skip("only Linux tells what a process waits for")
    # The number of `read` on x86 and on ARM, and the file it reads.
    reading = (["0", "0x0"], ["63", "0x0"])
    for _ in range(PATIENCE * 100):
        try:
            if status.read_text().split()[:2] in reading:
                return
        except OSError:
            pytest.skip("this machine does not tell what a process waits for")
        time.sleep(0.01)
    pytest.fail("the command never reads its standard input")


SETTINGS: tuple[Mapping[str, str], ...] = (
    {"PYTHONHASHSEED": "0"},
    {"PYTHONHASHSEED": "12345"},
    {"LC_ALL": "C"},
    {"LC_ALL": "POSIX", "LANG": ""},
    {"TZ": "Pacific/Kiritimati"},
    {"COLUMNS": "20", "NO_COLOR": "1", "TERM": "dumb"},
)


def test_the_bytes_do_not_depend_on_the_machine(tmp_path: Path) -> None:
    """Hash seeds, locales and time zones change neither manifests nor findings."""
    runs = tmp_path / "runs.yaml"
    fields = {"labels": {"b": "1", "a": "2"}, "secrets": ["B", "A"], "envs": {"Z": "é 漢 ×", "E": "x"}}
    runs.write_text(
        "\n---\n".join(
            [
                run_text("one", **fields, resources={"mem": "1Gi", "gpu": 1, "cpu": 2}, profile="small"),
                run_text("two", **fields, schedule="@daily", node_selector={"b": "c", "a": "d"}),
            ]
        ),
        encoding="utf-8",
    )
    profile = tmp_path / "small.yaml"
    profile.write_text("id: small\nresources: {mem: 8Gi}\nenvs: {Z: ü}\nsecrets: [C, A]\n", encoding="utf-8")
    compare_settings(SETTINGS, "render", runs, "--profiles", profile)


def compare_settings(settings: Sequence[Mapping[str, str]], *arguments: str | Path) -> None:
    processes = [start(*arguments, **setting) for setting in settings]
    results = [(*process.communicate(timeout=PATIENCE), process.returncode) for process in processes]
    first = results[0]
    assert first[2] == 0
    assert "é 漢 ×".encode() in first[0]
    assert first[1].count(b"notice[merge/overridden]") == 2
    for setting, result in zip(settings, results, strict=True):
        assert result == first, setting


@pytest.mark.parametrize(
    "setting",
    [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}],
    ids=["PYTHONIOENCODING", "LC_ALL"],
)
def test_output_is_utf_8_whatever_the_machine_prefers(setting: Mapping[str, str], tmp_path: Path) -> None:
    runs = tmp_path / "runs.yaml"
    runs.write_text(run_text(envs={"A": "é"}))
    with start("render", runs, **setting) as process:
        stdout, stderr = process.communicate(timeout=PATIENCE)
    assert (process.returncode, stderr) == (0, b"")
    assert 'value: "é"'.encode() in stdout


def test_a_folder_that_cannot_be_read_is_1(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """A profile that does not load is an error, never skipped."""

    scandir = os.scandir

    def refuse(path: Any = ".") -> Any:
        if Path(path).name != "profiles":
            return scandir(path)
        raise PermissionError(13, "Permission denied", str(path))

    Path("run.yaml").write_text(GOOD)
    Path("profiles").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    answer = call("render", "run.yaml", "--profiles", "profiles")
    assert (answer.code, answer.stdout) == (1, "")
    assert answer.stderr.startswith("error[input/unreadable]: ")


def test_an_empty_name_of_the_platform_is_not_the_built_in_one(call: Call) -> None:
    """As in `--platform "$PLATFORM"` where the variable is not set."""
    Path("run.yaml").write_text(GOOD)
    answer = call("render", "run.yaml", "--platform", "")
    assert answer.code in (1, 2)


def test_a_folder_without_runs_does_not_hide_faults_of_profiles(call: Call) -> None:
    Path("empty").mkdir()
    assert "error[input/missing-file]: " in call("render", "empty", "--profiles", "nowhere.yaml").stderr


@pytest.mark.parametrize("comment", ["", f"# {OURS}"], ids=["plain", "signed"])
def test_a_run_is_never_replaced_by_its_manifests(comment: str, call: Call) -> None:
    Path("train.yaml").write_text(comment + GOOD)
    assert call("render", "train.yaml", "-o", ".").code == 1
    assert Path("train.yaml").read_text() == comment + GOOD
