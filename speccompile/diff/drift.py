"""Drift between committed and compiled manifests, by lines or by fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from speccompile.compiler.compiled import Compiled
from speccompile.compiler.pod_structure import members
from speccompile.diff.list_keys import by_key
from speccompile.diff.manifests import Change, difference
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.findings import has_errors
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.origin import origin_of
from speccompile.model.redaction import HIDDEN, secret_lines
from speccompile.model.source import Layer, Source, Span
from speccompile.terminal.display_width import printable
from speccompile.terminal.style import Paint, plain
from speccompile.yaml_text.parse import parse

FIX = "run `speccompile check --fix`"
MAX_LINES = 5000
"""The longest text of which lines are compared; matching lines takes time that grows faster than their number."""
MAX_BYTES = 1024 * 1024
"""The longest text of which fields are compared, which is the longest that is read anywhere."""
_LOOKS = {"-": "error", "+": "profile", "@": "quiet"}
_LONGEST = 80
_ODD = "the file cannot be read as objects, each with a kind and a name of its own, so its lines are compared"


class Committed(NamedTuple):
    """A file as it is committed."""

    name: str
    text: str


def missing(file: str, compiled: Compiled | None) -> Diagnostic:
    """There is no such file, and there should be. Without a run, it is the list of all files."""
    what = f"the manifests of run {quote(compiled.name)} are" if compiled else "the list of all files is"
    return Diagnostic(
        code="check/missing",
        message=f"{what} not here",
        span=Span(Source(file, "", Layer.RUN)),
        notes=_run(compiled),
        help=FIX,
    )


def linked(file: str, compiled: Compiled | None) -> Diagnostic:
    """There is a link where the file, or its folder, should be; where it leads is nobody's business."""
    return Diagnostic(
        code="check/stale",
        message="a link stands here, or in place of the folder, and links are not followed",
        span=Span(Source(file, "", Layer.RUN)),
        notes=_run(compiled),
        help=f"remove the link, and {FIX}",
    )


def orphan(file: str) -> Diagnostic:
    """There is a file, and nothing gives it any more."""
    return Diagnostic(
        code="check/orphan",
        message="these manifests are of no run any more",
        span=Span(Source(file, "", Layer.RUN)),
        help=f"remove the file, or {FIX}",
    )


def stale(committed: Committed, given: str, compiled: Compiled | None, *, is_odd: bool = False) -> Diagnostic:
    """The file is not what the run gives, from the first line that differs. Without a run, it is the list of all files.

    It is odd if its fields were to be compared, and could not be.
    """
    what = f"what run {quote(compiled.name)} gives" if compiled else "the list of all files"
    return Diagnostic(
        code="check/stale",
        message=f"this is not {what}",
        span=_first_difference(committed, given),
        notes=(*_run(compiled), *((Note(_ODD),) if is_odd else ())),
        help=FIX,
    )


def _run(compiled: Compiled | None) -> tuple[Note, ...]:
    return (Note("this is the run", Span(compiled.run.source)),) if compiled else ()


def _first_difference(committed: Committed, given: str) -> Span:
    lines, others = committed.text.split("\n"), given.split("\n")
    pairs = zip(lines, others, strict=False)
    number = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(lines), len(others)) - 1)
    line = lines[number]
    source = Source(committed.name, committed.text, Layer.RUN)
    return Span(source, number + 1, len(line) - len(line.lstrip()) + 1, number + 1, len(line.rstrip()) + 1)


def as_diff(committed: Committed, given: str, paint: Paint = plain) -> str:
    """What would have to change in the file, as a unified diff with nothing in it that a terminal would obey."""
    before, after = _lines(_hushed(committed, given)), _lines(given)
    if max(len(before), len(after)) > MAX_LINES:
        return f"the lines of {printable(committed.name)} are too many to be compared\n"
    name = printable(committed.name)
    told = unified_diff(before, after, name, name, lineterm="")
    return "".join(paint(line, _LOOKS[line[0]]) + "\n" if line[0] in _LOOKS else line + "\n" for line in told)


