"""The compiled form of a shape: manifests and findings with holes for the values that vary.

A page is made from the compilation of one run in which markers replace the varying values. Wherever a marker appears in
the result, the value of another run belongs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import pairwise
from typing import Any, Final, TypeAlias

from speccompile.compiler.compiled import Compiled, CompiledTrees, CreatedObject
from speccompile.compiler.object_size import LARGEST_SMALL_TEXT
from speccompile.compiler.shapes.split_text import GAP, SplitText, positions
from speccompile.compiler.shapes.varying import AMOUNT, COUNT, NAME, PATH, PORT, Value, Varying, VaryingValue
from speccompile.model.diagnostic import Diagnostic, Note, Severity
from speccompile.model.findings import in_order
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import is_hashed
from speccompile.model.secret_positions import is_free_of_secrets, secrets_in
from speccompile.model.source import Source, Span
from speccompile.yaml_text.serialize import string_text

MOST_SCALARS = 999
"""Scalars of a text that markers can distinguish."""
_FIRST_PORT, _FIRST_AMOUNT = 41_000, 731_000
# Every alternative begins with a literal, so that the search skips all other characters.
_MARKER = re.compile(
    r"zq-?([0-9]+)qz|/zp([0-9]+)qz|731(?<![0-9A-Za-z.]731)([0-9]{3})(?:Mi|m)?(?![0-9A-Za-z.])"
    r"|41(?<![0-9A-Za-z.]41)([0-9]{3})(?![0-9A-Za-z.])"
)
_BLOCK = re.compile(r"^( *)\S.*[:-] \|[-+0-9]*\n(?:\1 .*\n|\n)*", re.MULTILINE)
_LEAD = re.compile(r" *(?:- )*")
_KEY = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"\n]*?): ')
_OVERRIDDEN = "merge/overridden"
_LONGEST_NAME = 50
"""Longer names may have to be shortened."""
_UNESCAPED = re.compile(r"[ !#-\[\]-~]*")
_QUOTABLE = re.compile(r"[ -~]{0,40}")
"""Longer values are shortened in messages."""
_new_span: Final[Any] = tuple.__new__
"""Builds a span in half the time that the class takes."""

Values: TypeAlias = Sequence[VaryingValue | None]
"""By the number of their scalar; None for scalars that do not vary."""
Template: TypeAlias = "str | tuple[str | int, ...]"
"""A text, or its parts: texts, and numbers of scalars whose value belongs there."""


def marker(number: int, varying: Varying, value: Value) -> Value:
    """The value that replaces that of a scalar: of the same kind, and unlike any other."""
    subject = varying.path[-1]
    if varying.kind in (PORT, COUNT):
        return _FIRST_PORT + number
    if varying.kind == AMOUNT and subject == "gpu":
        return _FIRST_AMOUNT + number if isinstance(value, int) else str(_FIRST_AMOUNT + number)
    if varying.kind == AMOUNT:
        return f"{_FIRST_AMOUNT + number}{'m' if subject == 'cpu' else 'Mi'}"
    if varying.kind == PATH:
        return f"/zp{number}qz"
    # Names with a dash are joined to others in another way.
    dash = "-" if varying.kind == NAME and "-" in str(value) else ""
    return f"zq{dash}{number}qz"


def has_marker(run: str, manifests: str, findings: Iterable[Diagnostic]) -> bool:
    """Whether a text contains something like a marker, which would be taken for one."""
    messages = (
        words
        for one in findings
        for words in (one.message, one.help or "", *(note.message for note in one.notes), *map(str, one.path))
    )
    return any(_MARKER.search(words) for words in (run, manifests, *messages))


class NotUniformError(Exception):
    """A marker is where no value can be filled in: runs of this shape are compiled one by one."""


class ShapedRun(NamedTuple):
    """A run of a shape: its scalars as written, and the values of those that vary."""

    source: Source
    scalars: Sequence[str]
    values: Values


class FilledPage(NamedTuple):
    """A page, and the values of a run that fill it."""

    page: ShapePage
    values: Values

    @staticmethod
    def template(text: str) -> Template:
        """Split a text with markers."""
        return _template(text)

    def text(self, template: Template) -> str:
        """The text with the values of the run."""
        return _filled(template, self.values)


class _Slot(NamedTuple):
    """A value in the manifests that contains varying values."""

    text: int
    indent: str
    """The indentation of further lines."""
    is_text: bool
    is_name: bool
    """Whether it may be the name of an object, which would be hashed if it were longer."""


class _Place(NamedTuple):
    """A span in the text of the run; its columns move with the scalars before them on the same line."""

    line: int
    column: int
    """The column if these scalars were empty."""
    before: Sequence[int]
    """The numbers of these scalars."""
    end_line: int
    end_column: int
    before_end: Sequence[int]


class _FindingPage(NamedTuple):
    """A finding with holes; texts and places are numbers."""

    code: str
    message: int
    place: int | None
    path: Sequence[tuple[int | None, int]]
    """Keys as the numbers of texts; without one, the index of an item."""
    severity: Severity
    notes: Sequence[tuple[int, int | None]]
    help: int | None


class _Texts:
    """Texts with holes, by number; those of a run are filled in at once, which takes a fraction of the time."""

    def __init__(self) -> None:
        self._numbers: Final[dict[Template, int]] = {}
        self._format = ""
        self._order: list[int] = []

    def number(self, text: str) -> int:
        """The number of a text with markers."""
        return self.number_of(_template(text))

    def number_of(self, template: Template) -> int:
        return self._numbers.setdefault(template, len(self._numbers))

    @property
    def templates(self) -> Iterable[Template]:
        return self._numbers

    def complete(self) -> None:
        """Prepare to fill the texts: no more are added. Raises NotUniformError if one contains a gap."""
        parts = [(template,) if isinstance(template, str) else template for template in self._numbers]
        self._order = [part for some in parts for part in some if isinstance(part, int)]
        if any(isinstance(part, str) and GAP in part for some in parts for part in some):
            raise NotUniformError
        self._format = GAP.join(
            "".join("%s" if isinstance(part, int) else part.replace("%", "%%") for part in some) for some in parts
        )

    def filled(self, values: Values) -> list[str]:
        # No value contains a gap.
        return (self._format % tuple([_text_of(number, values) for number in self._order])).split(GAP)


class ShapePage:
    """The manifests, objects and findings of all runs of a shape."""

    def __init__(
        self,
        marked: Callable[[], Compiled],
        split: SplitText,
        varying: Sequence[Varying | None],
        constants: frozenset[object],
    ) -> None:
        """`marked` compiles the run with markers for the varying values of its text; `constants` are its other values.

        Raises CompileError and NotUniformError.
        """
        compiled = marked()
        self.marked: Final = marked
        self.checks: Final[dict[Hashable, Any]] = {}
        """How `verify` checks runs of the shape, by API."""
        self._scalars: Final = split.scalars
        self._kinds: Final = [one and one.kind for one in varying]
        self._source: Final = compiled.place.source
        self._positions: Final = positions(split)
        self._spans: Final[dict[Span, int]] = {}
        self._texts: Final = _Texts()
        self._findings: Final = [self._finding_page(one) for one in compiled.diagnostics]
        self._quoted: Final = self._numbers(self._texts.templates)
        text = self._texts.number
        self._run: Final = (text(compiled.name), text(compiled.project), self._span(compiled.place))
        self._objects: Final = [
            (one.kind, text(one.name), text(one.namespace), self._span(one.place)) for one in compiled.objects
        ]
        # A message is redacted if it repeats a part of a secret, which can be one of the values.
        sources = {span.source for span in self._spans}
        if any(not is_free_of_secrets(one.text) and secrets_in(one).texts for one in sources):
            raise NotUniformError
        self._is_sorted: Final = self._has_fixed_order(compiled.diagnostics)
        self._places: Final = [self._place(span) for span in self._spans]
        self._computed: dict[_Slot, int] = {}
        self._joined: Final[set[Template]] = set()
        """Values in the manifests that have several parts."""
        self._text, self._order = self._manifests(compiled.to_yaml())
        self._escaped: Final = self._numbers(self._joined)
        self._texts.complete()
        # Two mount paths, or two ports of a container, must not become equal.
        self._distinct: Final = [
            [number for number, other in enumerate(self._kinds) if other == kind] for kind in (PATH, PORT)
        ]
        self._reports: Final = {
            number: reports
            for number, kind in enumerate(self._kinds)
            if kind == AMOUNT and (reports := self._reports_of(number, compiled.diagnostics))
        }
        """The findings that report amounts as overridden, by the number of the scalar."""
        self._constants: Final = frozenset(one.rstrip("/") if isinstance(one, str) else one for one in constants)

    def _manifests(self, text: str) -> tuple[str, list[int]]:
        """The text of the manifests as a `%` format, and the numbers of what belongs into it.

        These are numbers of scalars, and after them those of computed slots.
        """
        # The lines of a block are not quoted as values are.
        if any(_MARKER.search(block[0]) for block in _BLOCK.finditer(text)):
            raise NotUniformError
        parts: list[str] = []
        order: list[int] = []
        end = 0
        for match in _MARKER.finditer(text):
            if match.start() >= end:
                start = text.rfind("\n", 0, match.start()) + 1
                head, number = self._slot(text[start : text.index("\n", match.end())])
                parts.append(text[end : start + len(head)].replace("%", "%%"))
                order.append(number)
                end = text.index("\n", match.end())
        return "%s".join((*parts, text[end:].replace("%", "%%"))), order

    def _slot(self, line: str) -> tuple[str, int]:
        """The part of a line before its value, and the number of what belongs there."""
        lead = _LEAD.match(line)
        assert lead is not None
        key = _KEY.match(line, lead.end())
        head = line[: key.end() if key else lead.end()]
        written = line[len(head) :]
        is_quoted = written[:1] == '"'
        try:
            parts = _template(json.loads(written) if is_quoted else written)
        except ValueError:
            raise NotUniformError from None
        if isinstance(parts, str) or _MARKER.search(head):
            raise NotUniformError
        # The lines of a block are two columns to the right of their key, or of the dash of their item.
        indent = " " * (lead.end() + (2 if key else 0))
        has_name = any(isinstance(part, int) and self._kinds[part] == NAME for part in parts)
        is_name = has_name and re.fullmatch("[a-z0-9-]+", written) is not None
        is_text = is_quoted or not written.isdecimal()
        if len(parts) == 1 and isinstance(parts[0], int) and is_text and self._scalars[parts[0]][0] != "|":
            return head, parts[0]
        if len(parts) > 1:
            self._joined.add(parts)
        slot = _Slot(self._texts.number_of(parts), indent, is_text, is_name)
        return head, self._computed.setdefault(slot, len(self._scalars) + len(self._computed))

    def _finding_page(self, finding: Diagnostic) -> _FindingPage:
        text = self._texts.number
        return _FindingPage(
            finding.code,
            text(finding.message),
            finding.span and self._span(finding.span),
            [(text(step), 0) if isinstance(step, str) else (None, step) for step in finding.path],
            finding.severity,
            [(text(note.message), note.span and self._span(note.span)) for note in finding.notes],
            None if finding.help is None else text(finding.help),
        )

    def _reports_of(self, number: int, findings: Sequence[Diagnostic]) -> frozenset[int]:
        """The findings that report a scalar as overridden; for amounts, at its own position."""
        place = (self._source, *self._positions[number])
        reports = (one.code == _OVERRIDDEN and one.span and one.span[:3] == place for one in findings)
        return frozenset(index for index, is_report in enumerate(reports) if is_report)

    def _span(self, span: Span) -> int:
        """The number of a span."""
        return self._spans.setdefault(span, len(self._spans))

    def _has_fixed_order(self, findings: Sequence[Diagnostic]) -> bool:
        """Whether each finding is on a line of the run after that of the one before it."""
        lines = [one.span.line if one.span and one.span.source is self._source else 0 for one in findings]
        return all(first < second for first, second in pairwise([0, *lines]))

    def _place(self, span: Span) -> _Place | Span:
        """Where a span is in all runs of the shape; the span itself if it is in another text."""
        if span.source is not self._source:
            return span
        ends = ((span.line, span.column), (span.end_line, span.end_column))
        (before, width), (before_end, end_width) = [self._scalars_before(*end) for end in ends]
        return _Place(span.line, span.column - width, before, span.end_line, span.end_column - end_width, before_end)

    def _scalars_before(self, line: int, column: int) -> tuple[list[int], int]:
        """The scalars before a position on its line, and their length."""
        numbers = [
            number
            for number, (at, start) in enumerate(self._positions)
            if at == line and start < column and "\n" not in self._scalars[number]
        ]
        return numbers, sum(len(self._scalars[number]) for number in numbers)

    def _numbers(self, templates: Iterable[Template | int | None]) -> list[int]:
        """The numbers of the scalars in templates, without names, which need no check."""
        parts = {part for template in templates if isinstance(template, tuple) for part in template}
        return sorted(part for part in parts if isinstance(part, int) and self._kinds[part] != NAME)

    def fill(self, run: ShapedRun, whole: Callable[[], CompiledTrees]) -> Compiled | None:
        """The compilation of a run; None if one of its values needs a closer look."""
        values = run.values
        texts = self._texts.filled(values)
        text = self._filled_text(values, texts)
        if text is None or not all(_QUOTABLE.fullmatch(_text_of(number, values)) for number in self._quoted):
            return None
        spans = self._moved_spans(run)
        name, project, place = self._run
        findings = [self._filled_finding(finding, texts, spans) for finding in self._findings_of(values)]
        return Compiled(
            name=texts[name],
            project=texts[project],
            place=spans[place],
            objects=tuple(
                [
                    CreatedObject(kind, texts[name], texts[namespace], spans[place])
                    for kind, name, namespace, place in self._objects
                ]
            ),
            diagnostics=tuple(findings) if self._is_sorted else in_order(findings, has_secrets=False),
            text=lambda: text,
            whole=whole,
            filled=FilledPage(self, values),
        )

    def _findings_of(self, values: Values) -> Sequence[_FindingPage]:
        """The findings of a run: an amount that the admin sets too is not reported as overridden."""
        equal = [number for number in self._reports if (value := values[number]) and value.is_admins]
        if not equal:
            return self._findings
        unreported = frozenset().union(*(self._reports[number] for number in equal))
        return [one for index, one in enumerate(self._findings) if index not in unreported]

    def _filled_text(self, values: Values, texts: Sequence[str]) -> str | None:
        for numbers in self._distinct:
            if numbers:
                distinct = {value.value for number in numbers if (value := values[number])}
                if len(distinct) < len(numbers) or not distinct.isdisjoint(self._constants):
                    return None
        # Inside JSON, other characters would be escaped.
        if not all(_UNESCAPED.fullmatch(_text_of(number, values)) for number in self._escaped):
            return None
        written = [value.written if value else "" for value in values]
        for number, indent, is_text, is_name in self._computed:
            joined = texts[number]
            if is_name and (len(joined) > _LONGEST_NAME or is_hashed(joined)):
                return None
            written.append(string_text(joined, indent) if is_text else joined)
        text = self._text % tuple([written[number] for number in self._order])
        return text if len(text) <= LARGEST_SMALL_TEXT else None

    @staticmethod
    def _filled_finding(finding: _FindingPage, texts: Sequence[str], spans: Sequence[Span]) -> Diagnostic:
        code, message, place, path, severity, notes, advice = finding
        return Diagnostic(
            code,
            texts[message],
            None if place is None else spans[place],
            tuple([index if key is None else texts[key] for key, index in path]),
            severity,
            tuple([Note(texts[note], None if at is None else spans[at]) for note, at in notes]),
            None if advice is None else texts[advice],
        )

    def _moved_spans(self, run: ShapedRun) -> list[Span]:
        """The spans of the page in the text of the run."""
        source, scalars, _ = run
        spans: list[Span] = []
        for place in self._places:
            if isinstance(place, Span):
                spans.append(place)
                continue
            line, column, before, end_line, end_column, before_end = place
            for number in before:
                column += len(scalars[number])
            for number in before_end:
                end_column += len(scalars[number])
            spans.append(_new_span(Span, (source, line, column, end_line, end_column)))
        return spans


def _template(text: str) -> Template:
    """The text, split at its markers."""
    parts: list[str | int] = []
    end = 0
    for match in _MARKER.finditer(text):
        parts += (text[end : match.start()], int(match[match.lastindex or 0]))
        end = match.end()
    return tuple(part for part in (*parts, text[end:]) if part != "") if parts else text


def _filled(template: Template, values: Values) -> str:
    if isinstance(template, str):
        return template
    return "".join([part if isinstance(part, str) else _text_of(part, values) for part in template])


def _text_of(number: int, values: Values) -> str:
    value = values[number]
    if value is None:
        # Another value of the run looks like a marker.
        raise NotUniformError
    return value.text
