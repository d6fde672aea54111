"""Explanations of runs as one HTML page."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from speccompile.compiler.compiled import Compiled
from speccompile.compiler.explain import Explanation, Line, Overridden, rule_between, unseen_overrides
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Origin, Override, origin_of
from speccompile.model.redaction import HIDDEN, is_secret_line
from speccompile.model.source import BUILT_IN, Layer, Source, Span, lines_of
from speccompile.report.natural_order import natural_key
from speccompile.schema.bundled import asset
from speccompile.yaml_text.serialize import entries

_CONTEXT = 2
"""Source lines shown before and after a value."""
_MAX_VALUE_LINES = 12
"""Source lines shown of a multi-line value."""
_MAX_VALUE_CHARS = 400
"""Characters shown of an overridden value; its excerpt shows the rest."""
_SCRIPT_ESCAPES = str.maketrans({char: f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"})
_BUILT_IN_TEXT = "Built-in value, not set in any file. The platform file can change it."
_PYTHON_TEXT = "Set in Python, so there is no source line."


class _Position(NamedTuple):
    """The layer and the position of an origin; the folder is separate, because narrow columns cut it first."""

    layer: Layer
    who: str
    folder: str
    file: str
    line: int


class _OverriddenValue(NamedTuple):
    value: str | None
    """None for a value that may be a secret."""
    derived: str | None
    position: _Position
    rule: str


class _Row(NamedTuple):
    """One entry of a manifest."""

    texts: tuple[tuple[str, str, str | None], ...]
    """Indent, key and value (if any) of each line; joined, they are the output of `to_yaml`."""
    position: _Position | None
    derived: str | None
    derived_from: tuple[_Position, ...]
    overridden: tuple[_OverriddenValue, ...]


class _Manifest(NamedTuple):
    kind: str
    name: str
    rows: tuple[_Row, ...]


class _Section(NamedTuple):
    """One run with its manifests."""

    project: str
    name: str
    profile: str | None
    position: _Position
    manifests: tuple[_Manifest, ...]
    unseen: tuple[_Row, ...]
    """Overridden values with no value in their place."""

    @property
    def rows(self) -> Iterator[_Row]:
        yield from (row for manifest in self.manifests for row in manifest.rows)
        yield from self.unseen

    @property
    def overridden(self) -> int:
        """Number of rows that override a value."""
        return sum(bool(row.overridden) for row in self.rows)


def as_page(compilations: Iterable[Compiled]) -> str:
    """A self-contained page, without source lines that may contain a secret.

    Input appears as escaped text or in a block of JSON, with invisible characters escaped, so that it can neither
    become markup nor reorder text. The same compilations produce the same page.
    """
    from speccompile.report.html_template import filled_page  # only pages need Jinja, which is slow to import

    origins: dict[Origin, int] = {}
    lines: list[list[Any]] = []
    in_order = sorted(compilations, key=lambda compiled: (natural_key(compiled.project), natural_key(compiled.name)))
    runs = [_section(compiled, origins, lines) for compiled in in_order]
    style, script = asset("page.css"), asset("page.js")
    values = {
        "runs": runs,
        "layers": _lines_by_layer(runs),
        "overridden": sum(run.overridden for run in runs),
        "total": len(lines),
        "hidden": HIDDEN,
        "style_hash": _hash(style),
        "script_hash": _hash(script),
    }
    data = json.dumps(_data(origins, lines), ensure_ascii=False, separators=(",", ":"))
    # Escaped, the data contains no character that could end the block.
    markup = {"style": style, "script": script, "data": data.translate(_SCRIPT_ESCAPES)}
    return filled_page(asset("page.html.j2"), values, markup)


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"


def _lines_by_layer(runs: Iterable[_Section]) -> dict[str, int]:
    """The number of lines that each layer sets, for the legend; only functions and tasks are left out at zero."""
    counts = Counter(row.position.layer for run in runs for row in run.rows if row.position)
    return {str(layer): counts[layer] for layer in Layer if counts[layer] or layer not in (Layer.TASK, Layer.FUNCTION)}


# Rows of the page


def _section(compiled: Compiled, origins: dict[Origin, int], lines: list[list[Any]]) -> _Section:
    """The section of one run. Appends the data for the details of its rows to `lines`, in the same order."""
    explanations = compiled.explain()
    overrides = unseen_overrides(compiled.replaced, compiled.manifests)
    for explanation in explanations:
        lines += _line_data(explanation.lines, origins, len(lines))
    lines += (_unseen_data(override, origins) for override in overrides)
    return _Section(
        project=_visible(compiled.project),
        name=_visible(compiled.name),
        profile=_visible(str(compiled.profile.id.value)) if compiled.profile else None,
        position=_position(origin_of(compiled.run.name)),
        manifests=tuple(map(_manifest, explanations)),
        unseen=tuple(map(_unseen_row, overrides)),
    )


def _manifest(explanation: Explanation) -> _Manifest:
    manifest = explanation.manifest
    return _Manifest(_visible(manifest.kind), _visible(manifest.name), tuple(map(_row, explanation.lines)))


def _row(line: Line) -> _Row:
    origin = line.origin
    return _Row(
        texts=tuple(_texts(line)),
        position=_position(origin) if origin else None,
        derived=_visible(origin.derived) if origin and origin.derived else None,
        derived_from=tuple(map(_position, origin.derived_from)) if origin else (),
        overridden=tuple(map(_overridden_value, line.overridden)),
    )


def _unseen_row(override: Override) -> _Row:
    overridden, overriding = override.overridden, override.overriding
    path = _visible(format_path(override.path))
    value = _overridden_value(Overridden(overridden, origin_of(overridden), rule_between(overridden, overriding)))
    return _Row((("", path, None),), _position(origin_of(overriding)), None, (), (value,))


def _texts(line: Line) -> Iterator[tuple[str, str, str | None]]:
    texts = line.text.split("\n")
    values = _as_yaml(line.value).split("\n") if line.origin else []
    # A very long key is on a line before its value.
    keys = len(texts) - len(values)
    for number, text in enumerate(texts):
        content = text.lstrip(" ")
        value = None if number < keys else values[0] if number == keys else content
        yield text[: len(text) - len(content)], content.removesuffix(value or ""), value


def _as_yaml(value: Node) -> str:
    """The value as YAML after a key; in a multi-line string, only the first line has its final indent."""
    (text,) = entries({"": value.plain()})
    return text.removeprefix('"": ')


def _overridden_value(overridden: Overridden) -> _OverriddenValue:
    value = None if overridden.is_hidden else _short(overridden.value)
    derived = _visible(overridden.origin.derived) if overridden.origin.derived else None
    return _OverriddenValue(value, derived, _position(overridden.origin), overridden.rule)


def _short(value: Node) -> str:
    """The value on one line, truncated."""
    plain = value.plain()
    yaml = _as_yaml(value) if value.is_scalar else "\n"
    text = _visible(json.dumps(plain, ensure_ascii=False) if "\n" in yaml else yaml)
    return text if len(text) <= _MAX_VALUE_CHARS else f"{text[:_MAX_VALUE_CHARS]}…"


def _position(origin: Origin) -> _Position:
    folder, slash, file = _visible(origin.span.source.name).rpartition("/")
    return _Position(origin.layer, origin.who, folder + slash, file, origin.span.line)


def _visible(text: str) -> str:
    """The text with invisible and bidirectional characters escaped."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


