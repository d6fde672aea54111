"""Takes a workload, gives calls of `helm template`: one that ranges over all runs, or one for each run."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from textwrap import indent

from benchmarks.contender import PEERS, Call, Contender, files_of, needed, program, write
from benchmarks.workload import Workload

_CHART = str(PEERS / "helm" / "chart")
_NAME = "release"


def _version() -> str | None:
    found = program("helm")
    if found is None:
        return None
    told = subprocess.run([found, "version", "--short"], capture_output=True, text=True, check=True).stdout
    return re.split(r"[+\s]", told.removeprefix("v"))[0]


def _ranging(workload: Workload, folder: Path) -> Call:
    """The runs as one list of values; `mergeOverwrite` of the chart puts the profile over each."""
    runs = "".join(f"-\n{indent(text, '  ')}" for text in workload.runs.values())
    write(folder, {"values.yaml": f"runs:\n{runs}fixed:\n{indent(workload.fixed, '  ')}"})
    return Call((needed("helm"), "template", _NAME, _CHART, "-f", "values.yaml"), folder)


def _one_by_one(workload: Workload, folder: Path) -> Call:
    """Run and profile as files of values: Helm itself merges them deeply, and the later one wins."""
    write(folder / "runs", files_of(workload))
    write(folder, {"fixed.yaml": workload.fixed})
    helm = needed("helm")
    if workload.size == 1:
        return Call((helm, "template", _NAME, _CHART, "-f", "runs/run-00000.yaml", "-f", "fixed.yaml"), folder)
    loop = 'for run in runs/*; do "$0" template "$1" "$2" -f "$run" -f fixed.yaml; done'
    return Call(("/bin/sh", "-c", loop, helm, _NAME, _CHART), folder)


RANGING = Contender("helm template, ranging over all runs", _ranging, _version, least=2)
ONE_BY_ONE = Contender("helm template, run by run", _one_by_one, _version, most=20)
