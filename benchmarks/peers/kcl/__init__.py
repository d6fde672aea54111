"""Takes a workload, gives the call of a KCL program under kcl-lib, the implementation in Rust."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from benchmarks.contender import PEERS, Call, Contender, files_of, packages, write
from benchmarks.workload import Workload


def _prepare(workload: Workload, folder: Path) -> Call:
    """The program stands beside the runs: KCL takes paths as relative to it."""
    write(folder / "runs", files_of(workload))
    write(folder, {"fixed.yaml": workload.fixed})
    shutil.copy(PEERS / "kcl" / "manifests.k", folder)
    program = str(PEERS / "kcl" / "program.py")
    return Call((sys.executable, program, "manifests.k", "fixed.yaml", "runs/*.yaml"), folder)


KCL = Contender("kcl-lib", _prepare, lambda: packages("kcl-lib"))
