"""Pods that Seldon's operator creates from Servers.

A stock installation has two ServerConfigs, which are rarely among the objects; this module defines their values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from speccompile.model.identity_cache import by_identity
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Layer, Source, Span
from speccompile.placement.object_identity import name_of, namespace_of, share_namespace
from speccompile.placement.seldon.objects import (
    AGENT,
    CAPABILITIES,
    GROUP,
    MEMORY_REQUEST,
    OVERCOMMIT,
    RCLONE,
    app_containers,
    env_variable,
    find_named,
    in_bytes,
    int_at,
    non_null_at,
    of_kind,
    quantity_of,
    string_at,
    strings_at,
)
from speccompile.placement.seldon.operator_merge import MergedPod, merge_server

STOCK: Mapping[str, tuple[str, ...]] = {
    "mlserver": (
        *("mlserver", "alibi-detect", "alibi-explain", "huggingface", "lightgbm", "mlflow", "python", "sklearn"),
        *("spark-mlib", "xgboost"),
    ),
    "triton": ("triton", "dali", "fil", "onnx", "openvino", "python", "pytorch", "tensorflow", "tensorrt"),
}
"""Capabilities of the stock ServerConfigs; the Server and the serving container have the same name."""
_STOCK_REQUESTS = {"cpu": "100m", "memory": "1Gi"}
_STOCK_OVERCOMMIT = "10"
_STOCK_SECURITY = {"runAsUser": 1000, "runAsNonRoot": True}
_STOCK_ORIGIN = "as in a stock Seldon installation"


class ReplicaMemory(NamedTuple):
    """The memory that one replica of a Server offers to models."""

    amount: int
    """In bytes, before overcommit."""
    request: Node | None
    """The memory request of the serving container; None if unset."""
    overcommit: int | None
    """Additional percentage that is offered; None if unknown."""

    @property
    def advertised(self) -> int:
        """The bytes that Seldon's scheduler assumes."""
        return self.amount + self.amount * (self.overcommit or 0) // 100


class ServerHost(NamedTuple):
    """A Server as Seldon's scheduler sees it."""

    server: Node
    config: Node | None
    """Its ServerConfig, from the objects or stock; None if unknown."""
    effective: MergedPod
    replicas: int
    most: int
    """The maximum number of replicas."""
    capabilities: Mapping[str, Node]
    """By name, with the value that adds each."""
    is_complete: bool
    """Whether all capabilities are known."""
    memory: ReplicaMemory | None
    """None if unknown."""

    @property
    def name(self) -> str:
        return name_of(self.server)

    @property
    def pod(self) -> Node:
        return self.effective.pod

    @property
    def is_stock(self) -> bool:
        """Whether it belongs to a stock installation and is not among the objects."""
        return is_stock(self.server)


def server_hosts(objects: Sequence[Node]) -> tuple[ServerHost, ...]:
    """The Servers among the objects, in their order; of two with the same name, the first."""
    unique: dict[tuple[str, str], Node] = {}
    for server in of_kind(objects, "Server"):
        unique.setdefault((namespace_of(server), name_of(server)), server)
    return tuple(_host(server, config_of(server, objects)) for server in unique.values())


@cache
def stock_hosts() -> tuple[ServerHost, ...]:
    """The Servers that a stock installation usually has in the namespace of its runtime."""
    return tuple(
        _host(_stock_object("Server", name, {"serverConfig": name, "replicas": 1}), stock_config(name))
        for name in STOCK
    )


def config_of(server: Node, objects: Sequence[Node]) -> Node | None:
    """The ServerConfig that the Server names: one of the objects, else a stock one, else None.

    The operator looks in its own namespace, which is not known here; a ServerConfig near the Server is preferred.
    """
    name = string_at(server, ("spec", "serverConfig"))
    configs = _configs(objects if isinstance(objects, tuple) else tuple(objects)).get(name, ())
    nearby = (config for config in configs if share_namespace(config, server))
    return next(nearby, configs[0] if configs else stock_config(name))


@by_identity(most=1)
def _configs(objects: tuple[Node, ...]) -> Mapping[str, tuple[Node, ...]]:
    """The ServerConfigs among the objects, by name."""
    configs: dict[str, tuple[Node, ...]] = {}
    for config in of_kind(objects, "ServerConfig"):
        configs[name_of(config)] = (*configs.get(name_of(config), ()), config)
    return configs


