"""A Jsonnet program with rjsonnet, the implementation in Rust."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.tool import PEERS_FOLDER, Call, Tool, package_versions, run_files, write_files
from benchmarks.workload import Workload


def _prepare(workload: Workload, folder: Path) -> Call:
    """Write a program that names every run, because Jsonnet cannot list files."""
    files = run_files(workload)
    texts = "".join(f"  importstr 'runs/{name}',\n" for name in files)
    library = str(PEERS_FOLDER / "jsonnet" / "manifests.libsonnet")
    write_files(folder / "runs", files)
    write_files(
        folder,
        {
            "fixed.yaml": workload.fixed,
            "main.jsonnet": f"(import {library!r})(importstr 'fixed.yaml', [\n{texts}])\n",
        },
    )
    return Call((sys.executable, str(PEERS_FOLDER / "jsonnet" / "program.py"), "main.jsonnet"), folder)


RJSONNET = Tool("rjsonnet", _prepare, lambda: package_versions("rjsonnet"))
