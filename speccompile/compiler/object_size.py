"""Objects that are too large for Kubernetes, or for `kubectl apply`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccompile.compiler.pod_structure import POD_PATHS
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.key_path import KeyPath
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node

MAX_ANNOTATIONS = 256 * 1024
"""Bytes that all annotations of an object may have together."""
MAX_CONFIG_MAP = 1024 * 1024
"""Bytes that the values of a ConfigMap may have together."""
LARGEST_SMALL_TEXT = MAX_ANNOTATIONS // 8
"""Length of manifests that cannot be too large: a character takes at most 7 bytes in `kubectl apply`'s annotation and
in the annotation that it is from."""
_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_ANNOTATIONS = ("metadata", "annotations")


def oversized_objects(manifests: Iterable[Manifest]) -> Iterator[Diagnostic]:
    """Errors for objects that Kubernetes refuses, warnings for those that only `kubectl apply` cannot create."""
    for manifest in manifests:
        errors = [*_large_annotations(manifest), *_large_config_map(manifest)]
        yield from errors or _large_to_apply(manifest)


def _large_annotations(manifest: Manifest) -> Iterator[Diagnostic]:
    pod = POD_PATHS.get(manifest.kind)
    for path in (_ANNOTATIONS, *([(*pod[:-1], *_ANNOTATIONS)] if pod else [])):
        size = _annotations_size(manifest.tree.at(path))
        if size > MAX_ANNOTATIONS:
            yield Diagnostic(
                code="policy/annotations-too-large",
                message="the annotations, which include inputs and parameters, "
                f"have {size} bytes, and Kubernetes allows {MAX_ANNOTATIONS}",
                **_largest(manifest, path),
                help="pass large inputs by reference, or in a `config_map` volume",
            )
            # Those of the pod are most often the same.
            return


def _large_config_map(manifest: Manifest) -> Iterator[Diagnostic]:
    data = manifest.tree.fields.get("data") if manifest.kind == "ConfigMap" else None
    size = sum(_bytes(node.value) for node in data.fields.values()) if data else 0
    if size > MAX_CONFIG_MAP:
        yield Diagnostic(
            code="policy/refused-by-kubernetes",
            message=f"the files have {size} bytes, and a ConfigMap can have {MAX_CONFIG_MAP}",
            **_largest(manifest, ("data",)),
            help="store large files in a volume or in the image",
        )


def _large_to_apply(manifest: Manifest) -> Iterator[Diagnostic]:
    size = _annotations_size(manifest.tree.at(_ANNOTATIONS)) + len(_LAST_APPLIED) + _applied_size(manifest)
    if size > MAX_ANNOTATIONS:
        yield Diagnostic(
            code="policy/too-large-to-apply",
            message=f"the {manifest.kind} is too large for `kubectl apply`, which stores a copy of it in an "
            f"annotation: its annotations would have {size} bytes, and Kubernetes allows {MAX_ANNOTATIONS}",
            **_largest(manifest, ()),
            severity=Severity.WARNING,
            help="apply it with `kubectl apply --server-side`, or pass large values by reference",
        )


def _largest(manifest: Manifest, below: KeyPath) -> dict[str, Any]:
    """Span and path of the largest value below the path, which is the most likely cause."""
    tree = manifest.tree.at(below)
    assert tree is not None
    scalars = ((path, node) for path, node in tree.walk() if node.is_scalar)
    path, node = max(scalars, key=lambda pair: len(str(pair[1].value)))
    return {"span": node.key or node.span, "path": (*below, *path)}


def _annotations_size(annotations: Node | None) -> int:
    return sum(_bytes(key) + _bytes(node.value) for key, node in annotations.fields.items()) if annotations else 0


def _bytes(value: object) -> int:
    return len(str(value).encode())


def _applied_size(manifest: Manifest) -> int:
    """The size of the annotation: the object as JSON by Go's rules, with a namespace and annotations, and a newline."""
    data: Mapping[str, object] = manifest.data
    metadata = {"annotations": {}, "namespace": "default", **manifest.data["metadata"]}
    text = json.dumps({**data, "metadata": metadata}, ensure_ascii=False, separators=(",", ":"))
    # Go writes these as `\\u003c`, six bytes each.
    escaped = re.findall("[<>&\u2028\u2029]", text)
    return _bytes(text) + sum(6 - _bytes(char) for char in escaped) + 1
