"""Takes results, gives what admins did to users' values as JSON: schemas/reports/overrides.schema.json."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from speccompile.batch import Result
from speccompile.codes import Code
from speccompile.diagnostics import CompileError, Diagnostic
from speccompile.explain import rule_between
from speccompile.hush import may_tell
from speccompile.model import Change, Layer, Origin, Override, format_path, origin_of
from speccompile.pipeline import Compiled
from speccompile.report.data import VERSION, place_data, written
from speccompile.report.explained import origin_data, value_data
from speccompile.validate import as_written

GENERATOR = '"generator": "speccompile"'
"""By which a report of ours is known."""
REFUSED = "refused"
_CHANGES = {"merge/overridden": str(Change.REPLACED), "merge/extended": str(Change.EXTENDED)}
_CODES = {change: code for code, change in _CHANGES.items()}
_BOTH_HOLD = "fields of this kind add up: what the run says holds, and so does what is added"


def as_overrides_json(entries: Iterable[Mapping[str, Any]]) -> str:
    """The report of all entries."""
    return written({"generator": "speccompile", "version": VERSION, "overrides": list(entries)})


def override_entries(result: Result, codes: Mapping[str, Code]) -> Iterator[dict[str, Any]]:
    """An entry for each value of the run that a profile or the platform replaced, added to or refused.

    Of a run that does not compile, what the findings tell.
    """
    if isinstance(result, CompileError):
        for finding in result.diagnostics:
            change = _change(finding, codes)
            if change and finding.span and finding.span.source.layer is Layer.RUN:
                yield _told(finding, change)
        return
    yield from (_entry(result, override) for override in result.overrides)


def _change(finding: Diagnostic, codes: Mapping[str, Code]) -> str | None:
    if finding.code in _CHANGES:
        return _CHANGES[finding.code]
    return REFUSED if finding.code in codes and codes[finding.code].refuses else None


def _entry(compiled: Compiled, override: Override) -> dict[str, Any]:
    extended = override.change is Change.EXTENDED
    return {
        "run": f"{compiled.project}/{compiled.name}",
        "change": str(override.change),
        "code": _CODES[override.change],
        "path": format_path(override.path),
        "place": place_data(override.lost.place),
        "value": value_data(override.lost),
        "by": [{"value": value_data(override.won), "origin": origin_data(origin_of(override.won))}],
        "rule": _BOTH_HOLD if extended else rule_between(override.lost, override.won),
    }


def _told(finding: Diagnostic, change: str) -> dict[str, Any]:
    span = finding.span
    by = [note.span for note in finding.notes if note.span]
    reasons = [note.message for note in finding.notes]
    return {
        "run": None,
        "change": change,
        "code": finding.code,
        "path": format_path(finding.path),
        "place": place_data(finding.span),
        "value": None if span is None or may_tell(span) else as_written(span),
        "by": [{"value": None, "origin": origin_data(Origin(where.source.layer, where))} for where in by],
        "rule": "; ".join((finding.message, *reasons)),
    }
