"""Takes findings about manifests and the files these stand in, gives the findings without values of Secrets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from speccompile.diagnostics import Diagnostic, shown
from speccompile.hush import lines_of, without_words
from speccompile.model import Node, Source, Span
from speccompile.parse import Parsed
from speccompile.verify import UNKNOWN_KIND

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


def secret_lines(parsed: Parsed) -> dict[Source, frozenset[int]]:
    """The lines of every mapping that is a Secret, wherever it stands, and of all that it takes from elsewhere.

    In a file that could not be read to its end, and says `Secret` anywhere, all lines may be such.
    """
    hidden: dict[Source, frozenset[int]] = {}
    for finding in parsed.findings:
        if finding.span and finding.code not in _READ_ON and _MENTION.search(finding.span.source.text):
            source = finding.span.source
            hidden[source] = frozenset(range(1, len(lines_of(source)) + 1))
    for document in parsed.documents:
        lines = hidden.get(document.source, frozenset())
        hidden[document.source] = lines.union(*map(_lines, _secrets(document.root)))
    return {source: lines for source, lines in hidden.items() if lines}


def without_values(findings: Iterable[Diagnostic], hidden: Mapping[Source, frozenset[int]]) -> Iterator[Diagnostic]:
    """The findings; one that stands on such a line, or leads to it, quotes nothing and has no excerpt."""
    for finding in findings:
        spans = [span for span in (finding.span, *(note.span for note in finding.notes)) if span]
        secret = next((span for span in spans if span.line in hidden.get(span.source, ())), None)
        yield _hushed(finding, _around(secret, hidden[secret.source])) if secret else finding


def _secrets(root: Node) -> Iterator[Node]:
    for _, node in root.walk():
        kind = node.fields.get("kind")
        if kind is not None and str(kind.value).casefold() in _KINDS:
            yield node


def _lines(secret: Node) -> frozenset[int]:
    spans = (span for _, node in secret.walk() for span in (node.span, node.key) if span)
    return frozenset(line for span in spans for line in range(span.line, span.last_line + 1))


def _around(span: Span, lines: frozenset[int]) -> Span:
    """All lines of the Secret that the place is in, as other places of it may be shown beside it."""
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
