"""Run one input through the command line, and judge the result."""

from __future__ import annotations

import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple, NoReturn

from fuzz.mutate import MARKER
from fuzz.targets import STDIN, TARGETS, Seed, from_input
from speccompile.cli.main import main

CPU_SECONDS = 20
"""Instrumented code takes about three times as long."""
MEMORY_KILOBYTES = 256 * 1024
_EXIT_CODES = frozenset({0, 1, 2, 4})
_CODE = re.compile(r'^(?:error|warning|notice)\[([a-z]+/[-a-z0-9]+)\]|"code": "([a-z]+/[-a-z0-9]+)"', re.MULTILINE)
_NOT_READ = ("yaml/", "input/")
_OTHER_KIND = frozenset(
    {
        *("run/unknown-form", "profile/not-an-object", "profile/no-profile", "snapshot/unexpected-object"),
        *("api/bad-definition", "template/fault"),
    }
)
_HIDDEN = re.compile(rf"^.*\bsecrets['\"]?:.*{re.escape(MARKER)}.*$", re.MULTILINE)


class Verdict(NamedTuple):
    """What an input showed."""

    passed: bool
    """Whether it passed the first check: it is valid YAML of its kind, or a template that Jinja can read."""
    faults: tuple[str, ...]
    """What must never happen, as `kind: detail`."""


class _Result(NamedTuple):
    code: int | None
    stdout: str
    stderr: str
    fault: str | None


class _TooSlowError(Exception):
    pass


def check(target: str, data: bytes, folder: Path) -> Verdict:
    """Run the calls of an input in an empty folder."""
    seed, text = from_input(target, data)
    results: list[_Result] = []
    faults: list[str] = []
    for call in seed.calls:
        before = _prepare(folder, seed, text)
        results.append(_run(call, folder, text if seed.path == STDIN else ""))
        faults += _faults(results[-1])
        if TARGETS[target].has_secrets and MARKER in results[-1].stderr and _is_secret(text):
            faults.append("secret: printed")
        if results[-1].code != 0 and _files(folder) != before:
            faults.append(f"half-written: {call[0]} failed and changed files")
        if TARGETS[target].has_plain_path and call[0] == "render":
            plain = _run((*call, "--plain"), folder, "")
            if plain[:3] != results[-1][:3] and not plain.fault:
                faults.append("differs: render --plain")
    codes = {one or other for result in results for one, other in _CODE.findall(result.stderr + result.stdout)}
    passed = not any(code.startswith(_NOT_READ) or code in _OTHER_KIND for code in codes)
    return Verdict(passed and not faults, tuple(dict.fromkeys(faults)))


def _prepare(folder: Path, seed: Seed, text: str) -> Mapping[str, bytes]:
    shutil.rmtree(folder, ignore_errors=True)
    for name, content in seed.files.items():
        if name != STDIN:
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes((text if name == seed.path else content).encode("utf-8", "replace"))
    folder.mkdir(parents=True, exist_ok=True)
    return _files(folder)


def _files(folder: Path) -> Mapping[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def _run(call: tuple[str, ...], folder: Path, stdin: str) -> _Result:
    stdout, stderr = io.StringIO(), io.StringIO()
    fault, code, timer = None, None, _Timer()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with _streams(folder, stdin, stdout, stderr):
        try:
            with _cpu_limit() as timer:
                code = main(list(call))
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0
        except BaseException as error:  # noqa: BLE001  that is what is looked for
            fault = f"exception: {_where(error)}"
    if timer.is_over:
        # The program reports any exception as an internal error.
        fault = f"slow: more than {CPU_SECONDS} s of CPU time"
    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before > MEMORY_KILOBYTES:
        fault = fault or f"memory: more than {MEMORY_KILOBYTES // 1024} MiB"
    return _Result(code, stdout.getvalue(), stderr.getvalue(), fault)


def _where(error: BaseException) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "speccompile" in frame.filename]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
    return f"{type(error).__name__} at {place}"


def _faults(result: _Result) -> Iterator[str]:
    if result.fault:
        yield result.fault
        return
    if result.code not in _EXIT_CODES or "Traceback" in result.stderr:
        frames = re.findall(r'File "[^"]*/(\w+\.py)", line (\d+)', result.stderr)
        errors = re.findall(r"^[\w.]*(?:Error|Exception)\b.*", result.stderr, re.MULTILINE)
        error, place = errors[-1][:80] if errors else f"exit {result.code}", ":".join(frames[-1]) if frames else "?"
        yield f"internal: {error} at {place}"


def _is_secret(text: str) -> bool:
    """Whether the marker occurs only below keys `secrets`: mutations may have moved it."""
    return text.count(MARKER) == len(_HIDDEN.findall(text))


@contextmanager
def _streams(folder: Path, stdin: str, stdout: io.StringIO, stderr: io.StringIO) -> Iterator[None]:
    saved, before = (sys.stdin, sys.stdout, sys.stderr), Path.cwd()
    sys.stdin = io.TextIOWrapper(io.BytesIO(stdin.encode("utf-8", "replace")))
    sys.stdout, sys.stderr = stdout, stderr
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.stdin, sys.stdout, sys.stderr = saved


class _Timer:
    is_over = False


@contextmanager
def _cpu_limit() -> Iterator[_Timer]:
    timer = _Timer()

    def stop(_signal: int, _frame: FrameType | None) -> NoReturn:
        timer.is_over = True
        raise _TooSlowError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
    try:
        yield timer
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as _folder:
        print(check(sys.argv[1], Path(sys.argv[2]).read_bytes(), Path(_folder) / "call"))
