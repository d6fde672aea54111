"""Kubernetes objects of a call: manifests of its runs, and objects in its files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TextIO

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.compiled import Result
from speccompile.compiler.documents.admin_config import Setting
from speccompile.files.call_inputs import Inputs
from speccompile.files.load import load
from speccompile.files.read import MAX_MANIFESTS, expand
from speccompile.files.run_texts import run_texts
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.terminal.progress import counted
from speccompile.verify.documents import is_for_kustomize, may_have_objects, sorted_out
from speccompile.verify.verify import LocatedObject
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed


class InputObject(NamedTuple):
    """An object, and the place that requires it."""

    tree: Node
    place: Span
    run: str | None = None
    """The name of the run that produces it; None for an object in a file."""


class Objects(NamedTuple):
    """Objects, with the findings of reading them."""

    objects: Sequence[InputObject] = ()
    findings: Sequence[Diagnostic] = ()
    runs: int = 0
    skipped: int = 0
    """Skipped runs: those with errors have no objects."""


def compile_inputs(
    inputs: Inputs, setting: Setting, stderr: TextIO, findings: list[Diagnostic], *, needs_trees: bool = False
) -> Iterator[LocatedObject | Result]:
    """The objects in the files of a call and the results of its runs, in order; adds the findings about other texts.

    With `needs_trees`, each run is compiled on its own: filling the page of a shape would be wasted.
    """
    objects: list[LocatedObject] = []

    def runs_only(files: Iterable[Source | Parsed]) -> Iterator[Source | Parsed]:
        """Yield the runs of the files, and collect everything else."""
        for file in files:
            if isinstance(file, Source) and not needs_trees and not may_have_objects(file.text):
                yield file
                continue
            sorted_file = sorted_out(parse(file) if isinstance(file, Source) else file)
            findings.extend(sorted_file.findings)
            objects.extend(sorted_file.objects)
            yield sorted_file.runs

    entries = tuple(entry for entry in inputs.runs if not is_for_kustomize(getattr(entry, "name", "")))
    files = counted(run_texts(inputs._replace(runs=entries), MAX_MANIFESTS), len(entries), stderr)
    for result in compile_files(runs_only(files), setting):
        yield from objects
        objects.clear()
        yield result
    yield from objects


def compile_objects(inputs: Inputs, setting: Setting, stderr: TextIO) -> Objects:
    """Compile all runs, and collect all other objects of the files."""
    objects: list[InputObject] = []
    findings: list[Diagnostic] = []
    runs = skipped = 0
    for one in compile_inputs(inputs, setting, stderr, findings, needs_trees=True):
        if isinstance(one, LocatedObject):
            objects.append(InputObject(*one))
            continue
        runs += 1
        findings += one.diagnostics
        if isinstance(one, CompileError):
            skipped += 1
        else:
            objects += (InputObject(manifest.tree, one.place, one.name) for manifest in one.manifests)
    return Objects(objects, findings, runs, skipped)


def read_objects(paths: Sequence[str]) -> Objects:
    """Read objects from files saved from a cluster; runs are reported as errors."""
    objects: list[InputObject] = []
    findings: list[Diagnostic] = []
    for entry in expand([Path(name) for name in paths]):
        file = load(entry, Layer.RUN, MAX_MANIFESTS)
        sorted_file = sorted_out(file)
        objects += (InputObject(*subject) for subject in sorted_file.objects)
        findings += (*sorted_file.findings, *sorted_file.runs.findings, *map(_no_object, sorted_file.runs.documents))
    return Objects(objects, findings)


def _no_object(document: Document) -> Diagnostic:
    return Diagnostic(
        code="api/unknown-kind",
        message="this is not a Kubernetes object: `apiVersion` or `kind` is missing or not a string",
        span=document.root.span,
        help="remove the document, or pass it as a PATH if it is a run",
    )
