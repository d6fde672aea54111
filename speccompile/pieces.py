"""Takes texts that stand in the stream of another tool, gives those that are runs, compiled, and what was found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from speccompile.batch import compile_files
from speccompile.diagnostics import CompileError, Diagnostic, has_errors, shown
from speccompile.forms import without_tools
from speccompile.model import Layer, Node, Source, Span
from speccompile.parse import Parsed, parse
from speccompile.setting import Setting

STREAM_NAME = "<stdin>"
CONFIG_KIND = "Compile"
"""The kind of our own that is no run: it tells a function what to compile."""
HELM_FILE = "postrenderer.helm.sh/postrender-filename"
_GROUP = "speccompile.dev"
_LOOKS_LIKE_A_RUN = re.compile(r"""apiVersion["']?\s*:\s*["']?speccompile\.dev/""")
_FILES = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path", HELM_FILE)
"""Annotations by which kpt, Kustomize and Helm say which file a document came from."""


class Found(NamedTuple):
    """A run of a stream: a document with a source of its own, whose lines are those of no file."""

    parsed: Parsed
    root: Node | None = None
    """As it was written, with the annotations of tools; nothing if the text is broken."""
    source: Source | None = None
    file: str | None = None
    """The file it came from, if the stream tells."""

    @property
    def label(self) -> str:
        """What people know it by."""
        name = text_at(self.root, "metadata", "name")
        run = f"Run {shown(name)[1:-1]}" if name else "a Run"
        return f"{self.file} ({run})" if self.file else run


class Made(NamedTuple):
    """What the runs of a stream come to."""

    manifests: tuple[tuple[dict[str, Any], ...], ...]
    """Those of each run, in order; of a run that has errors, none."""
    told: tuple[Diagnostic, ...]
    stopping: tuple[Diagnostic, ...]
    """All findings of runs that have no manifests."""


def find_run(text: str, file: str | None = None) -> Found | None:
    """The run that the text is, whole or broken; nothing if it is something else."""
    if _GROUP not in text:
        return None
    source = Source(file or STREAM_NAME, text, Layer.RUN)
    parsed = parse(source)
    roots = [document.root for document in parsed.documents]
    if not (any(map(is_run, roots)) if roots else _LOOKS_LIKE_A_RUN.search(text)):
        return None
    documents = (replace(document, root=without_tools(document.root)[0]) for document in parsed.documents)
    root = roots[0] if roots else None
    named = next(filter(None, (annotation(root, key) for key in _FILES)), file)
    return Found(Parsed(tuple(documents), parsed.findings), root, source, shown(named, 200)[1:-1] if named else None)


def is_run(root: Node) -> bool:
    """Whether somebody meant this as a run: a kind of our group that is not known may be a slip of the pen."""
    group = text_at(root, "apiVersion").partition("/")[0]
    return group == _GROUP and text_at(root, "kind") != CONFIG_KIND


def compile_found(runs: Sequence[Found], setting: Setting) -> Made:
    """The manifests of all runs under the setting, each name and object once."""
    results = compile_files((run.parsed for run in runs), setting)
    manifests: list[tuple[dict[str, Any], ...]] = []
    told: list[Diagnostic] = []
    stopping: list[Diagnostic] = []
    for run in runs:
        made: list[dict[str, Any]] = []
        for result in islice(results, 1 if has_errors(run.parsed.findings) else len(run.parsed.documents)):
            if isinstance(result, CompileError):
                stopping += result.diagnostics
            else:
                told += result.diagnostics
                made += (manifest.data for manifest in result.manifests)
        manifests.append(tuple(made))
    return Made(tuple(manifests), tuple(_renamed(told, runs)), tuple(_renamed(stopping, runs)))


def _renamed(findings: Iterable[Diagnostic], runs: Iterable[Found]) -> Iterator[Diagnostic]:
    """The findings, in which each run of the stream goes by its label."""
    sources = {id(run.source): replace(run.source, name=run.label) for run in runs if run.source}

    def moved(span: Span | None) -> Span | None:
        return span._replace(source=sources.get(id(span.source), span.source)) if span else None

    for finding in findings:
        notes = tuple(note._replace(span=moved(note.span)) for note in finding.notes)
        yield replace(finding, span=moved(finding.span), secret=moved(finding.secret), notes=notes)


def annotation(root: Node | None, key: str) -> str:
    return text_at(root, "metadata", "annotations", key)


def text_at(root: Node | None, *path: str) -> str:
    """The text at the path; empty where there is no text."""
    node = root.at(path) if root else None
    return node.value if node is not None and isinstance(node.value, str) else ""


def with_annotation(manifest: Mapping[str, Any], key: str, value: str) -> dict[str, Any]:
    """The manifest with one annotation more, on the object itself and not on its pods."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), key: value}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
