"""The table of codes: complete, and every example of it is run."""

from __future__ import annotations

import ast
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.paths import PACKAGE

from speccompile.cli.main import main
from speccompile.compiler.admin_rules import _WORDING
from speccompile.files.find import PROJECT_FILE
from speccompile.placement.lint.unknown_pods import UNKNOWN_PODS
from speccompile.schema.bundled import bundled_codes
from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.validate import _BASE_FORMATS

CODES = bundled_codes()
PATIENCE = 60


FILE = re.compile(r"^# file: (\S+)$")
CALL = "$ "
RUN_FILE = "run.yaml"
"""The file that an example is, if it names none."""
LINTED = ("placement/", "seldon/")
"""Codes of what only `lint` tells."""
CLUSTER = {"--nodes": "nodes.yaml", "--objects": "cluster.yaml"}
ADMIN = {"platform.yaml", *CLUSTER.values()}


class Example(NamedTuple):
    """An example as files, and the shell line that shows what comes of them, if it is an unusual one."""

    files: Mapping[str, str]
    call: str | None


def parts_of(example: str) -> Example:
    """The files of an example by name; text before the first `# file:` line is the run."""
    files: dict[str, list[str]] = {}
    call: str | None = None
    name = RUN_FILE
    for line in example.splitlines():
        if match := FILE.match(line):
            name = match.group(1)
            files[name] = []
        elif line.startswith(CALL):
            call = line.removeprefix(CALL)
        elif line or name in files:
            files.setdefault(name, []).append(line)
    return Example({name: "\n".join(trimmed(lines)) + "\n" for name, lines in files.items()}, call)


def trimmed(lines: list[str]) -> Iterator[str]:
    """The lines without blank ones at the end, which part one file from the next."""
    last = max((at for at, line in enumerate(lines) if line), default=-1)
    yield from lines[: last + 1]


def shown_by(example: Example, code: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[int, str]:
    """The exit code and everything that is printed where somebody tries the example."""
    for name, text in example.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    if example.call is not None:
        done = subprocess.run(
            ["bash", "-euc", example.call],
            cwd=folder,
            env=environment(folder),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr
    monkeypatch.chdir(folder)
    arguments = shlex.split(usual_call(example, code))
    if arguments[0] == "lint" and code.startswith("seldon/"):
        # Seldon's operator derives the pods of a SeldonRuntime from other objects, so no example can show them.
        arguments += ["--ignore", UNKNOWN_PODS]
    return main(arguments), ""


def environment(folder: Path) -> dict[str, str]:
    """The environment of an example that is a command: our own programs first, and no repository but the folder's."""
    # A git hook that runs the tests points git at the repository it stands in, wherever a command is run.
    others = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {
        **others,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "GIT_CEILING_DIRECTORIES": str(folder.parent),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def usual_call(example: Example, code: str) -> str:
    """What people would type to see what becomes of the files."""
    if PROJECT_FILE in example.files:
        return "validate"
    given = ["--profiles profiles"] * any(name.startswith("profiles/") for name in example.files)
    given += ["--platform platform.yaml"] * ("platform.yaml" in example.files)
    if code.startswith("lint/"):
        return " ".join(["profiles lint", *given])
    if code.startswith(LINTED):
        given += [f"{option} {name}" for option, name in CLUSTER.items() if name in example.files]
        return " ".join(
            [
                "lint",
                *(name for name in example.files if name not in ADMIN and not name.startswith("profiles/")),
                *given,
            ]
        )
    return " ".join([f"validate {RUN_FILE}", *given])


@pytest.mark.parametrize("code", CODES)
def test_the_bad_example_of_a_code_gives_it(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    entry = CODES[code]
    exit_code, printed = shown_by(parts_of(entry.bad), code, tmp_path, monkeypatch)
    output = printed + capsys.readouterr().err
    assert output.count(f"{entry.severity}[{code}]:") == 1
    others = {name for name in CODES if f"[{name}]:" in output} - {code}
    assert others == set(), "an example shows one thing"
    assert (exit_code != 0) == (entry.severity == "error"), output


@pytest.mark.parametrize("code", CODES)
def test_the_good_example_of_a_code_is_good(
    code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exit_code, printed = shown_by(parts_of(CODES[code].good), code, tmp_path, monkeypatch)
    output = printed + capsys.readouterr().err
    assert exit_code == 0, output
    assert "]: " not in output


@pytest.mark.parametrize("code", CODES)
def test_an_entry_reads_well(code: str) -> None:
    entry = CODES[code]
    assert entry.means.endswith(".")
    assert entry.bad.strip()
    assert entry.good.strip()
    assert entry.bad != entry.good
    assert max(map(len, (*entry.bad.splitlines(), *entry.good.splitlines()))) <= 100


def test_codes_are_sorted() -> None:
    assert list(CODES) == sorted(CODES)


def raised_anywhere() -> set[str]:
    """Every code that stands in the compiler's text, and those it puts together: of a rule's keyword, of a format."""
    code = re.compile(r"[a-z]+/[a-z]+[a-z0-9-]*")
    modules = [path for path in PACKAGE.rglob("*.py") if "testing" not in path.parts]
    literals = {
        node.value
        for module in modules
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and code.fullmatch(node.value)
    }
    rules = {f"rule/{keyword}" for keyword in _WORDING}
    formats = {f"schema/{_BASE_FORMATS.get(name, name)}" for name in FORMAT_CHECKS}
    return literals | rules | formats


def test_every_code_that_is_raised_is_in_the_table() -> None:
    assert raised_anywhere() - CODES.keys() == set()


def test_every_code_of_the_table_is_raised() -> None:
    assert CODES.keys() - raised_anywhere() == set()


def test_codes_are_put_together_nowhere_else() -> None:
    """A code that is made of parts would escape the test above."""
    made = [
        ast.unparse(keyword.value)
        for module in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        for keyword in node.keywords
        if keyword.arg == "code" and isinstance(keyword.value, ast.JoinedStr | ast.BinOp)
    ]
    assert made == ["f'rule/{keyword}'"]
