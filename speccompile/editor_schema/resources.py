"""What a run may write under `resources`, given profile and platform.

An amount can be written in several places, and some places stand for request and limit at once. So every place has the
amounts it stands for, every amount has demands, and what is written in a place must satisfy all of them.
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
from speccompile.editor_schema.field_locations import either, with_key
from speccompile.editor_schema.format_patterns import Bounds, quantities_equal_to, quantities_within
from speccompile.model.documents import Platform, Profile
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.schema.field_path import SIDES, concrete

RESOURCES = "resources"
REQUESTS = (RESOURCES, SIDES[0])
NAMED = ("cpu", "memory", DISK)
"""The resources that have names of Kubernetes' own."""
_HUGE_PAGES = "hugepages-"
_KINDS: Mapping[str, str] = {r"^(?!kubernetes\.io/)[^/]+/": "any.example/device", f"^{_HUGE_PAGES}": f"{_HUGE_PAGES}1"}
"""The names that nobody need mention, by pattern, and one of each that nobody does."""


class Amount(NamedTuple):
    """A request or a limit of a resource."""

    side: str
    name: str


class Demand(NamedTuple):
    """What is demanded of an amount: bounds, values one of which it is, what its text is, or that nothing is said."""

    is_meant: Callable[[Amount], bool]
    reason: str
    bounds: Bounds = Bounds()
    values: frozenset[Fraction] | None = None
    text: EditorSchema | None = None
    is_banned: bool = False


class Where(NamedTuple):
    """A place in the written `resources`, and the amounts it stands for."""

    path: tuple[str, ...]
    amounts: tuple[Amount, ...]


Symbols: TypeAlias = Mapping[str, tuple[str, ...]]
"""The resource names that `gpu` and `disk` stand for."""


def symbols_of(platform: Platform, profile: Profile) -> Symbols:
    return {"gpu": gpu_names(platform, profile), "disk": (disk_name(platform),)}


def amount_places(names: Iterable[str], platform: Platform, profile: Profile) -> Iterator[Where]:
    """Every place where one of the named resources can be written, and `cpu`, `mem`, `gpu` and `disk`."""
    gpu, *_ = gpu_names(platform, profile)
    short = {"cpu": "cpu", "mem": "memory", "gpu": gpu, "disk": disk_name(platform)}
    for key, name in short.items():
        # A single amount of disk is request and limit.
        yield Where((key,), tuple(Amount(side, name) for side in SIDES) if key == "disk" else _both("requests", name))
        yield from (Where((key, side), _both(side, name)) for side in SIDES)
    for kind, node in gpu_kinds(platform).items():
        yield Where(("gpu", kind), _both("requests", str(node.value)))
    yield from (Where((side, name), _both(side, name)) for name in names for side in SIDES)


def _both(side: str, name: str) -> tuple[Amount, ...]:
    """The amount, on both sides if it has one value only."""
    is_one = is_extended(name) or name == SCRATCH_DISK
    return tuple(Amount(other, name) for other in SIDES) if is_one else (Amount(side, name),)


def names_in(paths: Iterable[KeyPath], symbols: Symbols) -> Iterator[str]:
    """The resources that paths mention, and that a run can name in full."""
    found = (one for path in paths if path[:-1] in _SIDES for one in concrete(path, symbols))
    yield from (str(path[-1]) for path in found if path[-1] != SCRATCH_DISK)


_SIDES = tuple((RESOURCES, side) for side in SIDES)


def is_at(one: Amount, path: KeyPath, symbols: Symbols) -> bool:
    """Whether the path, or one that its symbol stands for, leads to the amount, or to what holds it."""
    return any((RESOURCES, *one)[: len(path)] == told for told in concrete(path, symbols))


def is_like(one: Amount, path: KeyPath) -> bool:
    """Whether the amount is of what the path's symbol is about, under a name that profile and platform do not use."""
    return path[:-1] == (RESOURCES, one.side) and path[-1] in _ABOUT and _ABOUT[path[-1]](one.name)


_ABOUT: Mapping[object, Callable[[str], bool]] = {"gpu": is_device, "disk": lambda name: name == DISK}

CEILINGS: Mapping[str, Callable[[Amount], bool]] = {
    "cpu": lambda one: one.name == "cpu",
    "mem": lambda one: one.name == "memory" or one.name.startswith(_HUGE_PAGES),
    "gpu": lambda one: is_device(one.name),
    "disk": lambda one: one.name in (DISK, SCRATCH_DISK),
    # Disk that becomes a volume is a claim.
    "pvc": lambda one: one.name == SCRATCH_DISK,
}
"""The amounts that each ceiling of the platform is held against, each alone."""


