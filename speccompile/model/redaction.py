"""Takes a source text, gives the lines that may hold the value of a secret, which no report shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span

HIDDEN = "(not shown: this line may hold a secret)"
"""What stands in an excerpt in place of such a line."""
_MASK = "a value that is not shown"
_QUOTED = re.compile(r'`(?:[^`]|`(?=\w))+`|"[^"]+"')
"""Values that words quote; one may have a backtick in it."""
_SHORT = 3
"""What is shorter is punctuation more often than a secret."""
_SIGNS = re.compile(r"[\W_]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_KEY = re.compile(r"""(?:^|[{,\s"'])([-\w./]*secrets?[-\w./]*)["']?\s*:""", re.IGNORECASE)
_MENTION = re.compile(r"secrets?", re.IGNORECASE)
_IDENTIFIER = re.compile(r"[-\w.]*")
_WORDS = ("this is not YAML, and what stands here is not shown", None)
_OTHER_WORDS: dict[str, tuple[str, str | None]] = {
    "yaml/ambiguous-scalar": ("this plain scalar means different things to YAML 1.1 and YAML 1.2 readers", "quote it"),
    "yaml/control-character": ("a character here is not allowed", "remove it"),
    "yaml/duplicate-key": ("a key stands here a second time", "keep one of the two"),
    "yaml/merge-key": ("`<<` merges mappings only", None),
    "yaml/non-string-key": ("this key is not a string, and keys are strings", "quote the key"),
    "yaml/number": ("this is not a number this file can hold", "quote it, if it is text"),
    "yaml/tag": ("a tag is not allowed here", "remove the tag"),
}
"""Of findings that are not about the syntax."""
_TELLING = frozenset({Layer.RUN, Layer.PROFILE})
_HARMLESS = frozenset({"yaml/stray-comma", "yaml/empty"})


@lru_cache(maxsize=8)
def lines_of(source: Source) -> tuple[str, ...]:
    """The lines of a source; a report asks for them once for each of its findings."""
    return tuple(_LINE_END.split(source.text))


@lru_cache(maxsize=8)
def secret_lines(source: Source) -> frozenset[int]:
    """The numbers of lines below or beside a key `secrets` that are more than a list of identifiers."""
    # No key can speak of secrets in a text that has no such word.
    return frozenset(_secret_lines(lines_of(source))) if _MENTION.search(source.text) else frozenset()


def may_tell(span: Span) -> bool:
    """Whether the line might hold the value of a secret; platform and templates only say where secrets are."""
    return span.source.layer in _TELLING and span.line in secret_lines(span.source)


def is_hidden(node: Node) -> bool:
    """Whether a line that the value stands in may hold a secret, so that nothing may show it."""
    return any(_is_within(inner.span) for _, inner in node.walk())


def _is_within(span: Span) -> bool:
    lines = secret_lines(span.source) if span.source.layer in _TELLING else ()
    return bool(lines) and any(line in lines for line in range(span.line, span.last_line + 1))


def masked(finding: Diagnostic) -> Diagnostic:
    """The finding, in whose words nothing is quoted from its own line if that may hold a secret."""
    if finding.span is None or not may_tell(finding.span):
        return finding
    hidden = _told_on(finding.span)

    def without(words: str) -> str:
        return _QUOTED.sub(lambda match: _MASK if _repeats(match[0][1:-1], hidden) else match[0], words)

    notes = tuple(note._replace(message=without(note.message)) for note in finding.notes)
    cure = without(finding.help) if finding.help else None
    return finding._replace(message=without(finding.message), help=cure, notes=notes)


def _repeats(quoted: str, hidden: str) -> bool:
    """Whether what is quoted stands in the hidden text, as it is or but for signs, which may be escaped there."""
    told = quoted.removesuffix("…")
    pairs = ((told, hidden), (_SIGNS.sub("", told), _SIGNS.sub("", hidden)))
    return any(len(part) >= _SHORT and part in whole for part, whole in pairs)


def _told_on(span: Span) -> str:
    """What stands on the line behind the key that speaks of secrets, or all of it."""
    line = lines_of(span.source)[span.line - 1]
    key = _KEY.search(line)
    return line[key.end() :] if key else line


def _secret_lines(lines: Iterable[str]) -> Iterator[int]:
    depth: int | None = None
    is_listing = is_open = False
    for number, line in enumerate(lines, start=1):
        content = line.lstrip()
        indent = len(line) - len(content)
        if depth is not None and content and (indent < depth or (indent == depth and content[0] not in "-]}")):
            depth = None
        keys = [(match[1], line[match.end() :]) for match in _KEY.finditer(line)]
        if keys:
            depth = indent
            # Only the field itself is a list of identifiers; below any other key that speaks of secrets may be one.
            is_listing = all(name == "secrets" for name, _ in keys)
            told = all(_is_list(rest) if is_listing else _is_nothing(rest) for _, rest in keys)
            is_open = told and is_listing and "[" in keys[-1][1] and "]" not in keys[-1][1]
        else:
            told = is_listing and _is_item(content) and (is_open or content[:1] in ("-", "]", "#"))
            is_open = is_open and "]" not in content
        if depth is not None and content and not told:
            yield number


def _is_nothing(text: str) -> bool:
    told = text.strip()
    return not told or told.startswith("#")


def _is_list(text: str) -> bool:
    """Whether nothing stands here, or a list of identifiers, whatever comes after it."""
    told = text.strip()
    if _is_nothing(told):
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
    return without_words(finding)._replace(secret=around)


def without_words(finding: Diagnostic) -> Diagnostic:
    """A finding about the text of a file, in words that repeat nothing of it."""
    if finding.code in _HARMLESS:
        return finding
    message, cure = _OTHER_WORDS.get(finding.code, _WORDS)
    return finding._replace(message=message, help=cure)


def _after_mention(source: Source) -> Span | None:
    lines = lines_of(source)
    first = next((number for number, line in enumerate(lines, start=1) if _MENTION.search(line)), None)
    return Span(source, first, 1, len(lines), 1) if first else None
