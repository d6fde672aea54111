"""Validate a tree against a schema: canonical spelling, and all findings at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.full_path import FULL_PATH
from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import spelled
from speccompile.model.node import Node
from speccompile.model.source_text import as_written, fraction_as_written
from speccompile.schema.formats.by_name import FORMAT_CHECKS, QUANTITIES
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import near, quote_names, unknown_key
from speccompile.schema.validate_fast import accept
from speccompile.schema.validate_fast_keywords import UnknownKeywordError
from speccompile.yaml_text.plain_scalars import ambiguous
from speccompile.yaml_text.typographic_quotes import typographic_quotes

if TYPE_CHECKING:
    from speccompile.schema.find_errors import AnyError

_TYPE_WORDS = {
    "string": "a string",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "a mapping",
    "null": "null",
}
_HAND_WRITTEN = frozenset({"run", "profile", "platform"})
"""Schemas of documents in which typographic quotes are likely a mistake."""
MAX_FINDINGS = 500
"""Findings of the schema that are reported for one document."""


def validate(root: Node, name: str, library: Library) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The tree with keys in canonical spelling and without nulls, and all findings of the schema."""
    tree = None if FULL_PATH.get() else accept(root, name, library)
    tree, findings = (tree, ()) if tree is not None else validate_exactly(root, name, library)
    if root.span.source.text.isascii() or name not in _HAND_WRITTEN:
        return tree, findings
    return tree, (*findings, *typographic_quotes(root))


def validate_exactly(root: Node, name: str, library: Library) -> tuple[Node, tuple[Diagnostic, ...]]:
    """As `validate`, with an explanation of what is wrong."""
    from speccompile.schema.find_errors import find_errors
    from speccompile.schema.validation_help import CheckedDocument, improve

    spelling: list[Diagnostic] = []
    schema = library.schemas[name]
    tree = _conform(root, schema, library, (), spelling)
    document = CheckedDocument(root, tree, schema, library)
    data = tree.plain()

    def explain(errors: Iterable[AnyError]) -> tuple[Diagnostic, ...]:
        explained = (
            (error, improved)
            for error in errors
            for finding in translate_error(error, tree, library)
            if (improved := improve(finding, error, document))
        )
        findings = _one_per_schema(list(islice(explained, MAX_FINDINGS)))
        return tuple(_without_repetitions((*spelling, *findings)))

    if not FULL_PATH.get():
        try:
            return tree, explain(find_errors(data, schema, library))
        except UnknownKeywordError:
            # A keyword of a custom target, which jsonschema supports.
            pass
    return tree, explain(library.validator(name).iter_errors(data))


def _one_per_schema(explained: Sequence[tuple[AnyError, Diagnostic]]) -> Iterator[Diagnostic]:
    """The findings without those of `format` for values that the same schema refuses by another keyword too."""
    others = {(finding.path, id(error.schema)) for error, finding in explained if error.validator != "format"}
    for error, finding in explained:
        if error.validator != "format" or (finding.path, id(error.schema)) not in others:
            yield finding


def without_faulty(tree: Node, findings: Iterable[Diagnostic]) -> Node:
    """The tree without the fields that have errors, so that the next stage can check the others."""
    faulty = {finding.path[0] for finding in findings if finding.path}
    return tree.with_fields({key: child for key, child in tree.fields.items() if key not in faulty})


def _conform(node: Node, schema: Schema, library: Library, path: KeyPath, findings: list[Diagnostic]) -> Node:
    schema = library.resolve(schema)
    if schema.get("x-unread"):
        return node
    if schema.get("x-opaque"):
        findings.extend(
            ambiguous(str(inner.value), inner.span)._replace(path=(*path, *below))
            for below, inner in node.walk()
            if inner.unsure
        )
        return node
    if node.unsure and schema.get("format") not in QUANTITIES:
        findings.append(ambiguous(str(node.value), node.span)._replace(path=path))
    if isinstance(node.value, Mapping):
        return _conform_mapping(node, schema, library, path, findings)
    if isinstance(node.value, tuple):
        items = schema.get("items", {})
        tree = node.but(
            value=tuple(
                _conform(item, items, library, (*path, index), findings) for index, item in enumerate(node.value)
            ),
        )
        findings.extend(_repeated(tree, schema, path))
        return tree
    return node


