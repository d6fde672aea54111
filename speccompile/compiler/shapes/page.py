"""The compiled form of a shape: manifests and findings with holes for the values that vary.

A page is made from the compilation of one run in which markers replace the varying values. Wherever a marker appears in
the result, the value of another run belongs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias

from speccompile.compiler.compiled import Compiled, CompiledTrees, CreatedObject
from speccompile.compiler.object_size import LARGEST_SMALL_TEXT
from speccompile.compiler.shapes.split_text import SplitText, positions
from speccompile.compiler.shapes.varying import AMOUNT, NAME, PATH, PORT, Value, Varying
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.findings import in_order
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.object_names import is_hashed
from speccompile.model.secret_positions import secrets_in
from speccompile.model.source import Source, Span
from speccompile.yaml_text.serialize import string_text

MOST_SCALARS = 999
"""Scalars of a text that markers can distinguish."""
_FIRST_PORT, _FIRST_AMOUNT = 41_000, 731_000
_MARKER = re.compile(
    r"/?zq-?([0-9]+)qz|(?<![0-9A-Za-z.])731([0-9]{3})(?:Mi|m)?(?![0-9A-Za-z.])"
    r"|(?<![0-9A-Za-z.])41([0-9]{3})(?![0-9A-Za-z.])"
)
_LEAD = re.compile(r" *(?:- )*")
_KEY = re.compile(r'(?:"(?:[^"\\]|\\.)*"|[^"\n]*?): ')
_LONGEST_NAME = 50
"""Longer names may have to be shortened."""
_UNESCAPED = re.compile(r"[ !#-\[\]-~]*")
_QUOTABLE = re.compile(r"[ -~]{0,40}")
"""Longer values are shortened in messages."""
_new_span: Final[Any] = tuple.__new__
"""Builds a span in half the time that the class takes."""

Template: TypeAlias = "str | tuple[str | int, ...]"
"""A text, or its parts: texts, and numbers of scalars whose value belongs there."""


def marker(number: int, varying: Varying, value: Value) -> Value:
    """The value that replaces that of a scalar: of the same kind, and unlike any other."""
    subject = varying.path[-1]
    if varying.kind == PORT:
        return _FIRST_PORT + number
    if varying.kind == AMOUNT and subject == "gpu":
        return _FIRST_AMOUNT + number if isinstance(value, int) else str(_FIRST_AMOUNT + number)
    if varying.kind == AMOUNT:
        return f"{_FIRST_AMOUNT + number}{'m' if subject == 'cpu' else 'Mi'}"
    # Names with a dash are joined to others in another way.
    dash = "-" if varying.kind == NAME and "-" in str(value) else ""
    return f"{'/' if varying.kind == PATH else ''}zq{dash}{number}qz"


class NotUniformError(Exception):
    """A marker is where no value can be filled in: runs of this shape are compiled one by one."""


class ShapedRun(NamedTuple):
    """A run of a shape: its scalars as written, and the values of those that vary."""

    source: Source
    scalars: Sequence[str]
    values: Sequence[Value | None]


class _Slot(NamedTuple):
    """A value in the manifests that contains varying values."""

    parts: tuple[str | int, ...]
    indent: str
    """The indentation of further lines."""
    is_text: bool
    is_name: bool
    """Whether it may be the name of an object, which would be hashed if it were longer."""


class _Place(NamedTuple):
    """A span, and the scalars before its start and its end on the same line: its columns move with them."""

    span: Span
    is_here: bool
    """Whether it is in the text of the run."""
    before_start: Sequence[int] = ()
    before_end: Sequence[int] = ()


class ShapePage:
    """The manifests, objects and findings of all runs of a shape."""

    def __init__(
        self, compiled: Compiled, split: SplitText, varying: Sequence[Varying | None], fixed: frozenset[object]
    ) -> None:
        """`compiled` has markers for the varying values of the text; `fixed` are its other values.

        Raises NotUniformError.
        """
        self._scalars: Final = split.scalars
        self._kinds: Final = [one and one.kind for one in varying]
        self._source: Final = compiled.place.source
        self._positions: Final = positions(split)
        self._run: Final = (_template(compiled.name), _template(compiled.project), self._place(compiled.place))
        self._objects: Final = [
            (one.kind, _template(one.name), _template(one.namespace), self._place(one.place))
            for one in compiled.objects
        ]
        self._findings: Final = [(one, self._templates(one), self._places(one)) for one in compiled.diagnostics]
        # Varying values are not secret, so either all runs of the shape have secrets or none has.
        self._has_secrets: Final = bool(secrets_in(self._source).texts)
        self._slots: dict[_Slot, int] = {}
        self._text, self._order = self._manifests(compiled.to_yaml())
        self._joined: Final = _numbers(slot.parts for slot in self._slots if len(slot.parts) > 1)
        self._quoted: Final = _numbers(template for _, templates, _ in self._findings for template in templates)
        # Two mount paths, or two ports of a container, must not become equal.
        self._distinct: Final = [
            [number for number, other in enumerate(self._kinds) if other == kind] for kind in (PATH, PORT)
        ]
        self._fixed: Final = frozenset(value.rstrip("/") if isinstance(value, str) else value for value in fixed)

    def _manifests(self, text: str) -> tuple[str, list[int]]:
        """The text of the manifests as a `%` format, and the numbers of the slots in it."""
        lines: list[str] = []
        order: list[int] = []
        for line in text.split("\n"):
            if _MARKER.search(line):
                head, slot = self._slot(line)
                order.append(self._slots.setdefault(slot, len(self._slots)))
                lines.append(head.replace("%", "%%") + "%s")
            else:
                lines.append(line.replace("%", "%%"))
        return "\n".join(lines), order

    def _slot(self, line: str) -> tuple[str, _Slot]:
        """The part of a line before its value, and the value."""
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
        return head, _Slot(parts, indent, is_quoted or not written.isdecimal(), is_name)

    def _places(self, finding: Diagnostic) -> list[_Place | None]:
        """The places of a finding and of its notes."""
        return [span and self._place(span) for span in (finding.span, *(note.span for note in finding.notes))]

    def _place(self, span: Span) -> _Place:
        if span.source is not self._source:
            return _Place(span, is_here=False)
        start, end = [
            [
                number
                for number, (line, column) in enumerate(self._positions)
                if line == at and column < before and "\n" not in self._scalars[number]
            ]
            for at, before in ((span.line, span.column), (span.end_line, span.end_column))
        ]
        return _Place(span, True, start, end)

    @staticmethod
    def _templates(finding: Diagnostic) -> list[Template]:
        """The texts of a finding: message, help, those of its notes, and its path."""
        path = (step for step in finding.path if isinstance(step, str))
        texts = (finding.message, finding.help or "", *(note.message for note in finding.notes), *path)
        return list(map(_template, texts))

    def fill(self, run: ShapedRun, whole: Callable[[], CompiledTrees]) -> Compiled | None:
        """The compilation of a run; None if one of its values needs a closer look."""
        values = run.values
        text = self._filled_text(values)
        if text is None or not all(_QUOTABLE.fullmatch(str(values[number])) for number in self._quoted):
            return None
        name, project, place = self._run
        return Compiled(
            name=_filled(name, values),
            project=_filled(project, values),
            place=self._moved(place, run),
            objects=tuple(
                [
                    CreatedObject(kind, _filled(name, values), _filled(namespace, values), self._moved(place, run))
                    for kind, name, namespace, place in self._objects
                ]
            ),
            diagnostics=in_order(
                [self._filled_finding(*finding, run) for finding in self._findings], has_secrets=self._has_secrets
            ),
            text=lambda: text,
            whole=whole,
        )

    def _filled_text(self, values: Sequence[Value | None]) -> str | None:
        for numbers in self._distinct:
            distinct = {values[number] for number in numbers}
            if len(distinct) < len(numbers) or not distinct.isdisjoint(self._fixed):
                return None
        # Inside JSON, other characters would be escaped.
        if not all(_UNESCAPED.fullmatch(str(values[number])) for number in self._joined):
            return None
        texts: list[str] = []
        for parts, indent, is_text, is_name in self._slots:
            value = _filled(parts, values)
            if is_name and (len(value) > _LONGEST_NAME or is_hashed(value)):
                return None
            texts.append(string_text(value, indent) if is_text else value)
        text = self._text % tuple([texts[number] for number in self._order])
        return text if len(text) <= LARGEST_SMALL_TEXT else None

    def _filled_finding(
        self, finding: Diagnostic, templates: Sequence[Template], places: Sequence[_Place | None], run: ShapedRun
    ) -> Diagnostic:
        message, advice, *others = [_filled(template, run.values) for template in templates]
        span, *note_spans = [place and self._moved(place, run) for place in places]
        notes = tuple([Note(*pair) for pair in zip(others, note_spans, strict=False)])
        steps = iter(others[len(notes) :])
        return finding._replace(
            message=message,
            span=span,
            path=tuple([next(steps) if isinstance(step, str) else step for step in finding.path]),
            notes=notes,
            help=advice or None,
        )

    def _moved(self, place: _Place, run: ShapedRun) -> Span:
        """The span in the text of the run."""
        span, is_here, before_start, before_end = place
        if not is_here:
            return span
        _, line, column, end_line, end_column = span
        for number in before_start:
            column += len(run.scalars[number]) - len(self._scalars[number])
        for number in before_end:
            end_column += len(run.scalars[number]) - len(self._scalars[number])
        return _new_span(Span, (run.source, line, column, end_line, end_column))  # type: ignore[no-any-return]


def _template(text: str) -> Template:
    """The text, split at its markers."""
    parts: list[str | int] = []
    end = 0
    for match in _MARKER.finditer(text):
        parts += (text[end : match.start()], int(match[1] or match[2] or match[3]))
        end = match.end()
    return tuple(part for part in (*parts, text[end:]) if part != "") if parts else text


def _filled(template: Template, values: Sequence[Value | None]) -> str:
    if isinstance(template, str):
        return template
    return "".join([part if isinstance(part, str) else str(values[part]) for part in template])


def _numbers(templates: Iterator[Template]) -> list[int]:
    """The numbers of the scalars in templates."""
    parts = (part for template in templates if not isinstance(template, str) for part in template)
    return sorted({part for part in parts if isinstance(part, int)})
