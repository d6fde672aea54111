"""Takes a workload, gives calls of speccompile on it, with whatever options this version has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchmarks.contender import ROOT, Call, Contender, files_of, packages, write
from benchmarks.workload import Workload, faulty

NAME = "speccompile"
VALID = "speccompile render"
EDITED = f"{VALID}, cache kept, the run edited"
KEPT = f"{VALID}, cache kept, nothing changed"
OWN = f"{VALID}, templates of one's own, nothing kept"
OWN_EDITED = f"{VALID}, templates of one's own, cache kept, the run edited"
INVALID = f"{VALID}, two mistakes in the run"
BARE, IMPORT = "python -c pass", "import speccompile"
HELP, VERSION = "speccompile --help", "speccompile --version"
COLD = (BARE, IMPORT, HELP, VERSION, VALID, EDITED, KEPT, OWN, OWN_EDITED, INVALID)
SERIAL, TWO, AUTOMATIC = "--jobs 1", "--jobs 2", "automatic"


@cache
def has(option: str) -> bool:
    """Whether `render` knows the option."""
    told = subprocess.run([*_program(), "render", "--help"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", told) is not None


def batch(workload: Workload, folder: Path) -> Call:
    """One process, nothing kept from an earlier call: what peers are measured against."""
    write(folder / "runs", files_of(workload))
    write(folder, {"profile.yaml": workload.profile})
    return _render(folder, "runs", *_if_known("--no-cache"), *_if_known("--jobs", "1"))


SPECCOMPILE = Contender(NAME, batch, lambda: packages(NAME))


def cold(folder: Path, rounds: int) -> Mapping[str, Sequence[Call]]:
    """Calls for one run or none, one for all rounds or one for each; none for what this version cannot do."""
    workload = Workload(1)
    valid = batch(workload, folder)
    text = next(iter(workload.runs.values()))
    edited = {f"edited-{number}.yaml": text.replace("image: ", f"image: r{number}.") for number in range(rounds)}
    write(folder, {"faulty.yaml": faulty(text)} | edited)
    shutil.copytree(ROOT / "templates", folder / "templates", dirs_exist_ok=True)
    # Or it would be the bundled one after all.
    _end_with(folder / "templates" / "kubernetes" / "service.yaml.j2", "# our own\n")
    own = ("--templates", "templates")
    keeps = has("--no-cache")
    return {
        BARE: [Call((sys.executable, "-c", "pass"), folder)],
        IMPORT: [Call((sys.executable, "-c", "import speccompile"), folder)],
        HELP: [Call((*_program(), "--help"), folder)],
        VERSION: [Call((*_program(), "--version"), folder)],
        VALID: [valid],
        EDITED: [_render(folder, name) for name in edited] if keeps else [],
        KEPT: [_render(folder, "runs")] if keeps else [],
        OWN: [_render(folder, "runs", *own, *_if_known("--no-cache"))] if has("--templates") else [],
        OWN_EDITED: [_render(folder, name, *own) for name in edited] if keeps and has("--templates") else [],
        INVALID: [replace(valid, command=tuple("faulty.yaml" if word == "runs" else word for word in valid.command))],
    }


def workers(workload: Workload, folder: Path) -> Mapping[str, Call | None]:
    """Calls with one process, with two, and with as many as the command itself thinks good."""
    serial = batch(workload, folder)
    if not has("--jobs"):
        return dict.fromkeys((SERIAL, TWO, AUTOMATIC))
    words = serial.command
    return {
        SERIAL: serial,
        TWO: replace(serial, command=(*words[:-1], "2")),
        AUTOMATIC: replace(serial, command=words[:-2]),
    }


def _render(folder: Path, *words: str) -> Call:
    # What a profile overrides is told on a terminal; no peer tells it, so nobody reads it here.
    command = (*_program(), "render", "--profiles", "profile.yaml", "--quiet", *words)
    return Call(command, folder, environment={"XDG_CACHE_HOME": str(folder / "cache")})


def _if_known(option: str, *values: str) -> tuple[str, ...]:
    return (option, *values) if has(option) else ()


@cache
def _program() -> tuple[str, ...]:
    """The command as it is installed beside this interpreter, or else the module, which takes longer to start."""
    script = Path(sys.executable).parent / NAME
    return (str(script),) if script.is_file() else (sys.executable, "-m", NAME)


def _end_with(path: Path, line: str) -> None:
    with path.open("a", encoding="utf-8") as file:
        file.write(line)