@cache
def stock_config(name: str) -> Node | None:
    """The parts of a stock ServerConfig that affect placement."""
    if name not in STOCK:
        return None
    memory = {"resourceFieldRef": {"containerName": name, "resource": "requests.memory"}}
    env = [
        {"name": CAPABILITIES, "value": ",".join(STOCK[name])},
        {"name": OVERCOMMIT, "value": _STOCK_OVERCOMMIT},
        {"name": MEMORY_REQUEST, "valueFrom": memory},
    ]
    pod = {
        "containers": [
            {"name": RCLONE},
            {"name": AGENT, "env": env},
            {"name": name, "resources": {"requests": _STOCK_REQUESTS}},
        ],
        "securityContext": _STOCK_SECURITY,
    }
    # Each replica has a volume for its models.
    return _stock_object("ServerConfig", name, {"podSpec": pod, "volumeClaimTemplates": [{"name": f"{name}-models"}]})


def _stock_object(kind: str, name: str, spec: Any) -> Node:
    span = Span(Source(f"stock {kind} {name}", "", Layer.PLATFORM))
    return _node({"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}, span)


def _node(data: Any, span: Span) -> Node:
    if isinstance(data, dict):
        return Node({key: _node(child, span) for key, child in data.items()}, span, derived=_STOCK_ORIGIN)
    value = tuple(_node(item, span) for item in data) if isinstance(data, list) else data
    return Node(value, span, derived=_STOCK_ORIGIN)


def is_stock(node: Node) -> bool:
    """Whether the value comes from a stock installation, and not from one of the objects."""
    return node.derived == _STOCK_ORIGIN


def replicas_of(server: Node) -> int:
    """The number of pods: `replicas`, else `minReplicas`, else 1."""
    requested, least = (int_at(server, ("spec", key)) for key in ("replicas", "minReplicas"))
    if requested is not None and requested >= 0:
        return requested
    return least if least is not None and least > 0 else 1


def _host(server: Node, config: Node | None) -> ServerHost:
    effective, replicas = merge_server(server, config), replicas_of(server)
    replaced = strings_at(server, ("spec", "capabilities"))
    return ServerHost(
        server=server,
        config=config,
        effective=effective,
        replicas=replicas,
        most=max(replicas, int_at(server, ("spec", "maxReplicas")) or 0),
        capabilities=_capabilities(server, effective.pod),
        is_complete=config is not None or bool(replaced),
        memory=_memory(effective.pod),
    )


def _capabilities(server: Node, pod: Node) -> Mapping[str, Node]:
    """The capabilities in the agent's variable, split at commas; without the variable, those of the Server."""
    requested = strings_at(server, ("spec", "capabilities")) or strings_at(server, ("spec", "extraCapabilities"))
    declared = {str(item.value).strip(): item for item in requested}
    entry = env_variable(pod, CAPABILITIES)
    value = non_null_at(entry, ("value",))
    if entry is None or value is None or not isinstance(value.value, str):
        return declared if entry is None else {}
    return {name: declared.get(name, value) for name in map(str.strip, value.value.split(",")) if name}


def _memory(pod: Node) -> ReplicaMemory | None:
    """The memory request of the container that the agent's variable refers to."""
    entry = env_variable(pod, MEMORY_REQUEST)
    reference = non_null_at(entry, ("valueFrom", "resourceFieldRef"))
    container = find_named(app_containers(pod), string_at(reference, ("containerName",)))
    if reference is None or container is None or non_null_at(reference, ("divisor",)) is not None:
        return None
    if string_at(reference, ("resource",)) != "requests.memory":
        return None
    # A limit without a request counts as the request.
    sides = (non_null_at(container, ("resources", side, "memory")) for side in ("requests", "limits"))
    requested = next((node for node in sides if node is not None), None)
    amount = quantity_of(requested)
    if requested is not None and amount is None:
        return None
    return ReplicaMemory(in_bytes(amount) if amount else 0, requested, _overcommit(pod))


def _overcommit(pod: Node) -> int | None:
    value = string_at(env_variable(pod, OVERCOMMIT), ("value",))
    return int(value) if value.isascii() and value.isdigit() and len(value) <= len("100000") else None
