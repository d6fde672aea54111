"""Findings as a SARIF 2.1.0 log, for code scanning services."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from speccompile.compiler.source_file import user_file
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.diagnostic_codes import Code
from speccompile.model.finding_text import where
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.source import Span
from speccompile.report.findings_json import to_json
from speccompile.schema.bundled import bundled_codes
from speccompile.terminal.style import Paint
from speccompile.version import VERSION

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Mapping[Severity, str] = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTICE: "note"}
_SEMANTIC = re.compile(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", re.ASCII)
_WORD = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_DRIVE = re.compile(r"[A-Za-z]:/", re.ASCII)
_NO_BYTE = re.compile("[\ud800-\udc7f\udd00-\udfff]")
_PLACEHOLDER = re.compile(r"\{(\d+)\}", re.ASCII)
_TICKS = re.compile("`+")


def format_findings(findings: Sequence[Diagnostic], _: Paint) -> str:
    return as_sarif(findings, bundled_codes(), VERSION)


def as_sarif(diagnostics: Iterable[Diagnostic], codes: Mapping[str, Code], version: str) -> str:
    """All findings as the results of one run of the tool, without source lines, which may contain secrets."""
    findings = tuple(diagnostics)
    names = sorted({finding.code for finding in findings})
    index = {name: at for at, name in enumerate(names)}
    driver = {
        "name": "speccompile",
        "version": version,
        # SARIF requires a semantic version; Python versions such as 1.0.dev3 are not.
        **({"semanticVersion": version} if _SEMANTIC.fullmatch(version) else {}),
        "rules": [_rule(name, codes.get(name)) for name in names],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, index[finding.code]) for finding in findings],
    }
    return to_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(name: str, code: Code | None) -> dict[str, Any]:
    rule = {"id": name, "name": "".join(word[0].upper() + word[1:] for word in _WORD.findall(name))}
    if code is None:
        return rule
    examples = [(title, text) for title, text in (("Bad", code.bad), ("Good", code.good)) if text.strip()]
    return {
        **rule,
        "shortDescription": {"text": code.summary},
        "fullDescription": {"text": code.means},
        "help": {
            "text": "\n\n".join([code.means, *(f"{title}:\n\n{text.strip()}" for title, text in examples)]),
            "markdown": "\n\n".join([code.means, *(f"**{title}:**\n\n{_fenced(text)}" for title, text in examples)]),
        },
        "defaultConfiguration": {"level": _LEVELS[code.severity]},
    }


def _fenced(text: str) -> str:
    longest = max((len(ticks) for ticks in _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}yaml\n{text.strip()}\n{fence}"


def _result(finding: Diagnostic, index: int) -> dict[str, Any]:
    path = format_path(finding.path)
    placed = [(note.message, note.span) for note in finding.notes if note.span]
    # The id makes equal notes differ, as SARIF requires.
    related = [
        {"id": number, **_location(span), "message": {"text": _literal(message)}}
        for number, (message, span) in enumerate(placed, start=1)
    ]
    return {
        "ruleId": finding.code,
        "ruleIndex": index,
        "level": _LEVELS[finding.severity],
        "message": {"text": _literal("\n".join(_message(finding)))},
        **({"locations": [_location(finding.span, finding.path)]} if finding.span else {}),
        **({"relatedLocations": related} if related else {}),
        "partialFingerprints": {"findingHash/v1": _fingerprint(finding, path)},
        **({"properties": {"path": path}} if path else {}),
    }


def _message(finding: Diagnostic) -> Iterator[str]:
    yield finding.message
    yield from (f"note: {note.message}" for note in finding.notes if note.span is None)
    if finding.help:
        yield f"help: {finding.help}"


def _literal(text: str) -> str:
    """Escape text that SARIF would take for placeholders or links."""
    return _PLACEHOLDER.sub(r"{{\1}}", text).replace("](", "\\](")


def _location(span: Span, path: KeyPath = ()) -> dict[str, Any]:
    file = user_file(span.source)
    if file is None:
        return {"logicalLocations": [{"name": span.source.name, "fullyQualifiedName": where(span, path)}]}
    region = {
        "startLine": span.line,
        "startColumn": span.column,
        "endLine": span.end_line,
        "endColumn": span.end_column,
    }
    return {"physicalLocation": {"artifactLocation": _artifact(file), **({"region": region} if span.line else {})}}


def _artifact(file: str) -> dict[str, str]:
    # Python decodes bytes of file names that are not UTF-8 as surrogates; URIs can contain these bytes.
    encoded = _NO_BYTE.sub("\ufffd", file).encode("utf-8", "surrogateescape")
    if _DRIVE.match(file):
        return {"uri": f"file:///{file[0]}:{quote(encoded[2:])}"}
    if file.startswith("/"):
        # A Windows network path starts with two slashes and a host name, as the URI does.
        return {"uri": f"file:{'' if file.startswith('//') else '//'}{quote(encoded)}"}
    return {"uri": quote(encoded), "uriBaseId": "%SRCROOT%"}


def _fingerprint(finding: Diagnostic, path: str) -> str:
    """A hash that stays the same when lines are added above the finding."""
    file = finding.span and (user_file(finding.span.source) or finding.span.source.name)
    return hashlib.sha256(json.dumps([finding.code, path, file]).encode("ascii")).hexdigest()
