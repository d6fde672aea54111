"""Objects as data: changed at any path, and checked against the schemas of Kubernetes."""

from __future__ import annotations

from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.testing.plain_data import Data
from speccompile.verify.kubernetes_api import versions
from speccompile.verify.verify import Api, LocatedObject, verify_object

ALL = tuple(version for version in versions() if int(version.partition(".")[2]) >= 29)
VERSIONS = ("1.33", ALL[-1])
NOWHERE = Span(Source("manifest", "", Layer.RUN))
api = cache(Api)


def node_of(data: Any) -> Node:
    """Data as a tree of which nothing was ever text."""
    if isinstance(data, dict):
        return Node({key: node_of(child) for key, child in data.items()}, NOWHERE)
    return Node(tuple(map(node_of, data)) if isinstance(data, list) else data, NOWHERE)


def faults(manifest: Data, version: str) -> list[str]:
    """What the API has against the manifest, by `jsonschema`, and by the way that only says yes or no, alike."""
    told = verify_object(LocatedObject(node_of(manifest), NOWHERE), [api(version)]).faults[version]
    check = api(version).check((manifest["apiVersion"], manifest["kind"]))
    assert check
    assert check.accepts
    assert check.accepts(manifest) == (not told) == check.validator.is_valid(manifest)
    return [f"{'.'.join(map(str, found.path))}: {found.message}" for found in told]


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5) | st.just("1Gi"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
