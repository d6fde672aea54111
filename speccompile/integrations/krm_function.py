"""Replace the runs of a KRM ResourceList by manifests."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from speccompile.compiler.source_file import user_file
from speccompile.integrations.embedded_runs import CONFIG_KIND, RUN_KIND, EmbeddedRun, annotation, find_run, text_at
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Document
from speccompile.model.findings import CompileError, stop_if_any
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.schema.library import Library
from speccompile.schema.suggestions import near
from speccompile.schema.validate import validate
from speccompile.yaml_text.edit_in_place import Outline, YamlPart, part_text, read_outline, rewrite_lists
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

CONFIG = "functionConfig"
_INDEXES = ("internal.config.kubernetes.io/index", "config.kubernetes.io/index")
_SEVERITIES = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "info"}
_BOOLEANS = {"true": True, "false": False}
_LISTS = ("runs", "profiles")
Manifests = Sequence[Mapping[str, Any]]


class Resources(NamedTuple):
    """A ResourceList: the positions of its parts, and its runs."""

    outline: Outline
    runs: Mapping[int, EmbeddedRun]
    """Runs among the items, by index."""
    config_run: EmbeddedRun | None
    """The functionConfig if it is a run that is not also an item."""
    config: Parsed | None
    """The functionConfig if it is not a run."""


class Config(NamedTuple):
    """The configuration of the function: strings are paths, nodes are inline documents."""

    runs: tuple[str | Node, ...] = ()
    profiles: tuple[str | Node, ...] = ()
    platform: str | Node | None = None
    project: str | None = None
    strict: bool = False


def read_resources(source: Source, library: Library) -> Resources:
    """Read a ResourceList. Raises CompileError if the text is something else."""
    outline = read_outline(source)
    _, findings = validate(outline.root.node(), "resourcelist", library)
    parts = {key: value for key, (_, value) in (outline.root.fields or {}).items()}
    items = (parts["items"].items if "items" in parts else None) or ()
    stop_if_any((*findings, *_foreign_aliases(items, outline)))
    runs = {index: run for index, item in enumerate(items) if (run := find_run(part_text(item, source.text)))}
    if CONFIG not in parts or parts[CONFIG].node().value is None:
        return Resources(outline, runs, None, None)
    text = part_text(parts[CONFIG], source.text)
    run = find_run(text)
    if run and (run.root is None or near(text_at(run.root, "kind"), (RUN_KIND, CONFIG_KIND)) != CONFIG_KIND):
        return Resources(outline, runs, None if _is_repeated(run, runs.values()) else run, None)
    return Resources(outline, runs, None, parse(Source(f"<{CONFIG}>", text, Layer.RUN)))


def _foreign_aliases(items: Sequence[YamlPart], outline: Outline) -> Iterator[Diagnostic]:
    """A finding for each item that is an alias of something other than an item, and could hide a run."""
    starts = {item.start for item in items}
    repeated = {alias.start for alias in outline.aliases if alias.anchor in starts}
    for item in items:
        if item.is_alias and item.start not in repeated:
            yield Diagnostic(
                code="schema/wrong-type",
                message="expected a resource, found an alias of something other than an item",
                span=item.span,
                help="write the resource out",
            )


def _is_repeated(run: EmbeddedRun, items: Iterable[EmbeddedRun]) -> bool:
    """Whether the same run is among the items: Kustomize puts generators there as well."""
    roots = [document.root for document in run.parsed.documents]
    others = [[document.root for document in item.parsed.documents] for item in items]
    return bool(roots) and any(len(roots) == len(other) and roots[0].is_like(other[0]) for other in others)


def read_config(parsed: Parsed | None, fixed: Collection[str], library: Library) -> Config:
    """Read the functionConfig, which must not set `fixed` inputs. Raises CompileError with all findings."""
    if parsed is None:
        return Config()
    stop_if_any(parsed.findings)
    config = parsed.documents[0].root
    is_map = (text_at(config, "apiVersion"), text_at(config, "kind")) == ("v1", "ConfigMap")
    tree, findings = validate(_from_config_map(config) if is_map else config, "compile", library)
    stop_if_any(findings)
    spec = tree.fields["spec"].fields if "spec" in tree.fields else {}
    stop_if_any(_fixed_input(key, node) for key, node in spec.items() if key in fixed)
    runs, profiles = (tuple(map(_path_or_node, spec[key].items)) if key in spec else () for key in _LISTS)
    return Config(
        runs=runs,
        profiles=profiles,
        platform=_path_or_node(spec["platform"]) if "platform" in spec else None,
        project=str(spec["project"].value) if "project" in spec else None,
        strict="strict" in spec and spec["strict"].value is True,
    )


def _fixed_input(name: str, node: Node) -> Diagnostic:
    return Diagnostic(
        code="schema/conflict",
        message=f"the command line fixes `{name}`",
        span=node.key or node.span,
        path=("spec", name),
        help="remove it",
    )


def _path_or_node(node: Node) -> str | Node:
    return node.value if isinstance(node.value, str) else node


def _from_config_map(config: Node) -> Node:
    """A ConfigMap as a Compile: its data are strings, in which lists have a line for each item."""
    data = config.fields.get("data", Node({}, config.span))
    fields = {key: _from_text(key, node) for key, node in data.fields.items()}
    head = {"apiVersion": "speccompile.dev/v1alpha1", "kind": CONFIG_KIND}
    envelope = {key: Node(value, config.span) for key, value in head.items()}
    return config.with_fields({**envelope, "spec": data.with_fields(fields) if fields else data})


def _from_text(key: str, node: Node) -> Node:
    if key in _LISTS and isinstance(node.value, str):
        return node.but(value=tuple(Node(line.strip(), node.span) for line in node.value.strip().split("\n")))
    return node.but(value=_BOOLEANS.get(str(node.value), node.value)) if key == "strict" else node


def document_of(node: Node, layer: Layer) -> Parsed:
    """An inline document as a document of another layer."""
    source = node.span.source._replace(layer=layer)
    return Parsed((Document(source, _with_source(node, source)),), ())


def _with_source(node: Node, source: Source) -> Node:
    key = node.key._replace(source=source) if node.key else None
    moved = node.but(span=node.span._replace(source=source), key=key)
    return moved.mapped(lambda child: _with_source(child, source))


def with_manifests(
    resources: Resources, manifests: Mapping[int, Manifests], added: Manifests, results: Manifests
) -> str:
    """The text with each run replaced by its manifests, and with `added` and `results` appended to their lists.

    Raises CompileError if it is written in a way that cannot be edited safely.
    """
    return rewrite_lists(resources.outline, "items", {"items": added, "results": results}, manifests)


def with_results(resources: Resources, results: Manifests) -> str:
    """The text with the results appended, or unchanged if they cannot be."""
    try:
        return with_manifests(resources, {}, (), results)
    except CompileError:
        return resources.outline.source.text


def results_of(findings: Iterable[Diagnostic], runs: Iterable[EmbeddedRun]) -> list[dict[str, Any]]:
    """The findings as results of a ResourceList."""
    # By identity: two runs may have the same name and text.
    by_source = {id(run.labelled): run for run in runs if run.labelled}
    return [_result(finding, by_source.get(id(finding.span.source)) if finding.span else None) for finding in findings]


def _result(finding: Diagnostic, run: EmbeddedRun | None) -> dict[str, Any]:
    result: dict[str, Any] = {
        "message": f"{finding.message}; {finding.help}" if finding.help else finding.message,
        "severity": _SEVERITIES[finding.severity],
        "tags": {"code": finding.code},
    }
    if finding.span is None:
        return result
    if run is None:
        file = user_file(finding.span.source)
        return {**result, "file": {"path": file}} if file else result
    if run.root is not None:
        result["resourceRef"] = _reference(run.root)
        if path := _path_of(finding.span, run.root):
            result["field"] = {"path": path}
    if run.file is not None:
        index = next(filter(str.isdecimal, (annotation(run.root, key) for key in _INDEXES)), None)
        result["file"] = {"path": run.file, **({"index": int(index)} if index and len(index) < _LONGEST_INDEX else {})}
    return result


_LONGEST_INDEX = 10
"""The limit of digits in the index of a document in its file."""


def _reference(root: Node | None) -> dict[str, str]:
    result = {
        "apiVersion": text_at(root, "apiVersion"),
        "kind": text_at(root, "kind"),
        "name": text_at(root, "metadata", "name"),
        "namespace": text_at(root, "metadata", "namespace"),
    }
    return {key: text for key, text in result.items() if text}


def _path_of(span: Span, root: Node) -> str:
    """The path of the value at a place, with the keys of the item as written.

    A mapping begins at its first key; a finding about all of it, such as a missing key, has the same end as well.
    """
    whole, first = _paths_by_place(root)
    path = whole.get(span[1:])
    return format_path(first.get((span.line, span.column), ()) if path is None else path)


@by_identity(8)
def _paths_by_place(root: Node) -> tuple[Mapping[tuple[int, ...], KeyPath], Mapping[tuple[int, int], KeyPath]]:
    """Paths of mappings and lists by their spans, and of scalars and keys by their starts; cached for many findings."""
    whole: dict[tuple[int, ...], KeyPath] = {}
    first: dict[tuple[int, int], KeyPath] = {}
    for path, node in root.walk():
        if not node.is_scalar:
            whole.setdefault(node.span[1:], path)
        for place in (node.key, node.span if node.is_scalar else None):
            if place:
                first.setdefault((place.line, place.column), path)
    return whole, first
