"""Takes a ResourceList as text, gives its runs, what it says of the function, and it with manifests and results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from speccompile.diagnostics import Diagnostic, Severity, stop_if_any
from speccompile.library import Library
from speccompile.model import Document, Layer, Node, Source, Span, format_path
from speccompile.outline import Part, appended, edited, outline, replaced, text_of
from speccompile.parse import Parsed, parse
from speccompile.pieces import CONFIG_KIND, Found, annotation, find_run, text_at
from speccompile.report.place import file_of
from speccompile.validate import validate

CONFIG = "functionConfig"
_INDEXES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")
_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "info"}
_TRUTH = {"true": True, "false": False}
_LISTS = ("runs", "profiles")
Manifests = Sequence[Mapping[str, Any]]


class Resources(NamedTuple):
    """A ResourceList: where its parts stand, and its runs."""

    text: str
    root: Part
    runs: Mapping[int, Found]
    """By the item that they are."""
    own_run: Found | None
    """The run that is the functionConfig, unless it is an item as well."""
    config: Node | None
    """The functionConfig, unless it is a run."""


class Config(NamedTuple):
    """What the function is to do: texts are paths, nodes stand for themselves."""

    runs: tuple[str | Node, ...] = ()
    profiles: tuple[str | Node, ...] = ()
    platform: str | Node | None = None
    project: str | None = None
    strict: bool = False


def read_resources(source: Source, library: Library) -> Resources:
    """Raises CompileError if the text is no ResourceList, or what it says of the function cannot be read."""
    root = outline(source)
    _, findings = validate(root.node(), "resourcelist", library)
    stop_if_any(findings)
    parts = {key: value for key, (_, value) in (root.fields or {}).items()}
    items = parts["items"].items if "items" in parts else ()
    texts = (text_of(item, source.text) for item in items or ())
    runs = {index: run for index, text in enumerate(texts) if (run := find_run(text))}
    if CONFIG not in parts or parts[CONFIG].node().value is None:
        return Resources(source.text, root, runs, None, None)
    text = text_of(parts[CONFIG], source.text)
    if run := find_run(text):
        # Kustomize puts what generates resources among the items as well.
        known = [_reference(item.root) for item in runs.values()]
        return Resources(source.text, root, runs, None if _reference(run.root) in known else run, None)
    parsed = parse(Source(f"<{CONFIG}>", text, Layer.PLATFORM))
    stop_if_any(parsed.findings)
    return Resources(source.text, root, runs, None, parsed.documents[0].root)


def read_config(config: Node | None, library: Library) -> Config:
    """Raises CompileError with all that is wrong with it."""
    if config is None:
        return Config()
    is_map = (text_at(config, "apiVersion"), text_at(config, "kind")) == ("v1", "ConfigMap")
    tree, findings = validate(_from_config_map(config) if is_map else config, "compile", library)
    stop_if_any(findings)
    spec = tree.fields["spec"].fields if "spec" in tree.fields else {}
    runs, profiles = (tuple(map(_said, spec[key].items)) if key in spec else () for key in _LISTS)
    return Config(
        runs=runs,
        profiles=profiles,
        platform=_said(spec["platform"]) if "platform" in spec else None,
        project=str(spec["project"].value) if "project" in spec else None,
        strict="strict" in spec and spec["strict"].value is True,
    )


def _said(node: Node) -> str | Node:
    return node.value if isinstance(node.value, str) else node


def _from_config_map(config: Node) -> Node:
    """A ConfigMap as the Compile it stands for: its data are texts, and lists have a line for each item."""
    data = config.fields.get("data", Node({}, config.span))
    told = {key: _from_text(key, node) for key, node in data.fields.items()}
    head = {"apiVersion": "speccompile.dev/v1alpha1", "kind": CONFIG_KIND}
    envelope = {key: Node(value, config.span) for key, value in head.items()}
    return config.with_fields({**envelope, "spec": data.with_fields(told) if told else data})


def _from_text(key: str, node: Node) -> Node:
    if key in _LISTS and isinstance(node.value, str):
        return replace(node, value=tuple(Node(line.strip(), node.span) for line in node.value.strip().split("\n")))
    return replace(node, value=_TRUTH.get(str(node.value), node.value)) if key == "strict" else node


def document_of(node: Node, layer: Layer) -> Parsed:
    """A document that stands inside another one, speaking for a layer of its own."""
    source = replace(node.span.source, layer=layer)
    return Parsed((Document(source, _moved(node, source)),), ())


def _moved(node: Node, source: Source) -> Node:
    key = node.key._replace(source=source) if node.key else None
    moved = replace(node, span=node.span._replace(source=source), key=key)
    return moved.mapped(lambda child: _moved(child, source))


def with_manifests(resources: Resources, manifests: Mapping[int, Manifests], added: Manifests) -> str:
    """The text with the manifests of each run in its place, and those of others behind the last item."""
    text, root = resources.text, resources.root
    edits = [replaced((root.fields or {})["items"][1], index, made, text) for index, made in manifests.items()]
    if added:
        edits.append(appended(root, "items", added, text))
    return edited(text, edits)


def with_results(text: str, results: Manifests) -> str:
    """The text of a ResourceList with the results behind those it has; without any, as it is."""
    if not results:
        return text
    root = outline(Source("", text, Layer.RUN))
    return edited(text, [appended(root, "results", results, text)])


def results_of(findings: Iterable[Diagnostic], runs: Iterable[Found]) -> list[dict[str, Any]]:
    """The findings as a ResourceList tells them."""
    known = {run.label: run for run in runs if run.source}
    return [_result(finding, known.get(finding.span.source.name) if finding.span else None) for finding in findings]


def _result(finding: Diagnostic, run: Found | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "message": f"{finding.message}; {finding.help}" if finding.help else finding.message,
        "severity": _SEVERITIES[finding.severity],
        "tags": {"code": finding.code},
    }
    if finding.span is None:
        return told
    if run is None:
        file = file_of(finding.span.source)
        return {**told, "file": {"path": file}} if file else told
    if run.root is not None:
        told["resourceRef"] = _reference(run.root)
        if path := _path_of(finding.span, run.root):
            told["field"] = {"path": path}
    if run.file is not None:
        index = next(filter(str.isdecimal, (annotation(run.root, key) for key in _INDEXES)), None)
        told["file"] = {"path": run.file, **({"index": int(index)} if index and len(index) < _LONGEST_INDEX else {})}
    return told


_LONGEST_INDEX = 10
"""Digits that the number of a document in its file may have."""


def _reference(root: Node | None) -> dict[str, str]:
    told = {
        "apiVersion": text_at(root, "apiVersion"),
        "kind": text_at(root, "kind"),
        "name": text_at(root, "metadata", "name"),
        "namespace": text_at(root, "metadata", "namespace"),
    }
    return {key: text for key, text in told.items() if text}


def _path_of(span: Span, root: Node) -> str:
    """The path of what stands at the place, in the words of the item itself."""
    for path, node in root.walk():
        places = [place for place in (node.key, node.span if node.is_scalar else None) if place]
        if any((place.line, place.column) == (span.line, span.column) for place in places):
            return format_path(path)
    return ""
