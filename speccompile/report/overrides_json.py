"""Values that admins overrode, extended or refused, as JSON (`schemas/reports/overrides.schema.json`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.compiled import Result
from speccompile.compiler.explain import rule_between
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.diagnostic_codes import Code
from speccompile.model.documents import Run
from speccompile.model.findings import CompileError
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.node import Node
from speccompile.model.origin import Origin, Override, OverrideKind, origin_of
from speccompile.model.source import USER_LAYERS
from speccompile.report.explain_json import origin_data, value_data
from speccompile.report.findings_json import REPORT_VERSION, place_data, to_json
from speccompile.schema.field_path import node_at

GENERATOR = '"generator": "speccompile"'
"""Text by which an existing report is recognized, so that it may be replaced."""
_CODES = {OverrideKind.REPLACED: "merge/overridden", OverrideKind.EXTENDED: "merge/extended"}
_BOTH_APPLY = "the field is merged: the values of the run apply, and so do the added ones"
_PARTS = {"rule": "rule", "policy": "setting"}
"""The part of the admin's file that refuses a value, by the group of the code."""


def as_overrides_json(entries: Iterable[Mapping[str, Any]]) -> str:
    """The report of all entries."""
    return to_json({"generator": "speccompile", "version": REPORT_VERSION, "overrides": list(entries)})


def override_entries(result: Result, codes: Mapping[str, Code]) -> Iterator[dict[str, Any]]:
    """An entry for each value of the run that a profile or the platform overrode, extended or refused."""
    for override in result.overrides:
        yield _replaced(override, result.run)
    for finding in result.diagnostics if isinstance(result, CompileError) else ():
        if codes[finding.code].refuses and finding.span and finding.span.source.layer in USER_LAYERS:
            yield _refused(finding, result.run)


def _replaced(override: Override, run: Run | None) -> dict[str, Any]:
    overridden, overriding, change = override.overridden, override.overriding, override.change
    return {
        "run": _name(run),
        "change": str(change),
        "code": _CODES[change],
        "path": format_path(override.path),
        "place": place_data(overridden.place),
        "value": value_data(overridden),
        "by": [{"value": value_data(overriding), "origin": origin_data(origin_of(overriding))}],
        "rule": rule_between(overridden, overriding) if change is OverrideKind.REPLACED else _BOTH_APPLY,
    }


def _refused(finding: Diagnostic, run: Run | None) -> dict[str, Any]:
    value = _value_at(finding.path, run) if run else None
    part = _PARTS[finding.code.partition("/")[0]]
    against = [note.span for note in finding.notes if note.span]
    return {
        "run": _name(run),
        "change": "refused",
        "code": finding.code,
        "path": format_path(finding.path),
        "place": place_data(finding.span),
        "value": value_data(value) if value else None,
        "by": [
            {"value": None, "origin": {**origin_data(Origin(span.source.layer, span)), "part": part}}
            for span in against
        ],
        "rule": "; ".join((finding.message, *(note.message for note in finding.notes))),
    }


def _value_at(path: KeyPath, run: Run) -> Node | None:
    """The run's value at the path of a finding; list items are found by their key."""
    return run.profile if path == ("profile",) else node_at(run.fields, path, bundled_library()) if path else None


def _name(run: Run | None) -> str | None:
    return f"{run.project.value}/{run.name.value}" if run else None
