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
"""Bytes of a file of nodes or pods; ten thousand pods may come to 200 MB as JSON, and to 90 MB as YAML."""


def cluster_seen(nodes: Sequence[str], pods: Sequence[str] = ()) -> Snapshot:
    """The cluster that files of nodes and pods tell of, and what is wrong with these."""
    quickly = _snapshot(nodes, pods, exactly=False)
    # What is read quickly may not know its line; what was not read at all has none.
    if all(found.span and (found.span.line or not found.span.source.text) for found in quickly.findings):
        return quickly
    return _snapshot(nodes, pods, exactly=True)


def _snapshot(nodes: Sequence[str], pods: Sequence[str], *, exactly: bool) -> Snapshot:
    with _uncollected():
        read_nodes = [_read(name, "Node", exactly=exactly) for name in nodes]
        read_pods = [_read(name, "Pod", exactly=exactly) for name in pods]
    unread = [finding for parsed in (*read_nodes, *read_pods) for finding in parsed.findings]
    seen = snapshot(
        [document for parsed in read_nodes for document in parsed.documents],
        [document for parsed in read_pods for document in parsed.documents] if pods else None,
    )
    return seen._replace(findings=(*unread, *seen.findings))


@contextmanager
def _uncollected() -> Iterator[None]:
    """A while in which nobody looks for garbage: among millions of values that all stay, it takes half the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _read(name: str, kind: str, *, exactly: bool) -> Parsed:
    """The documents of a file; exactly, if it is not too long for that."""
    text = read_file(Path(name), Layer.PLATFORM, MAX_SNAPSHOT)
    if not isinstance(text, Source):
        return text
    if exactly and len(text.text) <= MAX_MANIFESTS:
        return as_kubernetes_reads(parse(text))
    return read_snapshot(text, kind, MAX_MANIFESTS)
