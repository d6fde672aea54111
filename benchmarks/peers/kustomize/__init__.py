"""Takes a workload, gives calls of `kubectl kustomize`, each for ten runs: with more, every run takes longer."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from benchmarks.contender import PEERS, Call, Contender, needed, program, write
from benchmarks.workload import Workload

_CHUNK = 10


def _version() -> str | None:
    found = program("kubectl")
    if found is None:
        return None
    asked = [found, "version", "--client", "--output=json"]
    told = json.loads(subprocess.run(asked, capture_output=True, text=True, check=True).stdout)
    version, kustomize = (
        text.removeprefix("v") for text in (told["clientVersion"]["gitVersion"], told["kustomizeVersion"])
    )
    return f"{version}, kustomize {kustomize}"


def _prepare(workload: Workload, folder: Path) -> Call:
    """Kustomize makes no manifests of specs: it is given those of each run alone, and patches the profile in."""
    from speccompile import Compiled, compile_many

    shutil.copytree(PEERS / "kustomize" / "profile", folder / "profile")
    alone = (text.replace("profile: 1xa100\n", "") for text in workload.runs.values())
    texts = []
    for result in compile_many(alone):
        assert isinstance(result, Compiled), result
        texts.append(result.to_yaml())
    for start in range(0, len(texts), _CHUNK):
        files = {f"run-{start + index:05}.yaml": text for index, text in enumerate(texts[start : start + _CHUNK])}
        listed = "".join(f"- {name}\n" for name in files)
        kustomization = f"resources:\n{listed}components:\n- ../profile\n"
        write(folder / f"chunk-{start:05}", files | {"kustomization.yaml": kustomization})
    kubectl = needed("kubectl")
    if len(texts) <= _CHUNK:
        return Call((kubectl, "kustomize", "chunk-00000"), folder)
    loop = 'for chunk in chunk-*; do echo ---; "$0" kustomize "$chunk"; done'
    return Call(("/bin/sh", "-c", loop, kubectl), folder)


IN_CHUNKS = Contender(
    "kubectl kustomize, ten by ten",
    _prepare,
    _version,
    most=100,
    # A patch's variables go before those of the run, and there is no say in it. Only `$(NAME)` in a value would mind,
    # and no run has one.
    orders_variables=False,
)
