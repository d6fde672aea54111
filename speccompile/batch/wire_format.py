"""Results as plain data, for another process or the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from speccompile.compiler.compiled import Compiled, CreatedObject, Rendered, Result
from speccompile.model.diagnostic import Diagnostic, Note, Severity
from speccompile.model.findings import CompileError
from speccompile.model.redaction import redacted
from speccompile.model.source import Layer, Source, Span

Portable: TypeAlias = tuple[Any, ...]
"""Tuples, strings, numbers and None."""
Sources: TypeAlias = Mapping[tuple[str, str], Source]
"""The sources that both sides have, by layer and name."""


def sources_by_name(sources: Iterable[Source]) -> dict[tuple[str, str], Source]:
    return {(source.layer.value, source.name): source for source in sources}


def to_portable(rendered: Rendered, run_source: Source, shared: Sources) -> Portable:
    """Pack a result. The source of the run and shared sources are referred to by name, others are included."""
    result, text = rendered
    numbers = _SourceNumbers(run_source, shared)
    findings = pack_findings(result.diagnostics, numbers)
    if isinstance(result, CompileError):
        return numbers.refs(), findings, None
    objects = tuple(
        (created.kind, created.name, created.namespace, numbers.pack(created.place)) for created in result.objects
    )
    manifests = (result.project, result.name, numbers.pack(result.place), objects, text)
    return numbers.refs(), findings, manifests


def from_portable(
    data: Portable, shape: str, run_source: Source, shared: Sources, recompile: Callable[[], Result]
) -> Rendered:
    """Unpack a result, which calls `recompile` for everything not packed. Raises KeyError if a source is missing."""
    refs, findings, manifests = data
    sources = (run_source, *(_source(ref, shared) for ref in refs))
    diagnostics = unpack_findings(findings, sources)
    if manifests is None:
        return Rendered(CompileError(diagnostics), "")
    project, name, place, objects, text = manifests

    def recompiled() -> Compiled:
        result = recompile()
        assert isinstance(result, Compiled)
        return result

    compiled = Compiled(
        name=name,
        project=project,
        place=_unpack_span(place, sources),
        objects=tuple(
            CreatedObject(kind, of, namespace, _unpack_span(at, sources)) for kind, of, namespace, at in objects
        ),
        diagnostics=diagnostics,
        text=(lambda: text) if shape == "yaml" else (lambda: recompiled().to_yaml()),
        whole=lambda: recompiled().whole,
    )
    return Rendered(compiled, text)


def findings_to_portable(findings: Iterable[Diagnostic], shared: Sources) -> Portable:
    """Pack findings that belong to no run."""
    numbers = _SourceNumbers(None, shared)
    packed = pack_findings(map(redacted, findings), numbers)
    return numbers.refs(), packed


def findings_from_portable(data: Portable, shared: Sources) -> tuple[Diagnostic, ...]:
    """Unpack findings. Raises KeyError if a source is missing."""
    refs, findings = data
    return unpack_findings(findings, (None, *(_source(ref, shared) for ref in refs)))


class _SourceNumbers:
    """Sources numbered in the order in which findings refer to them; the source of the run is 0."""

    def __init__(self, run_source: Source | None, shared: Sources) -> None:
        self._shared = shared
        self._sources = [run_source]
        self._numbers = {id(run_source): 0}

    def pack(self, span: Span) -> Portable:
        source = span.source
        number = self._numbers.get(id(source))
        if number is None:
            if source == self._sources[0]:
                number = 0
            else:
                number = len(self._sources)
                self._sources.append(source)
            self._numbers[id(source)] = number
        return (number, *span[1:])

    def refs(self) -> Portable:
        return tuple(self._ref(source) for source in self._sources[1:] if source)

    def _ref(self, source: Source) -> Portable:
        key = (source.layer.value, source.name)
        return key if self._shared.get(key) == source else (*key, source.text)


def pack_findings(findings: Iterable[Diagnostic], numbers: _SourceNumbers) -> Portable:
    """Pack findings that are redacted: that needs the texts of the sources, which the receiver may not have."""
    return tuple(_pack_finding(finding, numbers) for finding in findings)


def _pack_finding(finding: Diagnostic, numbers: _SourceNumbers) -> Portable:
    return (
        finding.code,
        finding.message,
        finding.span and numbers.pack(finding.span),
        finding.path,
        finding.severity.value,
        tuple((note.message, note.span and numbers.pack(note.span)) for note in finding.notes),
        finding.help,
    )


def unpack_findings(data: Portable, sources: tuple[Source | None, ...]) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(
            code,
            message,
            span and _unpack_span(span, sources),
            tuple(path),
            Severity(severity),
            tuple(Note(text, place and _unpack_span(place, sources)) for text, place in notes),
            help_text,
        )
        for code, message, span, path, severity, notes, help_text in data
    )


def _unpack_span(span: Portable, sources: tuple[Source | None, ...]) -> Span:
    number, line, column, end_line, end_column = span
    source = sources[number]
    assert source is not None
    return Span(source, line, column, end_line, end_column)


def _source(ref: Portable, shared: Sources) -> Source:
    if len(ref) == 2:  # noqa: PLR2004  a name without its text
        return shared[ref[0], ref[1]]
    layer, name, text = ref
    return Source(name, text, Layer(layer))
