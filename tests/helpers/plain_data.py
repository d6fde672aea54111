"""Walks over plain data: mappings, lists and scalars, as a JSON reader gives them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from speccompile.model.key_path import KeyPath


def paths(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every place in the data, the whole first."""
    below = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    return [path, *(inner for key, child in below for inner in paths(child, (*path, key)))]


def slots(data: Any) -> Iterator[tuple[Any, Any]]:
    """Every place below the data, as the container and its key or index."""
    children = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, child in list(children):
        yield data, key
        yield from slots(child)


def leaves(value: Any, path: KeyPath = ()) -> Iterator[tuple[KeyPath, Any]]:
    """Every scalar and every empty container, with its path."""
    if isinstance(value, dict) and value:
        for key, child in value.items():
            yield from leaves(child, (*path, key))
    elif isinstance(value, list) and value:
        for index, child in enumerate(value):
            yield from leaves(child, (*path, index))
    else:
        yield path, value


def containers(value: Any) -> Iterator[Any]:
    """Every mapping and list in the data, itself included."""
    if isinstance(value, (dict, list)):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from containers(child)


def with_change(data: Any, path: tuple[Any, ...], value: Any) -> Any:
    """The data with another value at the path."""
    if not path:
        return value
    step, *rest = path
    copy = data.copy()
    copy[step] = with_change(data[step], tuple(rest), value)
    return copy


def exactly(value: Any) -> Any:
    """A form that is equal only for equal data of equal types; the order of keys does not count."""
    if isinstance(value, dict):
        return {key: exactly(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exactly(inner) for inner in value]
    return type(value).__name__, value
