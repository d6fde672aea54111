"""Redaction: lines that may contain a secret, and findings that repeat nothing of them.

In runs and profiles, which may not parse, secrets are found in the text, at keys that mention them. In Kubernetes
objects they are found in the tree: in Secrets and in environment variables of containers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from speccompile.model.credentials import credential_lines, may_have_credential
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Document
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span

HIDDEN = "(not shown: this line may contain a secret)"
"""Shown instead of a line that may contain a secret."""
# Patterns are compiled on use, because most calls need none.
_LINE_END = r"\r\n|\r|\n"
_SYNTAX = "yaml/"
_GENERAL_WORDS: dict[str, tuple[str, str | None]] = {
    "yaml/ambiguous-scalar": ("this plain scalar has different meanings in YAML 1.1 and YAML 1.2", "quote it"),
    "yaml/control-character": ("a character here is not allowed", "remove it"),
    "yaml/duplicate-key": ("duplicate key", "keep one of the two"),
    "yaml/merge-key": ("`<<` merges only mappings", None),
    "yaml/non-string-key": ("this key is not a string", "quote the key"),
    "yaml/number": ("this is not a finite 64-bit number", "quote it if it is text"),
    "yaml/recursive-alias": ("this alias is inside the value that it names", "write the inner value out"),
    "yaml/tag": ("a tag is not allowed here", "remove the tag"),
    "yaml/unknown-alias": (
        "this alias has no anchor before it in the document",
        "define the anchor first, or quote a text that begins with `*`",
    ),
}
_OTHER_WORDS = ("this is not valid YAML", None)
_WITHOUT_VALUES = frozenset(
    f"{_SYNTAX}{name}"
    for name in ("empty", "expansion", "stray-comma", "syntax", "too-deep", "typographic-quotes", "uneditable")
)
"""Findings whose messages never repeat the text of the file."""


@lru_cache(maxsize=8)
def lines_of(source: Source) -> tuple[str, ...]:
    """The lines of a source, cached because a report needs them for each finding."""
    return tuple(re.split(_LINE_END, source.text))


def _in_general(finding: Diagnostic) -> Diagnostic:
    """A finding about the text of a file, in words that quote nothing of it."""
    if finding.code in _WITHOUT_VALUES:
        return finding
    message, help_text = _GENERAL_WORDS.get(finding.code, _OTHER_WORDS)
    return finding._replace(message=message, help=help_text)


# Runs and profiles

_LAYERS = frozenset({Layer.RUN, Layer.PROFILE})
"""Platform files and templates contain no secrets, only where they are."""
_MASK = "a value that is not shown"
_QUOTED = r'`(?:[^`]|`(?=\w))+`|"[^"]+"'
"""A quoted value in a message, which may contain a backtick."""
_MIN_SECRET = 3
"""Shorter texts are more likely punctuation than secrets."""
_SIGNS = r"[\W_]+"
_MENTION = "(?i)secret"
_KEY = r"""(?i)(?:^|[{,\s"'])([-\w./]*secrets?[-\w./]*)["']?\s*:"""
_IDENTIFIER = r"[-\w.]*"


@lru_cache(maxsize=8)
def secret_lines(source: Source) -> frozenset[int]:
    """The numbers of lines that contain a credential, or more than identifiers below or beside a key `secrets`."""
    # No key can mention secrets in a text that has no such word.
    below_keys = _secret_lines(lines_of(source)) if re.search(_MENTION, source.text) else ()
    tokens = credential_lines(lines_of(source)) if may_have_credential(source.text) else ()
    return frozenset((*below_keys, *tokens))


def is_secret_line(span: Span) -> bool:
    """Whether the line may contain a secret."""
    return span.source.layer in _LAYERS and span.line in secret_lines(span.source)


def is_hidden(node: Node) -> bool:
    """Whether a line of the value may contain a secret."""
    return any(_is_within(inner.span) for _, inner in node.walk())


def _is_within(span: Span) -> bool:
    lines = secret_lines(span.source) if span.source.layer in _LAYERS else ()
    return bool(lines) and any(line in lines for line in range(span.line, span.last_line + 1))


def masked(finding: Diagnostic) -> Diagnostic:
    """The finding, without quotes from its line if that may contain a secret."""
    if finding.span is None or not is_secret_line(finding.span):
        return finding
    line = lines_of(finding.span.source)[finding.span.line - 1]
    key = re.search(_KEY, line)
    secret = line[key.end() :] if key else line

    def without(words: str) -> str:
        return re.sub(_QUOTED, lambda match: _MASK if _repeats(match[0][1:-1], secret) else match[0], words)

    notes = tuple(note._replace(message=without(note.message)) for note in finding.notes)
    help_text = without(finding.help) if finding.help else None
    return finding._replace(message=without(finding.message), help=help_text, notes=notes)


def _repeats(quoted: str, secret: str) -> bool:
    """Whether the text contains the quoted value, literally or without punctuation, which may be escaped."""
    start = quoted.removesuffix("…")
    pairs = ((start, secret), (re.sub(_SIGNS, "", start), re.sub(_SIGNS, "", secret)))
    return any(len(part) >= _MIN_SECRET and part in whole for part, whole in pairs)


def _secret_lines(lines: Iterable[str]) -> Iterator[int]:
    depth: int | None = None
    is_listing = is_open = False
    for number, line in enumerate(lines, start=1):
        content = line.lstrip()
        indent = len(line) - len(content)
        if depth is not None and content and (indent < depth or (indent == depth and content[0] not in "-]}")):
            depth = None
        keys = [(match[1], line[match.end() :]) for match in re.finditer(_KEY, line)]
        if keys:
            depth = indent
            # Only `secrets` is a list of identifiers; other keys that mention secrets may have one as their value.
            is_listing = all(name == "secrets" for name, _ in keys)
            is_harmless = all(_is_list(rest) if is_listing else _is_nothing(rest) for _, rest in keys)
            is_open = is_harmless and is_listing and "[" in keys[-1][1] and "]" not in keys[-1][1]
        else:
            is_harmless = is_listing and _is_item(content) and (is_open or content[:1] in ("-", "]", "#"))
            is_open = is_open and "]" not in content
        if depth is not None and content and not is_harmless:
            yield number


def _is_nothing(text: str) -> bool:
    return not text.strip() or text.strip().startswith("#")


def _is_list(text: str) -> bool:
    """Whether the text is empty, or starts with a list of identifiers."""
    content = text.strip()
    inside, _, _ = content.removeprefix("[").partition("]")
    return _is_nothing(content) or (content.startswith("[") and all(_is_item(item) for item in inside.split(",")))


def _is_item(text: str) -> bool:
    """Whether the text is an identifier, or the end of a list."""
    content, _, _ = text.partition("#")
    return bool(re.fullmatch(_IDENTIFIER, content.strip().strip("-,[]{} \t").strip("'\"")))


def redacted(findings: Iterable[Diagnostic], *, was_read: bool) -> tuple[Diagnostic, ...]:
    """The findings about a text, in general words and without an excerpt if they may quote a secret.

    In a text that could not be parsed, everything after the first word `secret` may be one.
    """
    return tuple(_redacted(finding, was_read=was_read) for finding in findings)


def _redacted(finding: Diagnostic, *, was_read: bool) -> Diagnostic:
    span = finding.span
    if span is None or not span.line:
        return finding
    around = None if was_read else _after_mention(span.source)
    lines = {span.line, *(note.span.line for note in finding.notes if note.span)}
    if lines.isdisjoint(secret_lines(span.source)) and not (around and around.line <= max(lines)):
        return finding
    return _in_general(finding)._replace(secret=around)


def _after_mention(source: Source) -> Span | None:
    lines = lines_of(source)
    first = next((number for number, line in enumerate(lines, start=1) if re.search(_MENTION, line)), None)
    return Span(source, first, 1, len(lines), 1) if first else None


# Kubernetes objects

_SECRET_KINDS = frozenset({"secret", "secrets", "secretlist"})
"""With common misspellings: an object of an unknown kind may still be a Secret."""
_KIND = r"(?i)\bSecret(s|List)?\b"
_NON_FATAL = frozenset(
    f"{_SYNTAX}{name}"
    for name in ("ambiguous-scalar", "duplicate-key", "empty", "merge-key", "non-string-key", "number", "tag")
)
"""Findings after which the rest of the file is parsed."""
_NAMING = frozenset({"name", "valueFrom"})
_FOUND, _NOT_SHOWN = ", found ", "(not shown)"
_ALL_QUOTED = '(?s)`.*`|".*"'


class Hidden(NamedTuple):
    """The parts of a file that reports must not show."""

    lines: frozenset[int] = frozenset()
    """Hidden lines."""
    secrets: frozenset[int] = frozenset()
    """Hidden lines of Secrets, from which nothing is quoted."""
    values: frozenset[tuple[int, int]] = frozenset()
    """Positions of values of variables, which are not quoted either; their lines may contain other values."""


def hidden_parts(documents: Iterable[Document], findings: Iterable[Diagnostic]) -> dict[Source, Hidden]:
    """Find every Secret, at any depth, and all values of variables.

    A file that mentions a Secret and could not be parsed completely is hidden as a whole.
    """
    hidden: dict[Source, Hidden] = {}
    for finding in findings:
        if finding.span and finding.code not in _NON_FATAL and re.search(_KIND, finding.span.source.text):
            lines = frozenset(range(1, len(lines_of(finding.span.source)) + 1))
            hidden[finding.span.source] = Hidden(lines, lines)
    for document in documents:
        secrets, values = [*_secrets(document.root)], [*_values(document.root)]
        if secrets or values:
            present = hidden.get(document.source, Hidden())
            hidden[document.source] = Hidden(
                present.lines.union(*map(_lines, (*secrets, *values))),
                present.secrets.union(*map(_lines, secrets)),
                present.values.union((span.line, span.column) for value in values for span in _spans(value)),
            )
    return hidden


def without_values(findings: Iterable[Diagnostic], hidden: Mapping[Source, Hidden]) -> Iterator[Diagnostic]:
    """The findings, without excerpts and quotes if they, or their notes, refer to hidden lines."""
    for finding in findings:
        spans = [span for span in (finding.span, *(note.span for note in finding.notes)) if span]
        covered = [span for span in spans if span.source in hidden and span.line in hidden[span.source].lines]
        if not covered:
            yield finding
            continue
        secret = _around(covered[0], hidden[covered[0].source].lines)
        notes = tuple(_with_label(note, covered, secret) for note in finding.notes)
        yield _unquoted(finding, covered, hidden)._replace(notes=notes, secret=secret)


def _with_label(note: Note, covered: Sequence[Span], secret: Span) -> Note:
    """Replace the excerpt of a note by its position if its lines are hidden, and not next to those of the finding."""
    span = note.span
    if (
        span is None
        or span not in covered
        or (span.source == secret.source and secret.line <= span.line <= secret.last_line)
    ):
        return note
    return note._replace(message=f"{note.message}: {span.label}", span=None)


def _unquoted(finding: Diagnostic, covered: Sequence[Span], hidden: Mapping[Source, Hidden]) -> Diagnostic:
    if finding.code.startswith(_SYNTAX):
        return _in_general(finding)
    is_value = any(
        span.line in hidden[span.source].secrets or (span.line, span.column) in hidden[span.source].values
        for span in covered
    )
    # Unknown keys and kinds are not secrets.
    is_key = bool(finding.path) and finding.message == f"unknown key {quote(finding.path[-1])}"
    if not is_value or is_key or finding.code == "api/unknown-kind":
        return finding
    message = re.sub(_ALL_QUOTED, _NOT_SHOWN, finding.message.partition(_FOUND)[0])
    # The help may quote the same value.
    return finding._replace(message=message, help=finding.help if message == finding.message else None)


def _secrets(root: Node) -> Iterator[Node]:
    for _, node in root.walk():
        kind = node.fields.get("kind")
        if kind is not None and str(kind.value).casefold() in _SECRET_KINDS:
            yield node


def _values(root: Node) -> Iterator[Node]:
    """The values of containers' environment variables, which often contain passwords."""
    for _, node in root.walk():
        variables = node.fields.get("env")
        yield from variables.fields.values() if variables else ()
        for item in variables.items if variables else ():
            yield from (child for key, child in item.fields.items() if key not in _NAMING)


def _spans(root: Node) -> Iterator[Span]:
    return (span for _, node in root.walk() for span in (node.span, node.key) if span)


def _lines(root: Node) -> frozenset[int]:
    return frozenset(line for span in _spans(root) for line in range(span.line, span.last_line + 1))


def _around(span: Span, lines: frozenset[int]) -> Span:
    """The whole block of hidden lines around the span, because an excerpt may show neighbouring lines."""
    first = last = span.line
    while first - 1 in lines:
        first -= 1
    while last + 1 in lines:
        last += 1
    return Span(span.source, first, 1, last, 1)
