"""Calls of speccompile on a workload, with the options that the installed version has."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from benchmarks.timing import compile_bytecode
from benchmarks.tool import ROOT, Call, Tool, package_versions, run_files, write_files
from benchmarks.workload import Workload, add_mistakes

NAME = "speccompile"
PARALLEL = f"{NAME}, automatic workers"
BEFORE = f"{NAME} before"
VALID = "speccompile render"
EDITED = f"{VALID}, warm cache, edited run"
UNCHANGED = f"{VALID}, warm cache, unchanged run"
CUSTOM = f"{VALID}, custom templates, no cache"
CUSTOM_EDITED = f"{VALID}, custom templates, warm cache, edited run"
INVALID = f"{VALID}, run with two mistakes"
BARE, IMPORT = "python -c pass", "import speccompile"
HELP, VERSION = "speccompile --help", "speccompile --version"
COLD = (BARE, IMPORT, HELP, VERSION, VALID, EDITED, UNCHANGED, CUSTOM, CUSTOM_EDITED, INVALID)
SERIAL, TWO, AUTOMATIC = "--jobs 1", "--jobs 2", "automatic"
_SERIAL = ("--jobs", "1")
_PACKAGED = ("speccompile", "templates", "schemas", "presets", "starter")
"""Folders of a checkout that are installed."""


@cache
def has(option: str) -> bool:
    """Whether `render` has the option."""
    text = subprocess.run([*_program(), "render", "--help"], capture_output=True, text=True, check=True).stdout
    return re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text) is not None


def batch(workload: Workload, folder: Path) -> Call:
    """One process without a cache: the baseline of comparisons."""
    write_files(folder / "runs", run_files(workload))
    write_files(folder, {"profile.yaml": workload.profile})
    return _render(folder, "runs", *_if_available("--no-cache"), *_if_available(*_SERIAL))


SPECCOMPILE = Tool(NAME, batch, lambda: package_versions(NAME))


def before(checkout: Path) -> Tool:
    """Another checkout of speccompile, with this interpreter, its packages and the same options."""

    def prepare(workload: Workload, folder: Path) -> Call:
        # Bytecode goes to a copy, because the checkout may be in use.
        copy = folder / "checkout"
        for name in _PACKAGED:
            shutil.copytree(checkout / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
        shutil.copy(checkout / "pyproject.toml", copy)  # marks a checkout, where these folders are not in the package
        compile_bytecode(copy)
        call = batch(workload, folder)
        # These modules precede those of the installed version.
        return replace(call, environment={**call.environment, "PYTHONPATH": str(copy)})

    def version() -> str | None:
        command = ["git", "-C", str(checkout), "describe", "--always", "--dirty"]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip() or "no commit"

    return Tool(BEFORE, prepare, version)


def automatic_workers(serial: Call) -> Call:
    """The same call with the automatic number of processes."""
    return replace(serial, command=serial.command[: -len(_SERIAL)]) if has("--jobs") else serial


def cold_start(folder: Path, rounds: int) -> Mapping[str, Sequence[Call]]:
    """Calls with one run or none: one for all rounds, one for each, or none if this version lacks an option."""
    workload = Workload(1)
    valid = batch(workload, folder)
    text = next(iter(workload.runs.values()))
    edited = {f"edited-{number}.yaml": text.replace("image: ", f"image: r{number}.") for number in range(rounds)}
    write_files(folder, {"invalid.yaml": add_mistakes(text)} | edited)
    shutil.copytree(ROOT / "templates", folder / "templates", dirs_exist_ok=True)
    # An unchanged copy would count as the bundled template.
    with (folder / "templates" / "kubernetes" / "service.yaml.j2").open("a", encoding="utf-8") as file:
        file.write("# custom\n")
    custom = ("--templates", "templates")
    has_cache = has("--no-cache")
    return {
        BARE: [Call((sys.executable, "-c", "pass"), folder)],
        IMPORT: [Call((sys.executable, "-c", "import speccompile"), folder)],
        HELP: [Call((*_program(), "--help"), folder)],
        VERSION: [Call((*_program(), "--version"), folder)],
        VALID: [valid],
        EDITED: [_render(folder, name) for name in edited] if has_cache else [],
        UNCHANGED: [_render(folder, "runs")] if has_cache else [],
        CUSTOM: [_render(folder, "runs", *custom, *_if_available("--no-cache"))] if has("--templates") else [],
        CUSTOM_EDITED: [_render(folder, name, *custom) for name in edited] if has_cache and has("--templates") else [],
        INVALID: [replace(valid, command=tuple("invalid.yaml" if word == "runs" else word for word in valid.command))],
    }


def workers(workload: Workload, folder: Path) -> Mapping[str, Call | None]:
    """Calls with one process, with two, and with the automatic number."""
    serial = batch(workload, folder)
    if not has("--jobs"):
        return dict.fromkeys((SERIAL, TWO, AUTOMATIC))
    words = serial.command
    return {
        SERIAL: serial,
        TWO: replace(serial, command=(*words[:-1], "2")),
        AUTOMATIC: automatic_workers(serial),
    }


def _render(folder: Path, *words: str) -> Call:
    # Other tools report no overrides, so these are not printed either.
    command = (*_program(), "render", "--profiles", "profile.yaml", "--quiet", *words)
    return Call(
        command, folder, environment={"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    )


def _if_available(option: str, *values: str) -> tuple[str, ...]:
    return (option, *values) if has(option) else ()


@cache
def _program() -> tuple[str, ...]:
    """The command installed with this interpreter, or the module, which starts more slowly."""
    script = Path(sys.executable).parent / NAME
    return (str(script),) if script.is_file() else (sys.executable, "-m", NAME)
