"""A strategy for each field of the schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

from hypothesis import strategies as st

from speccompile.compiler.bundled_library import bundled_library
from speccompile.schema.library import Schema
from speccompile.testing.plain_data import Data
from speccompile.testing.strategies.building_blocks import among, coins, fixed_mappings
from speccompile.testing.strategies.node_placement import (
    affinities,
    node_selectors,
    required_affinities,
    toleration_items,
)
from speccompile.testing.strategies.resources import resources
from speccompile.testing.strategies.text import (
    any_texts,
    dns_1035_labels,
    dns_subdomains,
    env_names,
    images,
    json_objects,
    label_keys,
    label_values,
    secret_ids,
)
from speccompile.testing.strategies.volumes import volumes

ACTIONS = ("job", "deploy", "serve")
_SCHEDULES = ("5 4 * * *", "@daily", "@every 1h30m", "*/5 0-6 1,15 JAN-MAR mon", "? * ? * ?", " 0 0 * * * ")


@cache
def _service_ports() -> st.SearchStrategy[list[Data]]:
    ports = among(80, 443, 8080, 1, 65535)
    item = fixed_mappings({"port": ports}, {"target_port": ports})
    return st.lists(item, min_size=1, max_size=3, unique_by=lambda port: port["port"])


@cache
def field_values(*, root: str, gpu_key: str, many: bool, shared: bool) -> Mapping[str, st.SearchStrategy[Any]]:
    """A strategy for each field of the schema; unknown fields take the examples of the schema."""
    words = st.lists(any_texts(), max_size=3)
    envs = st.dictionaries(env_names(), any_texts(), max_size=3)
    user_ids = among(1, 1000, 2**31 - 1, "1", "8877")
    any_count = among(0, 1, 2, 7, 2**31 - 1)
    pods = any_count if many else among(0, 1)
    by_name: dict[str, st.SearchStrategy[Any]] = {
        "image": images(),
        "image_pull_policy": among("Always", "IfNotPresent", "Never"),
        "command": words | any_texts().filter(bool),
        "args": words,
        "envs": envs | envs.map(lambda chosen: [{"name": name, "value": value} for name, value in chosen.items()]),
        "secrets": st.lists(secret_ids(), max_size=3, unique=True),
        "volumes": st.builds(list) | volumes(root=root, shared=shared),
        "resources": resources(gpu_key),
        "node_selector": node_selectors(),
        "tolerations": st.lists(toleration_items(), max_size=3),
        "affinity": required_affinities() | affinities(),
        "fs_group": user_ids,
        "run_as_user": user_ids,
        "run_as_group": user_ids,
        "runtime_class": dns_subdomains(),
        "priority_class": dns_subdomains(),
        "service_account": dns_subdomains(),
        "replicas": pods,
        "service_type": among("ClusterIP", "NodePort", "LoadBalancer"),
        "service_ports": _service_ports(),
        "service_name": dns_1035_labels().map("alias-{}".format),
        "schedule": among(*_SCHEDULES),
        "backoff_limit": any_count,
        "deadline_seconds": among(1, 3600, 2**31 - 1),
        "ttl_seconds": any_count,
        "parallelism": pods,
        "completions": any_count,
        "suspend": coins,
        "labels": st.dictionaries(label_keys(), label_values(), max_size=3),
        "annotations": st.dictionaries(label_keys(), any_texts(), max_size=3),
        "inputs": json_objects(),
        "parameters": json_objects(),
    }
    others = {name: schema for name, schema in _fields().items() if name not in by_name}
    return {name: st.sampled_from(schema["examples"]) for name, schema in others.items()} | by_name


def _fields() -> Mapping[str, Schema]:
    """The fields that are common to all targets."""
    return {name: schema for name, schema in bundled_library().fields.items() if "x-targets" not in schema}


def fields_for_action(action: str) -> tuple[str, ...]:
    """The fields that a run with the action may set."""
    return tuple(name for name, schema in _fields().items() if action in schema.get("x-actions", ACTIONS))
