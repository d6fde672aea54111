"""The cases of golden/, and what compiling one of them produces."""

from __future__ import annotations

import io
import runpy
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from helpers.paths import GOLDEN

from speccompile import Compiled, CompileError
from speccompile.cli.inputs import flags_of
from speccompile.cli.main import main, parser
from speccompile.compiler.compile_files import compile_files
from speccompile.files.call_inputs import settle
from speccompile.files.find import PROJECT_FILE
from speccompile.files.load_admin_config import setting_for
from speccompile.files.run_files import run_files
from speccompile.model.finding_text import findings_as_text
from speccompile.model.key_path import format_path

CASES = sorted(path for kind in ("accept", "reject") for path in (GOLDEN / kind).iterdir())
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
    arguments = arguments_of(case)
    stdout, stderr = io.StringIO(), io.StringIO()
    monkeypatch.setattr(sys, "stdout", stdout)
    monkeypatch.setattr(sys, "stderr", stderr)
    try:
        code = main(arguments)
    except SystemExit as stop:  # argparse exits on wrong command lines
        code = int(stop.code or 0)
    if arguments[0] not in ("render", "validate") or "--format" in arguments:
        return Outcome(code, "", "", stderr.getvalue(), stdout.getvalue())
    origins = "" if code else "".join(_origins(arguments))
    return Outcome(code, stdout.getvalue(), origins, stderr.getvalue())


def arguments_of(case: Path) -> list[str]:
    if (case / "args").exists():
        return shlex.split((case / "args").read_text())
    if (case / PROJECT_FILE).exists():
        return ["render"]
    run = next(path.name for path in sorted(case.iterdir()) if path.name.startswith("run"))
    profiles = ["--profiles", "profiles"] if (case / "profiles").exists() else []
    platform = ["--platform", "platform.yaml"] if (case / "platform.yaml").exists() else []
    functions = ["--functions", "functions"] if (case / "functions").exists() else []
    return ["render", run, *profiles, *platform, *functions]


def _python_outcome() -> Outcome:
    try:
        compiled = runpy.run_path("run.py")["compiled"]
    except CompileError as error:
        return Outcome(1, "", "", findings_as_text(error.diagnostics))
    return Outcome(0, compiled.to_yaml(), "".join(_lines(compiled)), findings_as_text(compiled.diagnostics))


def _origins(arguments: list[str]) -> Iterator[str]:
    inputs = settle(flags_of(parser().parse_args(arguments)))
    for compiled in compile_files(run_files(inputs), setting_for(inputs)):
        assert isinstance(compiled, Compiled)
        yield from _lines(compiled)


def _lines(compiled: Compiled) -> Iterator[str]:
    for manifest in compiled.manifests:
        yield f"{manifest.kind} {manifest.name}\n"
        for path, node in manifest.tree.walk():
            if node.is_scalar or not node.value:
                yield f"  {format_path(path)}: {compiled.origin(manifest, path)}\n"
