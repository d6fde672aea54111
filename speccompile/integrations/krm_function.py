"""A KRM ResourceList with its runs replaced by manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from speccompile.compiler.source_file import user_file
from speccompile.integrations.embedded_runs import CONFIG_KIND, RUN_KIND, EmbeddedRun, annotation, find_run, text_at
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.key_path import format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.redaction import HIDDEN, lines_of, secret_lines
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near
from speccompile.schema.validate import validate
from speccompile.yaml_text.edit_in_place import Outline, Part, outline, rewritten, text_of
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

CONFIG = "functionConfig"
_INDEXES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")
_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "info"}
_TRUTH = {"true": True, "false": False}
_LISTS = ("runs", "profiles")
Manifests = Sequence[Mapping[str, Any]]


class Resources(NamedTuple):
    """A ResourceList: where its parts stand, and its runs."""

    known: Outline
    runs: Mapping[int, EmbeddedRun]
    """By the item that they are."""
    own_run: EmbeddedRun | None
    """The run that is the functionConfig, unless it is an item as well."""
    config: Parsed | None
    """The functionConfig, unless it is a run."""


class Config(NamedTuple):
    """What the function is to do: texts are paths, nodes stand for themselves."""

    runs: tuple[str | Node, ...] = ()
    profiles: tuple[str | Node, ...] = ()
    platform: str | Node | None = None
    project: str | None = None
    strict: bool = False


def read_resources(source: Source, library: Library) -> Resources:
    """Raises CompileError if the text is no ResourceList."""
    known = outline(source)
    _, findings = validate(known.root.node(), "resourcelist", library)
    parts = {key: value for key, (_, value) in (known.root.fields or {}).items()}
    items = (parts["items"].items if "items" in parts else None) or ()
    stop_if_any((*findings, *_foreign_aliases(items, known)))
    runs = {index: run for index, item in enumerate(items) if (run := find_run(text_of(item, source.text)))}
    if CONFIG not in parts or parts[CONFIG].node().value is None:
        return Resources(known, runs, None, None)
    text = text_of(parts[CONFIG], source.text)
    run = find_run(text)
    if run and (run.root is None or near(text_at(run.root, "kind"), (RUN_KIND, CONFIG_KIND)) != CONFIG_KIND):
        return Resources(known, runs, None if _is_among(run, runs.values()) else run, None)
    # Inline runs may hold secrets, and only what is of a run is kept from being shown.
    return Resources(known, runs, None, parse(Source(f"<{CONFIG}>", text, Layer.RUN)))


def _foreign_aliases(items: Sequence[Part], known: Outline) -> Iterator[Diagnostic]:
    """A finding for each alias among the items that stands for no other item, and so might be a run unseen."""
    starts = {item.start for item in items}
    repeated = {alias.start for alias in known.aliases if alias.anchor in starts}
    for item in items:
        if item.is_alias and item.start not in repeated:
            yield Diagnostic(
                code="schema/wrong-type",
                message="expected a resource, found an alias of something that is none of the items",
                span=item.span,
                help="write the resource out",
            )


def _is_among(run: EmbeddedRun, items: Iterable[EmbeddedRun]) -> bool:
    """Whether the same stands among the items: Kustomize puts what generates resources there as well."""
    own = [document.root for document in run.parsed.documents]
    others = [[document.root for document in item.parsed.documents] for item in items]
    return bool(own) and any(len(own) == len(other) and own[0].is_like(other[0]) for other in others)


def read_config(parsed: Parsed | None, library: Library) -> Config:
    """Raises CompileError with all that is wrong with it."""
    if parsed is None:
        return Config()
    stop_if_any(parsed.findings)
    config = parsed.documents[0].root
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
        return node.but(value=tuple(Node(line.strip(), node.span) for line in node.value.strip().split("\n")))
    return node.but(value=_TRUTH.get(str(node.value), node.value)) if key == "strict" else node


def document_of(node: Node, layer: Layer) -> Parsed:
    """A document that stands inside another one, speaking for a layer of its own; secrets beside it stay hidden."""
    source = node.span.source
    lines = (HIDDEN if number in secret_lines(source) else line for number, line in enumerate(lines_of(source), 1))
    source = source._replace(layer=layer, text="\n".join(lines) if layer is Layer.PLATFORM else source.text)
    return Parsed((Document(source, _moved(node, source)),), ())


def _moved(node: Node, source: Source) -> Node:
    key = node.key._replace(source=source) if node.key else None
    moved = node.but(span=node.span._replace(source=source), key=key)
    return moved.mapped(lambda child: _moved(child, source))


def answered(resources: Resources, manifests: Mapping[int, Manifests], added: Manifests, results: Manifests) -> str:
    """The text with the manifests of each run in its place, those of others and the results behind what there is.

    Raises CompileError if it is written so that others' resources might suffer.
    """
    return rewritten(resources.known, "items", {"items": added, "results": results}, manifests)


def refused(resources: Resources, results: Manifests) -> str:
    """The text with the results behind those it has, or as it is if they cannot be put there."""
    try:
        return answered(resources, {}, (), results)
    except CompileError:
        return resources.known.source.text


def results_of(findings: Iterable[Diagnostic], runs: Iterable[EmbeddedRun]) -> list[dict[str, Any]]:
    """The findings as a ResourceList tells them."""
    # By identity: two runs may have one name, and even one text.
    known = {id(run.labelled): run for run in runs if run.labelled}
    return [_result(finding, known.get(id(finding.span.source)) if finding.span else None) for finding in findings]


def _result(finding: Diagnostic, run: EmbeddedRun | None) -> dict[str, Any]:
    told: dict[str, Any] = {
        "message": f"{finding.message}; {finding.help}" if finding.help else finding.message,
        "severity": _SEVERITIES[finding.severity],
        "tags": {"code": finding.code},
    }
    if finding.span is None:
        return told
    if run is None:
        file = user_file(finding.span.source)
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
    """The path of what stands at the place, in the words of the item itself.

    A mapping begins where its first key does; a finding about all of it, such as a missing key, ends where it ends.
    """
    nodes = list(root.walk())
    whole = (path for path, node in nodes if not node.is_scalar and node.span[1:] == span[1:])
    first = (
        path
        for path, node in nodes
        for place in (node.key, node.span if node.is_scalar else None)
        if place and (place.line, place.column) == (span.line, span.column)
    )
    return format_path(next(chain(whole, first), ()))
