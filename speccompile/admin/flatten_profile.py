"""A profile written out without its parents."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from speccompile.compiler.container_resources import SCRATCH_DISK
from speccompile.model.documents import Profile
from speccompile.model.key_path import KeyPath, format_path, parse_path
from speccompile.model.node import Node
from speccompile.schema.field_path import SIDES, called_by_admins

_SYMBOLS = ("gpu", "disk")
"""What stands among requests and limits until platform and profile say which resource it is."""


def flattened(profile: Profile) -> tuple[dict[str, Any], ...]:
    """The profile and its base documents as plain data: a file of these means the same, and has no parents."""
    return tuple(tree.plain() for tree in flattened_trees(profile))


def flattened_trees(profile: Profile) -> tuple[Node, ...]:
    """As `flattened`, with the origin of every value."""
    own = {
        "id": profile.id,
        **profile.about,
        **({"target": profile.target} if profile.target else {}),
        **({"gpu_key": profile.gpu_key} if profile.gpu_key else {}),
        **_written(profile.fields).fields,
        "defaults": _written(profile.defaults),
        "rules": Node(dict(_rules(profile)), profile.id.span),
        "forbid": Node(tuple({str(ban.written.value): ban.written for ban in profile.bans}.values()), profile.id.span),
    }
    said = {key: node for key, node in own.items() if key not in ("defaults", "rules", "forbid") or node.value}
    return (Node(said, profile.id.span), *profile.bases.values())


def _written(fields: Node) -> Node:
    """The fields as a file may have them: `disk` is no resource that could stand among requests."""
    resources = fields.fields.get("resources")
    disk = resources.at(("requests", SCRATCH_DISK)) if resources else None
    if resources is None or disk is None:
        return fields
    sides: Mapping[str, Node] = {
        side: node.with_fields({name: amount for name, amount in node.fields.items() if name != SCRATCH_DISK})
        for side, node in resources.fields.items()
    }
    left = {side: node for side, node in sides.items() if node.fields}
    return fields.with_fields({**fields.fields, "resources": resources.with_fields({"disk": disk, **left})})


def canonical_rules(profile: Profile) -> Iterator[tuple[str, Node]]:
    """The constraints with the path of their field, each once, in one order."""
    told = {
        (format_path(_path_as_written(rule.path)), json.dumps(rule.constraint.plain(), sort_keys=True)): rule.constraint
        for rule in profile.rules
    }
    for (text, _), constraint in sorted(told.items(), key=lambda item: item[0]):
        yield text, constraint.but(key=None)


def _rules(profile: Profile) -> Mapping[str, Node]:
    """The rules by path. All of them hold, so one that cannot join another stands under a second spelling of it."""
    rules: dict[str, Node] = {}
    for path, constraint in canonical_rules(profile):
        for text in _spellings(path):
            joint = _joint(rules[text], constraint) if text in rules else constraint
            if joint:
                rules[text] = joint
                break
        else:
            raise AssertionError(f"{path} has more rules than spellings")
    return rules


def _joint(one: Node, other: Node) -> Node | None:
    """Both constraints as one, unless they say the same words; a reason is one for its own words only."""
    if one.fields.keys() & other.fields.keys() or "reason" in {*one.fields, *other.fields}:
        return None
    return one.with_fields({**one.fields, **other.fields})


def _spellings(path: str) -> Iterator[str]:
    return chain((path,), _quoted(parse_path(path)))


def _path_as_written(path: KeyPath) -> KeyPath:
    if path[:1] == ("resources",) and path[-1] in _SYMBOLS:
        return ("resources", path[-1]) if path[1] == SIDES[0] else ("resources", path[-1], path[1])
    return called_by_admins(path)


def _quoted(path: KeyPath) -> Iterator[str]:
    """`["replicas"]`, and so on with a backslash before more and more of its letters."""
    length = sum(len(str(step)) for step in path)
    for number in range(2**length):
        bits = iter(range(length))
        steps = ("".join(_escaped(char, number >> next(bits) & 1) for char in str(step)) for step in path)
        yield "".join(f'["{step}"]' for step in steps)


def _escaped(char: str, is_marked: int) -> str:
    return f"\\{char}" if is_marked or char in '\\"' else char
