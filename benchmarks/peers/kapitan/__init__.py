"""Takes a workload, gives the call of `kapitan compile`, with the inventory read by reclass-rs."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent

from benchmarks.contender import Call, Contender, packages, write
from benchmarks.peers.jinja import TEMPLATE
from benchmarks.workload import Workload

_TARGET = """\
classes:
- runs.{name}
- profile
parameters:
  kapitan:
    vars:
      target: {name}
    compile:
    - output_path: .
      input_type: jinja2
      input_paths: [manifests.yaml.j2]
"""
_OPENING = "{% set run = inventory.parameters.run %}\n"


def _prepare(workload: Workload, folder: Path) -> Call:
    """A target for each run, and run and profile as classes: those that a target names later win, deeply."""
    inventory = folder / "inventory"
    write(inventory / "classes" / "runs", {f"{name}.yml": _class(text) for name, text in workload.runs.items()})
    write(inventory / "classes", {"profile.yml": _class(workload.fixed)})
    write(inventory / "targets", {f"{name}.yml": _TARGET.format(name=name) for name in workload.runs})
    write(folder, {"manifests.yaml.j2": _OPENING + TEMPLATE.read_text(encoding="utf-8")})
    command = ("kapitan", "compile", "--quiet", "--inventory-backend", "reclass-rs")
    return Call((sys.executable, "-m", *command), folder, results=folder / "compiled")


def _class(text: str) -> str:
    return f"parameters:\n  run:\n{indent(text, '    ')}"


KAPITAN = Contender("kapitan compile", _prepare, lambda: packages("kapitan", "reclass-rs"), most=1000)
