"""Drift between committed and compiled manifests, by lines or by fields."""

from __future__ import annotations

import json
from collections.abc import Mapping
from difflib import unified_diff
from typing import Any

from speccompile.compiler.compiled import Compiled
from speccompile.compiler.pod_structure import members
from speccompile.diff.list_keys import items_by_key
from speccompile.diff.manifests import ManifestChange, difference
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.findings import has_errors, in_order
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.origin import origin_of
from speccompile.model.redaction import HIDDEN
from speccompile.model.secret_positions import secrets_in
from speccompile.model.source import Layer, Source, Span
from speccompile.terminal.display_width import printable
from speccompile.terminal.style import Paint, plain
from speccompile.yaml_text.parse import parse

FIX = "run `speccompile check --fix`"
MAX_DIFF_LINES = 5000
"""Longest text that is compared by line; the time grows faster than the number of lines."""
MAX_COMPARED_BYTES = 1024 * 1024
"""Longest text that is compared by field; the limit of every input file."""
_DIFF_STYLES = {"-": "error", "+": "profile", "@": "quiet"}
_MAX_VALUE_CHARS = 80
_NO_FIELDS = "the file does not contain only objects with distinct kinds and names, so lines are compared"


class Committed(NamedTuple):
    """A committed file."""

    name: str
    text: str


def missing(file: str, compiled: Compiled | None) -> Diagnostic:
    """Report a file that does not exist; without a run, the Kustomization."""
    reason = f"run {quote(compiled.name)} produces this file" if compiled else "this file lists the manifests"
    return Diagnostic(
        code="check/missing",
        message=f"missing: {reason}",
        span=Span(Source(file, "", Layer.RUN)),
        notes=_run(compiled),
        help=FIX,
    )


def linked(file: str, compiled: Compiled | None) -> Diagnostic:
    """Report a symbolic link in place of the file or its directory. Links are never followed."""
    return Diagnostic(
        code="check/stale",
        message="the file or its directory is a symbolic link, and links are not followed",
        span=Span(Source(file, "", Layer.RUN)),
        notes=_run(compiled),
        help=f"remove the link and {FIX}",
    )


def orphan(file: str) -> Diagnostic:
    """Report a file that no run produces any more."""
    return Diagnostic(
        code="check/orphan",
        message="left over: no run produces this file",
        span=Span(Source(file, "", Layer.RUN)),
        help=f"remove the file, or {FIX}",
    )


def stale(committed: Committed, text: str, compiled: Compiled | None, *, has_no_fields: bool = False) -> Diagnostic:
    """Report a file that differs from the text that its run produces; without a run, the Kustomization.

    `has_no_fields` means that its fields could not be compared.
    """
    reason = f"run {quote(compiled.name)} now produces something else" if compiled else "the list of manifests changed"
    return Diagnostic(
        code="check/stale",
        message=f"out of date: {reason}",
        span=_first_difference(committed, text),
        notes=(*_run(compiled), *((Note(_NO_FIELDS),) if has_no_fields else ())),
        help=FIX,
    )


def _run(compiled: Compiled | None) -> tuple[Note, ...]:
    return (Note("run defined here", Span(compiled.run.source)),) if compiled else ()


def _first_difference(committed: Committed, text: str) -> Span:
    lines, others = committed.text.split("\n"), text.split("\n")
    pairs = zip(lines, others, strict=False)
    number = next((at for at, (one, other) in enumerate(pairs) if one != other), min(len(lines), len(others)) - 1)
    line = lines[number]
    source = Source(committed.name, committed.text, Layer.RUN)
    return Span(source, number + 1, len(line) - len(line.lstrip()) + 1, number + 1, len(line.rstrip()) + 1)


def as_diff(committed: Committed, text: str, paint: Paint = plain) -> str:
    """A unified diff from the committed file to the text, without control characters."""
    before, after = _lines(_redact(committed, text)), _lines(text)
    if max(len(before), len(after)) > MAX_DIFF_LINES:
        return f"{printable(committed.name)} has too many lines for a diff\n"
    name = printable(committed.name)
    diff = unified_diff(before, after, name, name, lineterm="")
    return "".join(
        paint(line, _DIFF_STYLES[line[0]]) + "\n" if line[0] in _DIFF_STYLES else line + "\n" for line in diff
    )


