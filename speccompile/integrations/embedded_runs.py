"""Runs in the streams of other tools, compiled in place."""

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
"""The Kubernetes kind that contains other objects."""
CONFIG_KIND = "Compile"
"""The kind that configures the KRM function."""
HELM_FILE = "postrenderer.helm.sh/postrender-filename"
_GROUP = "speccompile.dev"
_GROUP_KEY = r"""["']?apiVersion["']?\s*:\s*["']?speccompile\.dev/"""
_FLOW_GROUP_KEY = re.compile(rf"\{{[^{{}}\[\]]*?{_GROUP_KEY}")
_FILE_ANNOTATIONS = ("internal.config.kubernetes.io/path", "config.kubernetes.io/path", HELM_FILE)
"""Annotations of kpt, Kustomize and Helm with the file of a document."""


class EmbeddedRun(NamedTuple):
    """A run in a stream: a document with a separate source, whose lines are not those of a file."""

    parsed: Parsed
    root: Node | None = None
    """The run as written, with the annotations of tools; None if the text is not valid YAML."""
    source: Source | None = None
    labelled: Source | None = None
    """The source with a name that users recognize."""
    file: str | None = None
    """The file of the run, if the stream names it."""


class CompiledRuns(NamedTuple):
    """The compiled runs of a stream."""

    manifests: tuple[tuple[dict[str, Any], ...], ...]
    """The manifests of each run, in order; a run with errors has none."""
    findings: tuple[Diagnostic, ...]
    """The findings of runs without errors."""
    stopping: tuple[Diagnostic, ...]
    """The findings of runs with errors."""


def find_run(text: str, file: str | None = None) -> EmbeddedRun | None:
    """The run in the text, valid or not; None if it is something else."""
    if _GROUP not in text:
        return None
    source = Source(file or STREAM_NAME, text, Layer.RUN)
    parsed = parse(source)
    roots = [document.root for document in parsed.documents]
    refused = tuple(_run_in_list(run) for root in roots for run in _runs_in_list(root))
    if not refused and not (any(map(is_run, roots)) if roots else _looks_like_run(text)):
        return None
    documents = (
        () if refused else (one._replace(root=without_tool_annotations(one.root)[0]) for one in parsed.documents)
    )
    root = roots[0] if roots else None
    annotated = next(filter(None, (annotation(root, key) for key in _FILE_ANNOTATIONS)), file)
    name = quote(annotated, 200)[1:-1] if annotated else None
    label = _label(root, name, CONTAINER_KIND if refused else RUN_KIND)
    run = Parsed(tuple(documents), (*parsed.findings, *refused))
    return EmbeddedRun(run, root, source, source._replace(name=label), name)


def _looks_like_run(text: str) -> bool:
    """Whether a document that is not valid YAML has the group of runs in a top-level `apiVersion`."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    column = len(lines[0]) - len(lines[0].lstrip()) if lines else 0
    top_level = re.compile(f" {{{column}}}{_GROUP_KEY}")
    return bool(_FLOW_GROUP_KEY.match(text.lstrip())) or any(map(top_level.match, lines))


def _label(root: Node | None, file: str | None, kind: str) -> str:
    """A name for the run that users recognize."""
    name = text_at(root, "metadata", "name")
    run = f"{kind} {quote(name)[1:-1]}" if name else f"a {kind}"
    return f"{file} ({run})" if file else run


def _runs_in_list(root: Node) -> Iterator[Node]:
    """The runs in a Kubernetes List, and in Lists inside it."""
    if text_at(root, "kind") == CONTAINER_KIND and "items" in root.fields:
        for item in root.fields["items"].items:
            yield from (item,) if is_run(item) else _runs_in_list(item)


def _run_in_list(run: Node) -> Diagnostic:
    return Diagnostic(
        code="run/unknown-form",
        message=f"a run in a `{CONTAINER_KIND}` is not compiled",
        span=(run.fields.get("kind") or run).span,
        help="write it as a separate document",
    )


def is_run(root: Node) -> bool:
    """Whether this is meant as a run: an unknown kind of the group may be a typo."""
    group = text_at(root, "apiVersion").partition("/")[0]
    return group == _GROUP and text_at(root, "kind") != CONFIG_KIND


def compile_embedded(runs: Sequence[EmbeddedRun], setting: Setting) -> CompiledRuns:
    """Compile all runs; two that create the same object are refused."""
    results = compile_files((run.parsed for run in runs), setting)
    manifests: list[tuple[dict[str, Any], ...]] = []
    findings: list[Diagnostic] = []
    stopping: list[Diagnostic] = []
    for run in runs:
        data: list[dict[str, Any]] = []
        for result in islice(results, 1 if has_errors(run.parsed.findings) else len(run.parsed.documents)):
            if isinstance(result, CompileError):
                stopping += result.diagnostics
            else:
                findings += result.diagnostics
                data += (manifest.data for manifest in result.manifests)
        manifests.append(tuple(data))
    return CompiledRuns(tuple(manifests), tuple(_with_labels(findings, runs)), tuple(_with_labels(stopping, runs)))


def _with_labels(findings: Iterable[Diagnostic], runs: Iterable[EmbeddedRun]) -> Iterator[Diagnostic]:
    """The findings, with the label of each run as the name of its source."""
    sources = {id(run.source): run.labelled for run in runs if run.source and run.labelled}

    def moved(span: Span | None) -> Span | None:
        return span._replace(source=sources.get(id(span.source), span.source)) if span else None

    for finding in findings:
        notes = tuple(note._replace(span=moved(note.span)) for note in finding.notes)
        yield finding._replace(span=moved(finding.span), notes=notes)


def annotation(root: Node | None, key: str) -> str:
    return text_at(root, "metadata", "annotations", key)


def text_at(root: Node | None, *path: str) -> str:
    """The string at the path; empty if there is none."""
    node = root.at(path) if root else None
    return node.value if node is not None and isinstance(node.value, str) else ""


def with_annotation(manifest: Mapping[str, Any], key: str, value: str) -> dict[str, Any]:
    """The manifest with one more annotation, on the object and not on its pods."""
    metadata = manifest["metadata"]
    annotations = {**metadata.get("annotations", {}), key: value}
    return {**manifest, "metadata": {**metadata, "annotations": annotations}}
