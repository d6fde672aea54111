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
    """Why a server cannot have a model, or only a part of it."""

    text: str
    asked: Node | None
    """What the model says about it."""
    found: Node | None
    """What the server says about it."""


class HostFit(NamedTuple):
    """A server that could come into question."""

    name: str
    fit: str
    """`yes`, `partly`, `unknown` or `no`."""
    objections: tuple[HostObjection, ...]
    is_stock: bool = False
    """Whether it is none of the objects, but one that a stock install has."""


class ModelHosting(NamedTuple):
    """A model, and every server near it."""

    model: Node
    hosts: tuple[HostFit, ...]
    """Those among the objects, and, where none of these could have it, stock ones that could."""

    @property
    def title(self) -> str:
        return f"{kind_of(self.model)} {name_of(self.model)}"

    @property
    def namespace(self) -> str:
        return namespace_of(self.model)

    @property
    def possible(self) -> tuple[HostFit, ...]:
        """The servers that are not out of the question."""
        return tuple(host for host in self.hosts if host.fit != Fit.NO)

    @property
    def is_possible(self) -> bool:
        """Whether any server could have it, even one that is not among the objects."""
        return bool(self.possible)

    @property
    def needs_stock(self) -> bool:
        """Whether only a stock server could have it, which the cluster may or may not have."""
        return self.is_possible and all(host.is_stock for host in self.possible)


def host_models(objects: Sequence[Node], beside: Sequence[Node] = ()) -> tuple[ModelHosting, ...]:
    """The models of the objects, in their order, with servers from beside them too; nothing raises."""
    everything = (*objects, *beside)
    asked = {id(tree) for tree in objects}
    afar = _Afar(everything)
    return tuple(_hosting(match, afar) for match in match_models(everything) if id(match.model) in asked)


class _Afar:
    """The servers of all namespaces, asked about many models of which most need the same."""

    def __init__(self, objects: Sequence[Node]) -> None:
        self.servers = server_hosts(objects)
        self._known: dict[object, tuple[Candidate, ...]] = {}

    def able(self, match: ModelMatch) -> tuple[Candidate, ...]:
        """Those that could have the model, were they in its namespace."""
        need = match.need
        key = (match.namespace, frozenset(need.capabilities), need.pin, need.memory, need.replicas, need.least)
        if key not in self._known:
            apart = (host for host in self.servers if not share_namespace(host.server, match.model))
            self._known[key] = tuple(one for host in apart if (one := check_host(need, host)).fit is not Fit.NO)
        return self._known[key]


def _hosting(match: ModelMatch, afar: _Afar) -> ModelHosting:
    near = tuple(_host(one) for one in match.candidates)
    if any(host.fit != Fit.NO for host in near):
        return ModelHosting(match.model, near)
    stock = (_host(one)._replace(is_stock=True) for one in match.stock if one.fit is not Fit.NO)
    return ModelHosting(match.model, (*near, *_elsewhere(match, afar), *stock))


def _host(one: Candidate) -> HostFit:
    objections = (HostObjection(reason.text, reason.asked, reason.found) for reason in one.reasons)
    return HostFit(one.server, str(one.fit), tuple(objections))


def _elsewhere(match: ModelMatch, afar: _Afar) -> Iterator[HostFit]:
    for one in afar.able(match):
        server = one.host.server
        text = f"it is in namespace {quote(namespace_of(server))}, and the Model in {quote(match.namespace)}"
        objection = HostObjection(text, match.model.at(_NAMESPACE), server.at(_NAMESPACE))
        yield HostFit(one.server, str(Fit.NO), (objection,))
