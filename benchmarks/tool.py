"""Tools that compile a workload, and the calls that run them."""

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
PEERS_FOLDER = ROOT / "benchmarks" / "peers"
_TOOLS = ROOT / ".tools"


@dataclass(frozen=True)
class Call:
    """A command that prints manifests or writes them to a folder."""

    command: tuple[str, ...]
    folder: Path
    """Working directory."""
    results: Path | None = None
    """Folder of the manifests, if the command writes files."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Additional environment variables."""


@dataclass(frozen=True)
class Tool:
    """A way to compile runs. `prepare` writes the tool's input to an empty folder and returns the call."""

    name: str
    prepare: Callable[[Workload, Path], Call]
    version: Callable[[], str | None]
    """Installed version; None if the tool is not installed."""
    max_runs: int = sys.maxsize
    """Largest batch to measure; times of larger ones are scaled up, unless the benchmark runs with `--full`."""
    min_runs: int = 1
    """Smallest batch to measure, where another entry covers fewer runs with the same program."""
    keeps_variable_order: bool = True
    """Whether the tool controls the order of a container's variables."""


def find_program(name: str) -> str | None:
    """Return the path of a program: the one pinned by scripts/tools.sh, or one on PATH."""
    return shutil.which(name, path=os.pathsep.join((str(_TOOLS), os.environ.get("PATH", os.defpath))))


def require_program(name: str) -> str:
    """Return the path of a program that must be installed."""
    path = find_program(name)
    assert path is not None, name
    return path


def package_versions(*names: str) -> str | None:
    """Return the versions of Python packages, without the first one's name; None if one is missing."""
    try:
        versions = [importlib.metadata.version(name) for name in names]
    except importlib.metadata.PackageNotFoundError:
        return None
    rest = (f"{name} {version}" for name, version in zip(names[1:], versions[1:], strict=True))
    return ", ".join((versions[0], *rest))


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Write texts to a folder, which is created if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")


def run_files(workload: Workload) -> dict[str, str]:
    """The runs as files, in order of their index."""
    return {f"run-{index:05}.yaml": text for index, text in enumerate(workload.runs.values())}
