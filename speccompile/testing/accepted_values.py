"""Values that an admin's settings accept, for what every run needs: a name, a project, an image, required fields.

They are found by compiling minimal runs with values from the settings, so any reason to reject a run counts, whether or
not this module knows about it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.model.diagnostic import Diagnostic, Severity
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.quantity import parse_quantity
from speccompile.schema.field_path import FieldLocation, locate_field
from speccompile.testing.admin import AdminConfig
from speccompile.testing.plain_data import Data

RunPath: TypeAlias = tuple[str, ...]
_NAMES = ("a", "train", "run-a")
_LIST_FIELDS = ("secrets", "args", "command")
_OTHER_VALUES: tuple[Any, ...] = ("a", 1, "1Gi")
"""Values for required fields whose rule and schema have none."""
_TAGS = ("", ":1.4", ":latest", "@sha256:" + "0123456789abcdef" * 4, ":1.4@sha256:" + "0123456789abcdef" * 4)
_ASCII = st.characters(min_codepoint=33, max_codepoint=126)


class RuleForRuns(NamedTuple):
    """A rule of the platform or of a profile."""

    path: RunPath
    constraint: Mapping[str, Any]
    examples: tuple[Any, ...]
    """Valid values of the field, whether or not the rule allows them."""


class Accepted(NamedTuple):
    """A minimal run that the admin accepts, and strategies for other values that are accepted in it."""

    run: Data
    """The minimal run with the fewest errors."""
    is_usable: bool
    """Whether it compiles, or may compile with a value that matches the pattern of a rule."""
    values: tuple[tuple[RunPath, st.SearchStrategy[Any]], ...]
    """By path; values of None are left out. Paths for which any value seems to be accepted are missing."""

    def strategy_for(self, field: str) -> st.SearchStrategy[Any] | None:
        """The strategy for a field that is not a mapping."""
        return next((values for path, values in self.values if path == (field,)), None)


@st.composite
def minimal_runs(draw: st.DrawFn, accepted: Accepted) -> Data:
    """A run with no more than what every run needs."""
    run = accepted.run
    for path, values in accepted.values:
        run = with_value(run, path, draw(values))
    return run


def accepted_values(admin: AdminConfig, profile: str | None, action: str) -> Accepted:
    """Find values that the admin accepts; without a platform or rules, the usual ones."""
    run: Data = {"name": _NAMES[0], "action": action, "image": "python"}
    if profile is not None:
        run["profile"] = profile
    if action == "serve":
        run["service_ports"] = [{"port": 80}]
    best = _score(run, admin)
    values: list[tuple[RunPath, st.SearchStrategy[Any]]] = []
    rules = [*rules_for(admin, profile)]
    for path, candidates in _candidates(admin, rules) if any(best) else ():
        runs = [(value, with_value(run, path, value)) for value in candidates]
        scores = [_score(one, admin) for _, one in runs]
        if min(scores) < best:
            best = min(scores)
            chosen = [one for one, score in zip(runs, scores, strict=True) if score == best]
            run = chosen[0][1]
            values.append((path, st.sampled_from([value for value, _ in chosen])))
    refused = {error.path[0] for error in errors_of(run, admin) if error.path}
    patterns = [rule for rule in rules if "pattern" in rule.constraint and rule.path[0] in refused]
    values += [(rule.path, satisfying(rule)) for rule in patterns]
    return Accepted(run, not any(best) or bool(patterns), tuple(values))


def errors_of(run: Data, admin: AdminConfig) -> tuple[Diagnostic, ...]:
    """The errors of a run; empty if it compiles."""
    try:
        admin.compile(run)
    except CompileError as error:
        return tuple(one for one in error.diagnostics if one.severity is Severity.ERROR)
    return ()


def _score(run: Data, admin: AdminConfig) -> tuple[int, int]:
    """How far a run is from compiling. Errors of its schema come first, because they hide all others."""
    errors = errors_of(run, admin)
    return sum(error.code.startswith("schema/") for error in errors), len(errors)


# Candidates


def _candidates(admin: AdminConfig, rules: list[RuleForRuns]) -> Iterator[tuple[RunPath, list[Any]]]:
    """Values to try at each path, the preferred ones first."""
    projects = admin.platform_setting("project_profiles") or {}
    registries = admin.platform_setting("allowed_registries") or ["ghcr.io/acme", "docker.io/library"]
    images = (f"{registry}/{name}{tag}" for registry in registries for name in ("train", "a/b") for tag in _TAGS)
    yield ("name",), list(_NAMES)
    yield ("project",), [None, "team", *(name for name in projects if name != "*")]
    for rule in rules:
        limits = (admin.platform_setting("ceilings") or {}).values() if rule.path[0] == "resources" else ()
        if rule.constraint.get("required") and rule.path != ("image",):
            yield rule.path, [*_listed(rule), *limits, *rule.examples, *_OTHER_VALUES]
    options = [value for rule in rules if rule.path == ("image",) for value in _listed(rule)]
    yield ("image",), [*options, *images]


def rules_for(admin: AdminConfig, profile: str | None) -> Iterator[RuleForRuns]:
    """The rules that apply to runs with the profile."""
    documents = [admin.full_platform, *(admin.profiles[one] for one in admin.lineage(profile))]
    for document in documents:
        for text, constraint in (document.get("rules") or {}).items():
            place = locate_field(text, bundled_library())
            if isinstance(place, FieldLocation):
                path = tuple(str(step).replace("/*", "/note") for step in place.path)
                yield RuleForRuns(path, constraint, tuple(place.schema.get("examples", ())))


def _listed(rule: RuleForRuns) -> list[Any]:
    """The values that the rule itself contains."""
    bounds = [rule.constraint[name] for name in ("min", "max") if name in rule.constraint]
    return [*(rule.constraint.get("options") or ()), *bounds]


def satisfying(rule: RuleForRuns) -> st.SearchStrategy[Any]:
    """Values that the rule allows."""
    if not rule.constraint.get("options") and "pattern" in rule.constraint:
        return _matching(rule)
    return st.sampled_from(_listed(rule) or list(rule.examples) or ["a"])


def _matching(rule: RuleForRuns) -> st.SearchStrategy[str]:
    alphabet = {"alphabet": _ASCII} if rule.path == ("image",) else {}
    return st.from_regex(rule.constraint["pattern"], fullmatch=True, **alphabet)


def violating(rule: RuleForRuns) -> st.SearchStrategy[Any]:
    """Values that the rule does not allow, if there are any."""
    values: list[Any] = [0] if "min" in rule.constraint else []
    if "max" in rule.constraint:
        values.append(int(parse_quantity(rule.constraint["max"]).value * 2) + 1)
    return st.sampled_from(values or ["localhost/elsewhere", "naïve", "S"])


def with_value(run: Data, path: RunPath, value: Any) -> Data:
    """A copy of the run with the value at the path, in the form that a run uses; None leaves it out."""
    field, rest = path[0], path[1:]
    if value is None:
        return {name: one for name, one in run.items() if name != field}
    if field == "resources" and len(rest) > 1:
        side, name = rest[:2]
        steps = (name, side) if name in ("gpu", "disk") else (side, name)
        return {**run, field: _with_item(run.get(field), steps, value)}
    if rest:
        return {**run, field: _with_item(run.get(field), rest[:1], value)}
    return {**run, field: [value] if field in _LIST_FIELDS and not isinstance(value, list) else value}


def _with_item(mapping: Any, steps: RunPath, value: Any) -> Any:
    if not steps:
        return value
    items = mapping if isinstance(mapping, dict) else {}
    return {**items, steps[0]: _with_item(items.get(steps[0]), steps[1:], value)}
