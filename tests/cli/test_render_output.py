"""`render -o`: what is written, what is reported, and what cannot be written together."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from speccompile.cli.main import main


@pytest.fixture(autouse=True)
def _two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("runs").mkdir()
    for name in ("a", "b"):
        Path(f"runs/{name}.yaml").write_text(f"name: {name}\naction: job\nimage: python:3.12\n")


def test_the_number_of_files_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "runs", "-o", "manifests"]) == 0
    assert capsys.readouterr() == ("", "wrote 2 files to manifests/\n")
    assert main(["render", "runs", "-o", "manifests/"]) == 0
    assert capsys.readouterr() == ("", "wrote nothing: 2 files unchanged in manifests/\n")
    Path("manifests/a.yaml").write_text("")
    assert main(["render", "runs", "-o", "manifests"]) == 0
    assert capsys.readouterr() == ("", "wrote 1 file to manifests/ (1 unchanged)\n")
    assert main(["render", "runs", "-o", "manifests", "--kustomization"]) == 0
    assert capsys.readouterr() == ("", "wrote 1 file to manifests/ (2 unchanged)\n")


@pytest.mark.parametrize("options", [["--quiet"], ["--format", "json"]])
def test_nothing_is_reported_to_programs(options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "runs", "-o", "manifests", *options]) == 0
    assert "wrote" not in "".join(capsys.readouterr())
    assert Path("manifests/a.yaml").exists()


def test_nothing_is_reported_if_manifests_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["-o", "-"]):
        assert main(["render", "runs", *options]) == 0
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("out.yaml", []),
        ("out.yml", []),
        ("deep/out.yaml", []),
        ("out.yaml", ["--helm"]),
        ("out.json", ["--json"]),
    ],
)
def test_one_file_has_what_would_be_printed(name: str, options: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["render", "runs", *options]) == 0
    printed = capsys.readouterr().out
    assert main(["render", "runs", "-o", name, *options]) == 0
    assert capsys.readouterr() == ("", f"wrote {name}\n")
    assert Path(name).read_text() == printed
    assert Path(name).stat().st_mode & 0o777 == 0o666 & ~_umask()
    assert main(["render", "runs", "-o", name, *options]) == 0
    assert capsys.readouterr() == ("", f"wrote nothing: {name} is unchanged\n")
    assert main(["render", "runs/a.yaml", "-o", name, *options]) == 0
    assert capsys.readouterr() == ("", f"wrote {name}\n")
    assert len(printed) > len(Path(name).read_text())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_json_in_one_file_is_one_list() -> None:
    assert main(["render", "runs", "-o", "out.json", "--json"]) == 0
    assert [item["metadata"]["name"] for item in json.loads(Path("out.json").read_text())["items"]] == ["a", "b"]


@pytest.mark.parametrize("name", ["folder.yaml", "new.yaml/"])
def test_a_folder_may_have_a_suffix(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("folder.yaml").mkdir()
    assert main(["render", "runs", "-o", name]) == 0
    assert capsys.readouterr().err == f"wrote 2 files to {name.rstrip('/')}/\n"
    assert {path.name for path in Path(name).iterdir()} == {"a.yaml", "b.yaml"}


@pytest.mark.parametrize("content", ["mine: true\n", "name: c\naction: job\nimage: python:3.12\n"])
def test_a_file_of_somebody_else_is_not_replaced(content: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("out.yaml").write_text(content)
    assert main(["render", "runs", "-o", "out.yaml"]) == 1
    assert capsys.readouterr().err.startswith("speccompile: nothing was written: ")
    assert Path("out.yaml").read_text() == content
    assert main(["render", "runs", "-o", "runs/a.yaml"]) == 1
    assert {path.name for path in Path().iterdir()} == {"out.yaml", "runs"}


def test_nothing_is_written_if_a_run_has_errors() -> None:
    Path("runs/b.yaml").write_text("name: b\n")
    assert main(["render", "runs", "-o", "out.yaml"]) == 1
    assert not Path("out.yaml").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["render", "runs", "-o", "out.yaml", "--kustomization"],
            "--kustomization lists the files of a directory, and out.yaml is a file: pass -o DIR",
        ),
        (
            ["render", "runs", "-o", "out.yaml", "--json"],
            "out.yaml would contain JSON: remove --json, or name a .json file",
        ),
        (["render", "runs", "-o", "out.json"], "out.json would contain YAML: add --json, or name a .yaml file"),
        (["render", "runs", "-o", "out.json", "--helm"], "out.json would contain YAML: "),
        (
            ["check", "runs", "-o", "out.yaml"],
            "check compares a directory of manifests, and out.yaml is a file: pass -o DIR",
        ),
    ],
)
def test_contradictions(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(arguments)
    assert message in capsys.readouterr().err
    assert not Path("out.yaml").exists()


def test_the_project_file_may_name_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("speccompile.yaml").write_text("runs: [runs]\noutput: runs/out.yaml\n")
    for expected in ("wrote ", "wrote nothing: "):
        assert main(["render"]) == 0
        assert capsys.readouterr().err.startswith(expected)
    assert Path("runs/out.yaml").read_text().count("kind: Job") == 2
    with pytest.raises(SystemExit, match="2"):
        main(["check"])
    assert "check compares a directory of manifests" in capsys.readouterr().err


def test_a_report_that_was_written_counts_as_something(capsys: pytest.CaptureFixture[str]) -> None:
    Path("manifests").mkdir()
    Path("manifests/b.yaml").mkdir()
    assert main(["render", "runs", "-o", "manifests", "--report", "report.json"]) == 1
    message = "speccompile: no manifest was written: a directory is in the way: manifests/b.yaml\n"
    assert capsys.readouterr().err == message
    assert Path("report.json").exists()
