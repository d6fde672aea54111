"""Objects of a call: those of its runs, and those in its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.documents.admin_config import Setting
from speccompile.files.call_inputs import Inputs
from speccompile.files.load import load
from speccompile.files.read import MAX_MANIFESTS, expand
from speccompile.files.run_files import run_files
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.redaction import Hidden, hidden_parts
from speccompile.model.source import Layer, Source, Span
from speccompile.terminal.progress import counted
from speccompile.verify.documents import is_for_kustomize, sorted_out
from speccompile.yaml_text.parsed import Parsed


class Given(NamedTuple):
    """An object, and where somebody asked for it."""

    tree: Node
    place: Span
    run: str | None = None
    """The name of the run that it comes from; None for one as somebody wrote it."""


class Objects(NamedTuple):
    """Objects, and what comes of reading them."""

    given: Sequence[Given] = ()
    findings: Sequence[Diagnostic] = ()
    hidden: Mapping[Source, Hidden] = {}
    """What no finding may show."""
    runs: int = 0
    left_out: int = 0
    """Runs that give no objects."""


def compiled_objects(inputs: Inputs, setting: Setting, stderr: TextIO) -> Objects:
    """The manifests of all runs, and all other objects of the files, with whatever is found about either."""
    given: list[Given] = []
    found: list[Diagnostic] = []
    hidden: dict[Source, Hidden] = {}
    runs = left_out = 0

    def parted(files: Iterable[Parsed]) -> Iterator[Parsed]:
        """The runs of the files; whatever else they hold is kept as it passes."""
        for file in files:
            hidden.update(hidden_parts(*file))
            sorted_file = sorted_out(file)
            found.extend(sorted_file.findings)
            given.extend(Given(*subject) for subject in sorted_file.objects)
            yield sorted_file.runs

    entries = tuple(entry for entry in inputs.runs if not is_for_kustomize(getattr(entry, "name", "")))
    files = counted(run_files(inputs._replace(runs=entries), MAX_MANIFESTS), len(entries), stderr)
    for result in compile_files(parted(files), setting):
        runs += 1
        found += result.diagnostics
        if isinstance(result, CompileError):
            left_out += 1
        else:
            given += (Given(manifest.tree, result.place, result.name) for manifest in result.manifests)
    return Objects(given, found, hidden, runs, left_out)


def given_objects(paths: Sequence[str]) -> Objects:
    """The objects of files that were saved from a cluster; a run is none."""
    given: list[Given] = []
    found: list[Diagnostic] = []
    hidden: dict[Source, Hidden] = {}
    for entry in expand([Path(name) for name in paths]):
        file = load(entry, Layer.RUN, MAX_MANIFESTS)
        hidden.update(hidden_parts(*file))
        sorted_file = sorted_out(file)
        given += (Given(*subject) for subject in sorted_file.objects)
        found += (*sorted_file.findings, *sorted_file.runs.findings, *map(_no_object, sorted_file.runs.documents))
    return Objects(given, found, hidden)


def _no_object(document: Document) -> Diagnostic:
    return Diagnostic(
        code="api/unknown-kind",
        message="this is no Kubernetes object: it needs an `apiVersion` and a `kind`, which are strings",
        span=document.root.span,
        help="leave the document out, or give it as a PATH if it is a run",
    )
