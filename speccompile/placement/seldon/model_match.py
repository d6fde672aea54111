"""Servers that Seldon's scheduler could load each Model on.

The scheduler compares capabilities as text, and requires memory on each replica and as many replicas as the Model
requests, all on one Server. If several Servers match, it may choose any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.object_identity import name_of, namespace_of, share_namespace
from speccompile.placement.seldon.objects import (
    int_at,
    model_bytes,
    non_null_at,
    of_kind,
    quantity_of,
    string_at,
    strings_at,
)
from speccompile.placement.seldon.server_pods import ServerHost, is_stock, server_hosts, stock_hosts
from speccompile.schema.suggestions import near

_EXPLAINER = "alibi-explain"
"""The capability that an explainer needs implicitly."""


class Fit(StrEnum):
    """Whether a Model can be loaded on a Server."""

    YES = "yes"
    PARTLY = "partly"
    """With at least `minReplicas`, but fewer replicas than requested, until the Server has more."""
    UNKNOWN = "unknown"
    """Depends on a ServerConfig that was not given."""
    NO = "no"


class Cause(StrEnum):
    """Why a Server does not match a Model."""

    PIN = "pin"
    STOPPED = "stopped"
    CAPABILITY = "capability"
    MEMORY = "memory"
    REPLICAS = "replicas"


class ModelNeed(NamedTuple):
    """What a Model needs of a Server."""

    model: Node
    pin: str
    """The Server that it names; empty if unset."""
    capabilities: Mapping[str, Node]
    """The capabilities that it needs, with the values that request them."""
    memory: int | None
    """Bytes per replica; None if unset, or if the operator cannot read it."""
    replicas: int
    least: int
    """The minimum number of replicas; 0 if all of them are required."""


class HostRejection(NamedTuple):
    """Why a Server cannot load a Model, or only some of its replicas."""

    cause: Cause
    need: ModelNeed
    host: ServerHost
    model_node: Node | None
    """The value of the Model."""
    server_node: Node | None = None
    """The value of the Server."""
    capability: str = ""
    """The missing capability, if any."""
    is_sure: bool = True
    """Whether it does not depend on a ServerConfig that was not given."""

    @property
    def text(self) -> str:
        """The reason as a sentence about the Server: "it has no replicas"."""
        return _MESSAGES[self.cause](self)

    @property
    def nearest_capability(self) -> str | None:
        """The capability of the Server that is most similar to the missing one."""
        return near(self.capability, self.host.capabilities) if self.capability else None


class Candidate(NamedTuple):
    """A Server that may be in the namespace of a Model, and the reasons against it."""

    host: ServerHost
    fit: Fit
    reasons: tuple[HostRejection, ...] = ()

    @property
    def server(self) -> str:
        """The Server's name."""
        return self.host.name


class ModelMatch(NamedTuple):
    """A Model, and the Servers that may be in its namespace."""

    need: ModelNeed
    hosts: tuple[ServerHost, ...]
    """The Servers among the objects, in their order."""
    names: frozenset[str]
    """Their names."""
    possible: tuple[ServerHost, ...]
    """The Servers that may load it."""

    @property
    def model(self) -> Node:
        return self.need.model

    @property
    def name(self) -> str:
        return name_of(self.model)

    @property
    def namespace(self) -> str:
        return namespace_of(self.model)

    @property
    def candidates(self) -> tuple[Candidate, ...]:
        """All Servers, with every reason against each."""
        return tuple(check_host(self.need, host) for host in self.hosts)

    @property
    def fits(self) -> tuple[Candidate, ...]:
        """The Servers that can load at least some of its replicas."""
        condition = (check_host(self.need, host) for host in self.possible)
        return tuple(one for one in condition if one.fit is not Fit.UNKNOWN)

    @property
    def has_any(self) -> bool:
        """Whether any Server can certainly load it."""
        return any(check_host(self.need, host).fit is not Fit.UNKNOWN for host in self.possible)

    @property
    def stock(self) -> tuple[Candidate, ...]:
        """The Servers that a stock installation adds to those of the objects."""
        return tuple(check_host(self.need, host) for host in stock_hosts() if host.name not in self.names)


class ServerLoad(NamedTuple):
    """The memory that Models need which fit only this Server, and the memory that its replicas offer."""

    host: ServerHost
    models: tuple[Node, ...]
    needed: int
    offered: int


def match_models(objects: Sequence[Node]) -> tuple[ModelMatch, ...]:
    """Match the Models among the objects with the Servers, in their order."""
    known = server_hosts(objects)
    nearby: dict[str, tuple[tuple[ServerHost, ...], frozenset[str]]] = {}
    # Most Models have one of a few sets of needs.
    possible: dict[object, tuple[ServerHost, ...]] = {}
    model_matches: list[ModelMatch] = []
    for model in of_kind(objects, "Model"):
        need, where = model_need(model), namespace_of(model)
        if where not in nearby:
            servers = tuple(host for host in known if share_namespace(host.server, model))
            nearby[where] = servers, frozenset(host.name for host in servers)
        key = (where, frozenset(need.capabilities), need[1], *need[3:])
        if key not in possible:
            possible[key] = tuple(host for host in nearby[where][0] if check_host(need, host).fit is not Fit.NO)
        model_matches.append(ModelMatch(need, *nearby[where], possible[key]))
    return tuple(model_matches)


def server_loads(model_matches: Sequence[ModelMatch]) -> tuple[ServerLoad, ...]:
    """The Servers that are the only match of some Models; Servers of unknown memory are skipped."""
    models: dict[int, list[ModelNeed]] = {}
    known: dict[int, ServerHost] = {}
    for match in model_matches:
        if len(match.possible) == 1 and not any(one.fit is not Fit.NO for one in match.stock):
            host = match.possible[0]
            known[id(host)] = host
            models.setdefault(id(host), []).append(match.need)
    return tuple(load for key, needs in models.items() if (load := _load(known[key], needs)))


