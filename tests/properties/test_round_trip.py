"""Every YAML reader reads back the data of the manifests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import yaml
from helpers.cases import compiled
from helpers.manifest_data import exactly, loaded
from hypothesis import given
from ruamel.yaml import YAML

from speccompile.testing.strategies.documents import Case, cases


def ruamel(text: str) -> list[Any]:
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return list(reader.load_all(text))


READERS: Mapping[str, Callable[[str], list[Any]]] = {
    "pyyaml": lambda text: list(yaml.load_all(text, Loader=yaml.SafeLoader)),
    "fastest": loaded,
    "ruamel": ruamel,
}


@given(cases())
def test_round_trip_every_reader_gets_the_data_back(case: Case) -> None:
    """YAML 1.1 and YAML 1.2 readers take the text for exactly the manifests' data."""
    result = compiled(case)
    data = [manifest.data for manifest in result.manifests]
    text = result.to_yaml()
    for name, read in READERS.items():
        assert exactly(read(text)) == exactly(data), name
