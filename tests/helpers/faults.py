"""Run a command again and again in copies of a folder, and let its first, second, third … file operation fail.

Started as a process of its own, which imports the command once and forks for each call.
"""

from __future__ import annotations

import builtins
import errno
import gc
import io
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, Self

CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "write")
READS = ("open", "os.scandir", "os.listdir", "stat")
TEMPORARY = ".speccompile-"
ONCE, FROM_THEN_ON = "error", "errors"
KILLS = ("SIGKILL", "SIGTERM")
ERROR = os.strerror(errno.EIO)


class Call(NamedTuple):
    """A call whose operation with this number failed, and what it left behind.

    For signals that kill, `then` is what there is after the same call again.
    """

    number: int
    operation: str
    code: int
    stderr: str
    files: dict[str, str]
    then: dict[str, str]


def without_temporary(files: dict[str, str]) -> dict[str, str]:
    return {name: text for name, text in files.items() if not Path(name).name.startswith(TEMPORARY)}


def faulty_calls(fault: str, folder: Path, *arguments: str) -> list[Call]:
    """The calls in which one operation failed, and at last the call in which none did.

    A fault is an error at one operation, errors from one on, or the name of a signal sent before a change.
    """
    command = [sys.executable, __file__, fault, str(folder), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return [Call(*json.loads(line)) for line in done.stdout.splitlines()]


def contents(folder: Path) -> dict[str, str]:
    """What is below the folder, by path: texts, directories and links."""
    return dict(sorted((path.relative_to(folder).as_posix(), _content(path)) for path in folder.rglob("*")))


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"link to {path.readlink()}"
    return "directory" if path.is_dir() else path.read_text(encoding="utf-8")


class _Injector:
    """Counts the operations below the current folder, and reports the one with the number."""

    def __init__(self, fault: str, number: int, report: int) -> None:
        self._fault, self._number, self._report = fault, number, report
        self._top = str(Path.cwd())
        self._count = -1

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        # Files opened for writing are counted when they are written.
        is_change = event in CHANGES or (event == "open" and isinstance(arguments[1], str) and "x" in arguments[1])
        is_counted = is_change or (event in READS and self._fault == ONCE)
        if not is_counted or not self._is_inside(arguments[0]):
            return
        self._count += 1
        if self._count == self._number:
            os.write(self._report, f"{event} {arguments[0]}"[:500].encode())
        if self._count == self._number and self._fault.startswith("SIG"):
            os.kill(os.getpid(), getattr(signal, self._fault))
        elif self._count == self._number or (self._count > self._number and self._fault == FROM_THEN_ON):
            raise OSError(errno.EIO, ERROR, str(arguments[0]))

    def _is_inside(self, path: object) -> bool:
        if not isinstance(path, (str, os.PathLike)):
            return False
        return not Path(path).is_absolute() or str(path).startswith(self._top)


class _Stream:
    """A stream whose writing is an operation."""

    def __init__(self, stream: Any, name: str, injector: _Injector) -> None:
        self._stream, self._name, self._injector = stream, name, injector

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def write(self, text: str) -> None:
        self._stream.write(text[:10])
        self._stream.flush()
        self._injector("write", (self._name,))
        self._stream.write(text[10:])


def _inject(fault: str, number: int, report: int) -> None:
    injector = _Injector(fault, number, report)
    sys.addaudithook(injector)
    plain_open, plain_stat, plain_lstat = builtins.open, os.stat, os.lstat

    def open_file(name: Any, mode: str = "r", **options: Any) -> Any:
        stream = plain_open(name, mode, **options)
        return _Stream(stream, name, injector) if "x" in mode else stream

    def announced(function: Callable[..., Any]) -> Callable[..., Any]:
        def status(path: Any, **options: Any) -> Any:
            injector("stat", (path,))
            return function(path, **options)

        return status

    builtins.open = open_file  # type: ignore[assignment]
    os.stat, os.lstat = announced(plain_stat), announced(plain_lstat)


def _forked(arguments: list[str], folder: Path, inject: Callable[[], None]) -> tuple[int, str]:
    """The exit code and standard error of the command in the folder."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.chdir(folder)
        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        inject()
        code = _exit_code(arguments)
        os.write(writer, sys.stderr.getvalue().encode())
        os._exit(code)
    os.close(writer)
    with os.fdopen(reader, "rb") as stream:
        stderr = stream.read().decode()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), stderr


def _exit_code(arguments: list[str]) -> int:
    from speccompile.cli.main import main

    try:
        return main(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)


def _calls(fault: str, folder: Path, arguments: list[str]) -> Iterator[Call]:
    copy = folder.with_name(f"{folder.name}-{fault}")
    for number in count():
        shutil.copytree(folder, copy, symlinks=True)
        reader, report = os.pipe()
        code, stderr = _forked(arguments, copy, partial(_inject, fault, number, report))
        os.close(report)
        operation = os.read(reader, 1000).decode()
        os.close(reader)
        files = contents(copy)
        if fault in KILLS:
            _forked(arguments, copy, lambda: None)
        yield Call(number, operation, code, stderr, files, contents(copy) if fault in KILLS else {})
        shutil.rmtree(copy)
        if not operation:
            return


def _main(fault: str, folder: str, *arguments: str) -> None:
    warm = Path(f"{folder}-warm")
    shutil.copytree(folder, warm, symlinks=True)
    os.chdir(warm)
    from speccompile.cli.main import main

    # What one call has imported and read of the package, the forked ones have too.
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        main([*arguments])
    shutil.rmtree(warm)
    gc.freeze()
    for call in _calls(fault, Path(folder), [*arguments]):
        sys.stdout.write(f"{json.dumps(call)}\n")
        # The next child must not have it in its buffer.
        sys.stdout.flush()


if __name__ == "__main__":
    _main(*sys.argv[1:])
