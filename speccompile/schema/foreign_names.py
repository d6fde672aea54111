"""Names that other tools use for fields, and what to write instead, from `foreign_names.yaml`."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache

from speccompile.model.key_path import KeyPath
from speccompile.model.key_spelling import snake_case
from speccompile.model.source import Layer, Source
from speccompile.schema.bundled import foreign_names_text
from speccompile.yaml_text.parse import parse

_TABLES = (
    ("run", {"action", "service_ports"}),
    ("profile", {"extends", "forbid"}),
    ("fields", {"image", "service_ports"}),
    ("platform", {"ceilings", "registry_secret"}),
    ("resources", {"cpu", "mem"}),
    ("volume", {"volume_type", "mount_path"}),
    ("port", {"port", "target_port"}),
    ("constraint", {"options", "pattern"}),
)
"""The tables, each with keys that only its kind of mapping allows."""
_SIDES = frozenset({"requests", "limits"})
_EXACT_TABLES = (("amount", _SIDES), ("variable", {"name", "value"}))
"""The same for mappings that allow these keys and no others."""
_VALUE_TABLES = ("action", "python_version", "volume_type")


@cache
def _tables() -> Mapping[str, Mapping[str, str]]:
    text = Source("foreign_names.yaml", foreign_names_text(), Layer.TEMPLATE)
    tables: Mapping[str, Mapping[str, str]] = parse(text).documents[0].root.plain()
    return tables


def translate_name(key: str, path: KeyPath, allowed: Collection[str]) -> str | None:
    """What to write instead of an unknown key at the path, as help; None if no other tool is known to use it."""
    tables = _tables_for(path, {*allowed})
    for name in tables:
        if help_text := _help(name, key, allowed):
            return help_text
    if "gpu" in tables and len(allowed) == len(_SIDES):
        # The platform names no kinds of GPU, so that no other key is allowed.
        return _help("gpu", "model", allowed)
    return None


def translated_names(path: KeyPath, allowed: Collection[str]) -> list[str]:
    """The names of other tools for keys at the path."""
    return [name for table in _tables_for(path, {*allowed}) for name in _tables()[table]]


def translate_value(field: object, value: str, allowed: Collection[str]) -> str | None:
    """What to write instead of a value that the field does not allow, as help."""
    return _help(str(field), value, allowed) if field in _VALUE_TABLES else None


def _tables_for(path: KeyPath, allowed: set[str]) -> list[str]:
    if path[-3:-1] == ("resources", "gpu"):
        return ["gpu", "amount"]
    if path[-2:-1] == ("spec",) and "sub_path" in allowed:
        return ["volume_spec"]
    exact = [name for name, keys in _EXACT_TABLES if keys == allowed]
    return exact or [name for name, keys in _TABLES if keys <= allowed]


def _help(table: str, name: str, allowed: Collection[str]) -> str | None:
    text = _tables()[table].get(snake_case(name).casefold().replace("-", "_"))
    if text is None or " " in text:
        return text
    return f"write `{text}` instead" if text in allowed else None
