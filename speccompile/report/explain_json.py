"""Explanations as JSON (`schemas/reports/explain.schema.json`)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from speccompile.compiler.compiled import Compiled
from speccompile.compiler.explain import Explanation, Line, rule_between, unseen_overrides
from speccompile.model.key_path import format_path
from speccompile.model.node import Node
from speccompile.model.origin import Origin, origin_of
from speccompile.model.redaction import is_hidden
from speccompile.report.findings_json import REPORT_VERSION, place_data, to_json


def as_explained_json(explained: Iterable[tuple[Compiled, Sequence[Explanation]]]) -> str:
    """Compiled runs with their explanations, as one JSON document."""
    return to_json({"version": REPORT_VERSION, "runs": [_run(compiled, parts) for compiled, parts in explained]})


def _run(compiled: Compiled, parts: Sequence[Explanation]) -> dict[str, Any]:
    profile = compiled.profile
    return {
        "project": compiled.project,
        "name": compiled.name,
        "place": place_data(compiled.run.name.span),
        "profile": {"id": profile.id.value, "place": place_data(profile.id.span)} if profile else None,
        "manifests": [_manifest(part) for part in parts],
        "unseen": [
            {
                "path": format_path(override.path),
                "value": value_data(override.overridden),
                "origin": origin_data(origin_of(override.overridden)),
                "rule": rule_between(override.overridden, override.overriding),
                "by": origin_data(origin_of(override.overriding)),
            }
            for override in unseen_overrides(compiled.replaced, compiled.manifests)
        ],
    }


def _manifest(part: Explanation) -> dict[str, Any]:
    manifest = part.manifest
    return {
        "api_version": manifest.tree.fields["apiVersion"].value,
        "kind": manifest.kind,
        "name": manifest.name,
        "path": format_path(part.path),
        "values": [_line(line) for line in part.lines if line.origin or line.overridden],
    }


def _line(line: Line) -> dict[str, Any]:
    return {
        "path": format_path(line.path),
        "value": line.value.plain(),
        "origin": origin_data(line.origin) if line.origin else None,
        "overridden": [
            {"value": value_data(one.value), "origin": origin_data(one.origin), "rule": one.rule}
            for one in line.overridden
        ],
    }


def value_data(node: Node) -> Any:
    """The value, or null if its line may contain a secret."""
    return None if is_hidden(node) else node.plain()


def origin_data(origin: Origin) -> dict[str, Any]:
    """An origin as JSON data."""
    return {
        "layer": str(origin.layer),
        "part": str(origin.part),
        "place": place_data(origin.span),
        "derived": origin.derived,
        "derived_from": [origin_data(inner) for inner in origin.derived_from],
    }
