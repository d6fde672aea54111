"""Results as plain data, for another process or the cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from speccompile.compiler.compiled import Compiled, CreatedObject, Rendered, Result
from speccompile.model.diagnostic import Diagnostic, Note, Severity
from speccompile.model.findings import CompileError
from speccompile.model.redaction import masked
from speccompile.model.source import Layer, Source, Span

Portable: TypeAlias = tuple[Any, ...]
"""Tuples, texts, numbers and None, and nothing else."""
Sources: TypeAlias = Mapping[tuple[str, str], Source]
"""The texts that both sides have, by layer and name."""


def sources_by_name(sources: Iterable[Source]) -> dict[tuple[str, str], Source]:
    return {(source.layer.value, source.name): source for source in sources}


def to_portable(rendered: Rendered, own: Source, known: Sources) -> Portable:
    """The result as data. The run's own source and the known ones are named in it, all others are in it whole."""
    result, text = rendered
    book = _Book(own, known)
    findings = pack_findings(result.diagnostics, book)
    if isinstance(result, CompileError):
        return book.refs(), findings, None
    objects = tuple((made.kind, made.name, made.namespace, book.packed(made.place)) for made in result.objects)
    made = (result.project, result.name, book.packed(result.place), objects, text)
    return book.refs(), findings, made


def from_portable(data: Portable, shape: str, own: Source, known: Sources, again: Callable[[], Result]) -> Rendered:
    """The result, which asks `again` for whatever was not carried. Raises KeyError if a source is not known."""
    refs, findings, made = data
    sources = (own, *(_source(ref, known) for ref in refs))
    found = unpack_findings(findings, sources)
    if made is None:
        return Rendered(CompileError(found), "")
    project, name, place, objects, text = made

    def compiled_again() -> Compiled:
        result = again()
        assert isinstance(result, Compiled)
        return result

    compiled = Compiled(
        name=name,
        project=project,
        place=_unpacked(place, sources),
        objects=tuple(
            CreatedObject(kind, called, namespace, _unpacked(at, sources)) for kind, called, namespace, at in objects
        ),
        diagnostics=found,
        text=(lambda: text) if shape == "yaml" else (lambda: compiled_again().to_yaml()),
        whole=lambda: compiled_again().whole,
    )
    return Rendered(compiled, text)


def findings_to_portable(findings: Iterable[Diagnostic], known: Sources) -> Portable:
    """Findings that belong to no run, as data."""
    book = _Book(None, known)
    packed = pack_findings(findings, book)
    return book.refs(), packed


def findings_from_portable(data: Portable, known: Sources) -> tuple[Diagnostic, ...]:
    """The findings again. Raises KeyError if a source is not known."""
    refs, findings = data
    return unpack_findings(findings, (None, *(_source(ref, known) for ref in refs)))


class _Book:
    """Sources by number, the run's own first, as findings come to speak of them."""

    def __init__(self, own: Source | None, known: Sources) -> None:
        self._known = known
        self._sources = [own]
        self._numbers = {id(own): 0}

    def packed(self, span: Span) -> Portable:
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
        named = (source.layer.value, source.name)
        is_known = self._known.get(named) == source
        return named if is_known else (*named, source.text)


def pack_findings(findings: Iterable[Diagnostic], book: _Book) -> Portable:
    # Whoever reads them would look for secrets in the sources again, and has not got them at hand.
    told = tuple(findings)
    if not told:
        return ()
    return tuple(_packed_finding(masked(finding), book) for finding in told)


def _packed_finding(finding: Diagnostic, book: _Book) -> Portable:
    return (
        finding.code,
        finding.message,
        finding.span and book.packed(finding.span),
        finding.path,
        finding.severity.value,
        tuple((note.message, note.span and book.packed(note.span)) for note in finding.notes),
        finding.help,
        finding.secret and book.packed(finding.secret),
    )


def unpack_findings(data: Portable, sources: tuple[Source | None, ...]) -> tuple[Diagnostic, ...]:
    return tuple(
        Diagnostic(
            code,
            message,
            span and _unpacked(span, sources),
            tuple(path),
            Severity(severity),
            tuple(Note(words, place and _unpacked(place, sources)) for words, place in notes),
            cure,
            secret and _unpacked(secret, sources),
        )
        for code, message, span, path, severity, notes, cure, secret in data
    )


def _unpacked(span: Portable, sources: tuple[Source | None, ...]) -> Span:
    number, line, column, end_line, end_column = span
    source = sources[number]
    assert source is not None
    return Span(source, line, column, end_line, end_column)


def _source(ref: Portable, known: Sources) -> Source:
    if len(ref) == 2:  # noqa: PLR2004  a name without its text
        return known[ref[0], ref[1]]
    layer, name, text = ref
    return Source(name, text, Layer(layer))