def _conform_mapping(node: Node, schema: Schema, library: Library, path: KeyPath, findings: list[Diagnostic]) -> Node:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    others = schema.get("additionalProperties", {})
    fields: dict[str, Node] = {}
    spellings: dict[str, str] = {}
    closed = False in (schema.get("additionalProperties"), schema.get("unevaluatedProperties"))
    for written, child in node.fields.items():
        key = spelled(written, properties)
        if child.value is None and (key in properties or not closed):
            continue
        first = spellings.setdefault(key, written)
        if key in fields:
            findings.append(
                Diagnostic(
                    code="schema/duplicate-spelling",
                    message=f"{quote(first)} and {quote(written)} are the same field",
                    span=child.key or child.span,
                    path=(*path, key),
                    notes=(Note("also here", fields[key].key),),
                    help=f"keep one of the two, preferably `{key}`",
                )
            )
            continue
        child_schema = properties.get(key) or (others if isinstance(others, Mapping) else {})
        fields[key] = _conform(child, child_schema, library, (*path, key), findings)
    # The order of the output: as in the schema, then by name.
    declared = [key for key in properties if key in fields]
    return node.with_fields({key: fields[key] for key in (*declared, *sorted(fields.keys() - properties.keys()))})


def _repeated(node: Node, schema: Schema, path: KeyPath) -> Iterator[Diagnostic]:
    """A finding for each item of a list that repeats a value which must be unique."""
    unique: Any = schema.get("x-unique", ())
    for key in ("",) if unique is True else unique:
        seen: dict[object, Node] = {}
        for index, item in enumerate(node.items):
            child = item.fields.get(key) if key else item
            if child is None or not child.is_scalar:
                continue
            first = seen.setdefault((type(child.value), child.value), child)
            if first is not child:
                yield Diagnostic(
                    code="schema/duplicate-item",
                    message=f"{quote(child.value)} appears twice" + (f" as `{key}`" if key else ""),
                    span=child.span,
                    path=(*path, index, key) if key else (*path, index),
                    notes=(Note("first here", first.span),),
                    help="keep one of the two",
                )


