"""A KCL program with kcl-lib, the implementation in Rust."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.tool import PEERS_FOLDER, Call, Tool, package_versions, run_files, write_files
from benchmarks.workload import Workload


def _prepare(workload: Workload, folder: Path) -> Call:
    """Copy the program next to the runs, because KCL resolves paths relative to it."""
    write_files(folder / "runs", run_files(workload))
    write_files(folder, {"fixed.yaml": workload.fixed})
    shutil.copy(PEERS_FOLDER / "kcl" / "manifests.k", folder)
    program = str(PEERS_FOLDER / "kcl" / "program.py")
    return Call((sys.executable, program, "manifests.k", "fixed.yaml", "runs/*.yaml"), folder)


KCL = Tool("kcl-lib", _prepare, lambda: package_versions("kcl-lib"))
