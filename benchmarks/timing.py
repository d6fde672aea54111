"""Measurement of calls, each in a separate process."""

from __future__ import annotations

import compileall
import marshal
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

from benchmarks.figures import Cost
from benchmarks.tool import ROOT, Call

# Without bytecode, which installations have, a cold start takes more than twice as long.
_IGNORED_VARIABLES = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH")
Progress: TypeAlias = Callable[[str], None]
"""Called with a description of the next step."""


class FailedError(Exception):
    """A call failed or unexpectedly succeeded; the message has its output."""


@contextmanager
def launcher() -> Iterator[Launcher]:
    """Start a small process that starts others."""
    command = [sys.executable, "-I", "-S", "-B", str(ROOT / "benchmarks" / "launch.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Launcher(process.stdin, process.stdout)
        finally:
            process.stdin.close()


class Launcher:
    """Starts calls one at a time and measures them."""

    def __init__(self, requests: IO[bytes], responses: IO[bytes]) -> None:
        self._requests = requests
        self._responses = responses

    def measure(self, call: Call, output: Path, *, succeeds: bool = True) -> Cost:
        """Run the call, with standard output in `output`. Raise FailedError unless it ends as expected."""
        request = (list(call.command), environment() | dict(call.environment), str(call.folder), str(output))
        marshal.dump(request, self._requests)
        self._requests.flush()
        try:
            code, wall, cpu, memory = marshal.load(self._responses)  # noqa: S302  from launch.py
        except EOFError:
            raise FailedError(f"cannot start {call.command[0]}") from None
        if (code == 0) is not succeeds:
            errors = Path(f"{output}.errors").read_text(encoding="utf-8", errors="replace").strip()
            raise FailedError(f"exit code {code} of: {' '.join(call.command)[:300]}\n{errors[-2000:]}")
        return Cost(wall, cpu, memory / 1024)


def environment() -> dict[str, str]:
    """The environment of all calls."""
    return {name: value for name, value in os.environ.items() if name not in _IGNORED_VARIABLES}


def compile_bytecode(checkout: Path = ROOT) -> None:
    """Compile the bytecode of a checkout of speccompile; other packages compile theirs on first import."""
    compileall.compile_dir(checkout / "speccompile", quiet=2)
