"""Explanations as one HTML page."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from speccompile.compiler.compiled import Compiled
from speccompile.compiler.explain import Explanation, Line, Overridden, rule_between, unseen
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Origin, Override, origin_of
from speccompile.model.redaction import HIDDEN, is_secret_line, lines_of
from speccompile.model.source import BUILT_IN, Layer, Source, Span
from speccompile.schema.bundled import asset
from speccompile.yaml_text.serialize import entries

_CONTEXT = 2
"""Lines of source shown before and after the ones that are meant."""
_TALLEST = 12
"""Lines of source shown of a value that has many."""
_LONGEST = 400
"""Characters shown of a value that lost; its excerpt shows the rest."""
_IN_SCRIPT = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_BUILT_IN = "Built in: it stands in no file, and holds until the platform's file says otherwise."
_DATA = "Given as Python data: there is no text to show."


class _Place(NamedTuple):
    """An origin in a few words, and its file in pieces, because a narrow column does without the folder first."""

    layer: Layer
    who: str
    folder: str
    file: str
    line: int


class _Loss(NamedTuple):
    value: str | None
    """None for a value that may not be shown."""
    derived: str | None
    place: _Place
    rule: str


class _Row(NamedTuple):
    """One line of the page, as the template writes it."""

    pieces: tuple[tuple[str, str, str | None], ...]
    """Indent, key and value, if it has one, of each line of text; together they are what `to_yaml` writes."""
    place: _Place | None
    derived: str | None
    derived_from: tuple[_Place, ...]
    overridden: tuple[_Loss, ...]


class _Manifest(NamedTuple):
    kind: str
    name: str
    rows: tuple[_Row, ...]


class _Section(NamedTuple):
    """All about one run."""

    project: str
    name: str
    profile: str | None
    place: _Place
    manifests: tuple[_Manifest, ...]
    unseen: tuple[_Row, ...]
    """What lost and is nowhere in the manifests."""

    @property
    def rows(self) -> Iterator[_Row]:
        yield from (row for manifest in self.manifests for row in manifest.rows)
        yield from self.unseen

    @property
    def overridden(self) -> int:
        """In how many rows something lost."""
        return sum(bool(row.overridden) for row in self.rows)


def as_page(compilations: Iterable[Compiled]) -> str:
    """A page that needs nothing but itself; lines of source that may hold a secret are not in it.

    What users wrote stands in it as escaped text or in a block of JSON, with every character visible, so that it can
    neither become markup nor change the order in which anything is read. The same compilations give the same page.
    """
    from speccompile.report.html_template import filled_page  # Jinja is slow to import, and only pages need it

    origins: dict[Origin, int] = {}
    lines: list[list[Any]] = []
    runs = [_section(compiled, origins, lines) for compiled in compilations]
    style, script = asset("page.css"), asset("page.js")
    values = {
        "runs": runs,
        "layers": _counted(runs),
        "overridden": sum(run.overridden for run in runs),
        "total": len(lines),
        "hidden": HIDDEN,
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }
    # The data holds no character that could end the block.
    markup = {"style": style, "script": script, "data": _json(_data(origins, lines))}
    return filled_page(asset("page.html.j2"), values, markup)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"


def _json(data: Any) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).translate(_IN_SCRIPT)


def _counted(runs: Iterable[_Section]) -> dict[str, int]:
    """How many lines each layer set; a layer that set none has its place in the legend all the same."""
    counts = Counter(row.place.layer for run in runs for row in run.rows if row.place)
    return {str(layer): counts[layer] for layer in Layer}


# What stands on the page.


def _section(compiled: Compiled, origins: dict[Origin, int], lines: list[list[Any]]) -> _Section:
    """All about one run; `lines` gains what the details of each of its rows are made from, in the same order."""
    told = compiled.explain()
    gone = unseen(compiled.replaced, compiled.manifests)
    for explanation in told:
        lines += _line_data(explanation.lines, origins, len(lines))
    lines += (_unseen_data(override, origins) for override in gone)
    return _Section(
        project=_visible(compiled.project),
        name=_visible(compiled.name),
        profile=_visible(str(compiled.profile.id.value)) if compiled.profile else None,
        place=_place(origin_of(compiled.run.name)),
        manifests=tuple(map(_manifest, told)),
        unseen=tuple(map(_unseen, gone)),
    )


def _manifest(told: Explanation) -> _Manifest:
    return _Manifest(_visible(told.manifest.kind), _visible(told.manifest.name), tuple(map(_row, told.lines)))


def _row(line: Line) -> _Row:
    origin = line.origin
    return _Row(
        pieces=tuple(_pieces(line)),
        place=_place(origin) if origin else None,
        derived=_visible(origin.derived) if origin and origin.derived else None,
        derived_from=tuple(map(_place, origin.derived_from)) if origin else (),
        overridden=tuple(map(_loss, line.overridden)),
    )


def _unseen(override: Override) -> _Row:
    overridden, overriding = override.overridden, override.overriding
    path = _visible(format_path(override.path))
    loss = _loss(Overridden(overridden, origin_of(overridden), rule_between(overridden, overriding)))
    return _Row((("", path, None),), _place(origin_of(overriding)), None, (), (loss,))


def _pieces(line: Line) -> Iterator[tuple[str, str, str | None]]:
    texts = line.text.split("\n")
    values = _written(line.value).split("\n") if line.origin else []
    # A very long key has a line of its own before its value.
    keys = len(texts) - len(values)
    for at, text in enumerate(texts):
        content = text.lstrip(" ")
        value = None if at < keys else values[0] if at == keys else content
        yield text[: len(text) - len(content)], content.removesuffix(value or ""), value


def _written(value: Node) -> str:
    """The value as YAML writes it after a key; of a text in several lines, only the first is written as it stands."""
    (text,) = entries({"": value.plain()})
    return text.removeprefix('"": ')


def _loss(overridden: Overridden) -> _Loss:
    value = None if overridden.is_hidden else _short(overridden.value)
    derived = _visible(overridden.origin.derived) if overridden.origin.derived else None
    return _Loss(value, derived, _place(overridden.origin), overridden.rule)


def _short(value: Node) -> str:
    """The value in one line, cut if it is long."""
    plain = value.plain()
    written = _written(value) if value.is_scalar else "\n"
    text = _visible(json.dumps(plain, ensure_ascii=False) if "\n" in written else written)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _place(origin: Origin) -> _Place:
    folder, slash, file = _visible(origin.span.source.name).rpartition("/")
    return _Place(origin.layer, origin.who, folder + slash, file, origin.span.line)


def _visible(text: str) -> str:
    """The text, with an escape for each character that is not seen or moves others about."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


