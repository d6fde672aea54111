"""Values of the wrong type, rewritten in the form that their field expects, for the help of a finding."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, TypeAlias

from speccompile.model.diagnostic import quote
from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import spelled
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.redaction import is_hidden
from speccompile.schema.library import Library, Schema
from speccompile.schema.shell_words import shell_words
from speccompile.yaml_text.plain_scalars import resolve

_MAX_NODES = 40
"""Values of a list or mapping beyond which nobody would read it in a help."""
_MAX_TEXT = 120
_MAX_EXAMPLE = 120
_LISTS_OF_WORDS = ("args", "command")
_PLAIN = r"[A-Za-z0-9_./~^+][A-Za-z0-9_./@%+~^:=-]*"
_SHELL_SYNTAX = frozenset("|&;<>()$`*?\\")
_ASSIGNMENT = r"\s*([-._/A-Za-z0-9]+)\s*[=:]\s*(.*)"
_BYTES = r"[0-9]+(\.[0-9]+)?[KMGT]i?"
_DURATION = r"([0-9]+)\s*(s|sec|seconds?|m|min|minutes?|h|hours?|d|days?)"
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_PORTS = r"(?:([0-9]{1,5}):)?([0-9]{1,5})(?:/tcp)?"
_MOUNT = r"(?:\./)?([-A-Za-z0-9_.]*):?(/[^:]*)?(?::(ro|rw))?"
_TAINT = r"([^=:]+)(?:=([^:]*))?(?::([A-Za-z]+))?"
_PAIRS = (frozenset({"name", "value"}), frozenset({"key", "value"}))
_NAMING = frozenset({"count", "cron", "id", "name", "value"})
_TRUE, _FALSE = frozenset({"true", "yes", "on", "y", "1"}), frozenset({"false", "no", "off", "n", "0"})


class Field(NamedTuple):
    """What a value was written for."""

    path: KeyPath
    schema: Schema
    """With its `$ref` followed."""
    library: Library

    @property
    def name(self) -> str:
        """The nearest key; that of the list, for an item."""
        return next((step for step in reversed(self.path) if isinstance(step, str)), "")

    @property
    def types(self) -> tuple[str, ...]:
        types = self.schema.get("type", ())
        return (types,) if isinstance(types, str) else tuple(types)

    @property
    def properties(self) -> Mapping[str, Schema]:
        properties: Mapping[str, Schema] = self.schema.get("properties", {})
        return properties

    @property
    def required(self) -> frozenset[str]:
        return frozenset(self.schema.get("required", ()))

    def item(self) -> Field:
        schema = self.library.resolve(self.schema.get("items", {}))
        examples = [
            item for example in self.schema.get("examples", ()) if isinstance(example, list) for item in example
        ]
        return Field((*self.path, 0), {"examples": examples, **schema}, self.library)

    def child(self, key: str) -> Field:
        schema = self.properties.get(key) or self.schema.get("additionalProperties")
        return Field(
            (*self.path, key), self.library.resolve(schema if isinstance(schema, Mapping) else {}), self.library
        )


def field_at(path: KeyPath, schema: Schema, library: Library) -> Field:
    """The field at a path below a schema."""
    field = Field((), library.resolve(schema), library)
    for step in path:
        field = field.item() if isinstance(step, int) else field.child(step)
    return field._replace(path=path)


def show_form(node: Node, field: Field) -> str | None:
    """Help that shows the value as the field expects it, or else an example; None if neither is known."""
    converted = None if _is_private(node, field.path) else _convert(node.plain(), field)
    if converted is None:
        return _show_example(field)
    if "array" in field.types and _is_words(converted):
        return f"write a list: {quote(json.dumps(converted, ensure_ascii=False), _MAX_TEXT)}"
    return f"write {quote(_labelled(converted, field), _MAX_TEXT)}"


def show_pair(node: Node, field: Field) -> str | None:
    """Help for an item such as `{A: "1"}` of a list whose items have a name and a value."""
    if not _is_pair(field) or _is_private(node, field.path):
        return None
    converted = _to_mapping(node.plain(), field)
    return None if converted is None else f"write {quote(flow_text(converted), _MAX_TEXT)}"


def is_plain_pair(value: Mapping[str, Any], field: Field) -> bool:
    """Whether an item such as `{A: "1"}` has its name as key, where a name and a value are expected."""
    return _is_pair(field) and bool(value) and not value.keys() & field.properties.keys()


def show_under(key: str, node: Node, home: str) -> str | None:
    """The field below the one where it belongs, as text; None if its value is long or hidden."""
    if _is_private(node, (home, key)) or not node.is_scalar:
        return None
    text = flow_text({home: {key: node.value}})[1:-1]
    return quote(text) if len(text) <= _MAX_EXAMPLE else None


def _is_private(node: Node, path: KeyPath) -> bool:
    """Whether the value is too large to show, or may be a secret."""
    nodes = list(islice(node.walk(path), _MAX_NODES + 1))
    if len(nodes) > _MAX_NODES or is_hidden(node):
        return True
    return any("secret" in str(step).casefold() for inner, _ in nodes for step in inner)


def _labelled(value: Any, field: Field) -> str:
    last = field.path[-1] if field.path else ""
    if isinstance(last, int) or not last:
        return flow_text(value)
    return flow_text({last: value})[1:-1]


def _show_example(field: Field) -> str | None:
    texts = [_labelled(example, field) for example in field.schema.get("examples", ())]
    shortest = min(texts, key=len, default="")
    return f"write, for example, `{shortest}`" if 0 < len(shortest) <= _MAX_EXAMPLE else None


# Text


def flow_text(value: Any) -> str:
    """The value in one line of YAML."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{flow_text(str(key))}: {flow_text(child)}" for key, child in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    if isinstance(value, str) and re.fullmatch(_PLAIN, value) and value[-1] != ":" and resolve(value) is value:
        return value
    return json.dumps(value, ensure_ascii=isinstance(value, str) and not value.isprintable())


