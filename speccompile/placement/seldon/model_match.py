"""Servers that Seldon's scheduler could load each Model on.

The scheduler asks for capabilities by exact text, for memory of a replica, and for as many replicas as the Model wants,
all on one Server. Where several Servers will do, it may take any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import chain

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.object_identity import name_of, namespace_of, share_namespace
from speccompile.placement.seldon.objects import int_at, model_bytes, node_at, of_kind, quantity_of, strings_at, text
from speccompile.placement.seldon.server_pods import ServerHost, is_stock, server_hosts, stock_hosts
from speccompile.schema.suggestions import near

_EXPLAINER = "alibi-explain"
"""The capability that an explainer needs without saying so."""


class Fit(StrEnum):
    """Whether a Model can be loaded on a Server."""

    YES = "yes"
    PARTLY = "partly"
    """With fewer replicas than it wants, but no fewer than its least number, until the Server has more."""
    UNKNOWN = "unknown"
    """What speaks against it hangs on a ServerConfig that is not at hand."""
    NO = "no"


class Cause(StrEnum):
    """What a Server lacks for a Model."""

    PIN = "pin"
    STOPPED = "stopped"
    CAPABILITY = "capability"
    MEMORY = "memory"
    REPLICAS = "replicas"


class ModelNeed(NamedTuple):
    """A Model as Seldon's scheduler sees it."""

    model: Node
    pin: str
    """The Server that it names; empty if it names none."""
    capabilities: Mapping[str, Node]
    """What it needs, by name, with what says so."""
    memory: int | None
    """Bytes of one replica; None where it says none that the operator can read."""
    replicas: int
    least: int
    """Replicas without which it is not loaded at all; none if it wants all of them."""


class HostRejection(NamedTuple):
    """Why a Server cannot have a Model, or only a part of it."""

    cause: Cause
    need: ModelNeed
    host: ServerHost
    model_node: Node | None
    """What the Model says about it."""
    server_node: Node | None = None
    """What the Server says about it."""
    capability: str = ""
    """The one that is missing, if one is."""
    is_sure: bool = True
    """Whether it holds whatever stands in a ServerConfig that is not at hand."""

    @property
    def text(self) -> str:
        """The reason in words that go on about the Server: "it has no replicas"."""
        return _WORDS[self.cause](self)

    @property
    def nearest_capability(self) -> str | None:
        """The capability of the Server that is nearest to the missing one."""
        return near(self.capability, self.host.capabilities) if self.capability else None


class Candidate(NamedTuple):
    """A Server that can be in the Model's namespace, and everything that speaks against it."""

    host: ServerHost
    fit: Fit
    reasons: tuple[HostRejection, ...] = ()

    @property
    def server(self) -> str:
        """The Server's name."""
        return self.host.name


class ModelMatch(NamedTuple):
    """A Model, and every Server that could come into question."""

    need: ModelNeed
    hosts: tuple[ServerHost, ...]
    """The Servers among the objects that can be in its namespace, in their order."""
    names: frozenset[str]
    """What they are called."""
    possible: tuple[ServerHost, ...]
    """Those of them that are not out of the question."""

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
        """All Servers among the objects that can be in its namespace, with every reason against each."""
        return tuple(check_host(self.need, host) for host in self.hosts)

    @property
    def fits(self) -> tuple[Candidate, ...]:
        """The Servers among the objects that could have it, in part at least."""
        perhaps = (check_host(self.need, host) for host in self.possible)
        return tuple(one for one in perhaps if one.fit is not Fit.UNKNOWN)

    @property
    def has_any(self) -> bool:
        """Whether any of them surely could have it."""
        return any(check_host(self.need, host).fit is not Fit.UNKNOWN for host in self.possible)

    @property
    def stock(self) -> tuple[Candidate, ...]:
        """The Servers that a stock install would have there beside those of the objects."""
        return tuple(check_host(self.need, host) for host in stock_hosts() if host.name not in self.names)


class ServerLoad(NamedTuple):
    """What the Models that can go nowhere else need of a Server, and what all its replicas offer together."""

    host: ServerHost
    models: tuple[Node, ...]
    needed: int
    offered: int


def match_models(objects: Sequence[Node]) -> tuple[ModelMatch, ...]:
    """The Models of the objects, in their order; nothing raises, whatever the objects are."""
    known = server_hosts(objects)
    beside: dict[str, tuple[tuple[ServerHost, ...], frozenset[str]]] = {}
    # Many a Model needs what a thousand others need.
    possible: dict[object, tuple[ServerHost, ...]] = {}
    found: list[ModelMatch] = []
    for model in of_kind(objects, "Model"):
        need, where = model_need(model), namespace_of(model)
        if where not in beside:
            near_by = tuple(host for host in known if share_namespace(host.server, model))
            beside[where] = near_by, frozenset(host.name for host in near_by)
        key = (where, frozenset(need.capabilities), need[1], *need[3:])
        if key not in possible:
            possible[key] = tuple(host for host in beside[where][0] if check_host(need, host).fit is not Fit.NO)
        found.append(ModelMatch(need, *beside[where], possible[key]))
    return tuple(found)


