"""Takes findings about manifests and the files these stand in, gives the findings without values that are secret."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from speccompile.model.diagnostic import Diagnostic, Note, shown
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.redaction import lines_of, without_words
from speccompile.model.source import Source, Span
from speccompile.verify.verify import UNKNOWN_KIND
from speccompile.yaml_text.parsed import Parsed

_KINDS = frozenset({"secret", "secrets", "secretlist"})
"""Slips among them: what is refused as no kind at all is still a secret."""
_MENTION = re.compile(r"\bSecret(s|List)?\b", re.IGNORECASE)
_TEXT = "yaml/"
_READ_ON = frozenset(
    f"{_TEXT}{name}"
    for name in ("ambiguous-scalar", "duplicate-key", "empty", "merge-key", "non-string-key", "number", "tag")
)
"""Findings that leave no part of a file unread."""
_FOUND, _HIDDEN = ", found ", "(not shown)"
_QUOTED = re.compile('`.*`|".*"', re.DOTALL)


class Hidden(NamedTuple):
    """What of a file is for nobody to see."""

    lines: frozenset[int] = frozenset()
    """Lines that are not shown."""
    secrets: frozenset[int] = frozenset()
    """Those of them that are of Secrets, about which nothing is quoted."""
    values: frozenset[tuple[int, int]] = frozenset()
    """Where values of variables begin, about which nothing is quoted either; beside them other things may stand."""

    def tells(self, span: Span) -> bool:
        """Whether words about the place may repeat what is hidden."""
        return span.line in self.secrets or (span.line, span.column) in self.values


def secret_lines(parsed: Parsed) -> dict[Source, Hidden]:
    """Every mapping that is a Secret, wherever it stands, and all that it takes from elsewhere; values of variables.

    In a file that could not be read to its end, and says `Secret` anywhere, all lines may be such.
    """
    unread: dict[Source, frozenset[int]] = {}
    for finding in parsed.findings:
        if finding.span and finding.code not in _READ_ON and _MENTION.search(finding.span.source.text):
            source = finding.span.source
            unread[source] = frozenset(range(1, len(lines_of(source)) + 1))
    hidden = {source: Hidden(lines, lines) for source, lines in unread.items()}
    for document in parsed.documents:
        secrets, values = [*_secrets(document.root)], [*_values(document.root)]
        if secrets or values:
            known = hidden.get(document.source, Hidden())
            hidden[document.source] = Hidden(
                known.lines.union(*map(_lines, (*secrets, *values))),
                known.secrets.union(*map(_lines, secrets)),
                known.values.union((span.line, span.column) for value in values for span in _spans(value)),
            )
    return hidden


def without_values(findings: Iterable[Diagnostic], hidden: Mapping[Source, Hidden]) -> Iterator[Diagnostic]:
    """The findings; one that stands on a hidden line, or leads to it, has no excerpt, and quotes nothing hidden."""
    for finding in findings:
        spans = [span for span in (finding.span, *(note.span for note in finding.notes)) if span]
        covered = [span for span in spans if span.line in hidden.get(span.source, _NOTHING).lines]
        if not covered:
            yield finding
            continue
        secret = _around(covered[0], hidden[covered[0].source].lines)
        notes = tuple(_led_to(note, covered, secret) for note in finding.notes)
        is_told = any(hidden[span.source].tells(span) for span in covered) or finding.code.startswith(_TEXT)
        told = _hushed(finding, secret) if is_told else finding
        yield told._replace(notes=notes, secret=secret)


_NOTHING = Hidden()


def _led_to(note: Note, covered: Sequence[Span], secret: Span) -> Note:
    """A finding can hide lines at one place: of another, a note only says where it is."""
    span = note.span
    if (
        span is None
        or span not in covered
        or (span.source == secret.source and secret.line <= span.line <= secret.last_line)
    ):
        return note
    return note._replace(message=f"{note.message}: {span.label}", span=None)


def _secrets(root: Node) -> Iterator[Node]:
    for _, node in root.walk():
        kind = node.fields.get("kind")
        if kind is not None and str(kind.value).casefold() in _KINDS:
            yield node


def _values(root: Node) -> Iterator[Node]:
    """Whatever stands in the variables of containers beside their names; passwords do often enough."""
    for _, node in root.walk():
        variables = node.fields.get("env")
        yield from variables.fields.values() if variables else ()
        for item in variables.items if variables else ():
            yield from (child for key, child in item.fields.items() if key not in _NAMING)


_NAMING = frozenset({"name", "valueFrom"})


def _spans(secret: Node) -> Iterator[Span]:
    return (span for _, node in secret.walk() for span in (node.span, node.key) if span)


def _lines(secret: Node) -> frozenset[int]:
    return frozenset(line for span in _spans(secret) for line in range(span.line, span.last_line + 1))


def _around(span: Span, lines: frozenset[int]) -> Span:
    """All hidden lines that the place is among, as other places of them may be shown beside it."""
    first = last = span.line
    while first - 1 in lines:
        first -= 1
    while last + 1 in lines:
        last += 1
    return Span(span.source, first, 1, last, 1)


def _hushed(finding: Diagnostic, secret: Span) -> Diagnostic:
    if finding.code.startswith(_TEXT):
        return without_words(finding)._replace(secret=secret)
    # That a key is unknown tells no value, and neither do kinds.
    is_key = bool(finding.path) and finding.message == f"unknown key {shown(finding.path[-1])}"
    if is_key or finding.code == UNKNOWN_KIND:
        return finding._replace(secret=secret)
    message = _QUOTED.sub(_HIDDEN, finding.message.partition(_FOUND)[0])
    # A cure repeats what the message does.
    return finding._replace(message=message, help=finding.help if message == finding.message else None, secret=secret)
