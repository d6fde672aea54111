"""Runs inside the streams of other tools, compiled in place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from speccompile.compiler.compile_files import compile_files
from speccompile.compiler.documents.admin_config import Setting
from speccompile.compiler.documents.run_forms import without_tool_annotations
from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.findings import CompileError, has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

STREAM_NAME = "<stdin>"
RUN_KIND = "Run"
CONTAINER_KIND = "List"
"""The kind of Kubernetes that holds other objects."""
CONFIG_KIND = "Compile"
"""The kind of our own that is no run: it tells a function what to compile."""
HELM_FILE = "postrenderer.helm.sh/postrender-filename"
_GROUP = "speccompile.dev"
_OWN_KEY = r"""["']?apiVersion["']?\s*:\s*["']?speccompile\.dev/"""
_IN_BRACKETS = re.compile(rf"\{{[^{{}}\[\]]*?{_OWN_KEY}")
_FILES = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path", HELM_FILE)
"""Annotations by which kpt, Kustomize and Helm say which file a document came from."""


class EmbeddedRun(NamedTuple):
    """A run of a stream: a document with a source of its own, whose lines are those of no file."""

    parsed: Parsed
    root: Node | None = None
    """As it was written, with the annotations of tools; nothing if the text is broken."""
    source: Source | None = None
    labelled: Source | None = None
    """The source by the name that people know the run by."""
    file: str | None = None
    """The file it came from, if the stream tells."""


class CompiledRuns(NamedTuple):
    """What the runs of a stream come to."""

    manifests: tuple[tuple[dict[str, Any], ...], ...]
    """Those of each run, in order; of a run that has errors, none."""
    told: tuple[Diagnostic, ...]
    stopping: tuple[Diagnostic, ...]
    """All findings of runs that have no manifests."""


def find_run(text: str, file: str | None = None) -> EmbeddedRun | None:
    """The run that the text is, whole or broken; nothing if it is something else."""
    if _GROUP not in text:
        return None
    source = Source(file or STREAM_NAME, text, Layer.RUN)
    parsed = parse(source)
    roots = [document.root for document in parsed.documents]
    listed = tuple(_listed(run) for root in roots for run in _runs_in_list(root))
    if not listed and not (any(map(is_run, roots)) if roots else _looks_like_a_run(text)):
        return None
    documents = () if listed else (one._replace(root=without_tool_annotations(one.root)[0]) for one in parsed.documents)
    root = roots[0] if roots else None
    told = next(filter(None, (annotation(root, key) for key in _FILES)), file)
    named = quote(told, 200)[1:-1] if told else None
    label = _label(root, named, CONTAINER_KIND if listed else RUN_KIND)
    found = Parsed(tuple(documents), (*parsed.findings, *listed))
    return EmbeddedRun(found, root, source, source._replace(name=label), named)


def _looks_like_a_run(text: str) -> bool:
    """Whether a document that cannot be read has our group as a key of its own: what it merely holds is no run."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    own = re.compile(f" {{{column}}}{_OWN_KEY}")
    return bool(_IN_BRACKETS.match(text.lstrip())) or any(map(own.match, lines))


def _label(root: Node | None, file: str | None, kind: str) -> str:
    """What people know a run by."""
    name = text_at(root, "metadata", "name")
    run = f"{kind} {quote(name)[1:-1]}" if name else f"a {kind}"
    return f"{file} ({run})" if file else run


def _runs_in_list(root: Node) -> Iterator[Node]:
    """The runs of a List of Kubernetes, and of Lists in it."""
    if text_at(root, "kind") == CONTAINER_KIND and "items" in root.fields:
        for item in root.fields["items"].items:
            yield from (item,) if is_run(item) else _runs_in_list(item)


def _listed(run: Node) -> Diagnostic:
    return Diagnostic(
        code="run/unknown-form",
        message=f"a run stands in a `{CONTAINER_KIND}`, where it is not compiled",
        span=(run.fields.get("kind") or run).span,
        help="write it as a document of its own",
    )


def is_run(root: Node) -> bool:
    """Whether somebody meant this as a run: a kind of our group that is not known may be a slip of the pen."""
    group = text_at(root, "apiVersion").partition("/")[0]
    return group == _GROUP and text_at(root, "kind") != CONFIG_KIND


def compile_embedded(runs: Sequence[EmbeddedRun], setting: Setting) -> CompiledRuns:
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
    return CompiledRuns(tuple(manifests), tuple(_renamed(told, runs)), tuple(_renamed(stopping, runs)))


def _renamed(findings: Iterable[Diagnostic], runs: Iterable[EmbeddedRun]) -> Iterator[Diagnostic]:
    """The findings, in which each run of the stream goes by its label."""
    sources = {id(run.source): run.labelled for run in runs if run.source and run.labelled}

    def moved(span: Span | None) -> Span | None:
        return span._replace(source=sources.get(id(span.source), span.source)) if span else None

    for finding in findings:
        notes = tuple(note._replace(span=moved(note.span)) for note in finding.notes)
        yield finding._replace(span=moved(finding.span), secret=moved(finding.secret), notes=notes)


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
