"""Verdicts on objects as a table: objects by Kubernetes versions."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.severity import Severities, apply_severities
from speccompile.terminal.display_width import columns, printable
from speccompile.terminal.style import Paint, plain
from speccompile.verify.kubernetes_api import listed
from speccompile.verify.verify import NOT_JUDGED, UNKNOWN_KIND, Verdict

FEW = 20
"""Objects that are all shown; of more, only those with faults are."""
_LONGEST = 100
_OK, _UNKNOWN, _SKIPPED, _GAP = "ok", "no such kind", "not judged", "  "


def as_table(verdicts: Sequence[Verdict], versions: Sequence[str], severities: Severities, paint: Paint = plain) -> str:
    """A row an object, a column a version, and a line that sums it up; the grades say what codes count as."""
    rows = [(_title(told), *(_cell(told.faults[version], severities) for version in versions)) for told in verdicts]
    faulty = [row for row in rows if {*row[1:]} != {_OK}]
    told = rows if len(rows) <= FEW else faulty
    table = _aligned([("MANIFEST", *versions), *told], paint) + "\n" if told else ""
    manifests = f"{len(rows)} manifest" + "s" * (len(rows) != 1)
    skipped = [row for row in faulty if {*row[1:]} <= {_OK, _SKIPPED}]
    counts = ((len(rows) - len(faulty), _OK), (len(faulty) - len(skipped), "refused"), (len(skipped), _SKIPPED))
    # Nobody asks how many are not judged unless some are.
    whole = _OK if not faulty else ", ".join(f"{count} {what}" for count, what in counts if count or what != _SKIPPED)
    return f"{table}{manifests} by the API of Kubernetes {listed(versions)}: {whole}\n"


def _title(told: Verdict) -> str:
    (_, kind), name = told.subject.kind, told.subject.name
    words = quote(f"{kind} {name}".strip(), _LONGEST)[1:-1] if kind or name else "(no object)"
    return printable(f"{told.subject.place.source.name}: {words}")


def _cell(faults: Sequence[Diagnostic], severities: Severities) -> str:
    """What counts is what the call makes of the faults; but what nobody looked at is not in order."""
    errors = [fault for fault in apply_severities(faults, severities) if fault.severity is Severity.ERROR]
    if any(fault.code == UNKNOWN_KIND for fault in errors):
        return _UNKNOWN
    if errors:
        return f"{len(errors)} error{'s' * (len(errors) > 1)}"
    return _SKIPPED if any(fault.code in (UNKNOWN_KIND, NOT_JUDGED) for fault in faults) else _OK


def _aligned(rows: Sequence[Sequence[str]], paint: Paint) -> str:
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    header, *others = ([_filled(cell, width) for cell, width in zip(row, widths, strict=True)] for row in rows)
    painted = [[paint(cell, "title") for cell in header]]
    for title, *cells in others:
        painted.append([title, *(cell if cell.strip() in (_OK, _SKIPPED) else paint(cell, "error") for cell in cells)])
    return "".join(_GAP.join(row).rstrip() + "\n" for row in painted)


def _filled(cell: str, width: int) -> str:
    return cell + " " * (width - columns(cell))
