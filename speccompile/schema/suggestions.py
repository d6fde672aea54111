"""Suggestions for unknown names: the nearest known name, and the finding of an unknown key."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from types import ModuleType

from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.key_path import KeyPath
from speccompile.model.source import Span

_MAX_LISTED = 12
"""Known keys that a finding lists at most."""
_MAX_EDITS = 2
_MIN_PART, _MAX_PART = 3, 100


def near(name: str, known: Iterable[str], most: int = _MAX_EDITS) -> str | None:
    """The known name that the given one is probably a misspelling of.

    It is at most `most` edits away, and less than half of it differs. Failing that, one name begins with the other:
    `desc` is close to `description`, and `allow_existing_volumes` to `allow_existing`.
    """
    written, names = name.casefold(), _folded(tuple(known))
    least, nearest = most + 1, None
    for folded, one in names.items():
        difference = abs(len(written) - len(folded))
        # Most names differ too much in length; a file can have thousands of unknown keys.
        if difference >= least:
            continue
        bound = min(least - 1, (min(len(written), len(folded)) - 1) // 2)
        distance = _edits(written, folded, bound)
        if distance is not None:
            least, nearest = distance, one
            if distance == 0:
                break
    if nearest is not None or most < _MAX_EDITS or not _MIN_PART <= len(written) <= _MAX_PART:
        return nearest
    return _extended(written, names)


@lru_cache(maxsize=64)
def _folded(names: tuple[str, ...]) -> Mapping[str, str]:
    return {name.casefold(): name for name in names}


def _extended(written: str, names: Mapping[str, str]) -> str | None:
    letters = _letters(written)
    longer = [
        one for folded, one in names.items() if folded.endswith(f"/{written}") or _letters(folded).startswith(letters)
    ]
    if longer:
        return longer[0] if len(longer) == 1 else None
    shorter = [
        folded for folded in names if len(folded) >= _MIN_PART and written.startswith((f"{folded}_", f"{folded}-"))
    ]
    return names[max(shorter, key=len)] if shorter else None


def _letters(name: str) -> str:
    return name.replace("_", "").replace("-", "")


def _edits(one: str, two: str, most: int) -> int | None:
    """The letters to insert, remove, replace or swap with their neighbour; None for more than `most`."""
    if abs(len(one) - len(two)) > most or len(set(one) ^ set(two)) > 2 * most:
        return None
    before: list[int] = []
    row = list(range(len(two) + 1))
    for i, left in enumerate(one, start=1):
        above, row = row, [i]
        for j, right in enumerate(two, start=1):
            cost = min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (left != right))
            if i > 1 and j > 1 and left == two[j - 2] and one[i - 2] == right:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return None
        before = above
    return row[-1] if row[-1] <= most else None


def suggest_key(key: str, path: KeyPath, allowed: Collection[str], elsewhere: str | None = None) -> str | None:
    """Help for an unknown key at the path.

    It is what to write instead of a name that other tools use, or `elsewhere`, which is where the key belongs, or the
    known key that was probably meant, or what to write instead of a misspelt name of other tools.
    """
    foreign_names = _foreign_names()
    help_text: str | None = foreign_names.translate_name(key, path, allowed)
    if help_text:
        return help_text
    meant = near(key, allowed, most=1 if elsewhere else _MAX_EDITS)
    if meant:
        return f"did you mean `{meant}`?"
    if elsewhere:
        return elsewhere
    foreign = near(key, foreign_names.translated_names(path, allowed), most=1)
    translated: str | None = foreign_names.translate_name(foreign, path, allowed) if foreign else None
    return translated or None


def suggest_value(field: str, value: str, allowed: Collection[str]) -> str | None:
    """Help for a value that is not allowed: what to write instead of one of other tools, or the nearest one."""
    meant = near(value, allowed)
    translated: str | None = _foreign_names().translate_value(field, value, allowed)
    return translated or (f"did you mean `{meant}`?" if meant else None)


def _foreign_names() -> ModuleType:
    from speccompile.schema import foreign_names  # most files have no errors

    return foreign_names


def unknown_key(
    key: str, span: Span, path: KeyPath, allowed: Sequence[str], elsewhere: str | None = None
) -> Diagnostic:
    """The finding of a key that the schema does not know; for `elsewhere`, see `suggest_key`."""
    return Diagnostic(
        code="schema/unknown-key",
        message=f"unknown key {quote(key)}",
        span=span,
        path=path,
        notes=(Note(f"expected one of {quote_names(allowed)}"),) if allowed and len(allowed) <= _MAX_LISTED else (),
        help=suggest_key(key, path, allowed, elsewhere),
    )


def quote_names(names: Iterable[object]) -> str:
    """The names in backticks, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)
