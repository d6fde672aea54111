"""Values of a run that decide nothing: they are written to its manifests and to messages, and have no other effect.

The schemas mark such fields with `x-varies`. What the reading at hand reads does not vary: the fields of rules
and bans, images where registries are limited, amounts that are limited, scaled or compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

from speccompile.compiler.container_resources import DISK, SCRATCH_DISK, gpu_names
from speccompile.compiler.kubernetes_rules import reads_annotation
from speccompile.compiler.likely_mistakes import is_unlikely_amount
from speccompile.compiler.merge import AdminLayers, admin_layers
from speccompile.compiler.shapes.split_text import scalar_value
from speccompile.model.credentials import credentials_in
from speccompile.model.documents import Platform, Profile
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.object_names import is_hashed
from speccompile.model.quantity import Quantity, parse_quantity
from speccompile.model.secret_positions import may_contain_secrets
from speccompile.model.spec import Target
from speccompile.schema.field_path import SIDES
from speccompile.schema.library import Library, Schema
from speccompile.schema.validate_fast_keywords import applicable_schemas, scalar_checks
from speccompile.yaml_text.serialize import string_text

Value: TypeAlias = str | int
TEXT, NAME, PATH, PORT, COUNT, AMOUNT = "text", "name", "path", "port", "count", "amount"
"""The kinds of varying values, as `x-varies` names them."""
_NAME = re.compile(r"[a-z](?:-?[a-z0-9])*", re.ASCII)
LONGEST_NAME = 40
"""Longer names of objects may have to be shortened."""
_LONGEST = 4096
_SHORTEST_CREDENTIAL = 13
"""A prefix of three characters and ten others; anything shorter has an `@`."""
_TYPES: Mapping[str, tuple[type, ...]] = {
    TEXT: (str,),
    NAME: (str,),
    PATH: (str,),
    PORT: (int,),
    COUNT: (int,),
    AMOUNT: (str, int),
}


class VaryingValue(NamedTuple):
    """A value of a run that decides nothing."""

    value: Value
    text: str
    """The value as a part of other texts."""
    written: str
    """The value as YAML; the lines of a block are not indented."""
    mark: str
    """What it has in common with the values of other runs of the shape; unlike any scalar."""
    has_comma: bool
    """Whether a comma in it would end it in a flow collection."""
    is_admins: bool
    """Whether it is an amount that the admin sets too, so that it is not reported as overridden."""


Read: TypeAlias = Callable[[str], VaryingValue | None]
"""Reads a scalar as written; None for one that may have an effect, and so is a part of the shape."""


class Varying(NamedTuple):
    """A value that differs between runs of one shape."""

    kind: str
    path: KeyPath
    read: Read


class AdminReading(NamedTuple):
    """What an admin's reading reads of the runs with one profile and action."""

    read: frozenset[str]
    """Fields, and resources, whose values decide something."""
    values: Mapping[KeyPath, frozenset[object]]
    """Values that admins set, by field, and by key of fields that are mappings.

    An equal value of a run is not reported as overridden.
    """
    amounts: Mapping[str, frozenset[Quantity]]
    """The same for resources, by key in a run: their amounts are compared, not their spellings."""
    only_amounts: Mapping[str, Quantity]
    """Resources for which admins set one amount and no default: a run with the same amount is not overridden."""
    reserved: frozenset[object]
    """Mount paths of other volumes."""
    readers: dict[tuple[int, KeyPath], Read]
    """By schema and field."""


def varying_values(tree: Node, reading: AdminReading, library: Library) -> Iterator[tuple[Node, Varying]]:
    """The values of a validated run that may vary under its profile and platform."""
    properties = library.resolve(library.schemas["run"])["properties"]
    for name, field in tree.fields.items():
        if name not in reading.read and not _is_compared(name, field):
            for path, node, schema in _marked(field, properties[name], (name,), library):
                if not _is_read(path, reading):
                    yield node, Varying(schema["x-varies"], path, _reader(path, schema, reading, library))


def _is_compared(name: str, field: Node) -> bool:
    """Whether amounts of the run are compared with each other."""
    return name == "resources" and any(not node.is_scalar for node in field.fields.values())


def _marked(node: Node, schema: Schema, path: KeyPath, library: Library) -> Iterator[tuple[KeyPath, Node, Schema]]:
    """The scalars at or below a node that the schema marks."""
    resolved = library.resolve(schema)
    if node.is_scalar:
        if "x-varies" in resolved:
            yield path, node, resolved
    elif resolved.get("x-opaque"):
        yield from (((*path, *below), inner, resolved) for below, inner in node.walk() if inner.is_scalar)
    elif isinstance(node.value, dict):
        properties, others = resolved.get("properties", {}), resolved.get("additionalProperties")
        for key, child in node.fields.items():
            below = properties.get(key, others)
            if isinstance(below, Mapping):
                yield from _marked(child, below, (*path, key), library)
    elif "items" in resolved:
        for index, item in enumerate(node.items):
            yield from _marked(item, resolved["items"], (*path, index), library)


