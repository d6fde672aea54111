"""Profiles as a table, annotated YAML or JSON data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from speccompile.admin.flatten_profile import canonical_rules, flat_trees
from speccompile.compiler.explain import Line, explain
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Profile
from speccompile.model.key_path import format_path
from speccompile.model.manifest import Manifest
from speccompile.model.node import Node
from speccompile.model.origin import origin_of

TABLE_WIDTH = 100
_GAP = "  "
_MIN_COLUMN_WIDTH = 8
_COMMENT_COLUMN = 48
_MAX_CELL = 400
_PROFILE_KEYS = ("id", "name", "description", "target", "gpu_key", "defaults", "rules", "forbid")


def profile_table(profiles: Iterable[Profile]) -> str:
    """A table with one row per profile, without empty columns."""
    rows = [_row(profile) for profile in profiles]
    if not rows:
        return "no profiles\n"
    columns = [name for name in rows[0] if any(row[name] for row in rows)]
    cells = [[*columns], *([row[name] for name in columns] for row in rows)]
    widths = _widths(cells)
    return "".join(_lines(row, widths) for row in cells)


def _row(profile: Profile) -> Mapping[str, str]:
    summary = summary_data(profile)
    bases = [f"base {kind}" for kind in summary["bases"]]
    row = {
        "ID": summary["id"],
        "DESCRIPTION": summary["description"] or summary["name"] or "",
        "EXTENDS": ", ".join(summary["extends"]),
        "FIXES": ", ".join([*summary["fixes"], *bases]),
        "DEFAULTS": ", ".join(summary["defaults"]),
        "RULES": "; ".join(map(_rule, summary["rules"])),
        "FORBIDS": ", ".join(summary["forbid"]),
    }
    return {name: quote(text, _MAX_CELL)[1:-1] if text else "" for name, text in row.items()}


def _rule(rule: Mapping[str, Any]) -> str:
    checks = (f"{name} {_short(value)}" for name, value in rule.items() if name not in ("path", "reason", "required"))
    return " ".join((rule["path"], *(("required",) if rule.get("required") else ()), *checks))


def _short(value: Any) -> str:
    return "|".join(map(str, value)) if isinstance(value, list) else str(value)


def _widths(cells: Sequence[Sequence[str]]) -> list[int]:
    """The width of each column; the widest are narrowed until all fit, breaking words only as a last resort."""
    columns = list(zip(*cells, strict=True))
    widths = [max(map(len, column)) for column in columns]
    words = [max(len(word) for cell in column for word in cell.split(" ")) for column in columns]
    available = TABLE_WIDTH - len(_GAP) * (len(widths) - 1)
    for minimum in (words, [_MIN_COLUMN_WIDTH] * len(widths)):
        while sum(widths) > available and (wide := [at for at, width in enumerate(widths) if width > minimum[at]]):
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
    """A summary of the profile as JSON data.

    id, name, description (null if unset), where: file and line; extends: ids of its parents
    fixes, defaults: names of the fields it sets, inherited ones included; bases: kinds of its base documents
    rules: each with the `path` of its field and its checks; forbid: field paths
    """
    document, *bases = flat_trees(profile)
    data = document.plain()
    return {
        "id": data["id"],
        "name": data.get("name"),
        "description": data.get("description"),
        "where": _where(profile.id),
        "extends": [str(parent.value) for parent in profile.parents],
        "fixes": [name for name in data if name not in _PROFILE_KEYS],
        "defaults": list(data.get("defaults", {})),
        "rules": [{"path": path, **constraint.plain()} for path, constraint in canonical_rules(profile)],
        "forbid": data.get("forbid", []),
        "bases": [str(base.fields["kind"].value) for base in bases],
    }


def profile_yaml(profile: Profile) -> str:
    """The profile as an equivalent file without parents, with the origin of each value as a comment."""
    documents = [explain(Manifest(tree)).lines for tree in flat_trees(profile)]
    values = [line for lines in documents for line in lines if line.origin]
    column = min(_COMMENT_COLUMN, max((len(line.text.partition("\n")[0]) for line in values), default=0))
    return "---\n".join("".join(_annotated(line, column) for line in lines) for lines in documents)


def _annotated(line: Line, column: int) -> str:
    first, *others = line.text.split("\n")
    if line.origin:
        how = f" ({line.value.derived})" if line.value.derived else ""
        first = f"{first.ljust(column)}  # {quote(f'{_where(line.value)}{how}', _MAX_CELL)[1:-1]}"
    return "".join(f"{text}\n" for text in (first, *others))


def _where(node: Node) -> str:
    return f"{node.span.source.name}:{node.span.line}" if node.span.line else node.span.source.name


def profile_data(profile: Profile) -> dict[str, Any]:
    """The profile, merged with its parents, as JSON data.

    id: its id; extends: ids of its parents
    documents: the profile, then its base documents, each with `data` and `origins`: for the path of each value its
        `layer`, `where` (file, line and column) and `derived` (how it was derived, or null)
    """
    return {
        "id": str(profile.id.value),
        "extends": [str(parent.value) for parent in profile.parents],
        "documents": [
            {
                "data": tree.plain(),
                "origins": {
                    format_path(path): _origin(node) for path, node in tree.walk() if node.is_scalar or not node.value
                },
            }
            for tree in flat_trees(profile)
        ],
    }


def _origin(node: Node) -> dict[str, Any]:
    origin = origin_of(node)
    return {"layer": str(origin.layer), "where": origin.span.label, "derived": origin.derived}
