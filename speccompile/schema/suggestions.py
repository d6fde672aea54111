"""Suggestions for misspelt names: the nearest known name, and the finding of an unknown key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.source import Span

_MANY = 12
"""Known keys that a finding lists at most."""


def near(name: str, known: Iterable[str]) -> str | None:
    """The known name that the given one was probably meant to be."""
    import difflib  # slow to import, and only suggestions need it

    folded = {one.casefold(): one for one in known}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None


def unknown_key(key: str, span: Span, path: KeyPath, allowed: Sequence[str]) -> Diagnostic:
    """The finding of a key that the schema does not know, with the key that was probably meant."""
    meant = near(key, allowed)
    return Diagnostic(
        code="schema/unknown-key",
        message=f"unknown key {quote(key)}",
        span=span,
        path=path,
        notes=(Note(f"expected one of {listed(allowed)}"),) if allowed and len(allowed) <= _MANY else (),
        help=f"did you mean `{meant}`?" if meant else None,
    )


def listed(names: Iterable[object]) -> str:
    """The names in backticks, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)
