"""`make demo`: one screen with a run, its profile and an explanation, and the manifests in a folder."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from helpers.programs import program


def test_demo_fits_on_one_screen_and_writes_all_manifests(root: Path, tmp_path: Path) -> None:
    shutil.copy(root / "Makefile", tmp_path)
    shutil.copytree(root / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("manifests"))
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / ".installed").touch()
    command = [program("make"), "--silent", "demo", "VENV=venv", f"BIN={Path(sys.executable).parent}"]
    demo = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    lines = demo.stdout.splitlines()
    assert len(lines) <= 42
    assert max(map(len, lines)) <= 100
    for text in ("  gpu: 2", "  gpu: 1", "  #   a profile overrides the run and the defaults"):
        assert text in lines
    assert lines[-1].endswith("examples/manifests/")
    runs = [*(tmp_path / "examples" / "runs").iterdir()]
    assert len([*(tmp_path / "examples" / "manifests").rglob("*.yaml")]) == len(runs) == 5
