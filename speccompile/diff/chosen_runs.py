"""The documents that a change of files affects."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from speccompile.model.light_namedtuple import NamedTuple
from speccompile.yaml_text.parsed import Parsed


class Affected(NamedTuple):
    """The affected documents, by file and number, and the output files of all runs."""

    documents: Mapping[str, frozenset[int]]
    outputs: frozenset[str]
    total: int
    """Number of all runs, affected or not."""
    unread: tuple[str, ...]
    """Files that could not be read as runs, whose outputs are unknown."""


def only(files: Iterable[Parsed], chosen: Affected) -> Iterator[Parsed]:
    """The files with affected documents, reduced to these documents."""
    for parsed in files:
        numbers = chosen.documents.get(file_name_of(parsed))
        if numbers is not None:
            documents = (document for number, document in enumerate(parsed.documents) if number in numbers)
            yield parsed._replace(documents=tuple(documents))


def file_name_of(parsed: Parsed) -> str:
    """The name of the file that contains the documents."""
    sources = (
        *(document.source for document in parsed.documents),
        *(finding.span.source for finding in parsed.findings if finding.span),
    )
    return next((source.name for source in sources), "")
