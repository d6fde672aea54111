"""Findings of many runs, grouped by code and cause: the first in full, then where else it occurs."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.finding_text import count_text, finding_lines, more_text, where
from speccompile.model.severity import STRICT
from speccompile.model.source import USER_LAYERS
from speccompile.report.natural_order import natural_key
from speccompile.terminal.display_width import columns, printable
from speccompile.terminal.style import Paint, plain

_WIDTH = 100
_INDENT = "     "
_NAME_LINES = 3
_MOST_NAMES = 60
_MOST_LOCATIONS = 200
"""Labels that a group keeps. One has to go to the location of each error; of runs with a notice, some names will do."""
_LONGEST_NAME = 63


def cause_of(finding: Diagnostic) -> Hashable:
    """What the findings of one group have in common: severity, code, field and reason.

    The reason is the line of the admin's file that a note refers to, or else the message. Errors are grouped only if
    they are the same in each run, so their message always counts, except for values that an admin overrides.
    """
    place = next((note.span for note in finding.notes if note.span and note.span.source.layer not in USER_LAYERS), None)
    reason: Hashable = place and (place.source.name, *place[1:])
    if place is None or (finding.severity is Severity.ERROR and finding.code not in STRICT):
        # Errors without a path, such as those of the parser, are grouped only if they are at the same location.
        span = finding.span if finding.severity is Severity.ERROR and not finding.path else None
        reason = (reason, finding.message, finding.help, span and (span.source.name, *span[1:]))
    return finding.severity, finding.code, finding.path, reason


class Group:
    """A finding, and the runs or places where it occurs again. Memory is bounded, however many there are."""

    __slots__ = ("_are_runs", "_first_label", "_labels", "count", "first", "number")

    def __init__(self, finding: Diagnostic, run: str, number: int) -> None:
        self.first = finding
        self.number = number
        """Position of the first finding among all findings."""
        self.count = 1
        self._first_label = self._label(finding, run)
        self._labels: list[str] = []
        self._are_runs = True

    @property
    def order(self) -> tuple[object, ...]:
        return (*self.first.order, self.number)

    def add(self, finding: Diagnostic, run: str, number: int) -> None:
        """Add a finding with the same cause; `run` is the name of its run, if it is known."""
        self.count += 1
        label = self._label(finding, run)
        self._are_runs &= bool(run) and finding.severity is not Severity.ERROR
        if finding.order < self.first.order:
            self.first, self.number, self._first_label, label = finding, number, label, self._first_label
        self._labels.append(label)
        if len(self._labels) > 2 * self._most:
            self._labels = self._shortened()

    def lines(self, paint: Paint = plain) -> Iterator[str]:
        """Lines that follow the first finding: how many more there are, and where."""
        others = self.count - 1
        if not others:
            return
        noun = f" run{'s' * (others > 1)}" if self._are_runs else ""
        lines = [f"and {others} more{noun}:"]
        listed = 0
        for label in self._shortened():
            comma = "," * (listed + 1 < others)
            if columns(f"{_INDENT}{lines[-1]} {label}{comma}") <= _WIDTH:
                lines[-1] += f" {label}{comma}"
            elif self._are_runs and len(lines) == _NAME_LINES:
                break
            else:
                lines.append(f"{label}{comma}")
            listed += 1
        unlisted = others - listed
        if unlisted:
            lines[-1] = f"{lines[-1].removesuffix(',')} and {unlisted} other{'s' * (unlisted > 1)}"
        yield f"   {paint('=', 'quiet')} {lines[0]}"
        yield from (f"{_INDENT}{line}" for line in lines[1:])

    @property
    def _most(self) -> int:
        return _MOST_LOCATIONS if self.first.severity is Severity.ERROR else _MOST_NAMES

    def _shortened(self) -> list[str]:
        return sorted(self._labels, key=natural_key)[: self._most]

    @staticmethod
    def _label(finding: Diagnostic, run: str) -> str:
        if run and finding.severity is not Severity.ERROR:
            name = printable(run)
            return name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}…"
        return printable(where(finding.span, finding.path)) if finding.span else "no file"


def format_groups(groups: Iterable[Group], counts: Mapping[Severity, int], paint: Paint = plain) -> str:
    """The groups in order, and a last line that counts all findings, also those of groups that are left out."""
    shown = tuple(groups)
    blocks = ("\n".join((*finding_lines(group.first, paint), *group.lines(paint))) for group in shown)
    more = sum(counts.values()) - sum(group.count for group in shown)
    return "".join(f"{block}\n\n" for block in blocks) + more_text(more) + count_text(counts)
