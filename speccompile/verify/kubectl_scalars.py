"""Plain scalars and keys as kubectl reads them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.documents import Document
from speccompile.model.node import Node, Scalar
from speccompile.model.source import Source, Span
from speccompile.schema.validate import as_written
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
_MARKS = range(0xE000, 0xF900)
"""Characters that nobody writes; each stands for a key that is no string while a text is read again."""
_LINE_ENDS = re.compile(r"(\r\n|\r|\n)")


def as_kubernetes_reads(parsed: Parsed) -> Parsed:
    """The file as a server gets it from kubectl: `0644` is a number, and the key `1` a text.

    That there are such scalars is a warning. Of our own files we ask better, but these are other people's.
    """
    odd = _odd_keys(parsed.findings)
    documents = _with_keys(odd) if odd else parsed.documents
    findings = (
        finding._replace(severity=Severity.WARNING)
        if finding.code == _AMBIGUOUS or (finding.span in odd and finding.code == _NO_STRING)
        else finding
        for finding in parsed.findings
    )
    return Parsed(tuple(one._replace(root=_read_again(one.root)) for one in documents), tuple(findings))


def go_scalar(text: str) -> Scalar:
    """The value of a plain scalar as the YAML library of kubectl has it, but for null, `.nan` and `.inf`."""
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
        return next(int(sign + told, base) for told, base in zip(digits, (16, 2, 8), strict=True) if told)
    return int(plain) if _WHOLE.fullmatch(plain) else None


def _as_key(value: Scalar) -> str | None:
    """The text of a key that is no string; None for one that kubectl refuses, or that it may round."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else None
    return str(value) if isinstance(value, int) else None


def _read_again(node: Node) -> Node:
    if isinstance(node.value, Mapping):
        fields = {_read_key(key, child): _read_again(child) for key, child in node.value.items()}
        return node.with_fields(fields)
    if not isinstance(node.value, str):
        return node.mapped(_read_again)
    value = go_scalar(node.value)
    return node if value is node.value or not _is_plain(node.value, node.span) else node.but(value=value)


def _read_key(key: str, child: Node) -> str:
    value = go_scalar(key)
    if value is key or child.key is None or not _is_plain(key, child.key):
        return key
    return _as_key(value) or key


def _is_plain(text: str, span: Span) -> bool:
    """Whether it stands in the file as it is, without quotes."""
    return as_written(span) == text


def _odd_keys(findings: tuple[Diagnostic, ...]) -> dict[Span, str]:
    """The places of keys that are no strings, which the parser leaves out, and their text; none if there is no way."""
    spans = [finding.span for finding in findings if finding.code == _NO_STRING and finding.span]
    named = {span: name for span in spans if (name := _as_key(go_scalar(as_written(span) or "")))}
    marks = map(chr, _MARKS[: len(named)])
    is_free = len(named) <= len(_MARKS) and not any(mark in span.source.text for mark in marks for span in spans[:1])
    return named if is_free else {}


def _with_keys(odd: Mapping[Span, str]) -> tuple[Document, ...]:
    source = next(iter(odd)).source
    # As long as the key itself, so that everything else stays where it is.
    marks = {span: chr(mark) * (span.end_column - span.column) for span, mark in zip(odd, _MARKS, strict=False)}
    again = parse(Source(source.name, _marked(source.text, marks), source.layer))
    names = {mark: odd[span] for span, mark in marks.items()}
    return tuple(Document(source, _renamed(one.root, names, source)) for one in again.documents)


def _marked(text: str, marks: Mapping[Span, str]) -> str:
    pieces = _LINE_ENDS.split(text)
    for span, mark in marks.items():
        line = pieces[2 * (span.line - 1)]
        pieces[2 * (span.line - 1)] = line[: span.column - 1] + mark + line[span.end_column - 1 :]
    return "".join(pieces)


def _renamed(node: Node, names: Mapping[str, str], source: Source) -> Node:
    """The tree with the names in place of the marks, and with its places in the file as it was written."""
    key = node.key._replace(source=source) if node.key else None
    placed = node.but(span=node.span._replace(source=source), key=key)
    if isinstance(placed.value, Mapping):
        fields = {names.get(name, name): _renamed(child, names, source) for name, child in placed.value.items()}
        return placed.with_fields(fields)
    return placed.mapped(lambda child: _renamed(child, names, source))
