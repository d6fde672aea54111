"""Calls of the command, in this process or one of their own, and the runs that they are given."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from speccompile import compile_run
from speccompile.cli.main import main

PATIENCE = 60
"""Seconds after which a process is taken to hang."""


class Answer(NamedTuple):
    """What one call gave."""

    code: int
    stdout: str
    stderr: str

    @property
    def data(self) -> dict[str, Any]:
        data: dict[str, Any] = yaml.safe_load(self.stdout)
        return data


Call = Callable[..., Answer]


def piped(text: str | bytes, *arguments: str) -> Answer:
    """The answer of a call; the streams of this process are as before."""
    stdin, stdout, stderr = sys.stdin, io.StringIO(), io.StringIO()
    data = text if isinstance(text, bytes) else text.encode()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        patch.setattr(sys, "stdout", stdout)
        patch.setattr(sys, "stderr", stderr)
        code = main([*arguments])
    assert sys.stdin is stdin
    return Answer(code, stdout.getvalue(), stderr.getvalue())


def run_text(name: str = "train", **fields: object) -> str:
    return json.dumps({"name": name, "action": "job", "image": "python:3.12", **fields})


def job(name: str) -> str:
    return compile_run({"name": name, "action": "job", "image": "python:3.12"}).to_yaml()


def files_below(folder: Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text() for path in sorted(folder.rglob("*")) if path.is_file()
    }


GOOD, BAD = run_text(), run_text("faulty", resources={"mem": "8GB"})
PROFILE = "id: small\nresources:\n  mem: 8Gi\n"
OURS = "metadata:\n  labels:\n    app.kubernetes.io/managed-by: speccompile\n"


def start(*arguments: str | Path, **more: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "speccompile", *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # Unbuffered, Python takes a write that a closed pipe cut short for a whole one.
        env={**os.environ, "PYTHONUNBUFFERED": "", **more},
    )
