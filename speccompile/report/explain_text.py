"""Manifests as annotated YAML, with the origin of each value."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from speccompile.compiler.compiled import Compiled
from speccompile.compiler.explain import Explanation, Line, Overridden, rule_between, unseen
from speccompile.compiler.source_file import file_of
from speccompile.model.finding_text import excerpt
from speccompile.model.key_path import format_path
from speccompile.model.node import Node
from speccompile.model.origin import Origin, origin_of
from speccompile.model.redaction import HIDDEN, is_hidden
from speccompile.model.source import Layer, Span
from speccompile.terminal.display_width import columns, printable, window
from speccompile.terminal.style import Paint, plain
from speccompile.yaml_text.serialize import entries

WIDTH = 100
"""Columns that a listing keeps to, unless a value or a file name alone is longer."""
_NARROWEST = 44
_LONGEST_VALUE = 60
_CROSS = "✗"


def as_listing(compiled: Compiled, paint: Paint = plain) -> str:
    """All manifests of a run. The text is YAML still: whatever it adds to the manifests is a comment."""
    told = compiled.explain()
    shape = _shape(told)
    parts = [[paint(f"# {_title(compiled)}", "title")]]
    for explanation in told:
        parts[-1] += ["---"] * (explanation is not told[0])
        parts.append(list(_annotated(explanation.lines, shape, paint)))
    parts.append(list(_unseen(compiled, paint)))
    return "".join(f"{line}\n" for part in parts for line in part)


def as_answer(compiled: Compiled, explanations: Sequence[Explanation], paint: Paint = plain) -> str:
    """The parts of manifests that were asked for; of a single value, also the lines of source behind it."""
    shape = _shape(explanations)
    lines: list[str] = []
    for explanation in explanations:
        manifest = explanation.manifest
        where = f"{manifest.kind} {manifest.name}: {format_path(explanation.path)}"
        lines += [paint(f"# {printable(where)}", "title")] if explanation.path else []
        lines += _annotated(_dedented(explanation.lines), shape, paint)
        if len(explanation.lines) == 1:
            lines += ["", *_sources(explanation.lines[0], paint)]
        lines.append("")
    return paint(f"# {_title(compiled)}", "title") + "\n" + "".join(f"{line}\n" for line in lines[:-1])


def _title(compiled: Compiled) -> str:
    run, profile = compiled.run, compiled.profile
    under = f" under profile {profile.id.value} ({profile.source.name})" if profile else ""
    return printable(f"run {compiled.project}/{compiled.name} ({run.source.name}){under}")


def _shape(explanations: Iterable[Explanation]) -> tuple[int, int]:
    """The column in which origins begin, and how wide their first word is: wide enough for all, within WIDTH."""
    lines = [line for told in explanations for line in told.lines]
    origins = [
        origin
        for line in lines
        for origin in (line.origin, *(overridden.origin for overridden in line.overridden))
        if origin
    ]
    word = max((len(origin.who) for origin in origins), default=0)
    comment = max((columns(_comment(origin, word)) for origin in origins), default=0)
    text = max((columns(line.text.partition("\n")[0]) for line in lines), default=0)
    return min(text, max(_NARROWEST, WIDTH - comment)), word


def _comment(origin: Origin, word: int) -> str:
    return f"  # {origin.who:<{word}}  {label(origin.span)}"


def label(span: Span) -> str:
    """`file:line`, or the source's name for a value that was never text; of a bundled template, without folders."""
    name = span.source.name
    if span.source.layer is Layer.TEMPLATE and file_of(span.source) is None:
        name = name.rpartition("/")[2]
    return printable(f"{name}:{span.line}" if span.line else name)