def _is_read(path: KeyPath, reading: AdminReading) -> bool:
    name = path[0]
    return (name == "resources" and path[1] in reading.read) or (
        name == "annotations" and reads_annotation(str(path[1]))
    )


def reading_of(
    profile: Profile | None, platform: Platform, target: Target, action: str, library: Library
) -> AdminReading:
    """What profile and platform read of the runs of an action."""
    settings = platform.settings
    admin = admin_layers(profile, platform, target, action, None, library)
    layers = (admin.defaults, admin.fixed, admin.enforced)
    sides = (platform, profile) if profile else (platform,)
    read = {str(one.path[0]) for side in sides for constraints in (side.rules, side.bans) for one in constraints}
    read.update(*(fields for setting, fields in _READ_BY_SETTINGS.items() if settings.at(setting) is not None))
    read.update(key for key, name in _COMPARED.items() if _is_compared_with(admin, name))
    values, amounts = _values_of(layers), _amounts_of(layers)
    disk = settings.fields["disk"].fields["mount_path"].value
    return AdminReading(
        read=frozenset(read),
        values=values,
        amounts=amounts,
        only_amounts=_only_amounts(admin, amounts, gpu_names(platform, profile)[0]),
        reserved=frozenset(map(_without_slash, (disk, *target.reserved_volumes, *values.get(("volumes",), ())))),
        readers={},
    )


def _values_of(layers: Iterable[Node]) -> Mapping[KeyPath, frozenset[object]]:
    values: dict[KeyPath, set[object]] = {}
    for path, node in _scalars(layers):
        values.setdefault(path[:1], set()).add(node.value)
    for layer in layers:
        for name in _BY_KEY:
            for key, node in _by_key(layer.fields.get(name)):
                values.setdefault((name, key), set()).add(node.value)
    return {path: frozenset(below) for path, below in values.items()}


def _amounts_of(layers: Iterable[Node]) -> Mapping[str, frozenset[Quantity]]:
    keys = {name: key for key, name in _COMPARED.items()} | {SCRATCH_DISK: "disk"}
    amounts: dict[str, set[Quantity]] = {}
    for path, node in _scalars(layers):
        if path[0] == "resources":
            # `gpu` stands for one of the other resources.
            amounts.setdefault(keys.get(str(path[-1]), "gpu"), set()).add(parse_quantity(str(node.value)))
    return {key: frozenset(below) for key, below in amounts.items()}


def _only_amounts(
    admin: AdminLayers, amounts: Mapping[str, frozenset[Quantity]], device: str
) -> Mapping[str, Quantity]:
    defaults = _amounts_of((admin.defaults,))
    # If admins set the amount of another device, a run gets none of its own, whatever the amounts.
    known = {*_COMPARED.values(), SCRATCH_DISK, device}
    has_others = any(
        path[0] == "resources" and path[-1] not in known for path, _ in _scalars((admin.fixed, admin.enforced))
    )
    return {
        key: next(iter(below))
        for key, below in amounts.items()
        if len(below) == 1 and key not in defaults and not (key == "gpu" and has_others)
    }


def _scalars(layers: Iterable[Node]) -> Iterator[tuple[KeyPath, Node]]:
    return ((path, node) for layer in layers for path, node in layer.walk() if node.is_scalar)


def _by_key(field: Node | None) -> Iterator[tuple[str, Node]]:
    """The values of a mapping, or of a list of names and values."""
    if field is not None:
        yield from field.fields.items()
        yield from ((str(item.fields["name"].value), item.fields["value"]) for item in field.items)


def _without_slash(value: object) -> object:
    """A mount path without the slash at its end, which does not matter."""
    return value.rstrip("/") if isinstance(value, str) else value


_READ_BY_SETTINGS: Mapping[KeyPath, tuple[str, ...]] = {
    ("allowed_registries",): ("image",),
    # `disk` can become a volume, and volumes count towards limits of disk and memory.
    ("ceilings",): ("resources", "volumes"),
    ("cpu_limit_factor",): ("cpu",),
    ("memory_limit_factor",): ("mem",),
    ("project",): ("project",),
    ("project_profiles",): ("project",),
}
"""Settings of the platform, and the fields and resources that they read."""
_BY_KEY = ("envs", "labels", "annotations", "node_selector")
"""Fields in which values are compared with those of the same key."""
_COMPARED: Mapping[str, str] = {"cpu": "cpu", "mem": "memory", "disk": DISK}
"""Resources whose request must not be above the limit, by key in a run."""


