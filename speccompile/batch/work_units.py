"""Run files as units of work, and the sources of the admin's texts."""

from __future__ import annotations

from typing import TypeAlias

from speccompile.batch.wire_format import Portable, Sources, sources_by_name, to_portable
from speccompile.compiler.compiled import Rendered
from speccompile.model.findings import CompileError
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parsed import Parsed

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
