"""Nodes and pods from files saved with kubectl."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from speccompile.files.read import MAX_MANIFESTS, read_file
from speccompile.model.source import Layer, Source
from speccompile.placement.cluster_snapshot import Snapshot, snapshot
from speccompile.placement.cluster_snapshot_reader import read_snapshot
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

MAX_SNAPSHOT = 512 * 1024 * 1024
"""Maximum size of a file of nodes or pods in bytes; ten thousand pods take up to 200 MB as JSON, 90 MB as YAML."""


def read_cluster(nodes: Sequence[str], pods: Sequence[str] = ()) -> Snapshot:
    """Read a cluster from files of nodes and pods, with all findings."""
    fast = _snapshot(nodes, pods, exactly=False)
    # The fast reader may not know lines. A file that cannot be read has none.
    if all(finding.span and (finding.span.line or not finding.span.source.text) for finding in fast.findings):
        return fast
    return _snapshot(nodes, pods, exactly=True)


def _snapshot(nodes: Sequence[str], pods: Sequence[str], *, exactly: bool) -> Snapshot:
    with _without_garbage_collection():
        read_nodes = [_read(name, "Node", exactly=exactly) for name in nodes]
        read_pods = [_read(name, "Pod", exactly=exactly) for name in pods]
    unread = [finding for parsed in (*read_nodes, *read_pods) for finding in parsed.findings]
    cluster = snapshot(
        [document for parsed in read_nodes for document in parsed.documents],
        [document for parsed in read_pods for document in parsed.documents] if pods else None,
    )
    return cluster._replace(findings=(*unread, *cluster.findings))


@contextmanager
def _without_garbage_collection() -> Iterator[None]:
    """Pause the garbage collector, which takes half the time while millions of values are created."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(name: str, kind: str, *, exactly: bool) -> Parsed:
    """Read the documents of a file; `exactly` is ignored for a file that is too large for the exact parser."""
    text = read_file(Path(name), Layer.PLATFORM, MAX_SNAPSHOT)
    if not isinstance(text, Source):
        return text
    if exactly and len(text.text) <= MAX_MANIFESTS:
        return as_kubernetes_reads(parse(text))
    return read_snapshot(text, kind, MAX_MANIFESTS)
