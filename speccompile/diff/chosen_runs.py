"""The runs that a change affects, as a choice of documents in files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.parsed import Parsed


class Affected(NamedTuple):
    """The documents that a change can touch, by file and number, and the files that all runs are written to."""

    documents: Mapping[str, frozenset[int]]
    outputs: frozenset[str]
    total: int
    """How many runs there are, touched or not."""
    unread: tuple[str, ...]
    """Files that could not be read as runs, which may have outputs as well."""


def only(files: Iterable[Parsed], chosen: Affected) -> Iterator[Parsed]:
    """The files that have documents to compile, with nothing but these."""
    for parsed in files:
        numbers = chosen.documents.get(file_of(parsed))
        if numbers is not None:
            kept = (document for number, document in enumerate(parsed.documents) if number in numbers)
            yield parsed._replace(documents=tuple(kept))


def file_of(parsed: Parsed) -> str:
    """The name of the file that the documents come from."""
    sources = (
        *(document.source for document in parsed.documents),
        *(finding.span.source for finding in parsed.findings if finding.span),
    )
    return next((source.name for source in sources), "")