# Data for the details


def _line_data(lines: Sequence[Line], origins: dict[Origin, int], offset: int) -> Iterator[list[Any]]:
    """For each line: its path, the number of its parent line, its origin, and the origins of the overridden values."""
    first_lines: dict[KeyPath, int] = {}
    for number, line in enumerate(lines, start=offset):
        path = line.path
        prefixes = (path[:end] for end in range(len(path) - 1, 0, -1))
        parent = next((first_lines[prefix] for prefix in prefixes if prefix in first_lines), None)
        # A list item has no line of its own: its first line is the parent of its other lines.
        for end in range(len(path), 0, -1):
            first_lines.setdefault(path[:end], number)
        origin = _number(line.origin, origins) if line.origin else None
        yield [
            _visible(format_path(path)),
            parent,
            origin,
            [_number(overridden.origin, origins) for overridden in line.overridden],
        ]


def _unseen_data(override: Override, origins: dict[Origin, int]) -> list[Any]:
    overridden, overriding = (_number(origin_of(node), origins) for node in (override.overridden, override.overriding))
    return [_visible(format_path(override.path)), None, overriding, [overridden]]


def _number(origin: Origin, origins: dict[Origin, int]) -> int:
    """The number of the origin, by which lines refer to it."""
    for inner in origin.derived_from:
        _number(inner, origins)
    return origins.setdefault(origin, len(origins))


def _data(origins: dict[Origin, int], lines: list[list[Any]]) -> dict[str, Any]:
    """The data for the details; a source line is included once, and only if an excerpt shows it."""
    by_source: dict[Source, list[Origin]] = {}
    for origin in origins:
        if origin.span.line:
            by_source.setdefault(origin.span.source, []).append(origin)
    # Source by source, because `lines_of` caches only a few.
    excerpts = {
        origin: _excerpt(origin.span, number)
        for number, in_source in enumerate(by_source.values())
        for origin in in_source
    }
    return {
        "hidden": HIDDEN,
        "sources": [
            _source_lines(source, (excerpts[origin]["lines"] for origin in in_source))
            for source, in_source in by_source.items()
        ],
        "origins": [_origin_data(origin, origins, excerpts.get(origin)) for origin in origins],
        "lines": lines,
    }


def _source_lines(source: Source, ranges: Iterable[tuple[int, int]]) -> dict[int, str | None]:
    """The lines by number; None for a line that may contain a secret."""
    numbers = sorted({number for first, last in ranges for number in range(first, last + 1)})
    return {
        number: None if is_secret_line(Span(source, number)) else _visible(_text(source, number)) for number in numbers
    }


def _origin_data(origin: Origin, origins: dict[Origin, int], excerpt: dict[str, Any] | None) -> dict[str, Any]:
    no_source = _BUILT_IN_TEXT if origin.span.source == BUILT_IN.source else _PYTHON_TEXT
    derived = _visible(origin.derived) if origin.derived else ""
    return {
        "layer": str(origin.layer),
        "who": origin.who,
        "position": _visible(origin.span.label),
        **(excerpt or {"noSource": no_source}),
        **({"derived": derived, "derivedFrom": [origins[inner] for inner in origin.derived_from]} if derived else {}),
    }


def _excerpt(span: Span, source: int) -> dict[str, Any]:
    """The source lines to show and the characters to mark, counted after `_visible`."""
    end_line, end_column = _end(span)
    last = min(end_line, span.line + _MAX_VALUE_LINES - 1) + _CONTEXT
    lines = lines_of(span.source)
    # The text after the last newline is not a line if it is empty.
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
    """The end of the span; one that ends before the first character of a line ends with the previous line."""
    last = span.last_line
    return last, span.end_column if last == span.end_line else len(_text(span.source, last)) + 1


def _text(source: Source, line: int) -> str:
    """The line; empty after the end of the source."""
    lines = lines_of(source)
    return lines[line - 1] if line <= len(lines) else ""
