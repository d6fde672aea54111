"""Constraints on what a run may write under `resources`, given profile and platform.

An amount can be written in several places, and some places set request and limit at once. So every place lists the
amounts that it sets, and a value there must satisfy the constraints on all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TypeAlias

from speccompile.compiler.container_resources import (
    DISK,
    SCRATCH_DISK,
    disk_name,
    gpu_kinds,
    gpu_names,
    is_device,
    is_extended,
)
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.field_locations import any_of, with_key
from speccompile.editor_schema.format_patterns import Bounds, literal, quantities_equal_to, quantities_within
from speccompile.model.documents import Platform, Profile
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.field_path import SIDES, concrete

RESOURCES = "resources"
REQUESTS = (RESOURCES, SIDES[0])
BUILT_IN_RESOURCES = ("cpu", "memory", DISK)
"""The resources that are built into Kubernetes."""
_HUGE_PAGES = "hugepages-"
_KINDS: Mapping[str, str] = {r"^(?!kubernetes\.io/)[^/]+/": "any.example/device", f"^{_HUGE_PAGES}": f"{_HUGE_PAGES}1"}
"""Patterns of resource names that nobody declares, with an example of each."""


class ResourceAmount(NamedTuple):
    """A request or a limit of a resource."""

    side: str
    name: str


class AmountConstraint(NamedTuple):
    """A constraint on amounts: bounds, allowed values, a schema for the text, or that it is forbidden."""

    applies_to: Callable[[ResourceAmount], bool]
    reason: str
    bounds: Bounds = Bounds()
    values: frozenset[Fraction] | None = None
    text: EditorSchema | None = None
    is_banned: bool = False


class AmountPlace(NamedTuple):
    """A path below the written `resources`, and the amounts that a value there sets."""

    path: tuple[str, ...]
    amounts: tuple[ResourceAmount, ...]


ResourceSymbols: TypeAlias = Mapping[str, tuple[str, ...]]
"""The resource names behind `gpu` and `disk`."""


def symbols_of(platform: Platform, profile: Profile) -> ResourceSymbols:
    return {"gpu": gpu_names(platform, profile), "disk": (disk_name(platform),)}


def amount_places(names: Iterable[str], platform: Platform, profile: Profile) -> Iterator[AmountPlace]:
    """Every place where an amount of a named resource, or of `cpu`, `mem`, `gpu` or `disk`, can be written."""
    gpu, *_ = gpu_names(platform, profile)
    short = {"cpu": "cpu", "mem": "memory", "gpu": gpu, "disk": disk_name(platform)}
    for key, name in short.items():
        # A single amount of disk sets request and limit.
        yield AmountPlace(
            (key,), tuple(ResourceAmount(side, name) for side in SIDES) if key == "disk" else _both("requests", name)
        )
        yield from (AmountPlace((key, side), _both(side, name)) for side in SIDES)
    for kind, node in gpu_kinds(platform).items():
        yield AmountPlace(("gpu", kind), _both("requests", str(node.value)))
    yield from (AmountPlace((side, name), _both(side, name)) for name in names for side in SIDES)


def _both(side: str, name: str) -> tuple[ResourceAmount, ...]:
    """The amount, or request and limit if they must be equal."""
    is_one = is_extended(name) or name == SCRATCH_DISK
    return tuple(ResourceAmount(other, name) for other in SIDES) if is_one else (ResourceAmount(side, name),)


def resource_names(paths: Iterable[KeyPath], symbols: ResourceSymbols) -> Iterator[str]:
    """The resources in the paths that a run can name in full."""
    expanded = (one for path in paths if path[:-1] in _SIDES for one in concrete(path, symbols))
    yield from (str(path[-1]) for path in expanded if path[-1] != SCRATCH_DISK)


_SIDES = tuple((RESOURCES, side) for side in SIDES)


def is_at(one: ResourceAmount, path: KeyPath, symbols: ResourceSymbols) -> bool:
    """Whether the path, with its symbol expanded, is that of the amount or of a mapping around it."""
    return any((RESOURCES, *one)[: len(path)] == expanded for expanded in concrete(path, symbols))


def is_like(one: ResourceAmount, path: KeyPath) -> bool:
    """Whether the amount is of the kind of the path's symbol, also under a name that nobody declares."""
    return path[:-1] == (RESOURCES, one.side) and path[-1] in _ABOUT and _ABOUT[path[-1]](one.name)


_ABOUT: Mapping[object, Callable[[str], bool]] = {"gpu": is_device, "disk": lambda name: name == DISK}

CEILINGS: Mapping[str, Callable[[ResourceAmount], bool]] = {
    "cpu": lambda one: one.name == "cpu",
    "mem": lambda one: one.name == "memory" or one.name.startswith(_HUGE_PAGES),
    "gpu": lambda one: is_device(one.name),
    "disk": lambda one: one.name in (DISK, SCRATCH_DISK),
    # Disk that becomes a volume is a claim.
    "pvc": lambda one: one.name == SCRATCH_DISK,
}
"""The amounts that each limit in `ceilings` applies to, one by one."""


