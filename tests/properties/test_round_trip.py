"""Every YAML reader reads back the data of the manifests."""

from __future__ import annotations

from helpers.cases import compiled
from helpers.plain_data import exactly
from helpers.yaml_readers import READERS
from hypothesis import given

from speccompile.testing.strategies.documents import Case, cases


@given(cases())
def test_round_trip_with_every_reader(case: Case) -> None:
    """YAML 1.1 and YAML 1.2 readers parse the text to exactly the data of the manifests."""
    result = compiled(case)
    data = [manifest.data for manifest in result.manifests]
    text = result.to_yaml()
    for name, read in READERS.items():
        assert exactly(read(text)) == exactly(data), name
