"""Takes calls, gives what each costs: every call a process of its own, all in turn, round after round."""

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

from benchmarks.contender import ROOT, Call
from benchmarks.figures import Cost

# Without bytecode every cold start is more than twice as long; no installation is like that.
_UNWANTED = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "PYTHONPATH")
Watch: TypeAlias = Callable[[str], None]
"""Is told what comes next."""


class FailedError(Exception):
    """A call did not do what it is measured for; says what it printed."""


@contextmanager
def launcher() -> Iterator[Launcher]:
    """A small process that starts others."""
    command = [sys.executable, "-I", "-S", "-B", str(ROOT / "benchmarks" / "launch.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Launcher(process.stdin, process.stdout)
        finally:
            process.stdin.close()


class Launcher:
    """Starts calls one at a time, and says what they cost."""

    def __init__(self, asking: IO[bytes], answers: IO[bytes]) -> None:
        self._asking = asking
        self._answers = answers

    def cost(self, call: Call, output: Path, *, succeeds: bool = True) -> Cost:
        """What the call cost; its standard output is in `output`. Raises FailedError for another end than expected."""
        asked = (list(call.command), environment() | dict(call.environment), str(call.folder), str(output))
        marshal.dump(asked, self._asking)
        self._asking.flush()
        try:
            code, wall, cpu, memory = marshal.load(self._answers)  # noqa: S302  our own process wrote it
        except EOFError:
            raise FailedError(f"cannot be started: {call.command[0]}") from None
        if (code == 0) is not succeeds:
            told = Path(f"{output}.errors").read_text(encoding="utf-8", errors="replace").strip()
            raise FailedError(f"exit code {code} of: {' '.join(call.command)[:300]}\n{told[-2000:]}")
        return Cost(wall, cpu, memory / 1024)


def environment() -> dict[str, str]:
    """The environment of all calls."""
    return {name: value for name, value in os.environ.items() if name not in _UNWANTED}


def compile_bytecode() -> None:
    """That of ours, as an installation has it; packages compile theirs when they are first imported."""
    compileall.compile_dir(ROOT / "speccompile", quiet=2)