# What the script makes details from.


def _line_data(lines: Sequence[Line], origins: dict[Origin, int], offset: int) -> Iterator[list[Any]]:
    """For each line its path, the number of the line it stands under, its origin, and the origins of what lost."""
    opened: dict[KeyPath, int] = {}
    for number, line in enumerate(lines, start=offset):
        path = line.path
        above = next((opened[path[:end]] for end in range(len(path) - 1, 0, -1) if path[:end] in opened), None)
        # An item of a list opens in its first line, so that is what the others of the item stand under.
        for end in range(len(path), 0, -1):
            opened.setdefault(path[:end], number)
        origin = _number(line.origin, origins) if line.origin else None
        yield [
            _visible(format_path(path)),
            above,
            origin,
            [_number(overridden.origin, origins) for overridden in line.overridden],
        ]


def _unseen_data(override: Override, origins: dict[Origin, int]) -> list[Any]:
    overridden, overriding = (_number(origin_of(node), origins) for node in (override.overridden, override.overriding))
    return [_visible(format_path(override.path)), None, overriding, [overridden]]


def _number(origin: Origin, origins: dict[Origin, int]) -> int:
    """The number of the origin, by which any number of lines can tell it."""
    for inner in origin.derived_from:
        _number(inner, origins)
    return origins.setdefault(origin, len(origins))


def _data(origins: dict[Origin, int], lines: list[list[Any]]) -> dict[str, Any]:
    """All that details are made from; a line of source is there once, and only if an excerpt shows it."""
    told: dict[Source, list[Origin]] = {}
    for origin in origins:
        if origin.span.line:
            told.setdefault(origin.span.source, []).append(origin)
    # Source by source, because `lines_of` remembers only a few.
    places = {origin: _excerpt(origin.span, number) for number, here in enumerate(told.values()) for origin in here}
    return {
        "hidden": HIDDEN,
        "sources": [
            _lines_shown(source, (places[origin]["lines"] for origin in here)) for source, here in told.items()
        ],
        "origins": [_origin_data(origin, origins, places.get(origin)) for origin in origins],
        "lines": lines,
    }


def _lines_shown(source: Source, reaches: Iterable[tuple[int, int]]) -> dict[int, str | None]:
    """The lines by their numbers; None for one that may hold a secret."""
    numbers = sorted({number for first, last in reaches for number in range(first, last + 1)})
    return {
        number: None if is_secret_line(Span(source, number)) else _visible(_text(source, number)) for number in numbers
    }


def _origin_data(origin: Origin, origins: dict[Origin, int], place: dict[str, Any] | None) -> dict[str, Any]:
    never = _BUILT_IN if origin.span.source == BUILT_IN.source else _DATA
    how = _visible(origin.derived) if origin.derived else ""
    return {
        "layer": str(origin.layer),
        "who": origin.who,
        "place": _visible(origin.span.label),
        **(place or {"never": never}),
        **({"derived": how, "madeOf": [origins[inner] for inner in origin.derived_from]} if how else {}),
    }


def _excerpt(span: Span, source: int) -> dict[str, Any]:
    """Which lines of which source to show, and what to mark, in characters as `_visible` shows them."""
    end_line, end_column = _end(span)
    last = min(end_line, span.line + _TALLEST - 1) + _CONTEXT
    lines = lines_of(span.source)
    # What stands behind the last line end is no line.
    count = len(lines) - (not lines[-1])
    start, end = (
        len(_visible(_text(span.source, line)[: column - 1]))
        for line, column in ((span.line, span.column), (end_line, end_column))
    )
    return {
        "source": source,
        "lines": (max(1, span.line - _CONTEXT), max(span.line, min(last, count))),
        "mark": (span.line, start, end_line, end),
    }


def _end(span: Span) -> tuple[int, int]:
    """Where the place ends; one that ends before the first character of a line ends with the line above."""
    last = span.last_line
    return last, span.end_column if last == span.end_line else len(_text(span.source, last)) + 1


def _text(source: Source, line: int) -> str:
    """The line; empty where the source has come to its end."""
    lines = lines_of(source)
    return lines[line - 1] if line <= len(lines) else ""