def _load(host: ServerHost, needs: Sequence[ModelNeed]) -> ServerLoad | None:
    memory = host.memory
    if memory is None or memory.overcommit is None:
        return None
    needed = sum((need.memory or 0) * need.replicas for need in needs)
    return ServerLoad(host, tuple(need.model for need in needs), needed, memory.advertised * host.most)


def model_need(model: Node) -> ModelNeed:
    requested, least = (int_at(model, ("spec", key)) for key in ("replicas", "minReplicas"))
    minimum = least if least is not None and least > 0 else 0
    # Zero replicas need both fields to be 0; a single 0 counts as unset.
    replicas = 0 if requested == 0 and least == 0 else minimum or 1
    amount = quantity_of(non_null_at(model, ("spec", "memory")))
    memory = model_bytes(amount) if amount is not None else None
    return ModelNeed(
        model,
        string_at(model, ("spec", "server")),
        _requirements(model),
        memory if memory and memory > 0 else None,
        requested if requested is not None and requested > 0 else replicas,
        minimum,
    )


def _requirements(model: Node) -> Mapping[str, Node]:
    kind, explainer = non_null_at(model, ("spec", "modelType")), non_null_at(model, ("spec", "explainer"))
    requested = [*strings_at(model, ("spec", "requirements"))]
    if kind is not None and isinstance(kind.value, str):
        requested.append(kind)
    needs = {str(item.value).strip(): item for item in requested}
    return needs if explainer is None else {**needs, _EXPLAINER: needs.get(_EXPLAINER, explainer)}


def check_host(need: ModelNeed, host: ServerHost) -> Candidate:
    """Check a Model against a Server."""
    reasons = tuple(chain.from_iterable(check(need, host) for check in HOST_CHECKS))
    return Candidate(host, _fit(need, host, reasons) if reasons else Fit.YES, reasons)


def _fit(need: ModelNeed, host: ServerHost, reasons: Sequence[HostRejection]) -> Fit:
    if any(reason.is_sure and reason.cause is not Cause.REPLICAS for reason in reasons):
        return Fit.NO
    if any(reason.cause is Cause.REPLICAS for reason in reasons) and not 0 < need.least <= host.replicas:
        return Fit.NO
    return Fit.PARTLY if all(reason.is_sure for reason in reasons) else Fit.UNKNOWN


# Checks


def _pin(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    if need.pin and need.pin != host.name:
        yield HostRejection(Cause.PIN, need, host, non_null_at(need.model, ("spec", "server")))


def _stopped(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    if not host.replicas:
        yield HostRejection(Cause.STOPPED, need, host, None, non_null_at(host.server, ("spec", "replicas")))


def _capabilities(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    for name, requested in need.capabilities.items():
        if name not in host.capabilities:
            yield HostRejection(Cause.CAPABILITY, need, host, requested, None, name, is_sure=host.is_complete)


def _memory(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    memory = host.memory
    # The scheduler accepts a model that fits only with overcommit, but then no eviction frees enough memory.
    if need.memory is not None and memory is not None and need.memory > memory.amount:
        requested, is_sure = (
            non_null_at(need.model, ("spec", "memory")),
            memory.request is None or not is_stock(memory.request),
        )
        yield HostRejection(Cause.MEMORY, need, host, requested, memory.request, is_sure=is_sure)


def _replicas(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    if host.replicas and need.replicas > host.replicas:
        requested = non_null_at(need.model, ("spec", "replicas")) or non_null_at(need.model, ("spec", "minReplicas"))
        yield HostRejection(Cause.REPLICAS, need, host, requested, non_null_at(host.server, ("spec", "replicas")))


HOST_CHECKS: tuple[Callable[[ModelNeed, ServerHost], Iterator[HostRejection]], ...] = (
    _pin,
    _stopped,
    _capabilities,
    _memory,
    _replicas,
)


# Messages


def _capability_message(reason: HostRejection) -> str:
    message, nearest_capability = f"it lacks capability {quote(reason.capability)}", reason.nearest_capability
    suggestion = f"; the most similar one it has is {quote(nearest_capability)}" if nearest_capability else ""
    condition = "" if reason.is_sure else ", unless its ServerConfig, which was not given, adds it"
    return message + suggestion + condition


def _memory_message(reason: HostRejection) -> str:
    memory = reason.host.memory
    assert memory is not None
    needs, has = (quote(node.value) if node is not None else "none" for node in (reason.model_node, memory.request))
    message = f"the Model needs {needs}, each replica has {has}"
    stock = "" if reason.is_sure else " in a stock installation"
    overcommit_note = f"; the overcommit of {memory.overcommit} % does not count for a single model"
    return message + stock + (overcommit_note if (reason.need.memory or 0) <= memory.advertised else "")


def _replica_message(reason: HostRejection) -> str:
    has = f"{reason.host.replicas} replica{'s' if reason.host.replicas > 1 else ''}"
    return f"the Model needs {reason.need.replicas} replicas, each on its own replica of the Server, which has {has}"


_MESSAGES: Mapping[Cause, Callable[[HostRejection], str]] = {
    Cause.PIN: lambda reason: f"the Model is pinned to Server {quote(reason.need.pin)}",
    Cause.STOPPED: lambda _: "it has no replicas",
    Cause.CAPABILITY: _capability_message,
    Cause.MEMORY: _memory_message,
    Cause.REPLICAS: _replica_message,
}