def _without_repetitions(findings: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """The findings without repetitions: a general and a specific part of a schema can reject the same value."""
    seen: set[tuple[str, KeyPath, str]] = set()
    for finding in findings:
        if (finding.code, finding.path, finding.message) not in seen:
            seen.add((finding.code, finding.path, finding.message))
            yield finding


def translate_error(error: AnyError, tree: Node, library: Library) -> Iterator[Diagnostic]:
    """The findings for an error of a schema, each at the value that causes it."""
    path: KeyPath = tuple(error.absolute_path)
    node = tree.at(path)
    assert node is not None
    schema: Any = error.schema
    if "propertyNames" in error.relative_schema_path:
        yield _invalid_key(error, node.fields[str(error.instance)], (*path, str(error.instance)))
        return
    if error.validator in ("additionalProperties", "unevaluatedProperties"):
        allowed = tuple(library.resolve(schema).get("properties", {}))
        for key, child in node.fields.items():
            if key not in allowed:
                yield unknown_key(key, child.key or child.span, (*path, key), allowed)
        return
    code, message, help_text = _word(error)
    if code == "schema/needs-quotes" and (written := as_written(node.span)):
        help_text = f'quote it: "{written}"'
    if fraction := fraction_as_written(node):
        message = message.replace(f"the number {quote(node.value)}", f"the number {quote(fraction)}")
    if "x-fault" in schema and error.validator != "format":
        message, help_text = str(schema["x-fault"]), schema.get("x-help", help_text)
    yield Diagnostic(
        code=code,
        message=message,
        span=node.place,
        path=path,
        # A near name or a corrected spelling is more specific than the schema's help.
        help=schema.get("x-help", help_text) if code in _GENERAL else help_text or schema.get("x-help"),
    )


_GENERAL = frozenset({"schema/missing-key", "schema/wrong-type"})
"""Codes for which the schema's help, if any, is better."""


def _invalid_key(error: AnyError, child: Node, path: KeyPath) -> Diagnostic:
    key = str(error.instance)
    if error.validator == "enum":
        allowed: Any = error.validator_value
        return unknown_key(key, child.key or child.span, path, tuple(allowed))
    code, message, help_text = _word(error)
    schema: Any = error.schema
    if "x-fault" in schema:
        message, help_text = str(schema["x-fault"]), schema.get("x-help")
    return Diagnostic(code=code, message=message, span=child.key or child.span, path=path, help=help_text)


Wording: TypeAlias = tuple[str, str, str | None]
"""Code, message and help."""


def _word(error: AnyError) -> Wording:
    keyword = str(error.validator)
    return _WORDINGS.get(keyword, _conflict)(keyword, error.validator_value, error.instance)


def _wrong_type(_: str, types: Any, found: Any) -> Wording:
    expected = types if isinstance(types, list) else [types]
    *others, last = (_TYPE_WORDS[name] for name in expected)
    wanted = f"{', '.join(others)} or {last}" if others else last
    message = f"expected {wanted}, found {describe_value(found)}"
    if {"string"} == {*expected} - {"array", "object"} and isinstance(found, (int, float)):
        return "schema/needs-quotes", message, f'quote it: "{_scalar_text(found)}"'
    if expected == ["array"] and isinstance(found, str):
        return "schema/wrong-type", message, f"write a list: {quote(json.dumps([found], ensure_ascii=False))}"
    return "schema/wrong-type", message, None


def describe_value(value: Any) -> str:
    """A value in a message: its type, and the value itself if it is a scalar."""
    if isinstance(value, bool):
        return f"the boolean `{_scalar_text(value)}`"
    if isinstance(value, (int, float)):
        return f"the number {quote(value)}"
    if isinstance(value, str):
        return f"the string {quote(value)}"
    return "null" if value is None else "a list" if isinstance(value, list) else "a mapping"


def _scalar_text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _wrong_value(keyword: str, allowed: Any, found: Any) -> Wording:
    choices = [str(choice) for choice in allowed] if keyword == "enum" else [str(allowed)]
    meant = near(str(found), choices)
    expected = f"expected {'one of ' if len(choices) > 1 else ''}{quote_names(choices)}"
    return (
        "schema/wrong-value",
        f"{expected}, found {describe_value(found)}",
        f"did you mean `{meant}`?" if meant else f"write `{choices[0]}`" if len(choices) == 1 else None,
    )


def _out_of_range(keyword: str, bound: Any, found: Any) -> Wording:
    side = "at least" if keyword == "minimum" else "at most"
    return "schema/out-of-range", f"expected {side} {bound}, found {quote(found)}", None


_PARTS: Mapping[type, str] = {str: "character", list: "item", dict: "key"}


def _wrong_length(keyword: str, bound: Any, found: Any) -> Wording:
    side = "at least" if keyword.startswith("min") else "at most"
    noun = _PARTS[type(found)] + ("" if bound == 1 else "s")
    return "schema/wrong-length", f"expected {side} {bound} {noun}, found {len(found)}", None


def _missing_key(_: str, required: Any, found: Any) -> Wording:
    missing = quote_names(key for key in required if key not in found)
    return "schema/missing-key", f"missing {missing}", f"add {missing}"


def _missing_companion(_: str, wanted: Any, found: Any) -> Wording:
    pairs = [(key, other) for key, others in wanted.items() if key in found for other in others if other not in found]
    return "schema/missing-key", "; ".join(f"`{key}` needs `{other}`" for key, other in pairs), None


_BASE_FORMATS = {
    "positive-quantity": "quantity",
    "extended-resource": "resource-name",
    "gpu-name": "dns-label",
    "label-key-pattern": "label-key",
    **dict.fromkeys(("name-pattern", "alias-pattern", "volume-pattern", "port-pattern"), "placeholders"),
}
"""Formats that narrow another one and share its code."""


def _format(_: str, name: Any, found: Any) -> Wording:
    fault = FORMAT_CHECKS[name](found)
    assert fault is not None
    return f"schema/{_BASE_FORMATS.get(name, name)}", fault.message, fault.help


def _pattern(_: str, pattern: Any, found: Any) -> Wording:
    return "schema/pattern", f"{quote(found)} does not match `{pattern}`", None


def _no_alternative(_: str, alternatives: Any, found: Any) -> Wording:
    declared = [schema.get("type", ()) for schema in alternatives]
    types = dict.fromkeys(name for one in declared for name in ((one,) if isinstance(one, str) else one))
    return _wrong_type("type", list(types), found) if types else _conflict()


def _conflict(*_: object) -> Wording:
    return "schema/conflict", "these keys exclude each other", None


_WORDINGS: Mapping[str, Callable[[str, Any, Any], Wording]] = {
    "type": _wrong_type,
    "enum": _wrong_value,
    "const": _wrong_value,
    "minimum": _out_of_range,
    "maximum": _out_of_range,
    "minLength": _wrong_length,
    "maxLength": _wrong_length,
    "minItems": _wrong_length,
    "maxItems": _wrong_length,
    "minProperties": _wrong_length,
    "required": _missing_key,
    "dependentRequired": _missing_companion,
    "format": _format,
    "pattern": _pattern,
    "anyOf": _no_alternative,
    "oneOf": _no_alternative,
}
