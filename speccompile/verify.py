"""Takes a compilation and a version of Kubernetes, gives what the API schemas of that version have against it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from speccompile.diagnostics import Diagnostic, Note, in_order, shown
from speccompile.model import Manifest, Node, Run, format_path
from speccompile.pipeline import Compiled
from speccompile.resources import bundled_library
from speccompile.validate import translated

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

CODE = "api/violation"
_VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+", re.ASCII)


def violations(compiled: Compiled, version: str) -> tuple[Diagnostic, ...]:
    """What a cluster of the version (`1.33.0`) would refuse, at the line of the run, profile or template behind it.

    Unknown fields count. The schemas are those of the package `kubernetes-validate`; raises FileNotFoundError for a
    version or a kind that it does not have, and ModuleNotFoundError if it is not installed.
    """
    return in_order(
        finding for manifest in compiled.manifests for finding in _violations(manifest, compiled.run, version)
    )


def _violations(manifest: Manifest, run: Run, version: str) -> Iterator[Diagnostic]:
    data = manifest.data
    what = f"in {manifest.kind} {shown(manifest.name)}, by the API of Kubernetes {version}"
    for error in validator_of(version, data["apiVersion"], manifest.kind).iter_errors(data):
        for found in translated(error, manifest.tree, bundled_library()):
            at = Note(f"`{format_path(found.path)}` {what}" if found.path else what)
            yield replace(found, code=CODE, notes=(*found.notes, at), **_placed(found, manifest.tree, run))


def _placed(found: Diagnostic, tree: Node, run: Run) -> dict[str, Any]:
    """A line that somebody can change: where no line is behind the value, that of the nearest value around it."""
    around = (tree.at(found.path[:length]) for length in range(len(found.path), 0, -1))
    spans = (found.span, *(node.place for node in around if node), run.name.span)
    return {"span": next((span for span in spans if span and span.line), run.name.span)}


@cache
def validator_of(version: str, api_version: str, kind: str) -> Validator:
    """The validator of a kind; groups stand in file names without their domain, as `networking-v1`."""
    from jsonschema import Draft202012Validator  # slow to import
    from referencing import Registry, Resource

    group, _, number = api_version.rpartition("/")
    parts = [kind.lower(), *([group.partition(".")[0]] if group else []), number]
    definitions: Resource[Any] = Resource.from_contents(_read(version, "_definitions.json"))
    registry: Registry[Any] = Registry()
    schema = _read(version, f"{'-'.join(parts)}.json")
    validator: Validator = Draft202012Validator(schema, registry=(definitions @ registry).crawl())
    return validator


@cache
def _read(version: str, name: str) -> Any:
    if not _VERSION.fullmatch(version):
        raise FileNotFoundError(f"{version!r} is no version of Kubernetes, such as '1.33.0'")
    folder = files("kubernetes_validate") / "kubernetes-json-schema" / f"v{version}-local-strict"
    return json.loads((folder / name).read_text(encoding="utf-8"))
