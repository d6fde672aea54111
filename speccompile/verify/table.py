"""Table of objects by Kubernetes versions."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.severity import Severities, apply_severities
from speccompile.terminal.display_width import columns, printable
from speccompile.terminal.style import Paint, plain
from speccompile.verify.kubernetes_api import join_names
from speccompile.verify.verify import NOT_CHECKED, UNKNOWN_KIND, VerifyResult

MAX_OBJECTS_SHOWN = 20
"""Up to this many objects are all shown; of more, only those that are not valid."""
_MAX_LENGTH = 100
_OK, _UNKNOWN, _SKIPPED, _GAP = "ok", "no such kind", "not checked", "  "


class VersionTable(NamedTuple):
    """The result for each object and version."""

    text: str
    """A row per object, a column per version; empty if there are many objects, all valid."""
    summary: str
    is_valid: bool
    """Whether every object is valid for every version."""


def version_table(
    verdicts: Sequence[VerifyResult], versions: Sequence[str], severities: Severities, paint: Paint = plain
) -> VersionTable:
    """Tabulate the verdicts; an error that `severities` lowers does not make an object invalid."""
    rows = [(_title(one), *(_cell(one.faults[version], severities) for version in versions)) for one in verdicts]
    faulty = [row for row in rows if {*row[1:]} != {_OK}]
    shown = rows if len(rows) <= MAX_OBJECTS_SHOWN else faulty
    text = _aligned([("MANIFEST", *versions), *shown], paint) if shown else ""
    manifests = f"{len(rows)} manifest" + "s" * (len(rows) != 1)
    if not faulty:
        return VersionTable(text, f"{manifests} valid for Kubernetes {join_names(versions)}", is_valid=True)
    skipped = [row for row in faulty if {*row[1:]} <= {_OK, _SKIPPED}]
    counts = ((len(rows) - len(faulty), "valid"), (len(faulty) - len(skipped), "invalid"), (len(skipped), _SKIPPED))
    summary = ", ".join(f"{count} {what}" for count, what in counts if count or what != _SKIPPED)
    return VersionTable(text, f"{manifests} for Kubernetes {join_names(versions)}: {summary}", is_valid=False)


def _title(result: VerifyResult) -> str:
    kind, name = result.kind, result.name
    words = quote(f"{kind} {name}".strip(), _MAX_LENGTH)[1:-1] if kind or name else "(no object)"
    return printable(f"{result.place.source.name}: {words}")


def _cell(faults: Sequence[Diagnostic], severities: Severities) -> str:
    """The result for one version, with the severities of the call; an object that was not checked is not valid."""
    errors = [fault for fault in apply_severities(faults, severities) if fault.severity is Severity.ERROR]
    if any(fault.code == UNKNOWN_KIND for fault in errors):
        return _UNKNOWN
    if errors:
        return f"{len(errors)} error{'s' * (len(errors) > 1)}"
    return _SKIPPED if any(fault.code in (UNKNOWN_KIND, NOT_CHECKED) for fault in faults) else _OK


def _aligned(rows: Sequence[Sequence[str]], paint: Paint) -> str:
    widths = [max(map(columns, column)) for column in zip(*rows, strict=True)]
    header, *others = (
        [cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)] for row in rows
    )
    painted = [[paint(cell, "title") for cell in header]]
    for title, *cells in others:
        painted.append([title, *(cell if cell.strip() in (_OK, _SKIPPED) else paint(cell, "error") for cell in cells)])
    return "".join(_GAP.join(row).rstrip() + "\n" for row in painted)
