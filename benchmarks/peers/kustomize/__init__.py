"""`kubectl kustomize`, with ten runs per call, because larger builds take longer per run."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from benchmarks.tool import PEERS_FOLDER, Call, Tool, find_program, require_program, write_files
from benchmarks.workload import Workload

_CHUNK = 10


def _version() -> str | None:
    kubectl = find_program("kubectl")
    if kubectl is None:
        return None
    command = [kubectl, "version", "--client", "--output=json"]
    output = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    version, kustomize = (
        text.removeprefix("v") for text in (output["clientVersion"]["gitVersion"], output["kustomizeVersion"])
    )
    return f"{version}, kustomize {kustomize}"


def _prepare(workload: Workload, folder: Path) -> Call:
    """Compile the runs without their profile, because Kustomize cannot read specs, and let it patch the profile in."""
    from speccompile import Compiled, compile_many

    shutil.copytree(PEERS_FOLDER / "kustomize" / "profile", folder / "profile")
    alone = (text.replace("profile: 1xa100\n", "") for text in workload.runs.values())
    texts = []
    for result in compile_many(alone):
        assert isinstance(result, Compiled), result
        texts.append(result.to_yaml())
    for start in range(0, len(texts), _CHUNK):
        files = {f"run-{start + index:05}.yaml": text for index, text in enumerate(texts[start : start + _CHUNK])}
        resources = "".join(f"- {name}\n" for name in files)
        kustomization = f"resources:\n{resources}components:\n- ../profile\n"
        write_files(folder / f"chunk-{start:05}", files | {"kustomization.yaml": kustomization})
    kubectl = require_program("kubectl")
    if len(texts) <= _CHUNK:
        return Call((kubectl, "kustomize", "chunk-00000"), folder)
    loop = 'for chunk in chunk-*; do echo ---; "$0" kustomize "$chunk"; done'
    return Call(("/bin/sh", "-c", loop, kubectl), folder)


KUSTOMIZE = Tool(
    "kubectl kustomize, 10 runs per call",
    _prepare,
    _version,
    max_runs=100,
    # Kustomize puts variables of a patch first. This matters only for `$(NAME)` in values, which no run has.
    keeps_variable_order=False,
)
