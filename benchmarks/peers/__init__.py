"""Other tools that speccompile is compared with."""

from __future__ import annotations

from benchmarks.peers import helm, jinja, jsonnet, kapitan, kcl, kustomize
from benchmarks.tool import Tool

PEERS: tuple[Tool, ...] = (
    helm.ONE_CALL,
    helm.CALL_PER_RUN,
    kustomize.KUSTOMIZE,
    jinja.JINJA,
    jsonnet.RJSONNET,
    kcl.KCL,
    kapitan.KAPITAN,
)