def _annotated(lines: Iterable[Line], shape: tuple[int, int], paint: Paint) -> Iterator[str]:
    column, word = shape
    for line in lines:
        first, *others = line.text.split("\n")
        # Below the first line of a block of text, or deeper than its key, a comment would belong to the text.
        comment = _painted(line.origin, word, paint) if line.origin else ""
        apart = "\n" if columns(first) > column and not others else ""
        yield f"{first}{apart}{_gap('' if apart else first, column)}{comment}" if comment else first
        yield from others
        indent = first[: len(first) - len(first.lstrip(" "))]
        if line.origin and line.origin.derived:
            yield from _aside(indent, f"= {_derivation(line.origin)}", paint)
        for overridden in line.overridden:
            cross, said = f"{indent}# {_CROSS} ", _said(line, overridden)
            apart = "\n" if columns(cross + said) > column else ""
            gap = _gap("" if apart else cross + said, column)
            yield f"{cross}{paint(said, 'overridden')}{apart}{gap}{_painted(overridden.origin, word, paint)}"
            if overridden.origin.derived:
                yield from _aside(indent, f"= {_derivation(overridden.origin)}", paint)
            yield from _aside(indent, overridden.rule, paint)


def _gap(text: str, column: int) -> str:
    return " " * (column - columns(text))


def _painted(origin: Origin, word: int, paint: Paint) -> str:
    sign, told = "  # ", _comment(origin, word)
    return sign + paint(told.removeprefix(sign), origin.layer)


def _aside(indent: str, text: str, paint: Paint) -> Iterator[str]:
    """A remark on the line above, which begins with the indent."""
    sign = f"{indent}#   "
    room = max(_NARROWEST, WIDTH - len(sign))
    yield from (sign + paint(part, "quiet") for part in textwrap.wrap(printable(text), room))


def _derivation(origin: Origin) -> str:
    derived_from = [label(inner.span) for inner in origin.derived_from]
    return f"{origin.derived}{f', with {_and(derived_from)}' if derived_from else ''}"


def _and(names: Sequence[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def _said(line: Line, overridden: Overridden) -> str:
    """What lost, as it would stand in the line's place."""
    if overridden.is_hidden:
        return HIDDEN
    key = line.path[-1]
    alike = overridden.value.is_scalar == line.value.is_scalar
    return brief(overridden.value, key if alike and isinstance(key, str) else None)


def brief(node: Node, key: str | None = None) -> str:
    """A value on one line, with its key if there is one, cut short: as YAML, which JSON is too."""
    value = node.plain()
    text = json.dumps(value, ensure_ascii=False)
    if node.is_scalar and "\n" not in (written := entries({"": value})[0]):
        text = written.removeprefix('"": ')
    name = f"{entries({key: 0})[0].removesuffix(' 0')} " if key else ""
    whole = printable(name + text)
    _, end = window(whole, 0, _LONGEST_VALUE)
    return whole if end == len(whole) else f"{whole[:end]}…"


def _dedented(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without the indent that all of them have."""
    margin = min((len(line.text) - len(line.text.lstrip(" ")) for line in lines), default=0)
    return [line._replace(text=_without(line.text, margin)) for line in lines]


def _without(text: str, margin: int) -> str:
    return "\n".join(line[margin:] for line in text.split("\n"))


def _unseen(compiled: Compiled, paint: Paint) -> Iterator[str]:
    overrides = unseen(compiled.replaced, compiled.manifests)
    if overrides:
        yield paint("# lost, and beside no value of the manifests:", "title")
    for path, overridden, overriding, _ in overrides:
        said = HIDDEN if is_hidden(overridden) else brief(overridden, format_path(path))
        origin = origin_of(overridden)
        place = paint(f"{origin.who}  {label(overridden.span)}", origin.layer)
        yield f"# {_CROSS} {paint(said, 'overridden')}  # {place}"
        yield from _aside(
            "", f"{rule_between(overridden, overriding)}: {origin_of(overriding).who} {label(overriding.span)}", paint
        )


def _sources(line: Line, paint: Paint) -> Iterator[str]:
    """Where a single value stands in its source, what it was made of, and what lost, each with its line of source."""
    if line.origin:
        yield from _source("set by", line.origin, paint)
    for overridden in line.overridden:
        yield from _source("lost:", overridden.origin, paint, f", as {overridden.rule}")


def _source(what: str, origin: Origin, paint: Paint, why: str = "") -> Iterator[str]:
    how = f" ({origin.derived})" if origin.derived else ""
    yield f"{what} {paint(origin.who, origin.layer)}{printable(how)}{why}"
    yield f"  {paint('-->', 'quiet')} {printable(origin.span.label)}"
    yield from excerpt(origin.span, paint=paint, kind=origin.layer)
    for inner in origin.derived_from:
        yield from _source("made of", inner, paint)
