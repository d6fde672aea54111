"""Rules and forbidden fields of profiles and the platform."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.quantity import QuantityError, parse_quantity
from speccompile.schema.field_path import SIDES, Place, place_of
from speccompile.testing.admin import Admin, Data
from speccompile.testing.properties.baseline import gpu_key, least, lineage
from speccompile.testing.properties.field_values import values_at


def rules_hold(run: Data, admin: Admin) -> None:
    """Whatever compiles satisfies the rules of its profile and of the platform."""
    manifests = admin.manifests(run)
    rules = [rule for holder in _demanding(run, admin) for rule in (holder.get("rules") or {}).items()]
    if manifests is None or not rules:
        return
    usual = least(run, manifests, admin.lenient)
    for text, constraint in rules:
        for path in _paths(text, admin, run)[:1]:
            found, before = values_at(path, manifests, admin), values_at(path, usual, admin)
            for value in found:
                # What stands there though the run says nothing is the admin's own, or what Kubernetes needs.
                assert value in before or _satisfies(value, constraint), f"`{text}` is {value!r}, against {constraint}"


def forbidden_fields_stay_out(run: Data, admin: Admin) -> None:
    """A field that a profile or the platform forbids never reaches a manifest from a run."""
    manifests = admin.manifests(run)
    bans = [text for holder in _demanding(run, admin) for text in holder.get("forbid") or ()]
    if manifests is None or not bans:
        return
    usual = least(run, manifests, admin.lenient)
    for text in bans:
        for path in _paths(text, admin, run):
            assert len(path) > 1 or run.get(path[0]) is None, f"the run says `{text}`"
            if not _is_derived(path, admin):
                found, before = values_at(path, manifests, admin), values_at(path, usual, admin)
                assert found == before, f"`{text}` comes to {found}, and without the run's word to {before}"


def _demanding(run: Data, admin: Admin) -> list[Data]:
    """Every document whose rules and bans the run is under."""
    return [admin.demands, *(admin.profiles[one] for one in dict.fromkeys(lineage(run, admin)))]


def _paths(text: str, admin: Admin, run: Data) -> list[tuple[str, ...]]:
    """The places in the spec that a path means; `resources.mem` means its request first, and its limit."""
    place = place_of(text, bundled_library())
    assert isinstance(place, Place), f"no path: {text}"
    path = tuple(map(str, place.path))
    if path[0] != "resources" or len(path) < len(("resources", "requests", "cpu")):
        return [path]
    names = {"gpu": gpu_key(run, admin), "disk": "ephemeral-storage"}
    short = "x-resource" in place.schema
    sides = SIDES if short else (path[1],)
    return [("resources", side, names.get(path[2], path[2])) for side in sides]


def _is_derived(path: tuple[str, ...], admin: Admin) -> bool:
    """Whether the platform makes the value from another, which the run may say."""
    factors = {"memory": "memory_limit_factor", "cpu": "cpu_limit_factor"}
    told = {name for name, factor in factors.items() if admin.settled(factor) is not None}
    return path[:2] == ("resources", "limits") and bool(told.intersection(path[2:] or factors))


def _satisfies(value: Any, constraint: Mapping[str, Any]) -> bool:
    checks: dict[str, Callable[[Any], bool]] = {
        "min": lambda bound: parse_quantity(value) >= parse_quantity(bound),
        "max": lambda bound: parse_quantity(value) <= parse_quantity(bound),
        "options": lambda options: any(_equal(value, option) for option in options),
        "pattern": lambda pattern: re.fullmatch(pattern, str(value)) is not None,
    }
    return all(check(constraint[name]) for name, check in checks.items() if constraint.get(name) is not None)


def _equal(one: Any, other: Any) -> bool:
    try:
        return str(one) == str(other) or parse_quantity(one) == parse_quantity(other)
    except (QuantityError, TypeError):
        return False