def server_loads(found: Sequence[ModelMatch]) -> tuple[ServerLoad, ...]:
    """The Servers that at least one Model has to go to, each with all such Models; those of unknown memory left out."""
    models: dict[int, list[ModelNeed]] = {}
    known: dict[int, ServerHost] = {}
    for match in found:
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
    asked, least = (int_at(model, ("spec", key)) for key in ("replicas", "minReplicas"))
    floor = least if least is not None and least > 0 else 0
    # Nothing is asked for only if both say so; a zero alone says nothing.
    replicas = 0 if asked == 0 and least == 0 else floor or 1
    amount = quantity_of(node_at(model, ("spec", "memory")))
    memory = model_bytes(amount) if amount is not None else None
    return ModelNeed(
        model,
        text(model, ("spec", "server")),
        _requirements(model),
        memory if memory and memory > 0 else None,
        asked if asked is not None and asked > 0 else replicas,
        floor,
    )


def _requirements(model: Node) -> Mapping[str, Node]:
    kind, explainer = node_at(model, ("spec", "modelType")), node_at(model, ("spec", "explainer"))
    asked = [*strings_at(model, ("spec", "requirements"))]
    if kind is not None and isinstance(kind.value, str):
        asked.append(kind)
    needs = {str(item.value).strip(): item for item in asked}
    return needs if explainer is None else {**needs, _EXPLAINER: needs.get(_EXPLAINER, explainer)}


def check_host(need: ModelNeed, host: ServerHost) -> Candidate:
    """Everything that speaks against the Model on the Server."""
    reasons = tuple(chain.from_iterable(check(need, host) for check in HOST_CHECKS))
    return Candidate(host, _fit(need, host, reasons) if reasons else Fit.YES, reasons)


def _fit(need: ModelNeed, host: ServerHost, reasons: Sequence[HostRejection]) -> Fit:
    if any(reason.is_sure and reason.cause is not Cause.REPLICAS for reason in reasons):
        return Fit.NO
    if any(reason.cause is Cause.REPLICAS for reason in reasons) and not 0 < need.least <= host.replicas:
        return Fit.NO
    return Fit.PARTLY if all(reason.is_sure for reason in reasons) else Fit.UNKNOWN


# What the scheduler asks of a Server


def _pin(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    if need.pin and need.pin != host.name:
        yield HostRejection(Cause.PIN, need, host, node_at(need.model, ("spec", "server")))


def _stopped(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    if not host.replicas:
        yield HostRejection(Cause.STOPPED, need, host, None, node_at(host.server, ("spec", "replicas")))


def _capabilities(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    for name, asked in need.capabilities.items():
        if name not in host.capabilities:
            yield HostRejection(Cause.CAPABILITY, need, host, asked, None, name, is_sure=host.is_complete)


def _memory(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    memory = host.memory
    # Within what is overcommitted the scheduler agrees, and then no eviction makes enough room.
    if need.memory is not None and memory is not None and need.memory > memory.amount:
        asked, is_sure = node_at(need.model, ("spec", "memory")), memory.request is None or not is_stock(memory.request)
        yield HostRejection(Cause.MEMORY, need, host, asked, memory.request, is_sure=is_sure)


def _replicas(need: ModelNeed, host: ServerHost) -> Iterator[HostRejection]:
    if host.replicas and need.replicas > host.replicas:
        asked = node_at(need.model, ("spec", "replicas")) or node_at(need.model, ("spec", "minReplicas"))
        yield HostRejection(Cause.REPLICAS, need, host, asked, node_at(host.server, ("spec", "replicas")))


HOST_CHECKS: tuple[Callable[[ModelNeed, ServerHost], Iterator[HostRejection]], ...] = (
    _pin,
    _stopped,
    _capabilities,
    _memory,
    _replicas,
)


# Words


def _capability_words(reason: HostRejection) -> str:
    told, nearest_capability = f"it lacks the capability {quote(reason.capability)}", reason.nearest_capability
    near_to = f"; the nearest that it has is {quote(nearest_capability)}" if nearest_capability else ""
    perhaps = "" if reason.is_sure else ", unless its ServerConfig, which is not at hand, has it"
    return told + near_to + perhaps


def _memory_words(reason: HostRejection) -> str:
    memory = reason.host.memory
    assert memory is not None
    needs, has = (quote(node.value) if node is not None else "none" for node in (reason.model_node, memory.request))
    told = f"the Model needs {needs}, and each replica has {has}"
    stock = "" if reason.is_sure else ", as in a stock install"
    late = f"; the {memory.overcommit} % on top are no room for one model"
    return told + stock + (late if (reason.need.memory or 0) <= memory.advertised else "")


def _replica_words(reason: HostRejection) -> str:
    has = f"{reason.host.replicas} replica{'s' if reason.host.replicas > 1 else ''}"
    return f"the Model wants {reason.need.replicas} replicas, each on one of its own, and it has {has}"


_WORDS: Mapping[Cause, Callable[[HostRejection], str]] = {
    Cause.PIN: lambda reason: f"the Model is pinned to Server {quote(reason.need.pin)}",
    Cause.STOPPED: lambda _: "it has no replicas",
    Cause.CAPABILITY: _capability_words,
    Cause.MEMORY: _memory_words,
    Cause.REPLICAS: _replica_words,
}
