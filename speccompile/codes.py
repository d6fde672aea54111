"""Takes the table of diagnostic codes, gives each code with its meaning, its severity and two examples."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from speccompile.diagnostics import Severity

_FILE = re.compile(r"^# file: (\S+)$")
_CALL = "$ "
RUN_FILE = "run.yaml"
"""The file that an example is, if it names none."""


class Code(NamedTuple):
    """A kind of finding."""

    name: str
    severity: Severity
    """How severe it is unless the platform, the project file or the command line says otherwise."""
    means: str
    bad: str
    good: str
    refuses: bool = False
    """Whether the admin refuses by it what a user asked for."""


class Example(NamedTuple):
    """An example as files, and the shell line that shows what comes of them, if it is an unusual one."""

    files: Mapping[str, str]
    call: str | None


def read_codes(text: str) -> Mapping[str, Code]:
    """The codes of the table by name, in its order."""
    return {
        name: Code(
            name,
            Severity(entry["severity"]),
            entry["means"],
            entry["bad"],
            entry["good"],
            entry.get("refuses", False),
        )
        for name, entry in tomllib.loads(text).items()
    }


def parts_of(example: str) -> Example:
    """The files of an example by name; text before the first `# file:` line is the run."""
    files: dict[str, list[str]] = {}
    call: str | None = None
    name = RUN_FILE
    for line in example.splitlines():
        if match := _FILE.match(line):
            name = match.group(1)
            files[name] = []
        elif line.startswith(_CALL):
            call = line.removeprefix(_CALL)
        elif line or name in files:
            files.setdefault(name, []).append(line)
    return Example({name: "\n".join(_trimmed(lines)) + "\n" for name, lines in files.items()}, call)


def _trimmed(lines: list[str]) -> Iterator[str]:
    """The lines without blank ones at the end, which part one file from the next."""
    last = max((at for at, line in enumerate(lines) if line), default=-1)
    yield from lines[: last + 1]
