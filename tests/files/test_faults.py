"""Every file operation of a command that writes fails once: all files are old or all are new, and the message is true.

An error is undone. Ctrl-C and SIGTERM take effect before the first file is replaced, or after the last. SIGKILL can
come between two files; then each is old or new as a whole, and the next call writes the rest.
"""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.command_line import run_text
from helpers.faults import FROM_THEN_ON, ONCE, Call, contents, faulty_calls, without_temporary

from speccompile.cli.main import main

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="calls are forked")

Tree = Mapping[str, str]
ORPHANS = ("out/old.yaml", "out/gone/old.yaml")
UNKNOWN_PLACES = ("stat out", "stat speccompile.yaml")
"""Places whose status must be known to look for left-over files."""
_LISTED = re.compile(r"^  (\S+) \((?:new|previous version: (\S+))\)$", re.MULTILINE)


class Scenario(NamedTuple):
    """A command, and its exit code when it changes files."""

    arguments: tuple[str, ...]
    success: int = 0


SCENARIOS = {
    "check": Scenario(("check", "--fix", "--kustomization"), 4),
    "render": Scenario(("render", "--kustomization", "--no-cache", "--jobs", "1")),
    "render to a new folder": Scenario(("render", "runs", "-o", "new/out", "--no-cache", "--jobs", "1")),
    "render to one file": Scenario(("render", "runs", "-o", "new/out.yaml", "--no-cache", "--jobs", "1")),
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with manifests that are up to date, outdated, missing, replaced by a link, and left over."""
    folder = tmp_path / "project"
    (folder / "runs").mkdir(parents=True)
    monkeypatch.chdir(folder)
    for name, team in {"same": "default", "a": "default", "b": "vision", "c": "default", "e": "fresh"}.items():
        Path(f"runs/{name}.yaml").write_text(run_text(name, project=team))
    Path("speccompile.yaml").write_text("runs: [runs]\noutput: out\n")
    assert main(["render", "--kustomization", "--quiet"]) == 0
    for orphan in ORPHANS:
        Path(orphan).parent.mkdir(exist_ok=True)
        Path(orphan).write_text(Path("out/a.yaml").read_text())
    for outdated in ("out/a.yaml", "out/vision/b.yaml"):
        Path(outdated).write_text(Path(outdated).read_text().replace("3.12", "3.11"))
    Path("out/c.yaml").unlink()
    Path("out/c.yaml").symlink_to("a.yaml")
    Path("out/fresh/e.yaml").unlink()
    Path("out/fresh").rmdir()
    return folder


def files(tree: Tree) -> Tree:
    return {name: text for name, text in tree.items() if text != "directory"}


class Faults(NamedTuple):
    """All faulty calls of a scenario, and the files before and after a call without faults."""

    calls: list[Call]
    old: Tree
    new: Tree


def inject(fault: str, scenario: Scenario, project: Path) -> Faults:
    *calls, last = faulty_calls(fault, project, *scenario.arguments)
    assert last.code == scenario.success, last.stderr
    assert {call.operation.split()[0] for call in calls} >= {"os.rename", "write"}
    assert not any("Traceback" in call.stderr for call in calls)
    return Faults(calls, contents(project), last.files)


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_error_is_undone(name: str, project: Path) -> None:
    scenario = SCENARIOS[name]
    calls, old, new = inject(ONCE, scenario, project)
    orphans = {orphan: old[orphan] for orphan in ORPHANS} if name == "check" else {}
    for call in calls:
        visible = without_temporary(call.files)
        if call.code == scenario.success and call.operation in UNKNOWN_PLACES:
            assert files(visible) in (files(new), {**files(new), **orphans}), call
        elif call.code == scenario.success:
            assert files(visible) == files(new), call
        else:
            assert visible == old, call
            reasons = ("nothing was written: ", "error[", "no PATH given")
            assert any(reason in call.stderr for reason in reasons), call
            assert not call.stderr.startswith("wrote"), call
        # A temporary file that cannot be removed stays until the next call.
        assert call.files == visible or call.operation.startswith("os.remove"), call
    assert {call.code for call in calls} >= {1, scenario.success}


@pytest.mark.parametrize("name", ["check", "render"])
def test_files_that_cannot_be_restored_are_named(name: str, project: Path) -> None:
    scenario = SCENARIOS[name]
    calls, old, new = inject(FROM_THEN_ON, scenario, project)
    for call in calls:
        after = files(without_temporary(call.files))
        listed: dict[str, str] = dict(_LISTED.findall(call.stderr))
        if call.code == scenario.success:
            assert after == files(new), call
            assert not listed, call
        else:
            assert call.code == 1, call
            assert {*listed} == {file for file in {**old, **after} if files(old).get(file) != after.get(file)}, call
            assert {file: call.files[backup] for file, backup in listed.items() if backup} == {
                file: old[file] for file in listed if file in old
            }, call
            assert listed or "nothing was written: " in call.stderr, call
    assert any(_LISTED.search(call.stderr) for call in calls)


@pytest.mark.parametrize("name", SCENARIOS)
def test_an_interrupt_comes_before_or_after_all_changes(name: str, project: Path) -> None:
    calls, old, new = inject("SIGINT", SCENARIOS[name], project)
    for call in calls:
        assert (call.code, call.stderr) == (130, ""), call
        assert call.files in (old, new), call
    assert len({len(call.files) for call in calls}) == 2


@pytest.mark.parametrize("name", SCENARIOS)
def test_sigterm_comes_before_or_after_all_changes(name: str, project: Path) -> None:
    calls, old, new = inject("SIGTERM", SCENARIOS[name], project)
    for call in calls:
        assert call.code == -signal.SIGTERM, call
        assert files(without_temporary(call.files)) in (files(old), files(new)), call
        assert files(call.then) == files(new), call


@pytest.mark.parametrize("name", SCENARIOS)
def test_sigkill_tears_no_file_and_the_next_call_writes_the_rest(name: str, project: Path) -> None:
    calls, old, new = inject("SIGKILL", SCENARIOS[name], project)
    for call in calls:
        assert call.code == -signal.SIGKILL, call
        for file, text in without_temporary(call.files).items():
            assert text in (old.get(file), new.get(file)), (file, call)
        assert {*old} & {*new} <= {*call.files}, call
        assert files(call.then) == files(new), call
