"""Manifests as annotated YAML, with the origin of each value."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Iterator, Sequence

from speccompile.compiler.compiled import Compiled, Explanations
from speccompile.compiler.explain import Explanation, Line, Overridden, rule_between, unseen_overrides
from speccompile.compiler.source_file import user_file
from speccompile.model.finding_text import excerpt
from speccompile.model.key_path import format_path
from speccompile.model.node import Node
from speccompile.model.origin import Origin, origin_of
from speccompile.model.redaction import HIDDEN, is_hidden
from speccompile.model.source import Layer, Span
from speccompile.terminal.display_width import columns, printable, window
from speccompile.terminal.style import Paint, plain
from speccompile.yaml_text.serialize import entries

MAX_COLUMNS = 100
"""Width of a listing, unless a single value or file name is longer."""
_MIN_COLUMNS = 44
_MAX_VALUE_COLUMNS = 60
_CROSS = "✗"


def as_explained_text(compiled: Compiled, explanations: Sequence[Explanation], paint: Paint = plain) -> str:
    """What `explain` prints for a run: all its manifests, or the parts."""
    is_part = any(explanation.path for explanation in explanations)
    return as_answer(compiled, explanations, paint) if is_part else as_listing(compiled, paint)


def explanations_text(explanations: Explanations) -> str:
    """The output of `explain`, without the last line break, because `print` adds one."""
    return as_explained_text(explanations.compiled, explanations).rstrip("\n")


def as_listing(compiled: Compiled, paint: Paint = plain) -> str:
    """All manifests of a run as YAML, with the origins as comments."""
    explanations = compiled.explain()
    shape = _shape(explanations)
    parts = [[paint(f"# {_title(compiled)}", "title")]]
    for explanation in explanations:
        parts[-1] += ["---"] * (explanation is not explanations[0])
        parts.append(list(_annotated(explanation.lines, shape, paint)))
    parts.append(list(_unseen(compiled, paint)))
    return "".join(f"{line}\n" for part in parts for line in part)


def as_answer(compiled: Compiled, explanations: Sequence[Explanation], paint: Paint = plain) -> str:
    """Parts of manifests; for a single value, also the source lines that set it."""
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
    with_profile = f" with profile {profile.id.value} ({profile.source.name})" if profile else ""
    return printable(f"run {compiled.project}/{compiled.name} ({run.source.name}){with_profile}")


def _shape(explanations: Iterable[Explanation]) -> tuple[int, int]:
    """The column in which origins begin, and the width of their layer."""
    lines = [line for explanation in explanations for line in explanation.lines]
    origins = [
        origin
        for line in lines
        for origin in (line.origin, *(overridden.origin for overridden in line.overridden))
        if origin
    ]
    layer_width = max((len(origin.who) for origin in origins), default=0)
    comment = max((columns(_comment(origin, layer_width)) for origin in origins), default=0)
    text = max((columns(line.text.partition("\n")[0]) for line in lines), default=0)
    return min(text, max(_MIN_COLUMNS, MAX_COLUMNS - comment)), layer_width


def _comment(origin: Origin, layer_width: int) -> str:
    return f"  # {origin.who:<{layer_width}}  {label(origin.span)}"


def label(span: Span) -> str:
    """`file:line`, or the name of a source without lines; for a bundled template, without its directory."""
    name = span.source.name
    if span.source.layer is Layer.TEMPLATE and user_file(span.source) is None:
        name = name.rpartition("/")[2]
    return printable(f"{name}:{span.line}" if span.line else name)


def _annotated(lines: Iterable[Line], shape: tuple[int, int], paint: Paint) -> Iterator[str]:
    column, layer_width = shape
    for line in lines:
        first, *others = line.text.split("\n")
        # After the first line of a block scalar, a comment would become part of the text.
        comment = _origin_comment(line.origin, layer_width, paint) if line.origin else ""
        line_break = "\n" if columns(first) > column and not others else ""
        yield f"{first}{line_break}{_padding('' if line_break else first, column)}{comment}" if comment else first
        yield from others
        indent = first[: len(first) - len(first.lstrip(" "))]
        if line.origin and line.origin.derived:
            yield from _remark(indent, f"= {_derivation(line.origin)}", paint)
        for overridden in line.overridden:
            prefix, text = f"{indent}# {_CROSS} ", _overridden_text(line, overridden)
            line_break = "\n" if columns(prefix + text) > column else ""
            padding = _padding("" if line_break else prefix + text, column)
            comment = _origin_comment(overridden.origin, layer_width, paint)
            yield f"{prefix}{paint(text, 'overridden')}{line_break}{padding}{comment}"
            if overridden.origin.derived:
                yield from _remark(indent, f"= {_derivation(overridden.origin)}", paint)
            yield from _remark(indent, overridden.rule, paint)


def _padding(text: str, column: int) -> str:
    return " " * (column - columns(text))


def _origin_comment(origin: Origin, layer_width: int, paint: Paint) -> str:
    sign = "  # "
    return sign + paint(_comment(origin, layer_width).removeprefix(sign), origin.layer)


def _remark(indent: str, text: str, paint: Paint) -> Iterator[str]:
    """Comment lines about the line above, with its indent."""
    sign = f"{indent}#   "
    width = max(_MIN_COLUMNS, MAX_COLUMNS - len(sign))
    yield from (sign + paint(part, "quiet") for part in textwrap.wrap(printable(text), width))


def _derivation(origin: Origin) -> str:
    inputs = [label(inner.span) for inner in origin.derived_from]
    *others, last = inputs or [""]
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{origin.derived}{f', with {listed}' if listed else ''}"


def _overridden_text(line: Line, overridden: Overridden) -> str:
    """The overridden value, written as the line would be."""
    if overridden.is_hidden:
        return HIDDEN
    key = line.path[-1]
    same_shape = overridden.value.is_scalar == line.value.is_scalar
    return brief(overridden.value, key if same_shape and isinstance(key, str) else None)


def brief(node: Node, key: str | None = None) -> str:
    """A value as one line of YAML, with its key if there is one, truncated."""
    value = node.plain()
    text = json.dumps(value, ensure_ascii=False)
    if node.is_scalar and "\n" not in (entry := entries({"": value})[0]):
        text = entry.removeprefix('"": ')
    name = f"{entries({key: 0})[0].removesuffix(' 0')} " if key else ""
    whole = printable(name + text)
    _, end = window(whole, 0, _MAX_VALUE_COLUMNS)
    return whole if end == len(whole) else f"{whole[:end]}…"


def _dedented(lines: Sequence[Line]) -> Sequence[Line]:
    """The lines without their common indent."""
    margin = min((len(line.text) - len(line.text.lstrip(" ")) for line in lines), default=0)
    return [line._replace(text="\n".join(part[margin:] for part in line.text.split("\n"))) for line in lines]


def _unseen(compiled: Compiled, paint: Paint) -> Iterator[str]:
    overrides = unseen_overrides(compiled.replaced, compiled.manifests)
    if overrides:
        yield paint("# overridden, with no value in their place:", "title")
    for path, overridden, overriding, _ in overrides:
        text = HIDDEN if is_hidden(overridden) else brief(overridden, format_path(path))
        origin = origin_of(overridden)
        place = paint(f"{origin.who}  {label(overridden.span)}", origin.layer)
        yield f"# {_CROSS} {paint(text, 'overridden')}  # {place}"
        rule = rule_between(overridden, overriding)
        yield from _remark("", f"{rule}: {origin_of(overriding).who} {label(overriding.span)}", paint)


def _sources(line: Line, paint: Paint) -> Iterator[str]:
    """The source lines of a single value, of the values it is derived from and of those it overrides."""
    if line.origin:
        yield from _source("set by", line.origin, paint)
    for overridden in line.overridden:
        yield from _source("overridden:", overridden.origin, paint, f" ({overridden.rule})")


def _source(title: str, origin: Origin, paint: Paint, rule: str = "") -> Iterator[str]:
    how = f" ({origin.derived})" if origin.derived else ""
    yield f"{title} {paint(origin.who, origin.layer)}{printable(how)}{rule}"
    yield f"  {paint('-->', 'quiet')} {printable(origin.span.label)}"
    yield from excerpt(origin.span, paint, origin.layer)
    for inner in origin.derived_from:
        yield from _source("derived from", inner, paint)
