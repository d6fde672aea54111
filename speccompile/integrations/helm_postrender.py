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

NOTHING = "# no documents\n"
"""What stands for no document at all: Helm 4 takes blank output for a failure."""
# At the beginning of a line these end a document whatever stands before them, inside a quoted text or a block too.
_MARKER = re.compile(r"(?:\A|(?<=[\r\n]))(?:---|\.\.\.)(?=[ \t\r\n]|\Z)")
_REST_OF_LINE = re.compile(r"\A[ \t]*(?:\r\n|\r|\n)")
_SOURCE = re.compile(r"\A\s*(# Source: ([^\r\n]+))")


class Piece(NamedTuple):
    """A stretch of the stream from one marker to the next; the texts of all pieces are the stream."""

    marker: str
    text: str
    """What follows the marker, its own line included."""


def post_render(stream: str, setting: Setting) -> tuple[str, CompiledRuns]:
    """The stream with manifests in place of runs, and what was found; a run that has errors is left as it is."""
    pieces = tuple(split(stream))
    runs = {index: run for index, piece in enumerate(pieces) if (run := _run_in(piece))}
    made = compile_embedded(tuple(runs.values()), setting)
    texts = [piece.marker + piece.text for piece in pieces]
    for (index, run), manifests in zip(runs.items(), made.manifests, strict=True):
        if manifests:
            texts[index] = _written(manifests, pieces[index], run)
    text = "".join(texts)
    return text if text.strip() else NOTHING, made


def split(stream: str) -> Iterator[Piece]:
    """The documents of the stream with whatever stands around them."""
    markers = list(_MARKER.finditer(stream))
    starts = [match.end() for match in markers]
    ends = [*(match.start() for match in markers), len(stream)]
    if ends[0]:
        yield Piece("", stream[: ends[0]])
    for match, start, end in zip(markers, starts, ends[1:], strict=True):
        yield Piece(match.group(), stream[start:end])


def _run_in(piece: Piece) -> EmbeddedRun | None:
    commented = _SOURCE.match(piece.text)
    return find_run(_REST_OF_LINE.sub("", piece.text), commented[2] if commented else None)


def _written(manifests: Sequence[dict[str, Any]], piece: Piece, run: EmbeddedRun) -> str:
    """The manifests, each with what Helm tells of the template: in a comment up to Helm 3, in an annotation since."""
    commented, file = _SOURCE.match(piece.text), annotation(run.root, HELM_FILE)
    head = f"{commented[1]}\n" if commented else ""
    signed = (with_annotation(one, HELM_FILE, file) if file else one for one in manifests)
    first = f"{piece.marker}\n" if piece.marker else ""
    return first + "---\n".join(head + serialize([one]) for one in signed)
