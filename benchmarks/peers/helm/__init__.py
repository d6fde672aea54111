"""`helm template`, with one call for all runs or one call per run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from textwrap import indent

from benchmarks.tool import PEERS_FOLDER, Call, Tool, find_program, require_program, run_files, write_files
from benchmarks.workload import Workload

_CHART = str(PEERS_FOLDER / "helm" / "chart")
_NAME = "release"


def _version() -> str | None:
    helm = find_program("helm")
    if helm is None:
        return None
    text = subprocess.run([helm, "version", "--short"], capture_output=True, text=True, check=True).stdout
    return re.split(r"[+\s]", text.removeprefix("v"))[0]


def _one_call(workload: Workload, folder: Path) -> Call:
    """Pass the runs as one list of values; the chart merges the profile over each with `mergeOverwrite`."""
    runs = "".join(f"-\n{indent(text, '  ')}" for text in workload.runs.values())
    write_files(folder, {"values.yaml": f"runs:\n{runs}fixed:\n{indent(workload.fixed, '  ')}"})
    return Call((require_program("helm"), "template", _NAME, _CHART, "-f", "values.yaml"), folder)


def _call_per_run(workload: Workload, folder: Path) -> Call:
    """Pass run and profile as values files, which Helm merges deeply in this order."""
    write_files(folder / "runs", run_files(workload))
    write_files(folder, {"fixed.yaml": workload.fixed})
    helm = require_program("helm")
    if workload.size == 1:
        return Call((helm, "template", _NAME, _CHART, "-f", "runs/run-00000.yaml", "-f", "fixed.yaml"), folder)
    loop = 'for run in runs/*; do "$0" template "$1" "$2" -f "$run" -f fixed.yaml; done'
    return Call(("/bin/sh", "-c", loop, helm, _NAME, _CHART), folder)


ONE_CALL = Tool("helm template, one call", _one_call, _version, min_runs=2)
CALL_PER_RUN = Tool("helm template, one call per run", _call_per_run, _version, max_runs=20)