def allowed_in(wheres: Iterable[Where], demands: Iterable[Demand]) -> EditorSchema:
    """What may be written in the places."""
    told = list(demands)
    properties: EditorSchema = {}
    for where in wheres:
        asked = [demand for demand in told if any(map(demand.is_meant, where.amounts))]
        if asked:
            *above, last = where.path
            inner = properties
            for step in above:
                inner = inner.setdefault(step, {}).setdefault("properties", {})
            inner[last] = {**inner.get(last, {}), **allowed(asked, may_be_pair=not above)}
    return {"properties": properties} if properties else {}


def allowed_elsewhere(demands: Iterable[Demand]) -> EditorSchema:
    """What may be written of devices and huge pages that nobody mentions."""
    told = list(demands)
    patterns = {}
    for pattern, name in _KINDS.items():
        if asked := [demand for demand in told if any(map(demand.is_meant, _both("requests", name)))]:
            patterns[pattern] = allowed(asked)
    return {"properties": {side: {"patternProperties": patterns} for side in SIDES}} if patterns else {}


def allowed(demands: Iterable[Demand], *, may_be_pair: bool = False) -> EditorSchema:
    """The amounts that satisfy all demands; what is not said satisfies them too, and so does a pair."""
    told = list(demands)
    reason = "; ".join(dict.fromkeys(demand.reason for demand in told))
    shown: EditorSchema = {"description": reason, "errorMessage": reason}
    unsaid = ["object", "null"] if may_be_pair else ["null"]
    if any(demand.is_banned for demand in told):
        return {**shown, "type": unsaid}
    bounds = Bounds(
        max((one.bounds.least for one in told if one.bounds.least is not None), default=None),
        min((one.bounds.most for one in told if one.bounds.most is not None), default=None),
    )
    choices = [demand.values for demand in told if demand.values is not None]
    if texts := [{**demand.text, "errorMessage": demand.reason} for demand in told if demand.text]:
        shown["allOf"] = texts
    if not choices:
        return {**shown, **(within(bounds) if bounds != Bounds() else {})}
    values = sorted(value for value in frozenset.intersection(*choices) if value in bounds)
    # Editors tell what the nearest alternative has against a value, and each of them says why.
    ways: list[EditorSchema] = [{"type": unsaid}, *equal_to(values)]
    return {**shown, "anyOf": [{**way, "errorMessage": reason} for way in ways]}


def within(bounds: Bounds) -> EditorSchema:
    """The numbers and texts within the bounds."""
    ends = {"minimum": bounds.least, "maximum": bounds.most}
    numbers = {keyword: number(value) for keyword, value in ends.items() if value is not None}
    return {**numbers, "pattern": quantities_within(bounds)}


def equal_to(values: Iterable[Fraction]) -> list[EditorSchema]:
    """The numbers, and the texts, that are one of the values."""
    told = list(values)
    if not told:
        return []
    numbers = [number(value) for value in told]
    return [{"type": "number", "enum": numbers}, {"type": "string", "pattern": quantities_equal_to(told)}]


def number(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)


def said_in(wheres: Iterable[Where], wanted: Iterable[Amount]) -> EditorSchema:
    """What holds where one of the amounts is written in one of the places."""
    told = set(wanted)
    return either(_written(where.path) for where in wheres if told.intersection(where.amounts))


def said_on(side: str, wheres: Iterable[Where], sources: Iterable[Amount]) -> EditorSchema:
    """What holds where anything is written that stands on the side, or one of the amounts that it is made from."""
    told = list(wheres)
    on_it = [one for where in told for one in where.amounts if one.side == side]
    unnamed = {"type": "object", "not": {"patternProperties": {key: {"type": "null"} for key in _KINDS}}}
    return either([said_in(told, [*on_it, *sources]), *(with_key(one, unnamed) for one in SIDES)])


def factored(platform: Platform) -> list[str]:
    """The resources whose limit the platform makes from the request."""
    return [name for name, factor in _FACTORS.items() if factor in platform.settings.fields]


_FACTORS = {"cpu": "cpu_limit_factor", "memory": "memory_limit_factor"}


def _written(path: tuple[str, ...]) -> EditorSchema:
    schema: EditorSchema = {"type": ["string", "number"]}
    for step in reversed(path):
        schema = with_key(step, schema)
    return schema
