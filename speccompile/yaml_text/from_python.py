"""Python data as a document like one that was parsed."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping

from speccompile.model.diagnostic import Diagnostic, quote
from speccompile.model.documents import Document
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.source import Source, Span
from speccompile.yaml_text.parsed import MAX_DEPTH, MAX_EXPANDED, Parsed, control_character

_LARGEST = 2**63 - 1


class _Refused(Exception):  # noqa: N818  never leaves this module
    def __init__(self, finding: Diagnostic) -> None:
        super().__init__(finding.message)
        self.finding = finding


def wrap(data: object, source: Source) -> Parsed:
    """Copy Python data into a document; findings instead of exceptions, whatever the data.

    The source gets the data as JSON, in which secrets are found if there is something to report.
    """
    try:
        root = _node(data, Span(source), (), iter(range(MAX_EXPANDED)))
        if not source.text:
            # Only now, because the JSON of data that is refused may be huge.
            source = source._replace(text=json.dumps([root.plain()]))
            root = _node(data, Span(source), (), iter(range(MAX_EXPANDED)))
    except _Refused as refused:
        return Parsed((), (refused.finding,))
    return Parsed((Document(source, root),), ())


def _node(value: object, span: Span, path: KeyPath, budget: Iterator[int]) -> Node:
    if len(path) > MAX_DEPTH:
        raise _refused("yaml/too-deep", f"nested more than {MAX_DEPTH} levels deep", span, path)
    if next(budget, None) is None:
        raise _refused("yaml/expansion", f"more than {MAX_EXPANDED} values", span, path)
    if value is None or isinstance(value, bool):
        return Node(value, span)
    if isinstance(value, str):
        return Node(_text(value, span, path), span)
    if isinstance(value, (int, float)):
        if not math.isfinite(value) if isinstance(value, float) else abs(value) > _LARGEST:
            raise _refused("yaml/number", "not a finite number of at most 64 bits", span, path)
        return Node(int(value) if isinstance(value, int) else float(value), span)
    if isinstance(value, Mapping):
        fields: dict[str, Node] = {}
        for key, child in value.items():
            if not isinstance(key, str):
                raise _refused("yaml/non-string-key", f"key {quote(key)} is not a string", span, path)
            name = _text(key, span, path)
            fields[name] = _node(child, span, (*path, name), budget)
        return Node(fields, span)
    if isinstance(value, (list, tuple)):
        return Node(tuple(_node(item, span, (*path, index), budget) for index, item in enumerate(value)), span)
    raise _refused("schema/wrong-type", f"a value of type `{type(value).__name__}` is not JSON data", span, path)


def _text(value: str, span: Span, path: KeyPath) -> str:
    if character := control_character(value):
        raise _refused("yaml/control-character", f"character U+{ord(character):04X} is not allowed", span, path)
    # Not str(value): for an Enum that is a string, that is the name of the member.
    return str.__str__(value)


def _refused(code: str, message: str, span: Span, path: KeyPath) -> _Refused:
    return _Refused(Diagnostic(code=code, message=message, span=span, path=path))
