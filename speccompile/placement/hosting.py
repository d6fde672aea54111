"""Takes objects, gives for each model among them which servers could load it, and why the others could not."""

from __future__ import annotations

from collections.abc import Sequence

from speccompile.model import Node
from speccompile.placement.objects import kind_of, name_of, namespace_of
from speccompile.placement.seldon_match import Fit, Match, matches
from speccompile.records import NamedTuple


class Objection(NamedTuple):
    """Why a server cannot have a model, or only a part of it."""

    text: str
    asked: Node | None
    """What the model says about it."""
    found: Node | None
    """What the server says about it."""


class Host(NamedTuple):
    """A server that could come into question."""

    name: str
    fit: str
    """`yes`, `partly`, `unknown` or `no`."""
    objections: tuple[Objection, ...]


class Hosting(NamedTuple):
    """A model, and every server near it."""

    model: Node
    hosts: tuple[Host, ...]
    is_possible: bool
    """Whether any server could have it, even one that is not among the objects."""

    @property
    def title(self) -> str:
        return f"{kind_of(self.model)} {name_of(self.model)}"

    @property
    def namespace(self) -> str:
        return namespace_of(self.model)


def hostings(objects: Sequence[Node]) -> tuple[Hosting, ...]:
    """The models in the order of the objects; nothing raises, whatever these are."""
    return tuple(map(_hosting, matches(objects)))


def _hosting(match: Match) -> Hosting:
    hosts = tuple(
        Host(
            one.server,
            str(one.fit),
            tuple(Objection(reason.text, reason.asked, reason.found) for reason in one.reasons),
        )
        for one in match.candidates
    )
    return Hosting(match.model, hosts, any(one.fit is not Fit.NO for one in (*match.candidates, *match.stock)))
