"""Profile files inside a ConfigMap, with positions in the outer file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document
from speccompile.model.node import Node
from speccompile.model.redaction import lines_of
from speccompile.model.source import Source, Span
from speccompile.schema.validate import describe_value
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

KIND = "ConfigMap"
Move = Callable[[Span], Span]


def files_in(document: Document) -> Iterator[Parsed]:
    """Each value of the ConfigMap's `data` as a file of its own; what is no text is a finding."""
    data = document.root.fields.get("data")
    if data is None or not isinstance(data.value, Mapping) or not data.value:
        none = "a ConfigMap of profiles has files under `data`, and here are none"
        yield Parsed((), (_no_files(none, data or document.root),))
        return
    for child in data.fields.values():
        if isinstance(child.value, str):
            yield _file(child, child.value)
        else:
            found = describe_value(child.plain())
            yield Parsed((), (_no_files(f"a file in a ConfigMap is text, found {found}", child),))


def _no_files(message: str, node: Node) -> Diagnostic:
    return Diagnostic(
        code="profile/empty-config-map",
        message=message,
        span=node.place,
        help="write `gpu.yaml: |` under `data`, and the profile below it, indented",
    )


def _file(node: Node, text: str) -> Parsed:
    """The text parsed; its lines are those of the outer file where it stands there as a block."""
    indent = _indent(node, text)
    parsed = parse(Source(node.span.source.name, text, node.span.source.layer))
    if indent is None:
        told = tuple(_at_line(finding) for finding in parsed.findings)
        return _moved(Parsed(parsed.documents, told), lambda _: node.place, node.span.source)

    def move(span: Span) -> Span:
        # The text begins in the line after the block's own sign.
        first, last = span.line + node.span.line, span.end_line + node.span.line
        return Span(node.span.source, first, span.column + indent, last, span.end_column + indent)

    return _moved(parsed, move, node.span.source)


def _at_line(finding: Diagnostic) -> Diagnostic:
    """The finding with its place in words: within a folded or quoted text, no line of the outer file is it."""
    inner = finding.span
    notes = tuple(Note(note.message) for note in finding.notes)
    return finding._replace(notes=(*notes, Note(f"in line {inner.line} of this text"))) if inner else finding


def _indent(node: Node, text: str) -> int | None:
    """How far the text is indented as a literal block, line by line; None if it does not stand as one."""
    lines = lines_of(node.span.source)
    if not node.span.line or not lines[node.span.line - 1][node.span.column - 1 :].startswith("|"):
        return None
    written, told = lines[node.span.line :], text.split("\n")
    first = next((number for number, line in enumerate(told) if line.strip()), None)
    if first is None or first >= len(written) or not written[first].endswith(told[first]):
        return None
    return len(written[first]) - len(told[first])


def _moved(parsed: Parsed, move: Move, source: Source) -> Parsed:
    documents = tuple(Document(source, _tree(document.root, move)) for document in parsed.documents)
    return Parsed(documents, tuple(_finding(finding, move) for finding in parsed.findings))


def _tree(node: Node, move: Move) -> Node:
    moved = node.but(span=move(node.span), key=move(node.key) if node.key else None)
    return moved.mapped(lambda child: _tree(child, move))


def _finding(finding: Diagnostic, move: Move) -> Diagnostic:
    return finding._replace(
        span=move(finding.span) if finding.span else None,
        secret=move(finding.secret) if finding.secret else None,
        notes=tuple(Note(note.message, move(note.span) if note.span else None) for note in finding.notes),
    )
