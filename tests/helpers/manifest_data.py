"""Manifests as plain data: read back from text, and walked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from speccompile import Compiled
from speccompile.model.key_path import KeyPath
from speccompile.testing.strategies.building_blocks import Data

FAST = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader


def loaded(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=FAST))


def of_kind(result: Compiled, *kinds: str) -> list[Data]:
    return [manifest.data for manifest in result.manifests if manifest.kind in kinds]


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
    if isinstance(value, (dict, list)):
        yield value
        for child in value.values() if isinstance(value, dict) else value:
            yield from containers(child)


def annotations_on(holder: Data) -> Data:
    found: Data = holder["metadata"].get("annotations", {})
    return found


def exactly(value: Any) -> Any:
    """A form that is equal only for equal data of equal types; the order of keys does not count."""
    if isinstance(value, dict):
        return {key: exactly(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [exactly(inner) for inner in value]
    return type(value).__name__, value