def _redact(committed: Committed, text: str) -> str:
    """The committed text with lines hidden that may contain a secret, except those that the run produces too."""
    hidden = secrets_in(Source(committed.name, committed.text, Layer.RUN)).lines
    produced = frozenset(text.split("\n"))
    lines = enumerate(committed.text.split("\n"), start=1)
    return "\n".join(HIDDEN if number in hidden and line not in produced else line for number, line in lines)


def _lines(text: str) -> list[str]:
    *whole, last = text.split("\n")
    unended = [f"{_printable_line(last)}\n\\ No newline at end of file"] if last else []
    return [*map(_printable_line, whole), *unended]


def _printable_line(line: str) -> str:
    """The line without control characters; tabs stay, so that the diff can be applied."""
    return "\t".join(map(printable, line.split("\t")))


def field_drift(committed: Committed, compiled: Compiled) -> tuple[Diagnostic, ...] | None:
    """Report each field that differs, and the layer that sets it.

    Return None if the file does not contain only objects with distinct kinds and names.
    """
    objects = _objects(committed)
    if objects is None:
        return None
    manifests = {(manifest.kind, manifest.name): manifest for manifest in compiled.manifests}
    changes = difference([node.plain() for node in objects.values()], [one.data for one in compiled.manifests])
    return in_order(
        _field_finding(change, committed, objects.get(identity), manifests.get(identity))
        for change in changes
        for identity in ((change.kind, change.name),)
    )


def _objects(committed: Committed) -> Mapping[tuple[str, str], Node] | None:
    if len(committed.text.encode(errors="replace")) > MAX_COMPARED_BYTES:
        return None
    parsed = parse(Source(committed.name, committed.text, Layer.RUN))
    nodes = [item for document in parsed.documents for item in members(document.root)]
    objects = {
        (kind, name): node
        for node in nodes
        if (kind := _text(node, "kind")) and (name := _text(node, "metadata", "name"))
    }
    return None if has_errors(parsed.findings) or len(objects) != len(nodes) else objects


def _text(node: Node, *path: str) -> str:
    child = node.at(path)
    return child.value if child is not None and isinstance(child.value, str) else ""


def _field_finding(
    change: ManifestChange, committed: Committed, node: Node | None, manifest: Manifest | None
) -> Diagnostic:
    name = f"{change.kind} {quote(change.name)}"
    field = f"`{format_path(change.path)}` of {name}" if change.path else name
    setter = _nearest(manifest.tree, change.path) if manifest and change.after is not None else None
    return Diagnostic(
        code="check/stale",
        message=f"{field} {_difference_text(change)}",
        span=_nearest(node, change.path).place if node else Span(Source(committed.name, "", Layer.RUN)),
        path=change.path,
        notes=(_origin_note(setter),) if setter else (),
        help=FIX,
    )


def _difference_text(change: ManifestChange) -> str:
    if change.before is None and change.after is None:
        return "is `null`, expected to be absent"
    if change.before is None:
        return f"is missing, expected {_brief(change.after)}" if change.path else "is missing"
    if change.after is None:
        return f"is {_brief(change.before)}, expected to be absent" if change.path else "is not produced by this run"
    return f"is {_brief(change.before)}, expected {_brief(change.after)}"


def _brief(value: Any) -> str:
    return quote(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), _MAX_VALUE_CHARS)


def _origin_note(node: Node) -> Note:
    origin = origin_of(node)
    return Note(f"set here by the {origin.who}" if origin.span.line else f"set by the {origin.who}", node.place)


def _nearest(tree: Node, path: KeyPath) -> Node:
    """The node at the path, or its nearest ancestor. List items are identified by key where the list has keys."""
    node, role = tree, ""
    for step in path:
        child = node.fields.get(str(step)) if node.fields else _item(node, role, step)
        if child is None:
            return node
        node, role = child, str(step)
    return node


def _item(node: Node, role: str, key: str | int) -> Node | None:
    keyed = items_by_key(role, [item.plain() for item in node.items])
    return dict(zip(keyed, node.items, strict=True)).get(str(key)) if keyed else None
