"""Runs and Kubernetes objects told apart in a parsed file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccompile.compiler.pod_structure import members
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

_OURS = "speccompile.dev/"
_NO_OBJECTS = ("kustomize.config.k8s.io/", "config.kubernetes.io/")
"""Groups of what tools read and no cluster has."""
_KUSTOMIZE = frozenset({"kustomization.yaml", "kustomization.yml", "Kustomization"})
_ODD_ESCAPE = re.compile(r"(?<!\\)(?:\\\\)*\\(?:[bf]|u(?!003[ce]|0026))", re.IGNORECASE)
"""Escapes in JSON but for those of ends of lines, and of what servers escape; they may stand for what is refused."""


class Sorted(NamedTuple):
    """A file by what its documents are."""

    runs: Parsed
    """The documents that are runs, or should be; with everything wrong with the text of the file, unless none are."""
    objects: tuple[LocatedObject, ...]
    findings: tuple[Diagnostic, ...]
    """What is wrong with the text of a file of objects alone."""


def sorted_out(parsed: Parsed) -> Sorted:
    """Whatever has an `apiVersion` that is not ours is an object, and everything else should be a run."""
    objects = [document for document in parsed.documents if _is_object(document.root)]
    runs = tuple(document for document in parsed.documents if not _is_object(document.root))
    if not objects:
        return Sorted(parsed, (), ())
    if runs:
        run_objects = () if has_errors(parsed.findings) else _subjects(objects)
        return Sorted(Parsed(runs, parsed.findings), tuple(run_objects), ())
    documents, findings = as_kubernetes_reads(parsed)
    run_objects = () if has_errors(findings) else _subjects(documents)
    return Sorted(Parsed((), ()), tuple(run_objects), findings)


def parse_quickly(source: Source) -> Parsed:
    """The documents of a source; of JSON, no value knows its line, and a key that stands twice is not seen."""
    text = source.text
    if text.lstrip()[:1] == "{" and not control_character(text) and not _ODD_ESCAPE.search(text):
        try:
            return Parsed((Document(source, _node(json.loads(text, parse_constant=int), Span(source))),), ())
        except (ValueError, RecursionError):
            # Whoever reads it as YAML will say what it is.
            pass
    return parse(source)


def _node(data: Any, span: Span, depth: int = 0) -> Node:
    """Raises ValueError for what is nested too deep."""
    if depth > MAX_DEPTH:
        raise ValueError(depth)
    if isinstance(data, dict):
        return Node({key: _node(child, span, depth + 1) for key, child in data.items()}, span)
    return Node(tuple(_node(child, span, depth + 1) for child in data) if isinstance(data, list) else data, span)


def is_for_kustomize(name: str) -> bool:
    """Whether Kustomize alone reads a file of this name, whatever stands in it: it needs no `apiVersion` there."""
    return name in _KUSTOMIZE


def _is_object(root: Node) -> bool:
    version = root.fields.get("apiVersion")
    return version is not None and version.value is not None and not str(version.value).startswith(_OURS)


def _subjects(documents: Iterable[Document]) -> Iterator[LocatedObject]:
    for document in documents:
        for tree in members(document.root):
            if not str(getattr(tree.fields.get("apiVersion"), "value", "")).startswith(_NO_OBJECTS):
                yield LocatedObject(tree, _first_line(tree))


def _first_line(tree: Node) -> Span:
    """The place of an object as a whole: a mapping that reaches over many lines is shown by its first key."""
    keys = [child.key for child in tree.fields.values() if child.key] if isinstance(tree.value, Mapping) else []
    return min(keys, key=lambda span: (span.line, span.column), default=tree.span)
