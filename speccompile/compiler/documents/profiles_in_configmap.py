"""Profile files inside a ConfigMap, with positions in the outer file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Document
from speccompile.model.node import Node
from speccompile.model.source import Source, Span, lines_of
from speccompile.schema.validate import describe_value
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

KIND = "ConfigMap"
MoveSpan = Callable[[Span], Span]


def files_in(document: Document) -> Iterator[Parsed]:
    """Parse each value of the ConfigMap's `data` as a file; a value that is not a string is an error."""
    data = document.root.fields.get("data")
    if data is None or not isinstance(data.value, Mapping) or not data.value:
        yield Parsed((), (_no_files("the ConfigMap has no files under `data`", data or document.root),))
        return
    for child in data.fields.values():
        if isinstance(child.value, str):
            yield _parse_value(child, child.value)
        else:
            message = f"expected a file as a string, found {describe_value(child.plain())}"
            yield Parsed((), (_no_files(message, child),))


def _no_files(message: str, node: Node) -> Diagnostic:
    return Diagnostic(
        code="profile/empty-config-map",
        message=message,
        span=node.place,
        help="write `gpu.yaml: |` under `data`, with the profile indented below it",
    )


def _parse_value(node: Node, text: str) -> Parsed:
    """Parse the text; positions are those in the outer file if it is a literal block there."""
    indent = _indent(node, text)
    parsed = parse(Source(node.span.source.name, text, node.span.source.layer))
    if indent is None:
        findings = tuple(_with_line_note(finding) for finding in parsed.findings)
        return _move(Parsed(parsed.documents, findings), lambda _: node.place, node.span.source)

    def move(span: Span) -> Span:
        # The text starts in the line after the `|`.
        first, last = span.line + node.span.line, span.end_line + node.span.line
        return Span(node.span.source, first, span.column + indent, last, span.end_column + indent)

    return _move(parsed, move, node.span.source)


def _with_line_note(finding: Diagnostic) -> Diagnostic:
    """Name the line in a note, because lines of folded and quoted text do not exist in the outer file."""
    inner = finding.span
    notes = tuple(Note(note.message) for note in finding.notes)
    return finding._replace(notes=(*notes, Note(f"in line {inner.line} of this text"))) if inner else finding


def _indent(node: Node, text: str) -> int | None:
    """The indentation of the text if it is a literal block, else None."""
    lines = lines_of(node.span.source)
    if not node.span.line or not lines[node.span.line - 1][node.span.column - 1 :].startswith("|"):
        return None
    outer, inner = lines[node.span.line :], text.split("\n")
    first = next((number for number, line in enumerate(inner) if line.strip()), None)
    if first is None or first >= len(outer) or not outer[first].endswith(inner[first]):
        return None
    return len(outer[first]) - len(inner[first])


def _move(parsed: Parsed, move: MoveSpan, source: Source) -> Parsed:
    documents = tuple(Document(source, _move_tree(document.root, move)) for document in parsed.documents)
    return Parsed(documents, tuple(_move_finding(finding, move) for finding in parsed.findings))


def _move_tree(node: Node, move: MoveSpan) -> Node:
    moved = node.but(span=move(node.span), key=move(node.key) if node.key else None)
    return moved.mapped(lambda child: _move_tree(child, move))


def _move_finding(finding: Diagnostic, move: MoveSpan) -> Diagnostic:
    return finding._replace(
        span=move(finding.span) if finding.span else None,
        notes=tuple(Note(note.message, move(note.span) if note.span else None) for note in finding.notes),
    )