def _hushed(committed: Committed, given: str) -> str:
    """The text without what somebody wrote into it that may be a secret; what we write ourselves never is."""
    telling = secret_lines(Source(committed.name, committed.text, Layer.RUN))
    own = frozenset(given.split("\n"))
    lines = enumerate(committed.text.split("\n"), start=1)
    return "\n".join(HIDDEN if number in telling and line not in own else line for number, line in lines)


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    unended = [f"{_shown(last)}\n\\ No newline at end of file"] if last else []
    return [*map(_shown, whole), *unended]


def _shown(line: str) -> str:
    """The line without what a terminal would obey; a tab stays, or the diff could not be applied."""
    return "\t".join(map(printable, line.split("\t")))


def field_drift(committed: Committed, compiled: Compiled) -> tuple[Diagnostic, ...] | None:
    """What each field should be that differs, and who says so; none where both mean the same.

    None instead if the file cannot be read as objects, each with a kind and a name of its own.
    """
    objects = _objects(committed)
    if objects is None:
        return None
    given = {(made.kind, made.name): made for made in compiled.manifests}
    changes = difference([node.plain() for node in objects.values()], [made.data for made in compiled.manifests])
    return tuple(
        _told(change, committed, objects.get((change.kind, change.name)), given.get((change.kind, change.name)))
        for change in changes
    )


def _objects(committed: Committed) -> Mapping[tuple[str, str], Node] | None:
    if len(committed.text.encode(errors="replace")) > MAX_BYTES:
        return None
    parsed = parse(Source(committed.name, committed.text, Layer.RUN))
    found = [item for document in parsed.documents for item in members(document.root)]
    named = {(kind, name): node for node in found if (kind := _text(node, "kind")) and (name := _text(node, *_NAME))}
    return None if has_errors(parsed.findings) or len(named) != len(found) else named


_NAME = ("metadata", "name")


def _text(node: Node, *path: str) -> str:
    found = node.at(path)
    return found.value if found is not None and isinstance(found.value, str) else ""


def _told(change: Change, committed: Committed, here: Node | None, made: Manifest | None) -> Diagnostic:
    what = f"{change.kind} {quote(change.name)}"
    field = f"`{format_path(change.path)}` of {what}" if change.path else what
    giver = _nearest(made.tree, change.path) if made and change.after is not None else None
    return Diagnostic(
        code="check/stale",
        message=f"{field} {_compared(change)}",
        span=_nearest(here, change.path).place if here else Span(Source(committed.name, "", Layer.RUN)),
        path=change.path,
        notes=(_origin(giver),) if giver else (),
        help=FIX,
    )


def _compared(change: Change) -> str:
    if change.before is None and change.after is None:
        return "is `null`, and the specs say nothing of it"
    if change.before is None:
        return f"is missing: the specs give {_brief(change.after)}" if change.path else "is missing"
    if change.after is None:
        return f"has {_brief(change.before)}, which the specs do not give" if change.path else "is not of this run"
    return f"is {_brief(change.before)}, and the specs give {_brief(change.after)}"


def _brief(value: Any) -> str:
    return quote(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _LONGEST)


def _origin(node: Node) -> Note:
    origin = origin_of(node)
    return Note(f"set here by the {origin.who}" if origin.span.line else f"set by the {origin.who}", node.place)


def _nearest(tree: Node, path: KeyPath) -> Node:
    """The node at the path, whose steps in a list with keys are keys, or else the nearest one around it."""
    node, role = tree, ""
    for step in path:
        found = node.fields.get(str(step)) if node.fields else _item(node, role, step)
        if found is None:
            return node
        node, role = found, str(step)
    return node


def _item(node: Node, role: str, key: str | int) -> Node | None:
    keyed = by_key(role, [item.plain() for item in node.items])
    return dict(zip(keyed, node.items, strict=True)).get(str(key)) if keyed else None
