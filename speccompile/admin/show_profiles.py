"""Profiles as a table, as annotated YAML and as data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from speccompile.admin.flatten_profile import canonical_rules, flattened_trees
from speccompile.compiler.explain import Line, explain
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Profile
from speccompile.model.key_path import format_path
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.origin import origin_of

WIDTH = 100
"""Columns of the table."""
_GAP = "  "
_NARROWEST = 8
_COMMENT_COLUMN = 48
_LONGEST_CELL = 400
_OWN = ("id", "name", "description", "target", "gpu_key", "defaults", "rules", "forbid")


def as_table(profiles: Iterable[Profile]) -> str:
    """One row a profile, aligned and wrapped; columns of which no profile has anything are left out."""
    rows = [_row(profile) for profile in profiles]
    if not rows:
        return "there are no profiles\n"
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    cells = [[*columns], *([row[name] for name in columns] for row in rows)]
    widths = _widths(cells)
    return "".join(_lines(row, widths) for row in cells)


def _row(profile: Profile) -> Mapping[str, str]:
    told = summary_data(profile)
    bases = [f"base {kind}" for kind in told["bases"]]
    row = {
        "ID": told["id"],
        "DESCRIPTION": told["description"] or told["name"] or "",
        "EXTENDS": ", ".join(told["extends"]),
        "FIXES": ", ".join([*told["fixes"], *bases]),
        "DEFAULTS": ", ".join(told["defaults"]),
        "RULES": "; ".join(map(_rule, told["rules"])),
        "FORBIDS": ", ".join(told["forbid"]),
    }
    return {name: quote(text, _LONGEST_CELL)[1:-1] if text else "" for name, text in row.items()}


def _rule(rule: Mapping[str, Any]) -> str:
    told = (f"{word} {_short(value)}" for word, value in rule.items() if word not in ("path", "reason", "required"))
    return " ".join((rule["path"], *(("required",) if rule.get("required") else ()), *told))


def _short(value: Any) -> str:
    return "|".join(map(str, value)) if isinstance(value, list) else str(value)


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column; the widest give way until all fit, and break words only if nothing else helps."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [max(len(word) for cell in column for word in cell.split(" ")) for column in columns]
    room = WIDTH - len(_GAP) * (len(widths) - 1)
    for least in (words, [_NARROWEST] * len(widths)):
        while sum(widths) > room and (wide := [at for at, width in enumerate(widths) if width > least[at]]):
            widths[max(wide, key=lambda at: widths[at])] -= 1
    return widths


def _lines(row: Sequence[str], widths: Sequence[int]) -> str:
    columns = [textwrap.wrap(cell, width) or [""] for cell, width in zip(row, widths, strict=True)]
    height = max(map(len, columns))
    filled = [[*lines, *[""] * (height - len(lines))] for lines in columns]
    return "".join(
        _GAP.join(line.ljust(width) for line, width in zip(lines, widths, strict=True)).rstrip() + "\n"
        for lines in zip(*filled, strict=True)
    )


def summary_data(profile: Profile) -> dict[str, Any]:
    """What a profile does, as JSON data.

    id, name, description (null where not said), where: the file and line; extends: ids of its parents
    fixes, defaults: names of the fields it sets, its parents' among them; bases: kinds of its base documents
    rules: each the `path` of its field and what it demands of it; forbid: field paths
    """
    own, *bases = flattened_trees(profile)
    data = own.plain()
    return {
        "id": data["id"],
        "name": data.get("name"),
        "description": data.get("description"),
        "where": _where(profile.id),
        "extends": [str(parent.value) for parent in profile.parents],
        "fixes": [name for name in data if name not in _OWN],
        "defaults": list(data.get("defaults", {})),
        "rules": [{"path": path, **constraint.plain()} for path, constraint in canonical_rules(profile)],
        "forbid": data.get("forbid", []),
        "bases": [str(base.fields["kind"].value) for base in bases],
    }


def as_yaml(profile: Profile) -> str:
    """The profile without parents, as a profile file that means the same; beside each value, where it comes from."""
    documents = [explain(Manifest(tree)).lines for tree in flattened_trees(profile)]
    told = [line for lines in documents for line in lines if line.origin]
    column = min(_COMMENT_COLUMN, max((len(line.text.partition("\n")[0]) for line in told), default=0))
    return "---\n".join("".join(_annotated(line, column) for line in lines) for lines in documents)


def _annotated(line: Line, column: int) -> str:
    first, *others = line.text.split("\n")
    beside = f"{first.ljust(column)}  # {_comment(line.value)}" if line.origin else first
    return "".join(f"{text}\n" for text in (beside, *others))


def _comment(node: Node) -> str:
    how = f" ({node.derived})" if node.derived else ""
    return quote(f"{_where(node)}{how}", _LONGEST_CELL)[1:-1]


def _leaves(tree: Node) -> Iterator[tuple[tuple[str | int, ...], Node]]:
    return ((path, node) for path, node in tree.walk() if node.is_scalar or not node.value)


def _where(node: Node) -> str:
    return f"{node.span.source.name}:{node.span.line}" if node.span.line else node.span.source.name


def as_data(profile: Profile) -> dict[str, Any]:
    """The profile without parents, as JSON data.

    id: its id; extends: ids of the parents it had
    documents: the profile, then its base documents, each `data`, and `origins`: for the path of each value
        `layer`, `where` (file, line and column) and `derived` (how it was made, or null)
    """
    return {
        "id": str(profile.id.value),
        "extends": [str(parent.value) for parent in profile.parents],
        "documents": [
            {"data": tree.plain(), "origins": {format_path(path): _origin(node) for path, node in _leaves(tree)}}
            for tree in flattened_trees(profile)
        ],
    }


def _origin(node: Node) -> dict[str, Any]:
    origin = origin_of(node)
    return {"layer": str(origin.layer), "where": origin.span.label, "derived": origin.derived}
