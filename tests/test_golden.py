"""Every folder of golden/ is a case: inputs, and the exact bytes that come of them.

accept/<case>/: run.yaml (or run.json, run.py) with an optional profiles/ folder and platform.yaml,
    → manifests.yaml, origins.txt, and diagnostics.txt if anything was noticed.
    With a project file, speccompile.yaml, that names all inputs itself, they are where it says.
reject/<case>/: the same inputs → diagnostics.txt.
A command other than `render` and `validate` leaves what it prints in output.txt instead of manifests.yaml.
A file `args` holds the command line, if it is not the usual `render run.yaml …`.
A run.py leaves its compilation in the name `compiled`.
"""

from __future__ import annotations

import io
import re
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from speccompile import Compiled, CompileError, compile_many
from speccompile.cli.main import main, parser
from speccompile.files.call_inputs import Flags, settle
from speccompile.files.find import PROJECT_FILE
from speccompile.model.finding_text import as_text
from speccompile.model.key_path import format_path
from speccompile.schema.bundled import bundled_codes

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
CASES = sorted(path for kind in ("accept", "reject") for path in (GOLDEN / kind).iterdir())
CODES = {"accept": (0,), "reject": (1, 4)}
EXPECTED = ("manifests.yaml", "origins.txt", "diagnostics.txt", "output.txt")


class Outcome(NamedTuple):
    code: int
    manifests: str
    origins: str
    diagnostics: str
    output: str = ""

    @property
    def files(self) -> dict[str, str]:
        texts = (self.manifests, self.origins, self.diagnostics, self.output)
        return {name: text for name, text in zip(EXPECTED, texts, strict=True) if text}


def outcome(case: Path, monkeypatch: pytest.MonkeyPatch) -> Outcome:
    monkeypatch.chdir(case)
    if (case / "run.py").exists():
        return _python_outcome()
    arguments = _arguments(case)
    stdout, stderr = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    code = main(arguments)
    if arguments[0] not in ("render", "validate") or "--format" in arguments:
        return Outcome(code, "", "", stderr.getvalue(), stdout.getvalue())
    origins = "" if code else "".join(_origins(arguments))
    return Outcome(code, stdout.getvalue(), origins, stderr.getvalue())


def _arguments(case: Path) -> list[str]:
    if (case / "args").exists():
        return shlex.split((case / "args").read_text())
    if (case / PROJECT_FILE).exists():
        return ["render"]
    run = next(path.name for path in sorted(case.iterdir()) if path.name.startswith("run"))
    profiles = ["--profiles", "profiles"] if (case / "profiles").exists() else []
    platform = ["--platform", "platform.yaml"] if (case / "platform.yaml").exists() else []
    return ["render", run, *profiles, *platform]


def _python_outcome() -> Outcome:
    try:
        compiled = runpy.run_path("run.py")["compiled"]
    except CompileError as error:
        return Outcome(1, "", "", as_text(error.diagnostics))
    return Outcome(0, compiled.to_yaml(), "".join(_lines(compiled)), as_text(compiled.diagnostics))


def _origins(arguments: list[str]) -> Iterator[str]:
    told = parser().parse_args(arguments)
    flags = Flags(told.paths, told.profiles, told.platform, told.output, told.project, templates=told.templates)
    inputs = settle(flags)
    runs = [path for path in inputs.runs if isinstance(path, Path)]
    for compiled in compile_many(runs, profiles=inputs.profiles, platform=inputs.platform, templates=inputs.templates):
        assert isinstance(compiled, Compiled)
        yield from _lines(compiled)


def _lines(compiled: Compiled) -> Iterator[str]:
    for manifest in compiled.manifests:
        yield f"{manifest.kind} {manifest.name}\n"
        for path, node in manifest.tree.walk():
            if node.is_scalar or not node.value:
                yield f"  {format_path(path)}: {compiled.origin(manifest, path)}\n"


@pytest.mark.parametrize("case", CASES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_case(case: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    found = outcome(case, monkeypatch)
    assert found.code in CODES[case.parent.name], found.diagnostics
    if request.config.getoption("--update-golden"):
        for name in EXPECTED:
            (case / name).unlink(missing_ok=True)
        for name, text in found.files.items():
            (case / name).write_text(text)
    expected = {name: (case / name).read_text() for name in EXPECTED if (case / name).exists()}
    assert found.files == expected, "if this is meant, run pytest --update-golden and read the diff"


def test_no_file_is_left_over() -> None:
    known = {"run.yaml", "run.json", "run.py", "args", "profiles", "platform.yaml", "README.md", *EXPECTED}
    strays = [path for case in CASES for path in case.iterdir() if path.name not in known and not _named(case, path)]
    assert strays == []


def _named(case: Path, path: Path) -> bool:
    """Whether the command line or the project file of the case speaks of it; a project may hold any folder."""
    if (case / PROJECT_FILE).exists():
        return path.name == PROJECT_FILE or path.is_dir()
    return (case / "args").exists() and path.name in (case / "args").read_text()


def test_every_code_has_a_case() -> None:
    files = [case / name for case in CASES for name in ("diagnostics.txt", "output.txt")]
    seen = "".join(file.read_text() for file in files if file.exists())
    # A folder of golden/ holds no git repository and no standard input; see test_revisions.py and test_krm.py.
    expected = [code for code in bundled_codes() if not code.startswith("revision/") and code != "yaml/uneditable"]
    assert [code for code in expected if f"[{code}]:" not in seen] == []
    assert set(re.findall(r"^(?:error|warning|notice)\[(\S+?)\]:", seen, re.MULTILINE)) <= bundled_codes().keys()
