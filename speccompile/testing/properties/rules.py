"""Rules and forbidden fields of profiles and the platform."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.quantity import QuantityError, parse_quantity
from speccompile.schema.field_path import SIDES, FieldLocation, locate_field
from speccompile.schema.formats.safe_regex import matches_whole
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data
from speccompile.testing.properties.baseline import baseline_manifests, gpu_key, lineage
from speccompile.testing.properties.field_values import values_at


def rules_apply(run: Data, admin: AdminConfig) -> None:
    """Every run that compiles satisfies the rules of its profile and the platform."""
    manifests = admin.manifests(run)
    rules = [rule for document in _documents_for(run, admin) for rule in (document.get("rules") or {}).items()]
    if manifests is None or not rules:
        return
    baseline = baseline_manifests(run, manifests, admin.lenient)
    for text, constraint in rules:
        for path in _paths(text, admin, run)[:1]:
            actual, minimal = values_at(path, manifests, admin), values_at(path, baseline, admin)
            for value in actual:
                # A minimal run has only values that the admin sets or Kubernetes requires.
                assert value in minimal or _satisfies(value, constraint), f"`{text}` is {value!r}, rule: {constraint}"


def forbidden_fields_cannot_be_set(run: Data, admin: AdminConfig) -> None:
    """A field that a profile or the platform forbids never reaches a manifest from a run."""
    manifests = admin.manifests(run)
    bans = [text for document in _documents_for(run, admin) for text in document.get("forbid") or ()]
    if manifests is None or not bans:
        return
    baseline = baseline_manifests(run, manifests, admin.lenient)
    for text in bans:
        for path in _paths(text, admin, run):
            assert len(path) > 1 or run.get(path[0]) is None, f"the run sets `{text}`"
            if not _is_derived(path, admin):
                actual, minimal = values_at(path, manifests, admin), values_at(path, baseline, admin)
                assert actual == minimal, f"`{text}` is {actual}, but {minimal} if the run does not set it"


def _documents_for(run: Data, admin: AdminConfig) -> list[Data]:
    """The documents whose rules and bans apply to the run."""
    return [admin.full_platform, *(admin.profiles[one] for one in dict.fromkeys(lineage(run, admin)))]


def _paths(text: str, admin: AdminConfig, run: Data) -> list[tuple[str, ...]]:
    """The paths in the spec that a path refers to; `resources.mem` refers to the request, then the limit."""
    place = locate_field(text, bundled_library())
    assert isinstance(place, FieldLocation), f"not a path: {text}"
    path = tuple(map(str, place.path))
    if path[0] != "resources" or len(path) < len(("resources", "requests", "cpu")):
        return [path]
    names = {"gpu": gpu_key(run, admin), "disk": "ephemeral-storage"}
    short = "x-resource" in place.schema
    sides = SIDES if short else (path[1],)
    return [("resources", side, names.get(path[2], path[2])) for side in sides]


def _is_derived(path: tuple[str, ...], admin: AdminConfig) -> bool:
    """Whether the platform derives the value from another one, which the run may set."""
    factors = {"memory": "memory_limit_factor", "cpu": "cpu_limit_factor"}
    derived = {name for name, factor in factors.items() if admin.platform_setting(factor) is not None}
    return path[:2] == ("resources", "limits") and bool(derived.intersection(path[2:] or factors))


def _satisfies(value: Any, constraint: Mapping[str, Any]) -> bool:
    checks: dict[str, Callable[[Any], bool]] = {
        "min": lambda bound: parse_quantity(value) >= parse_quantity(bound),
        "max": lambda bound: parse_quantity(value) <= parse_quantity(bound),
        "options": lambda options: any(_equal(value, option) for option in options),
        "pattern": lambda pattern: matches_whole(pattern, str(value)),
    }
    return all(check(constraint[name]) for name, check in checks.items() if constraint.get(name) is not None)


def _equal(one: Any, other: Any) -> bool:
    try:
        return str(one) == str(other) or parse_quantity(one) == parse_quantity(other)
    except (QuantityError, TypeError):
        return False
