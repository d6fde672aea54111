"""The merged spec of a run, the target that turns it into manifests, and the plan for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccompile.model.documents import Platform, Profile, Run
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Override
from speccompile.model.source import Span


class Workload(NamedTuple):
    """What a run can come to under a target."""

    called: str
    actions: frozenset[str]
    name: str
    """Which of the platform's names it has."""
    longest: int | None
    """The characters that its name may have; None for as many as any."""
    letter: bool
    """Whether its name begins with a letter."""
    needs: tuple[KeyPath, ...]
    """Fields that somebody must say."""
    holds: Callable[[Merged], bool]


class Making(NamedTuple):
    """A kind of manifest that a target makes: its template, and the items to make one from each."""

    kind: str
    template: str
    workloads: frozenset[str] | None
    """Those it belongs to; None for all."""
    holds: Callable[[Merged], bool]
    items: Callable[[Merged], Iterable[Node | None]]
    """A manifest that is made once has the one item None."""


class Refusal(NamedTuple):
    """What cannot be under a target."""

    workloads: frozenset[str] | None
    found: Callable[[Merged], Iterator[tuple[Node, Node | None]]]
    """Where a spec is so, and what else has part in it."""
    message: str
    help: str
    written: Span | None
    """Where an admin says so."""


class Target(NamedTuple):
    """A family of templates, and what is to be known of it."""

    name: str
    fields: frozenset[str] | None
    """Those of the fields of all targets that it uses; None for all."""
    container: tuple[KeyPath, ...]
    """Fields that name the main container."""
    workloads: tuple[Workload, ...]
    makings: tuple[Making, ...]
    """In the order of output."""
    refusals: tuple[Refusal, ...]
    pods: Mapping[str, KeyPath]
    """Where each kind of object has its pod."""
    bases: Mapping[str, str]
    """The kinds that base documents can be of, with their API versions."""


class Merged(NamedTuple):
    """The spec of one run after all layers have spoken; losers hang on the nodes that won."""

    run: Run
    profile: Profile | None
    platform: Platform
    target: Target
    spec: Node
    replaced: tuple[Override, ...] = ()
    """What any layer said and a stronger one replaced."""
    overrides: tuple[Override, ...] = ()
    """What became of the run's own words: replaced, or added to."""
    workload: Workload | None = None
    """What the target makes of it, chosen when the spec is complete; see `approve`."""


class Approved(NamedTuple):
    """A spec that satisfies every policy, with the resources derived that nobody had to write."""

    merged: Merged


class Step(NamedTuple):
    """One manifest to be made: from which template, with which values beside the spec."""

    template: str
    item: Node | None = None


class Plan(NamedTuple):
    """What templates see, by top-level name, and the manifests to be made, in order."""

    context: Mapping[str, Node]
    steps: tuple[Step, ...]
