"""Pods that Seldon's operator makes of Servers.

A stock install has two ServerConfigs, which hardly anybody keeps at hand; what is known of them stands here as facts.
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
    node_at,
    of_kind,
    quantity_of,
    strings_at,
    text,
)
from speccompile.placement.seldon.operator_merge import MergedPod, merge_server

STOCK: Mapping[str, tuple[str, ...]] = {
    "mlserver": (
        *("mlserver", "alibi-detect", "alibi-explain", "huggingface", "lightgbm", "mlflow", "python", "sklearn"),
        *("spark-mlib", "xgboost"),
    ),
    "triton": ("triton", "dali", "fil", "onnx", "openvino", "python", "pytorch", "tensorflow", "tensorrt"),
}
"""The capabilities of the stock ServerConfigs; a Server, and the container that serves, is named like its config."""
_STOCK_REQUESTS = {"cpu": "100m", "memory": "1Gi"}
_STOCK_OVERCOMMIT = "10"
_STOCK_SECURITY = {"runAsUser": 1000, "runAsNonRoot": True}
_STOCK_ORIGIN = "as a stock install of Seldon has it"


class ReplicaMemory(NamedTuple):
    """The memory that one replica of a Server offers to models."""

    amount: int
    """In bytes, before overcommit."""
    request: Node | None
    """The request that it is; None where the container that serves asks for none."""
    overcommit: int | None
    """Percent that are offered on top; None where that cannot be told."""

    @property
    def advertised(self) -> int:
        """What Seldon's scheduler counts with, in bytes."""
        return self.amount + self.amount * (self.overcommit or 0) // 100


class ServerHost(NamedTuple):
    """A Server as Seldon's own scheduler sees it."""

    server: Node
    config: Node | None
    """Its ServerConfig, be it at hand or a stock one; None if neither."""
    effective: MergedPod
    replicas: int
    most: int
    """Replicas that it may be scaled to."""
    capabilities: Mapping[str, Node]
    """By name, with what says so; all of them only if the ServerConfig is known, or its list is replaced."""
    is_complete: bool
    """Whether those are all."""
    memory: ReplicaMemory | None
    """None where it cannot be told."""

    @property
    def name(self) -> str:
        return name_of(self.server)

    @property
    def pod(self) -> Node:
        return self.effective.pod

    @property
    def is_stock(self) -> bool:
        """Whether it is a Server that a stock install brings, and not one of the objects."""
        return is_stock(self.server)


def server_hosts(objects: Sequence[Node]) -> tuple[ServerHost, ...]:
    """The Servers of the objects, in their order; of two that have one name, the first."""
    named_once: dict[tuple[str, str], Node] = {}
    for server in of_kind(objects, "Server"):
        named_once.setdefault((namespace_of(server), name_of(server)), server)
    return tuple(_host(server, config_of(server, objects)) for server in named_once.values())


@cache
def stock_hosts() -> tuple[ServerHost, ...]:
    """The Servers that a stock install has in the namespace of its runtime, unless somebody left them out."""
    return tuple(_host(_stock_server(name), stock_config(name)) for name in STOCK)


def config_of(server: Node, objects: Sequence[Node]) -> Node | None:
    """The ServerConfig that the Server names: one of the objects, else a stock one, else None.

    The operator looks for it in its own namespace, wherever that is; of several, the one beside the Server is taken.
    """
    name = text(server, ("spec", "serverConfig"))
    known = _configs(objects if isinstance(objects, tuple) else tuple(objects)).get(name, ())
    beside = (config for config in known if share_namespace(config, server))
    return next(beside, known[0] if known else stock_config(name))


@by_identity(most=1)
def _configs(objects: tuple[Node, ...]) -> Mapping[str, tuple[Node, ...]]:
    """The ServerConfigs among the objects, by name: a thousand Servers ask for the same few."""
    found: dict[str, tuple[Node, ...]] = {}
    for config in of_kind(objects, "ServerConfig"):
        found[name_of(config)] = (*found.get(name_of(config), ()), config)
    return found


@cache
def stock_config(name: str) -> Node | None:
    """What is known of a stock ServerConfig: containers and what decides where pods and models go, and no more."""
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
    # Every replica keeps its models on a volume of its own.
    return _made("ServerConfig", name, {"podSpec": pod, "volumeClaimTemplates": [{"name": f"{name}-models"}]})


def _stock_server(name: str) -> Node:
    return _made("Server", name, {"serverConfig": name, "replicas": 1})


def _made(kind: str, name: str, spec: Any) -> Node:
    span = Span(Source(f"stock {kind} {name}", "", Layer.PLATFORM))
    return _node({"apiVersion": f"{GROUP}/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}, span)


def _node(data: Any, span: Span) -> Node:
    if isinstance(data, dict):
        return Node({key: _node(child, span) for key, child in data.items()}, span, derived=_STOCK_ORIGIN)
    value = tuple(_node(item, span) for item in data) if isinstance(data, list) else data
    return Node(value, span, derived=_STOCK_ORIGIN)


def is_stock(node: Node) -> bool:
    """Whether it is a fact of the stock install rather than something that stands in an object at hand."""
    return node.derived == _STOCK_ORIGIN


def replicas_of(server: Node) -> int:
    """Pods at once: those that it asks for, else its least number, else one."""
    asked, least = (int_at(server, ("spec", key)) for key in ("replicas", "minReplicas"))
    if asked is not None and asked >= 0:
        return asked
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
    """The agent splits its variable at commas; where that cannot be seen, what the Server itself asks for counts."""
    asked = strings_at(server, ("spec", "capabilities")) or strings_at(server, ("spec", "extraCapabilities"))
    spelled = {str(item.value).strip(): item for item in asked}
    entry = env_variable(pod, CAPABILITIES)
    value = node_at(entry, ("value",))
    if entry is None or value is None or not isinstance(value.value, str):
        return spelled if entry is None else {}
    return {name: spelled.get(name, value) for name in map(str.strip, value.value.split(",")) if name}


def _memory(pod: Node) -> ReplicaMemory | None:
    """The memory that the agent is told of: the request of the container that its variable names."""
    entry = env_variable(pod, MEMORY_REQUEST)
    reference = node_at(entry, ("valueFrom", "resourceFieldRef"))
    container = find_named(app_containers(pod), text(reference, ("containerName",)))
    if reference is None or container is None or node_at(reference, ("divisor",)) is not None:
        return None
    if text(reference, ("resource",)) != "requests.memory":
        return None
    # A limit alone is taken for the request as well.
    sides = (node_at(container, ("resources", side, "memory")) for side in ("requests", "limits"))
    asked = next((node for node in sides if node is not None), None)
    amount = quantity_of(asked)
    if asked is not None and amount is None:
        return None
    return ReplicaMemory(in_bytes(amount) if amount else 0, asked, _overcommit(pod))


def _overcommit(pod: Node) -> int | None:
    value = text(env_variable(pod, OVERCOMMIT), ("value",))
    return int(value) if value.isascii() and value.isdigit() and len(value) <= len("100000") else None
