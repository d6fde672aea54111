"""Helm's output with every run replaced by its manifests."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from speccompile.compiler.documents.admin_config import Setting
from speccompile.integrations.embedded_runs import (
    HELM_FILE,
    CompiledRuns,
    EmbeddedRun,
    annotation,
    compile_embedded,
    find_run,
    with_annotation,
)
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.serialize import serialize

EMPTY_OUTPUT = "# no documents\n"
"""The output for no documents: Helm 4 treats blank output as a failure."""
# At the beginning of a line these end a document, even inside quotes or a block.
_MARKER = re.compile(r"(?:\A|(?<=[\r\n]))(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_REST_OF_LINE = re.compile(r"\A[ \t]*(?:\r\n|\r|\n)")
_SOURCE = re.compile(r"\A\s*(# Source: ([^\r\n]+))")


class StreamPart(NamedTuple):
    """The stream from one marker to the next; joined, all parts are the stream."""

    marker: str
    text: str
    """The text after the marker, including the rest of its line."""


def post_render(stream: str, setting: Setting) -> tuple[str, CompiledRuns]:
    """Replace the runs of the stream by manifests; a run with errors is left unchanged."""
    parts = tuple(split_stream(stream))
    runs = {index: run for index, part in enumerate(parts) if (run := _run_in(part))}
    compiled = compile_embedded(tuple(runs.values()), setting)
    texts = [part.marker + part.text for part in parts]
    for (index, run), manifests in zip(runs.items(), compiled.manifests, strict=True):
        if manifests:
            texts[index] = _as_text(manifests, parts[index], run)
    text = "".join(texts)
    return text if text.strip() else EMPTY_OUTPUT, compiled


def split_stream(stream: str) -> Iterator[StreamPart]:
    """Split the stream at its document markers."""
    markers = list(_MARKER.finditer(stream))
    starts = [match.end() for match in markers]
    ends = [*(match.start() for match in markers), len(stream)]
    if ends[0]:
        yield StreamPart("", stream[: ends[0]])
    for match, start, end in zip(markers, starts, ends[1:], strict=True):
        yield StreamPart(match.group(), stream[start:end])


def _run_in(part: StreamPart) -> EmbeddedRun | None:
    commented = _SOURCE.match(part.text)
    return find_run(_REST_OF_LINE.sub("", part.text), commented[2] if commented else None)


def _as_text(manifests: Sequence[dict[str, Any]], part: StreamPart, run: EmbeddedRun) -> str:
    """The manifests with the name of the template: a comment in Helm 3, an annotation in Helm 4."""
    commented, file = _SOURCE.match(part.text), annotation(run.root, HELM_FILE)
    head = f"{commented[1]}\n" if commented else ""
    annotated = (with_annotation(one, HELM_FILE, file) if file else one for one in manifests)
    first = f"{part.marker}\n" if part.marker else ""
    return first + "---\n".join(head + serialize([one]) for one in annotated)
