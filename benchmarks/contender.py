"""Takes a workload, gives the call that compiles it: what every contender of the benchmark is."""

from __future__ import annotations

import importlib.metadata
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.workload import Workload

ROOT = Path(__file__).resolve().parent.parent
PEERS = ROOT / "benchmarks" / "peers"
_TOOLS = ROOT / ".tools"


@dataclass(frozen=True)
class Call:
    """A command, and where it leaves its manifests: on standard output, or in files of a folder."""

    command: tuple[str, ...]
    folder: Path
    """Where it runs."""
    results: Path | None = None
    """The folder of its manifests, if it writes files."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """What it needs beside the environment that all have."""


@dataclass(frozen=True)
class Contender:
    """A way to compile runs: `prepare` writes what it reads into an empty folder, and gives the call."""

    name: str
    prepare: Callable[[Workload, Path], Call]
    version: Callable[[], str | None]
    """The version that is installed; None if none is."""
    most: int = sys.maxsize
    """More runs than these are not waited for, unless asked to; the time for more of them is scaled up."""
    least: int = 1
    """Fewer runs are a matter for another contender of the same tool."""
    orders_variables: bool = True
    """Whether the variables of a container come in a set order."""


def program(name: str) -> str | None:
    """The path of a program: the pinned one of scripts/tools.sh, or what is on PATH."""
    return shutil.which(name, path=os.pathsep.join((str(_TOOLS), os.environ.get("PATH", os.defpath))))


def needed(name: str) -> str:
    """The path of a program that is known to be there."""
    found = program(name)
    assert found is not None, name
    return found


def packages(*names: str) -> str | None:
    """The versions of Python packages, the first one's name left out; None if one of them is missing."""
    try:
        versions = [importlib.metadata.version(name) for name in names]
    except importlib.metadata.PackageNotFoundError:
        return None
    rest = (f"{name} {version}" for name, version in zip(names[1:], versions[1:], strict=True))
    return ", ".join((versions[0], *rest))


def write(folder: Path, files: Mapping[str, str]) -> None:
    """The files, by their names, in a folder that is made if it is not there."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def files_of(workload: Workload) -> dict[str, str]:
    """The runs as files, in order of their index."""
    return {f"run-{index:05}.yaml": text for index, text in enumerate(workload.runs.values())}