def _is_words(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# Conversion


def _convert(value: Any, field: Field) -> Any:
    """The value as one of the types that the field has; None if there is no plausible one."""
    for name in ("object", "array", "integer", "boolean", "number", "string"):
        if name in field.types:
            converted = _CONVERSIONS[name](value, field)
            if converted is not None:
                return converted
    return None


def _only(value: Any) -> Any:
    """The one scalar in a list, or in a mapping such as `{name: x}`; None if there is none or several."""
    if isinstance(value, Mapping):
        value = [*value.values()] if value.keys() <= _NAMING else []
    inside = value if isinstance(value, list) else []
    return inside[0] if len(inside) == 1 and isinstance(inside[0], str | int | float) else None


def _to_string(value: Any, field: Field) -> str | None:
    only = _only(value)
    if only is None:
        return None
    allowed = field.schema.get("enum")
    return _text(only) if allowed is None or only in allowed else None


def _to_number(value: Any, _: Field) -> Any:
    only = _only(value) if isinstance(value, list) else None
    return None if isinstance(only, bool) else only


def _to_integer(value: Any, field: Field) -> int | None:
    value = _only(value) if isinstance(value, list | Mapping) else value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if not isinstance(value, str):
        return None
    if re.fullmatch("[0-9]{1,10}", value):
        return int(value)
    match = re.fullmatch(_DURATION, value) if field.name.endswith("seconds") and len(value) <= _MAX_NODES else None
    return int(match[1]) * _SECONDS[match[2][0]] if match else None


def _to_boolean(value: Any, _: Field) -> bool | None:
    value = _only(value) if isinstance(value, list) else value
    text = _text(value).casefold()
    return True if text in _TRUE else False if text in _FALSE else None


def _to_list(value: Any, field: Field) -> list[Any] | None:
    item = field.item()
    if "object" in item.types:
        return _to_items(value, item)
    if "string" not in item.types:
        return None
    if isinstance(value, Mapping):
        return [*_flags(value)] if field.name == "args" else None
    if isinstance(value, str):
        return _words(value, field)
    return [_text(value)] if isinstance(value, int | float) else None


def _words(line: str, field: Field) -> list[str]:
    """The words of a line as a shell reads them; the whole line if it is more than words."""
    if field.name not in _LISTS_OF_WORDS and re.search(r",\s*\S", line):
        return [part.strip() for part in line.split(",") if part.strip()]
    if _SHELL_SYNTAX.intersection(line):
        return [line]
    return shell_words(line) or [line]


def _flags(options: Mapping[str, Any]) -> Iterator[str]:
    for name, value in options.items():
        flag = name if name.startswith("-") else f"--{name}"
        if value is True:
            yield flag
        elif isinstance(value, str | int | float) and value is not False:
            yield from (flag, _text(value))


def _to_items(value: Any, item: Field) -> list[Any] | None:
    if isinstance(value, Mapping):
        if any(spelled(key, item.properties) in item.properties for key in value):
            return [_spelled(value, item)]
        items = [_keyed_item(key, child, item) for key, child in value.items()]
    else:
        items = [_to_mapping(value, item)]
    return None if not items or None in items else items


def _keyed_item(key: str, value: Any, item: Field) -> Mapping[str, Any] | None:
    """An item that was written as a key and the rest of it."""
    name = next((key for key in ("name", "key") if key in item.properties), None)
    if isinstance(value, Mapping):
        return _completed({**({name: key} if name else {}), **_spelled(value, item)}, item) if name else None
    if item.name == "volumes" and isinstance(value, str) and value.startswith("/"):
        return _completed({"name": key, "mount_path": value}, item)
    if item.name == "service_ports":
        return _to_mapping(value, item)
    return None


def _spelled(value: Mapping[str, Any], field: Field) -> dict[str, Any]:
    return {spelled(key, field.properties): child for key, child in value.items()}


def _completed(value: Mapping[str, Any], item: Field) -> Mapping[str, Any] | None:
    """The volume with a type, which people leave out most often."""
    if not value.keys() <= item.properties.keys():
        return None
    added = {"volume_type": "persistent_volume_claim"} if "volume_type" in item.properties.keys() - value.keys() else {}
    both = {**value, **added}
    return {key: both[key] for key in ("name", "volume_type", *both) if key in both}


def _to_mapping(value: Any, field: Field) -> Mapping[str, Any] | None:
    if _is_pair(field):
        return _to_pair(value, field)
    if isinstance(value, list):
        return _from_list(value, field)
    if not isinstance(value, str | int | float) or (isinstance(value, bool) and "required" not in field.properties):
        return None
    if field.name in _SHORT_FORMS:
        return _SHORT_FORMS[field.name](value, field)
    if {"max", "options", "required"} <= field.properties.keys():
        return _to_constraint(value)
    if isinstance(value, str) and isinstance(field.schema.get("additionalProperties"), Mapping):
        match = re.fullmatch(_ASSIGNMENT, value)
        return {match[1]: match[2]} if match and not field.properties else None
    if len(field.required) == 1 and isinstance(value, str):
        return {next(iter(field.required)): value}
    return None


def _from_list(items: list[Any], field: Field) -> Mapping[str, Any] | None:
    """A mapping that was written as a list of its entries."""
    if {"max", "options", "required"} <= field.properties.keys():
        return {"options": items} if items and all(isinstance(item, str | int | float) for item in items) else None
    entries: dict[str, Any] = {}
    for item in items:
        match = re.fullmatch(_ASSIGNMENT, item) if isinstance(item, str) else None
        if match:
            entries[match[1]] = match[2]
        elif isinstance(item, Mapping) and item.keys() in _PAIRS:
            entries[_text(item.get("name", item.get("key")))] = item["value"]
        elif isinstance(item, Mapping):
            entries.update(item)
        else:
            return None
    closed = field.schema.get("additionalProperties") is False
    spelled_entries = _spelled(entries, field)
    if not entries or (closed and not spelled_entries.keys() <= field.properties.keys()):
        return None
    is_text = field.child("").types == ("string",)
    return {
        key: _text(child) if is_text and not isinstance(child, list | Mapping) else child
        for key, child in spelled_entries.items()
    }


def _is_pair(field: Field) -> bool:
    return field.properties.keys() == field.required and field.required in _PAIRS


def _to_pair(value: Any, field: Field) -> Mapping[str, Any] | None:
    (name,) = field.required - {"value"}
    match = re.fullmatch(_ASSIGNMENT, value) if isinstance(value, str) else None
    if match:
        return {name: match[1], "value": match[2]}
    if isinstance(value, Mapping) and len(value) == 1 and not value.keys() & field.required:
        ((key, child),) = value.items()
        return {name: key, "value": _text(child)} if isinstance(child, str | int | float) else None
    return None


def _to_constraint(value: Any) -> Mapping[str, Any]:
    if isinstance(value, bool):
        return {"required": value}
    if isinstance(value, int | float) or re.fullmatch(r"[0-9.]+([a-zA-Z]{1,2})?", value):
        return {"max": value}
    return {"options": [value]}


def _to_port(value: Any, _: Field) -> Mapping[str, Any] | None:
    match = re.fullmatch(_PORTS, str(value))
    if match is None:
        return None
    port, target = int(match[1] or match[2]), int(match[2])
    return {"port": port} if port == target else {"port": port, "target_port": target}


def _to_volume(value: Any, item: Field) -> Mapping[str, Any] | None:
    match = re.fullmatch(_MOUNT, str(value))
    name, mount_path = (match[1] or (match[2] or "").strip("/").rpartition("/")[2], match[2]) if match else ("", "")
    if match is None or not re.fullmatch("[a-z0-9]([-a-z0-9]{0,60}[a-z0-9])?", name):
        return None
    read_only = {"read_only": True} if match[3] == "ro" else {}
    return _completed({"name": name, "mount_path": mount_path or f"/{name}", **read_only}, item)


def _to_toleration(value: Any, item: Field) -> Mapping[str, Any] | None:
    match = re.fullmatch(_TAINT, str(value))
    if match is None:
        return None
    operator = {"operator": "Exists"} if match[2] is None else {"operator": "Equal", "value": match[2]}
    effects = item.library.resolve(item.properties["effect"])["enum"]
    return {"key": match[1], **operator, **({"effect": match[3]} if match[3] in effects else {})}


def _of_memory(key: str) -> Callable[[Any, Field], Mapping[str, Any] | None]:
    """An amount in bytes is memory; of any other, nobody knows what it is of."""
    return lambda value, field: {key: value} if key in field.properties and re.fullmatch(_BYTES, str(value)) else None


_Convert: TypeAlias = Callable[[Any, Field], Any]
_CONVERSIONS: Mapping[str, _Convert] = {
    "object": _to_mapping,
    "array": _to_list,
    "integer": _to_integer,
    "boolean": _to_boolean,
    "number": _to_number,
    "string": _to_string,
}
_SHORT_FORMS: Mapping[str, Callable[[Any, Field], Mapping[str, Any] | None]] = {
    "service_ports": _to_port,
    "volumes": _to_volume,
    "tolerations": _to_toleration,
    "resources": _of_memory("mem"),
    "requests": _of_memory("memory"),
    "limits": _of_memory("memory"),
    "spec": _of_memory("size"),
}
"""What a single value means in place of a mapping, by the name of the field."""
