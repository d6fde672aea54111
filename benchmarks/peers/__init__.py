"""Takes nothing, gives the peers: all that a benchmark measures ours against."""

from __future__ import annotations

from benchmarks.contender import Contender
from benchmarks.peers import helm, jinja, jsonnet, kapitan, kcl, kustomize

PEERS: tuple[Contender, ...] = (
    helm.RANGING,
    helm.ONE_BY_ONE,
    kustomize.IN_CHUNKS,
    jinja.BY_HAND,
    jsonnet.RJSONNET,
    kcl.KCL,
    kapitan.KAPITAN,
)
