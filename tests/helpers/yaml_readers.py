"""YAML readers of others, for YAML 1.1 and YAML 1.2, that must agree on what we write."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import yaml
from ruamel.yaml import YAML

Reader = Callable[[str], list[Any]]


def pyyaml(loader: Any) -> Reader:
    return lambda text: list(yaml.load_all(text, Loader=loader))


def ruamel(version: tuple[int, int]) -> Reader:
    def read(text: str) -> list[Any]:
        reader = YAML(typ="safe", pure=True)
        reader.version = version
        return list(reader.load_all(text))

    return read


READERS: dict[str, Reader] = {
    "pyyaml": pyyaml(yaml.SafeLoader),
    "ruamel-1.2": ruamel((1, 2)),
    "ruamel-1.1": ruamel((1, 1)),
}
if yaml.__with_libyaml__:
    READERS["libyaml"] = pyyaml(yaml.CSafeLoader)
