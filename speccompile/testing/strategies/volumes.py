"""Strategies for volumes."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from functools import cache

from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.building_blocks import among, coins, fixed_mappings
from speccompile.testing.strategies.resources import sizes
from speccompile.testing.strategies.text import (
    ALPHANUMERIC,
    any_texts,
    dns_labels,
    dns_subdomains,
    images,
    one_line_texts,
    texts_from_alphabets,
)

VOLUME_NAMES = ("data", "cache", "a-b", "models")
ACCESS_MODES = ("ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod")
SHARED_MODES = ("ReadOnlyMany", "ReadWriteMany")
VOLUME_TYPES = tuple(bundled_library().volume_types)


@cache
def config_keys() -> st.SearchStrategy[str]:
    return among("app.yaml", "no", "a") | texts_from_alphabets(ALPHANUMERIC, ALPHANUMERIC + "-_.", ALPHANUMERIC, 8)


@cache
def _volume_specs(*, shared: bool) -> Mapping[str, st.SearchStrategy[Data]]:
    """A strategy for the `spec` of each volume type; unknown types take the examples of the schema."""
    claim = {"size": sizes(), "storage_class": dns_subdomains()}
    one_pod = fixed_mappings(optional=claim | {"access_mode": among(*ACCESS_MODES)})
    many_pods = fixed_mappings({"access_mode": among(*SHARED_MODES)}, claim)
    named = fixed_mappings(optional={"name": dns_subdomains()})
    data = st.dictionaries(config_keys(), any_texts(), min_size=1, max_size=3)
    by_type = {
        "persistent_volume_claim": many_pods if shared else one_pod,
        "config_map": named | fixed_mappings({"data": data}),
        "secret": named,
        "empty_dir": fixed_mappings(optional={"size_limit": sizes(), "medium": among("", "Memory")}),
        "ephemeral": one_pod,
        "shared_volume": fixed_mappings(optional={"claim_name": dns_subdomains()}),
        "image": fixed_mappings({"image": images()}) | fixed_mappings({"reference": images()}),
    }
    types = bundled_library().schemas["fields"]["$defs"]["volume_types"]
    return {
        name: by_type[name]
        if name in by_type
        else st.sampled_from(entry["properties"]["spec"]["examples"]).map(deepcopy)
        for name, entry in types.items()
    }


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
    """Volumes of all types, mounted below the root; shared claims can be used by several pods."""
    result = []
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
        result.append(volume)
    return result
