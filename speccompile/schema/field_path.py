"""Field paths as admins write them, resolved to locations in the canonical spec."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath, format_path, parse_path
from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.formats.by_name import FORMAT_CHECKS
from speccompile.schema.formats.text_format import ValueFault
from speccompile.schema.library import Library, Schema
from speccompile.schema.suggestions import suggest_key

SIDES = ("requests", "limits")
KEYED_BY_LABEL = ("labels", "annotations")
"""Fields whose keys name labels or annotations; a path to them may end in a prefix, such as `acme.example/*`."""


class FieldLocation(NamedTuple):
    """A location in the canonical spec; `gpu` and `disk` are symbols for resource names of profile and platform."""

    path: KeyPath
    schema: Schema


def locate_field(text: str, library: Library) -> FieldLocation | ValueFault:
    """The location of a path in any spelling; a ValueFault if there is no such field."""
    try:
        steps = parse_path(text)
    except ValueError:
        steps = ()
    if not steps:
        return ValueFault(
            f"{quote(text)} is not a field path", 'write, for example, `resources.mem` or `labels["acme/team"]`'
        )
    place = FieldLocation((), {"properties": library.fields})
    for step in steps:
        below = _below(place, step, library)
        if isinstance(below, ValueFault):
            return below
        place = below
    return _value_of(place, library)


def _below(place: FieldLocation, step: str | int, library: Library) -> FieldLocation | ValueFault:
    schema = library.resolve(place.schema)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    if isinstance(step, int):
        return ValueFault(
            "an item of a list is addressed by its key, not by its number", "write, for example, `volumes.data`"
        )
    if "x-key" in schema:
        return FieldLocation((*place.path, step), schema["items"])
    key = spelled(step, properties)
    if key in properties:
        return _canonical(place, key, library.resolve(properties[key]))
    if schema.get("x-opaque"):
        return FieldLocation((*place.path, step), schema)
    others = schema.get("additionalProperties")
    if not isinstance(others, Mapping) or "x-resource" in schema:
        return ValueFault(f"unknown field {quote(step)}", _help(place, step, properties))
    name_format = schema.get("propertyNames", {}).get("format")
    location = FieldLocation((*place.path, step), others)
    key = f"{step[:-1]}x" if is_prefix(location.path) else step
    return (FORMAT_CHECKS[name_format](key) if name_format else None) or location


def _help(place: FieldLocation, step: str, properties: Mapping[str, Schema]) -> str:
    if help_text := suggest_key(step, (*place.path, step), properties):
        return help_text
    if not place.path:
        return "write a field of runs and profiles, such as `image` or `resources.mem`"
    here = format_path(place.path)
    return f"`{here}` has {', '.join(f'`{name}`' for name in properties)}" if properties else f"stop at `{here}`"


def _canonical(place: FieldLocation, key: str, schema: Schema) -> FieldLocation:
    """The canonical location: `resources.mem` is its request, `resources.mem.limits` is among the limits."""
    if "x-resource" in schema:
        symbol = key if key in ("gpu", "disk") else schema["x-resource"]
        return FieldLocation((*place.path, "requests", symbol), schema)
    if "x-resource" in place.schema:
        return FieldLocation((place.path[0], key, place.path[-1]), schema)
    match (*place.path, key):
        case ("volumes", name, "spec", "sub_path"):
            # Runs may write it in either place; the item has it.
            return FieldLocation(("volumes", name, key), schema)
    return FieldLocation((*place.path, key), schema)


def _value_of(place: FieldLocation, library: Library) -> FieldLocation:
    """The value of a pair of name and value: a rule on `envs.HF_HOME` checks the value."""
    properties = library.resolve(place.schema).get("properties", {})
    return (
        FieldLocation((*place.path, "value"), properties["value"]) if properties.keys() == {"name", "value"} else place
    )


def called_by_admins(path: KeyPath) -> KeyPath:
    """The path as admins write it: `envs.HF_HOME` rather than its value, see `_value_of`."""
    return path[:-1] if path[0] == "envs" and path[-1] == "value" else path


def is_short(place: FieldLocation) -> bool:
    """Whether the path is a short form such as `resources.mem`; `forbid` applies to both its request and limit."""
    return "x-resource" in place.schema


def concrete(path: KeyPath, symbols: Mapping[str, Iterable[str]]) -> Iterator[KeyPath]:
    """The path with `gpu` or `disk` replaced by each resource name that it is a symbol for."""
    *above, last = path
    names = symbols.get(str(last)) if path[0] == "resources" else None
    yield from ((*above, name) for name in names or (last,))


def is_prefix(path: KeyPath) -> bool:
    """Whether the path is a prefix of keys, such as `annotations["acme.example/*"]`."""
    return path[:-1] in _LABEL_MAPS and str(path[-1]).endswith("*")


_LABEL_MAPS = tuple((field,) for field in KEYED_BY_LABEL)


def matches_key(pattern: str, key: str) -> bool:
    """Whether the pattern is the key, or a prefix of it that ends in `*`."""
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern


def with_keys(path: KeyPath, specs: Iterable[Node]) -> Iterator[KeyPath]:
    """The paths of the keys in the specs that a prefix covers; the path itself if it is none."""
    if not is_prefix(path):
        yield path
        return
    maps = (node.fields for spec in specs if (node := spec.fields.get(str(path[0]))))
    yield from dict.fromkeys((path[0], key) for keys in maps for key in keys if matches_key(str(path[-1]), key))


def keyed_lists_as_maps(spec: Node, library: Library) -> Node:
    """The spec with keyed lists as maps, for looking up many items."""

    def as_map(name: str, node: Node) -> Node:
        key = library.fields[name].get("x-key")
        return node.with_fields({str(item.fields[key].value): item for item in node.items}) if key else node

    return spec.with_fields({name: as_map(name, node) for name, node in spec.fields.items()})


def node_at(spec: Node, path: KeyPath, library: Library) -> Node | None:
    """The node at a path of a canonical spec; an item of a keyed list is addressed by its key."""
    node: Node | None = spec
    for step in path:
        if node is None:
            return None
        if isinstance(node.value, tuple):
            key = str(library.fields[str(path[0])].get("x-key"))
            node = next((item for item in node.items if str(item.fields[key].value) == step), None)
        else:
            node = node.fields.get(str(step))
    return node
