"""The servers that could load each model, and why the others could not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from speccompile.model.diagnostic import quote
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.object_identity import kind_of, name_of, namespace_of, share_namespace
from speccompile.placement.seldon.model_match import Candidate, Fit, ModelMatch, check_host, match_models
from speccompile.placement.seldon.server_pods import server_hosts

_NAMESPACE = ("metadata", "namespace")


class HostObjection(NamedTuple):
    """Why a server cannot load a model, or only some of its replicas."""

    text: str
    model_node: Node | None
    """The value of the model."""
    server_node: Node | None
    """The value of the server."""


class HostFit(NamedTuple):
    """Whether a server can load a model."""

    name: str
    fit: str
    """`yes`, `partly`, `unknown` or `no`."""
    objections: tuple[HostObjection, ...]
    is_stock: bool = False
    """Whether it belongs to a stock installation and is not among the objects."""


class ModelHosting(NamedTuple):
    """A model, and the servers that were considered for it."""

    model: Node
    hosts: tuple[HostFit, ...]
    """The servers among the objects; if none of them can load it, also stock servers that can."""

    @property
    def title(self) -> str:
        return f"{kind_of(self.model)} {name_of(self.model)}"

    @property
    def namespace(self) -> str:
        return namespace_of(self.model)

    @property
    def possible(self) -> tuple[HostFit, ...]:
        """The servers that may load it."""
        return tuple(host for host in self.hosts if host.fit != Fit.NO)

    @property
    def is_possible(self) -> bool:
        """Whether any server may load it, even one that is not among the objects."""
        return bool(self.possible)

    @property
    def is_unknown(self) -> bool:
        """Whether it is unknown for every server that may load it."""
        return self.is_possible and all(host.fit == Fit.UNKNOWN for host in self.possible)

    @property
    def needs_stock(self) -> bool:
        """Whether only a stock server may load it, which the cluster may not have."""
        return self.is_possible and all(host.is_stock for host in self.possible)


def host_models(objects: Sequence[Node], existing: Sequence[Node] = ()) -> tuple[ModelHosting, ...]:
    """Find servers for the models of `objects`, among these and the `existing` objects."""
    everything = (*objects, *existing)
    wanted = {id(tree) for tree in objects}
    others = _OtherNamespaces(everything)
    return tuple(_hosting(match, others) for match in match_models(everything) if id(match.model) in wanted)


class _OtherNamespaces:
    """Servers of other namespaces, with a cache: most models have one of a few sets of needs."""

    def __init__(self, objects: Sequence[Node]) -> None:
        self.servers = server_hosts(objects)
        self._cache: dict[object, tuple[Candidate, ...]] = {}

    def candidates(self, match: ModelMatch) -> tuple[Candidate, ...]:
        """The servers that could load the model if they were in its namespace."""
        need = match.need
        key = (match.namespace, frozenset(need.capabilities), need.pin, need.memory, need.replicas, need.least)
        if key not in self._cache:
            elsewhere = (host for host in self.servers if not share_namespace(host.server, match.model))
            self._cache[key] = tuple(one for host in elsewhere if (one := check_host(need, host)).fit is not Fit.NO)
        return self._cache[key]


def _hosting(match: ModelMatch, others: _OtherNamespaces) -> ModelHosting:
    near = tuple(_host(one) for one in match.candidates)
    if any(host.fit != Fit.NO for host in near):
        return ModelHosting(match.model, near)
    stock = (_host(one)._replace(is_stock=True) for one in match.stock if one.fit is not Fit.NO)
    return ModelHosting(match.model, (*near, *_elsewhere(match, others), *stock))


def _host(one: Candidate) -> HostFit:
    objections = (HostObjection(reason.text, reason.model_node, reason.server_node) for reason in one.reasons)
    return HostFit(one.server, str(one.fit), tuple(objections))


def _elsewhere(match: ModelMatch, others: _OtherNamespaces) -> Iterator[HostFit]:
    for one in others.candidates(match):
        server = one.host.server
        text = f"it is in namespace {quote(namespace_of(server))}, the Model in {quote(match.namespace)}"
        objection = HostObjection(text, match.model.at(_NAMESPACE), server.at(_NAMESPACE))
        yield HostFit(one.server, str(Fit.NO), (objection,))
