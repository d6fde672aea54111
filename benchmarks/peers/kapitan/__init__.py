"""`kapitan compile`, with reclass-rs as the inventory backend."""

from __future__ import annotations

import sys
from pathlib import Path
from textwrap import indent

from benchmarks.peers.jinja import TEMPLATE
from benchmarks.tool import Call, Tool, package_versions, write_files
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
    """Write a target for each run, with run and profile as classes; later classes override earlier ones, deeply."""
    inventory = folder / "inventory"
    write_files(inventory / "classes" / "runs", {f"{name}.yml": _class(text) for name, text in workload.runs.items()})
    write_files(inventory / "classes", {"profile.yml": _class(workload.fixed)})
    write_files(inventory / "targets", {f"{name}.yml": _TARGET.format(name=name) for name in workload.runs})
    write_files(folder, {"manifests.yaml.j2": _OPENING + TEMPLATE.read_text(encoding="utf-8")})
    command = ("kapitan", "compile", "--quiet", "--inventory-backend", "reclass-rs")
    return Call((sys.executable, "-m", *command), folder, results=folder / "compiled")


def _class(text: str) -> str:
    return f"parameters:\n  run:\n{indent(text, '    ')}"


KAPITAN = Tool("kapitan compile", _prepare, lambda: package_versions("kapitan", "reclass-rs"), max_runs=1000)
