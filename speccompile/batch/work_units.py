"""Files of runs as units of work, and what the admin's texts are known by."""

from __future__ import annotations

from typing import TypeAlias

from speccompile.batch.wire_format import Portable, Sources, sources_by_name, to_portable
from speccompile.compiler.compiled import Rendered
from speccompile.model.findings import CompileError
from speccompile.model.input_texts import AdminTexts, Text
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.source import Layer, Source
from speccompile.yaml_text.parsed import Parsed

Answer: TypeAlias = tuple[tuple[Portable, ...], tuple[str, ...] | None]
"""The results of one file, and the profiles that they depend on; None is all of them."""


class Piece(NamedTuple):
    """A file of runs: to be compiled, or with the answer that is known."""

    source: Source
    text: Text
    answer: Answer | None = None

    @classmethod
    def of(cls, text: Text) -> Piece:
        return cls(Source(text.name, "" if text.is_data else text.text, Layer.RUN), text)

    @classmethod
    def unread(cls, file: Parsed) -> Piece:
        """A file that is nothing but faults."""
        source = next(finding.span.source for finding in file.findings if finding.span)
        return cls(
            source, Text(source.name, ""), ((to_portable(Rendered(CompileError(file.findings), ""), source, {}),), ())
        )

    @property
    def weight(self) -> int:
        """About how many runs there are in it."""
        return 1 + self.text.text.count("\n---")


def sources_of(admin: AdminTexts) -> Sources:
    """The texts of the admin, which findings name."""
    profiles = (Source(text.name, text.text, Layer.PROFILE) for text in admin.profiles if not text.is_data)
    platform = admin.platform
    told = (Source(platform.name, platform.text, Layer.PLATFORM),) if platform and not platform.is_data else ()
    templates = (Source(template.name, template.text, Layer.TEMPLATE) for template in admin.templates)
    return sources_by_name((*profiles, *told, *templates))
