"""Separate runs from Kubernetes objects in a parsed file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from speccompile.compiler.pod_structure import members, object_span
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.documents import Document
from speccompile.model.findings import has_errors
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Source, Span
from speccompile.verify.kubectl_scalars import as_kubernetes_reads
from speccompile.verify.verify import LocatedObject
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import MAX_DEPTH, Parsed, control_character

_OWN_GROUP = "speccompile.dev/"
_TOOL_GROUPS = ("kustomize.config.k8s.io/", "config.kubernetes.io/")
"""API groups of files for tools, which no cluster has."""
_KUSTOMIZE = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
_UNUSUAL_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[bf]|u(?!003[ce]|0026))", re.IGNORECASE)
"""JSON escapes other than line ends and those that servers write; they may encode rejected characters."""


class Sorted(NamedTuple):
    """The documents of a file by type."""

    runs: Parsed
    """Runs, and documents of unknown type, with the findings about the text of the file."""
    objects: tuple[LocatedObject, ...]
    findings: tuple[Diagnostic, ...]
    """Findings about the text of a file without runs."""


def may_have_objects(text: str) -> bool:
    """Whether a text may have a document with an `apiVersion`; a backslash may be a part of an escaped key."""
    return "apiVersion" in text or "\\" in text


def sorted_out(parsed: Parsed) -> Sorted:
    """A document with an `apiVersion` other than speccompile's is an object, any other a run."""
    objects = [document for document in parsed.documents if _is_object(document.root)]
    runs = tuple(document for document in parsed.documents if not _is_object(document.root))
    if not objects:
        return Sorted(parsed, (), ())
    if runs:
        run_objects = () if has_errors(parsed.findings) else _located_objects(objects)
        return Sorted(Parsed(runs, parsed.findings), tuple(run_objects), ())
    documents, findings = as_kubernetes_reads(parsed)
    run_objects = () if has_errors(findings) else _located_objects(documents)
    return Sorted(Parsed((), ()), tuple(run_objects), findings)


def parse_quickly(source: Source) -> Parsed:
    """Parse a source; JSON is read without lines, and without detecting duplicate keys."""
    text = source.text
    if text.lstrip()[:1] == "{" and not control_character(text) and not _UNUSUAL_ESCAPE.search(text):
        try:
            return Parsed((Document(source, _node(json.loads(text, parse_constant=int), Span(source))),), ())
        except (ValueError, RecursionError):
            # The YAML parser reports the error.
            pass
    return parse(source)


def _node(data: Any, span: Span, depth: int = 0) -> Node:
    """Raise ValueError for data that is nested too deeply."""
    if depth > MAX_DEPTH:
        raise ValueError(depth)
    if isinstance(data, dict):
        return Node({key: _node(child, span, depth + 1) for key, child in data.items()}, span)
    return Node(tuple(_node(child, span, depth + 1) for child in data) if isinstance(data, list) else data, span)


def is_for_kustomize(name: str) -> bool:
    """Whether the file name is Kustomize's own; such a file needs no `apiVersion`."""
    return name in _KUSTOMIZE


def _is_object(root: Node) -> bool:
    version = root.fields.get("apiVersion")
    return version is not None and version.value is not None and not str(version.value).startswith(_OWN_GROUP)


def _located_objects(documents: Iterable[Document]) -> Iterator[LocatedObject]:
    for document in documents:
        for tree in members(document.root):
            if not str(getattr(tree.fields.get("apiVersion"), "value", "")).startswith(_TOOL_GROUPS):
                yield LocatedObject(tree, object_span(tree))
