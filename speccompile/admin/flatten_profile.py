"""Flatten a profile: merge it with its parents into one document."""

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
"""Names of resources that the platform and the profile map to resource keys."""


def flat_documents(profile: Profile) -> tuple[dict[str, Any], ...]:
    """The profile and its base documents as plain data, equivalent to the profile with its parents."""
    return tuple(tree.plain() for tree in flat_trees(profile))


def flat_trees(profile: Profile) -> tuple[Node, ...]:
    """The documents of `flat_documents` with the origin of every value."""
    fields = {
        "id": profile.id,
        **profile.about,
        **({"target": profile.target} if profile.target else {}),
        **({"gpu_key": profile.gpu_key} if profile.gpu_key else {}),
        **_writable(profile.fields).fields,
        "defaults": _writable(profile.defaults),
        "rules": Node(dict(_rules(profile)), profile.id.span),
        "forbid": Node(tuple({str(ban.written.value): ban.written for ban in profile.bans}.values()), profile.id.span),
    }
    non_empty = {key: node for key, node in fields.items() if key not in ("defaults", "rules", "forbid") or node.value}
    return (Node(non_empty, profile.id.span), *profile.bases.values())


def _writable(fields: Node) -> Node:
    """The fields as a profile file may contain them: `disk` is not allowed in requests."""
    resources = fields.fields.get("resources")
    disk = resources.at(("requests", SCRATCH_DISK)) if resources else None
    if resources is None or disk is None:
        return fields
    sides: Mapping[str, Node] = {
        side: node.with_fields({name: amount for name, amount in node.fields.items() if name != SCRATCH_DISK})
        for side, node in resources.fields.items()
    }
    non_empty = {side: node for side, node in sides.items() if node.fields}
    return fields.with_fields({**fields.fields, "resources": resources.with_fields({"disk": disk, **non_empty})})


def canonical_rules(profile: Profile) -> Iterator[tuple[str, Node]]:
    """The path and constraint of each rule, without duplicates, sorted."""
    constraints = {
        (format_path(_path_as_written(rule.path)), json.dumps(rule.constraint.plain(), sort_keys=True)): rule.constraint
        for rule in profile.rules
    }
    for (text, _), constraint in sorted(constraints.items(), key=lambda item: item[0]):
        yield text, constraint.but(key=None)


def _rules(profile: Profile) -> Mapping[str, Node]:
    """The rules by path. A rule that cannot be combined with another one is put under another spelling of the path."""
    rules: dict[str, Node] = {}
    for path, constraint in canonical_rules(profile):
        for text in chain((path,), _quoted(parse_path(path))):
            combined = _combined(rules[text], constraint) if text in rules else constraint
            if combined:
                rules[text] = combined
                break
        else:
            raise AssertionError(f"{path} has more rules than spellings")
    return rules


def _combined(one: Node, other: Node) -> Node | None:
    """Both constraints as one; None if they share a key, or one has a reason, which applies only to its own keys."""
    if one.fields.keys() & other.fields.keys() or "reason" in {*one.fields, *other.fields}:
        return None
    return one.with_fields({**one.fields, **other.fields})


def _path_as_written(path: KeyPath) -> KeyPath:
    if path[:1] == ("resources",) and path[-1] in _SYMBOLS:
        return ("resources", path[-1]) if path[1] == SIDES[0] else ("resources", path[-1], path[1])
    return called_by_admins(path)


def _quoted(path: KeyPath) -> Iterator[str]:
    """`["replicas"]`, then every spelling with a backslash before some of the letters."""
    length = sum(len(str(step)) for step in path)
    for number in range(2**length):
        bits = iter(range(length))
        steps = (
            "".join(f"\\{char}" if number >> next(bits) & 1 or char in '\\"' else char for char in str(step))
            for step in path
        )
        yield "".join(f'["{step}"]' for step in steps)