def _is_compared_with(admin: AdminLayers, resource: str) -> bool:
    """Whether a run's request, or its limit of disk, is compared with an admin's amount on the other side."""
    stronger = (admin.fixed, admin.enforced)
    return any(
        any(layer.at(("resources", other, resource)) for layer in (admin.defaults, *stronger))
        and not any(layer.at(("resources", side, resource)) for layer in stronger)
        for side, other in (SIDES, SIDES[::-1] if resource == DISK else SIDES)
    )


def _reader(path: KeyPath, schema: Schema, reading: AdminReading, library: Library) -> Read:
    """The function that reads the scalars of a field; the same one for all its items."""
    if schema["x-varies"] == AMOUNT:
        field: KeyPath = (path[0], path[-1])
    else:
        # In a list, the key is another value.
        field = path[:2] if path[0] in _BY_KEY and isinstance(path[1], str) else path[:1]
    key = (id(schema), field)
    if key not in reading.readers:
        reading.readers[key] = _new_reader(field, schema, reading, library)
    return reading.readers[key]


def _new_reader(field: KeyPath, schema: Schema, reading: AdminReading, library: Library) -> Read:
    kind, parts = schema["x-varies"], tuple(applicable_schemas((schema,), library))
    checks = {one: tuple(scalar_checks(parts, one)) for one in _TYPES[kind]}
    # Amounts of resources are compared apart from their spelling.
    compared = field if field[0] in (*_BY_KEY, "resources") else field[:1]
    values = reading.values.get(compared, frozenset())
    is_free = _CHECKS[kind]

    @lru_cache(maxsize=256)
    def read(scalar: str) -> VaryingValue | None:
        value = scalar_value(scalar)
        if value is None or value.__class__ not in checks or len(scalar) > _LONGEST:
            return None
        # Admins' values are normalized: sizes are text.
        if value in values or str(value) in values:
            return None
        # Half of the time that `all` takes; every value of a run is read.
        for check in checks[value.__class__]:
            if not check(value):
                return None
        if not is_free(value, field, reading):
            return None
        return _varying_value(scalar, value, kind, is_admins=kind == AMOUNT and _is_admins(value, field, reading))

    return read


def _varying_value(scalar: str, value: Value, kind: str, *, is_admins: bool) -> VaryingValue:
    text = str(value)
    form = ""
    if scalar[0] == "|":
        block = scalar.partition("\n")[2]
        # With less indentation, its lines could be keys.
        lines, indentation = block.count("\n"), len(block) - len(block.lstrip(" "))
        form = f"{lines} {indentation}"
    if kind == NAME and "-" in text:
        # Names with a dash are joined to others in another way.
        form += "-"
    has_comma = "," in scalar and scalar[0] not in "\"'|"
    return VaryingValue(value, text, string_text(text, ""), f"\0{form}", has_comma, is_admins)


def _is_free_text(value: Value, field: KeyPath, _: AdminReading) -> bool:
    text = str(value)
    # Kubernetes expands `$(NAME)`, and a command that is a string should be one word.
    is_read = (field[0] == "envs" and "$" in text) or (field[0] == "command" and " " in text)
    return bool(text) and not is_read and not _may_be_secret(text)


def _may_be_secret(text: str) -> bool:
    return may_contain_secrets(text) or (
        (len(text) >= _SHORTEST_CREDENTIAL or "@" in text) and any(credentials_in(text))
    )


def _is_free_name(value: Value, _: KeyPath, __: AdminReading) -> bool:
    name = str(value)
    is_plain = _NAME.fullmatch(name) and len(name) <= LONGEST_NAME and not is_hashed(name)
    return bool(is_plain) and not _may_be_secret(name)


def _is_free_path(value: Value, field: KeyPath, reading: AdminReading) -> bool:
    is_free = value not in reading.reserved and not str(value).endswith("/")
    return is_free and _is_free_text(value, field, reading)


def _is_free_amount(value: Value, field: KeyPath, reading: AdminReading) -> bool:
    quantity, key = parse_quantity(str(value)), str(field[-1])
    is_compared = field[0] == "resources" and quantity in reading.amounts.get(key, ())
    if quantity.nano <= 0 or (is_compared and not _is_admins(value, field, reading)):
        return False
    resource = _COMPARED.get(key, key)
    return resource == "gpu" or not is_unlikely_amount(resource, str(value))


def _is_admins(value: Value, field: KeyPath, reading: AdminReading) -> bool:
    return field[0] == "resources" and reading.only_amounts.get(str(field[-1])) == parse_quantity(str(value))


_CHECKS: Mapping[str, Callable[[Value, KeyPath, AdminReading], bool]] = {
    TEXT: _is_free_text,
    NAME: _is_free_name,
    PATH: _is_free_path,
    PORT: lambda *_: True,
    # Several pods cannot share some volumes; how many they are does not matter.
    COUNT: lambda value, *_: int(value) > 1,
    AMOUNT: _is_free_amount,
}
"""What a value must satisfy beyond its schema to decide nothing."""
