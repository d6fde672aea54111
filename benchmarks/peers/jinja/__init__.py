"""A short Python script with PyYAML, a simple merge and a Jinja template."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.tool import PEERS_FOLDER, Call, Tool, package_versions, run_files, write_files
from benchmarks.workload import Workload

TEMPLATE = PEERS_FOLDER / "jinja" / "manifests.yaml.j2"


def _prepare(workload: Workload, folder: Path) -> Call:
    write_files(folder / "runs", run_files(workload))
    write_files(folder, {"fixed.yaml": workload.fixed})
    script = str(PEERS_FOLDER / "jinja" / "program.py")
    return Call((sys.executable, script, "runs", "fixed.yaml", str(TEMPLATE)), folder)


JINJA = Tool("Jinja and PyYAML script", _prepare, lambda: package_versions("jinja2", "pyyaml"))
