"""Plain scalars and keys as kubectl reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Document
from speccompile.model.node import Node, Scalar
from speccompile.model.source import Source, Span
from speccompile.model.source_text import as_written
from speccompile.yaml_text.parse import parse
from speccompile.yaml_text.parsed import Parsed

_AMBIGUOUS, _NO_STRING = "yaml/ambiguous-scalar", "yaml/non-string-key"
_FIRST = frozenset("0123456789+-.")
_BASED = re.compile(r"([-+]?)0(?:[xX]([0-9a-fA-F]+)|[bB]([01]+)|[oO]?([0-7]+))", re.ASCII)
_WHOLE = re.compile(r"[-+]?(?:0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", re.ASCII)
_LEAST, _MOST, _LONGEST = -(2**63), 2**64 - 1, 64
_WORDS = {
    spelling: meaning
    for words, meaning in ((("y", "yes", "on", "true"), True), (("n", "no", "off", "false"), False))
    for word in words
    for spelling in (word, word.capitalize(), word.upper())
}
_PLACEHOLDERS = range(0xE000, 0xF900)
"""Private-use characters that replace non-string keys while a text is parsed again."""
_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")


def as_kubernetes_reads(parsed: Parsed) -> Parsed:
    """Read scalars as kubectl does: `0644` is a number, and key `1` a string.

    Such scalars are warnings here, and errors in runs and profiles.
    """
    keys = _non_string_keys(parsed.findings)
    documents = _parse_with_keys(keys) if keys else parsed.documents
    findings = (
        finding._replace(severity=Severity.WARNING)
        if finding.code == _AMBIGUOUS or (finding.span in keys and finding.code == _NO_STRING)
        else finding
        for finding in parsed.findings
    )
    return Parsed(tuple(one._replace(root=_reread(one.root)) for one in documents), tuple(findings))


def go_scalar(text: str) -> Scalar:
    """The value of a plain scalar in the YAML library of kubectl, except null, `.nan` and `.inf`."""
    if text in _WORDS:
        return _WORDS[text]
    if text[:1] not in _FIRST or len(text) > _LONGEST:
        return text
    plain = text if text[0] == "." else text.replace("_", "")
    number = _whole(plain)
    if number is not None and _LEAST <= number <= _MOST:
        return number
    fraction = float(plain) if _FLOAT.fullmatch(plain) else math.inf
    return fraction if math.isfinite(fraction) else text


def _whole(plain: str) -> int | None:
    if match := _BASED.fullmatch(plain):
        sign, *digits = match.groups()
        return next(
            int(sign + digit_text, base) for digit_text, base in zip(digits, (16, 2, 8), strict=True) if digit_text
        )
    return int(plain) if _WHOLE.fullmatch(plain) else None


def _as_key(value: Scalar) -> str | None:
    """The text of a non-string key; None if kubectl rejects or may round it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else None
    return str(value) if isinstance(value, int) else None


def _reread(node: Node) -> Node:
    if isinstance(node.value, Mapping):
        fields = {_read_key(key, child): _reread(child) for key, child in node.value.items()}
        return node.with_fields(fields)
    if not isinstance(node.value, str):
        return node.mapped(_reread)
    value = go_scalar(node.value)
    return node if value is node.value or not _is_plain(node.value, node.span) else node.but(value=value)


def _read_key(key: str, child: Node) -> str:
    value = go_scalar(key)
    if value is key or child.key is None or not _is_plain(key, child.key):
        return key
    return _as_key(value) or key


def _is_plain(text: str, span: Span) -> bool:
    """Whether the text is in the file without quotes."""
    return as_written(span) == text


def _non_string_keys(findings: tuple[Diagnostic, ...]) -> dict[Span, str]:
    """The spans and texts of non-string keys, which the parser skips; empty if they cannot be replaced."""
    spans = [finding.span for finding in findings if finding.code == _NO_STRING and finding.span]
    texts = {span: name for span in spans if (name := _as_key(go_scalar(as_written(span) or "")))}
    placeholders = map(chr, _PLACEHOLDERS[: len(texts)])
    is_unused = len(texts) <= len(_PLACEHOLDERS) and not any(
        placeholder in span.source.text for placeholder in placeholders for span in spans[:1]
    )
    return texts if is_unused else {}


def _parse_with_keys(keys: Mapping[Span, str]) -> tuple[Document, ...]:
    source = next(iter(keys)).source
    # As long as the key, so that all positions stay the same.
    placeholders = {
        span: chr(placeholder) * (span.end_column - span.column)
        for span, placeholder in zip(keys, _PLACEHOLDERS, strict=False)
    }
    parsed_again = parse(Source(source.name, _replace_keys(source.text, placeholders), source.layer))
    names = {placeholder: keys[span] for span, placeholder in placeholders.items()}
    return tuple(Document(source, _renamed(one.root, names, source)) for one in parsed_again.documents)


def _replace_keys(text: str, placeholders: Mapping[Span, str]) -> str:
    lines = _LINE_ENDS.split(text)
    for span, placeholder in placeholders.items():
        line = lines[2 * (span.line - 1)]
        lines[2 * (span.line - 1)] = line[: span.column - 1] + placeholder + line[span.end_column - 1 :]
    return "".join(lines)


def _renamed(node: Node, names: Mapping[str, str], source: Source) -> Node:
    """Replace the placeholders with the keys, and point to the original file."""
    key = node.key._replace(source=source) if node.key else None
    placed = node.but(span=node.span._replace(source=source), key=key)
    if isinstance(placed.value, Mapping):
        fields = {names.get(name, name): _renamed(child, names, source) for name, child in placed.value.items()}
        return placed.with_fields(fields)
    return placed.mapped(lambda child: _renamed(child, names, source))
