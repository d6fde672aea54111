"""Takes findings, gives them in the format that is asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeAlias

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.finding_text import as_text, summary
from speccompile.terminal.style import Paint, plain

_Writer: TypeAlias = Callable[[Sequence[Diagnostic], Paint], str]


def as_format(name: str, diagnostics: Iterable[Diagnostic], paint: Paint = plain) -> str:
    """The findings in one of the `FORMATS`; only text is ever painted."""
    return _WRITERS[name](tuple(diagnostics), paint)


def _text(found: Sequence[Diagnostic], paint: Paint) -> str:
    return f"{as_text(found, paint)}speccompile: {summary(found)}\n" if found else ""


def _json(found: Sequence[Diagnostic], _: Paint) -> str:
    from speccompile.report.findings_json import as_json  # each format is paid for by whoever asks for it

    return as_json(found)


def _sarif(found: Sequence[Diagnostic], _: Paint) -> str:
    from speccompile.report.findings_sarif import as_sarif
    from speccompile.schema.bundled import bundled_codes
    from speccompile.version import VERSION

    return as_sarif(found, bundled_codes(), VERSION)


def _github(found: Sequence[Diagnostic], _: Paint) -> str:
    from speccompile.report.findings_github import as_github

    return as_github(found)


_WRITERS: Mapping[str, _Writer] = {"text": _text, "json": _json, "sarif": _sarif, "github": _github}
FORMATS = tuple(_WRITERS)
