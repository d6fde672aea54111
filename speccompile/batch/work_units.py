"""Run files as units of work, and the sources of the admin's texts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from typing import TypeAlias

from speccompile.batch.wire_format import Portable, Sources, sources_by_name, to_portable
from speccompile.compiler.compiled import Rendered
from speccompile.model.findings import CompileError
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parsed import Parsed

_PER_WORKER = 3
"""Chunks for each worker if there are few units, so that none is idle while others work."""
UnitOutcome: TypeAlias = tuple[tuple[Portable, ...], tuple[str, ...] | None]
"""The packed results of one file, and the profiles that they depend on; None means all of them."""


class WorkUnit(NamedTuple):
    """A run file, with its outcome unless it is to be compiled."""

    source: Source
    text: Text
    outcome: UnitOutcome | None = None

    @classmethod
    def of(cls, text: Text) -> WorkUnit:
        return cls(Source(text.name, text.text, Layer.RUN), text)

    @classmethod
    def unread(cls, file: Parsed) -> WorkUnit:
        """A file that cannot be read."""
        source = next(finding.span.source for finding in file.findings if finding.span)
        return cls(
            source, Text(source.name, ""), ((to_portable(Rendered(CompileError(file.findings), ""), source, {}),), ())
        )

    @property
    def weight(self) -> int:
        """The approximate number of its runs."""
        return 1 + self.text.text.count("\n---")


def chunks(units: Iterable[WorkUnit], workers: int, size: int) -> Iterator[list[WorkUnit]]:
    """The units in chunks of about `size` runs; smaller ones if not every worker would get a whole one."""
    stream = iter(units)
    first: list[WorkUnit] = []
    total = 0
    for unit in stream:
        first.append(unit)
        total += unit.weight
        if total >= size * workers:
            break
    if total < size * workers:
        size = min(size, max(1, total // (_PER_WORKER * workers)))
    rest = chain(first, stream)
    del first
    chunk: list[WorkUnit] = []
    weight = 0
    for unit in rest:
        chunk.append(unit)
        weight += unit.weight
        if weight >= size:
            yield chunk
            chunk, weight = [], 0
    if chunk:
        yield chunk


def sources_of(admin: AdminTexts) -> Sources:
    """The sources of the texts that all runs share, which findings refer to."""
    profiles = (Source(text.name, text.text, Layer.PROFILE) for text in admin.profiles)
    texts = (text for text in (admin.platform, admin.project) if text)
    platforms = (Source(text.name, text.text, Layer.PLATFORM) for text in texts)
    templates = (Source(template.name, template.text, Layer.TEMPLATE) for template in admin.templates)
    functions = (
        Source(text.name, text.text, layer)
        for text in (*admin.functions, *admin.beside_runs)
        for layer in (Layer.FUNCTION, Layer.TASK)
    )
    return sources_by_name((*profiles, *platforms, *templates, *functions))
