"""Takes a workload, gives the call of a short Python program: PyYAML, a merge by hand and a Jinja template."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.contender import PEERS, Call, Contender, files_of, packages, write
from benchmarks.workload import Workload

TEMPLATE = PEERS / "jinja" / "manifests.yaml.j2"


def _prepare(workload: Workload, folder: Path) -> Call:
    write(folder / "runs", files_of(workload))
    write(folder, {"fixed.yaml": workload.fixed})
    return Call((sys.executable, str(PEERS / "jinja" / "program.py"), "runs", "fixed.yaml", str(TEMPLATE)), folder)


BY_HAND = Contender("Jinja and PyYAML by hand", _prepare, lambda: packages("jinja2", "pyyaml"))
