"""Strategies for volumes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache

from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.schema.library import Schema
from speccompile.testing.strategies.building_blocks import Data, among, coins, mapping
from speccompile.testing.strategies.resources import sizes
from speccompile.testing.strategies.text import (
    ALPHANUMERIC,
    dns_labels,
    dns_subdomains,
    images,
    joined,
    one_line_texts,
    texts,
)

VOLUME_NAMES = ("data", "cache", "a-b", "models")
ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SHARED_MODES = ("ReadOnlyMany", "ReadWriteMany")
VOLUME_TYPES = tuple(bundled_library().volume_types)


@cache
def config_keys() -> st.SearchStrategy[str]:
    return among("app.yaml", "no", "a") | joined(ALPHANUMERIC, ALPHANUMERIC + "-_.", ALPHANUMERIC, 8)


@cache
def _volume_specs(*, shared: bool) -> Mapping[str, st.SearchStrategy[Data]]:
    """A strategy for the `spec` of each type in the schema; an unknown one takes the examples of its `spec`."""
    claim = {"size": sizes(), "storage_class": dns_subdomains()}
    one_pod = mapping(optional=claim | {"access_mode": among(*ACCESS_MODES)})
    many_pods = mapping({"access_mode": among(*SHARED_MODES)}, claim)
    named = mapping(optional={"name": dns_subdomains()})
    data = st.dictionaries(config_keys(), texts(), min_size=1, max_size=3)
    known = {
        "persistent_volume_claim": many_pods if shared else one_pod,
        "config_map": named | mapping({"data": data}),
        "secret": named,
        "empty_dir": mapping(optional={"size_limit": sizes(), "medium": among("", "Memory")}),
        "ephemeral": one_pod,
        "shared_volume": mapping(optional={"claim_name": dns_subdomains()}),
        "image": mapping({"image": images()}) | mapping({"reference": images()}),
    }
    types = bundled_library().schemas["fields"]["$defs"]["volume_types"]
    return {
        name: known[name] if name in known else _examples(entry["properties"]["spec"]) for name, entry in types.items()
    }


def _examples(schema: Schema) -> st.SearchStrategy[Data]:
    return st.sampled_from(schema["examples"]).map(deepcopy)


@cache
def _sub_paths() -> st.SearchStrategy[str]:
    return one_line_texts().map(lambda text: f"x{text}".replace("..", "__"))


@cache
def _mount_tails() -> st.SearchStrategy[str]:
    return st.just("") | _sub_paths().map(lambda text: text.replace(":", "").replace("/", "") + "/")


@cache
def _volume_names() -> st.SearchStrategy[list[str]]:
    return st.lists(among(*VOLUME_NAMES) | dns_labels(), min_size=1, max_size=4, unique=True)


@st.composite
def volumes(draw: st.DrawFn, *, root: str = "/run", shared: bool = False) -> list[Data]:
    """Volumes of all types, mounted below the root; shared claims are fit for several pods."""
    made = []
    for index, name in enumerate(draw(_volume_names())):
        kind = draw(among(*VOLUME_TYPES))
        spec = draw(_volume_specs(shared=shared)[kind])
        volume: Data = {"volume_type": kind, "name": name, "mount_path": f"{root}/{index}{draw(_mount_tails())}"}
        if draw(coins):
            volume["read_only"] = draw(coins)
        if draw(coins):
            inside = bool(draw(coins))
            (spec if inside else volume)["sub_path"] = draw(_sub_paths())
        if draw(coins) or spec:
            volume["spec"] = spec
        made.append(volume)
    return made
