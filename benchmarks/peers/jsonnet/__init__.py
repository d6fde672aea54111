"""Takes a workload, gives the call of a Jsonnet program under rjsonnet, the implementation in Rust."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.contender import PEERS, Call, Contender, files_of, packages, write
from benchmarks.workload import Workload


def _prepare(workload: Workload, folder: Path) -> Call:
    """A program that names every run: Jsonnet has no way to list the files of a folder."""
    files = files_of(workload)
    texts = "".join(f"  importstr 'runs/{name}',\n" for name in files)
    library = str(PEERS / "jsonnet" / "manifests.libsonnet")
    write(folder / "runs", files)
    write(
        folder,
        {
            "fixed.yaml": workload.fixed,
            "main.jsonnet": f"(import {library!r})(importstr 'fixed.yaml', [\n{texts}])\n",
        },
    )
    return Call((sys.executable, str(PEERS / "jsonnet" / "program.py"), "main.jsonnet"), folder)


RJSONNET = Contender("rjsonnet", _prepare, lambda: packages("rjsonnet"))