def allowed_in(amount_paths: Iterable[AmountPlace], constraints: Iterable[AmountConstraint]) -> EditorSchema:
    """The schema of amounts written in the places."""
    constraints = list(constraints)
    properties: EditorSchema = {}
    for where in amount_paths:
        applicable = [one for one in constraints if any(map(one.applies_to, where.amounts))]
        if applicable:
            *above, last = where.path
            inner = properties
            for step in above:
                inner = inner.setdefault(step, {}).setdefault("properties", {})
            inner[last] = {**inner.get(last, {}), **allowed(applicable, may_be_pair=not above)}
    return {"properties": properties} if properties else {}


def allowed_elsewhere(amount_paths: Iterable[AmountPlace], constraints: Iterable[AmountConstraint]) -> EditorSchema:
    """The schema of amounts of devices and huge pages in other places: those that nobody declares."""
    constraints = list(constraints)
    declared = sorted({literal(where.path[-1]) for where in amount_paths if where.path[0] in SIDES})
    patterns = {}
    for pattern, name in _KINDS.items():
        if applicable := [one for one in constraints if any(map(one.applies_to, _both("requests", name)))]:
            patterns[f"^(?!(?:{'|'.join(declared)})$){pattern.removeprefix('^')}"] = allowed(applicable)
    return {"properties": {side: {"patternProperties": patterns} for side in SIDES}} if patterns else {}


def allowed(constraints: Iterable[AmountConstraint], *, may_be_pair: bool = False) -> EditorSchema:
    """The schema of amounts that satisfy all constraints; null is allowed, and so is a pair of request and limit."""
    constraints = list(constraints)
    reason = "; ".join(dict.fromkeys(one.reason for one in constraints))
    schema: EditorSchema = {"description": reason, "errorMessage": reason}
    other_types = ["object", "null"] if may_be_pair else ["null"]
    if any(one.is_banned for one in constraints):
        return {**schema, "type": other_types}
    bounds = Bounds(
        max((one.bounds.least for one in constraints if one.bounds.least is not None), default=None),
        min((one.bounds.most for one in constraints if one.bounds.most is not None), default=None),
    )
    choices = [one.values for one in constraints if one.values is not None]
    if texts := [{**one.text, "errorMessage": one.reason} for one in constraints if one.text]:
        schema["allOf"] = texts
    if not choices:
        return {**schema, **(within(bounds) if bounds != Bounds() else {})}
    values = sorted(value for value in frozenset.intersection(*choices) if value in bounds)
    # Editors show the message of the alternative that matches best, so each has the reason.
    ways: list[EditorSchema] = [{"type": other_types}, *equal_to(values)]
    return {**schema, "anyOf": [{**way, "errorMessage": reason} for way in ways]}


def within(bounds: Bounds) -> EditorSchema:
    """The schema of numbers and texts within the bounds."""
    ends = {"minimum": bounds.least, "maximum": bounds.most}
    numbers = {keyword: json_number(value) for keyword, value in ends.items() if value is not None}
    return {**numbers, "pattern": quantities_within(bounds)}


def equal_to(values: Iterable[Fraction]) -> list[EditorSchema]:
    """The schemas of numbers and of texts that equal one of the values."""
    allowed_values = list(values)
    if not allowed_values:
        return []
    numbers = [json_number(value) for value in allowed_values]
    return [{"type": "number", "enum": numbers}, {"type": "string", "pattern": quantities_equal_to(allowed_values)}]


def json_number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def is_set_in(amount_paths: Iterable[AmountPlace], wanted: Iterable[ResourceAmount]) -> EditorSchema:
    """The schema that requires one of the amounts in one of the places."""
    amounts = set(wanted)
    return any_of(_written(where.path) for where in amount_paths if amounts.intersection(where.amounts))


def is_set_on(side: str, amount_paths: Iterable[AmountPlace], source_paths: Iterable[ResourceAmount]) -> EditorSchema:
    """The schema that requires any amount on the side, or one of the `sources` that amounts are derived from."""
    places = list(amount_paths)
    on_side = [one for where in places for one in where.amounts if one.side == side]
    unnamed = {"type": "object", "not": {"patternProperties": {key: {"type": "null"} for key in _KINDS}}}
    return any_of([is_set_in(places, [*on_side, *source_paths]), *(with_key(one, unnamed) for one in SIDES)])


def factored(platform: Platform) -> list[str]:
    """The resources whose limit the platform derives from the request."""
    return [name for name, factor in _FACTORS.items() if factor in platform.settings.fields]


_FACTORS = {"cpu": "cpu_limit_factor", "memory": "memory_limit_factor"}


def _written(path: tuple[str, ...]) -> EditorSchema:
    schema: EditorSchema = {"type": ["string", "number"]}
    for step in reversed(path):
        schema = with_key(step, schema)
    return schema
