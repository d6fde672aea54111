"""Takes a source text, gives the lines that may hold the value of a secret, which no report shows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import lru_cache

from speccompile.diagnostics import Diagnostic, shown
from speccompile.model import Layer, Node, Source, Span

HIDDEN = "(not shown: this line may hold a secret)"
"""What stands in an excerpt in place of such a line."""
_NOT_SHOWN = "a value that is not shown"
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"""(?:^|[{,\s"'-])\w*secrets?\w*["']?\s*:""", re.IGNORECASE)
_MENTION = re.compile(r"secrets?", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[-\w.]*")
_WORDS = "this is not YAML, and what stands here is not shown"
_TELLING = frozenset({Layer.RUN, Layer.PROFILE})
_HARMLESS = frozenset({"yaml/stray-comma", "yaml/empty"})


@lru_cache(maxsize=8)
def lines_of(source: Source) -> tuple[str, ...]:
    """The lines of a source; a report asks for them once for each of its findings."""
    return tuple(_LINE_END.split(source.text))


@lru_cache(maxsize=8)
def secret_lines(source: Source) -> frozenset[int]:
    """The numbers of lines below or beside a key `secrets` that are more than a list of identifiers."""
    return frozenset(_secret_lines(lines_of(source)))


def may_tell(span: Span) -> bool:
    """Whether the line might hold the value of a secret; platform and templates only say where secrets are."""
    return span.source.layer in _TELLING and span.line in secret_lines(span.source)


def is_hidden(node: Node) -> bool:
    """Whether a line that the value stands in may hold a secret, so that nothing may show it."""
    spans = (inner.span for _, inner in node.walk())
    return any(may_tell(span._replace(line=line)) for span in spans for line in range(span.line, span.last_line + 1))


def shown_of(node: Node) -> str:
    """A value as a message may show it, unless a line of it may hold a secret."""
    if is_hidden(node):
        return _NOT_SHOWN
    return shown(node.value if isinstance(node.value, str) else json.dumps(node.plain()))


def _secret_lines(lines: Iterable[str]) -> Iterator[int]:
    depth: int | None = None
    for number, line in enumerate(lines, start=1):
        content = line.lstrip()
        indent = len(line) - len(content)
        if depth is not None and content and (indent < depth or (indent == depth and content[0] not in "-]}")):
            depth = None
        keys = [match.end() for match in _KEY.finditer(line)]
        if keys:
            depth = indent
        told = all(_is_list(line[end:]) for end in keys) if keys else _is_item(content)
        if depth is not None and not told:
            yield number


def _is_list(text: str) -> bool:
    """Whether nothing stands here, or a list of identifiers, whatever comes after it."""
    told = text.strip()
    if not told or told.startswith("#"):
        return True
    inside, _, _ = told.removeprefix("[").partition("]")
    return told.startswith("[") and all(_is_item(item) for item in inside.split(","))


def _is_item(text: str) -> bool:
    """Whether an identifier stands here, or the end of a list."""
    told, _, _ = text.partition("#")
    return bool(_IDENTIFIER.fullmatch(told.strip().strip("-,[]{} \t").strip("'\"")))


def hushed(findings: Iterable[Diagnostic], *, was_read: bool) -> tuple[Diagnostic, ...]:
    """The findings, without their words, and without an excerpt, where these might repeat the value of a secret.

    In a text that could not be read, everything after the first word `secret` might.
    """
    return tuple(_hushed(finding, was_read=was_read) for finding in findings)


def _hushed(finding: Diagnostic, *, was_read: bool) -> Diagnostic:
    span = finding.span
    if span is None or not span.line:
        return finding
    around = None if was_read else _after_mention(span.source)
    if span.line not in secret_lines(span.source) and not (around and around.line <= span.line):
        return finding
    if finding.code in _HARMLESS:
        return replace(finding, secret=around)
    return replace(finding, message=_WORDS, help=None, secret=around)


def _after_mention(source: Source) -> Span | None:
    lines = lines_of(source)
    first = next((number for number, line in enumerate(lines, start=1) if _MENTION.search(line)), None)
    return Span(source, first, 1, len(lines), 1) if first else None
