"""The merged spec of a run, the target that turns it into manifests, and the plan for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from speccompile.model.documents import Platform, Profile, Run
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Override
from speccompile.model.source import USER_LAYERS, Layer, Span


class WorkloadRule(NamedTuple):
    """A workload that runs can become under a target."""

    name: str
    actions: frozenset[str]
    name_pattern: str
    """The platform's name pattern for it."""
    max_name_length: int | None
    """None for the limit of Kubernetes."""
    letter_first: bool
    """Whether its name must start with a letter."""
    required: tuple[KeyPath, ...]
    """Fields that the run or its profile must set."""
    applies: Callable[[Merged], bool]


class ManifestRule(NamedTuple):
    """A manifest of a target: its template, and the items that it is rendered for."""

    kind: str
    api_version: str | None
    """The version of its base documents; None if it has none."""
    template: str
    workloads: frozenset[str] | None
    """Names of the workloads that it belongs to; None for all."""
    applies: Callable[[Merged], bool]
    items: Callable[[Merged], Iterable[Node | None]]
    """A manifest that is rendered once has the single item None."""


class RejectRule(NamedTuple):
    """A combination of values that a target does not support."""

    workloads: frozenset[str] | None
    matches: Callable[[Merged], Iterator[tuple[Node, Node | None]]]
    """The values at fault in a spec, each with a second value involved, if any."""
    message: str
    help: str
    span: Span | None
    """Where a custom target defines it; None for bundled targets."""


class Target(NamedTuple):
    """A set of templates, and the rules for using them."""

    name: str
    fields: frozenset[str] | None
    """The common fields that it uses; None for all."""
    container: tuple[KeyPath, ...]
    """Fields with the name of the main container."""
    entity_field: str | None
    """The field for keys of exported entities that are not common fields; None if it has none."""
    reserved_volumes: frozenset[str]
    """Names and mount paths of volumes that its templates add."""
    images: tuple[KeyPath, ...]
    """Fields with images, which must come from allowed registries."""
    workloads: tuple[WorkloadRule, ...]
    manifests: tuple[ManifestRule, ...]
    """In the order of output."""
    rejects: tuple[RejectRule, ...]
    pods: Mapping[str, KeyPath]
    """The path of the pod in each kind of object."""
    replicas: Mapping[str, KeyPath]
    """The path of the number of pods, for kinds that have one."""
    bases: Mapping[str, frozenset[str]]
    """Kinds of base documents, with their API versions."""


class Merged(NamedTuple):
    """The spec of one run, merged from all layers; nodes keep the values that they overrode."""

    run: Run
    profile: Profile | None
    platform: Platform
    target: Target
    spec: Node
    replaced: tuple[Override, ...] = ()
    """Values of any layer that a stronger one replaced."""
    overrides: tuple[Override, ...] = ()
    """Values of the run that a stronger layer replaced or added to."""
    workload: WorkloadRule | None = None
    """Chosen when the spec is complete; see `approve`."""

    @property
    def user_layers(self) -> tuple[Layer, ...]:
        """The layers that the platform restricts: those of users, and a profile that is not the admin's."""
        return USER_LAYERS if self.profile is None or self.profile.is_trusted else (*USER_LAYERS, Layer.PROFILE)


class Approved(NamedTuple):
    """A spec that satisfies every policy, with derived resources filled in."""

    merged: Merged


class Step(NamedTuple):
    """One manifest to render: its template, and the item that it is rendered for."""

    template: str
    item: Node | None = None


class Plan(NamedTuple):
    """The context of templates, by top-level name, and the manifests to render, in order."""

    context: Mapping[str, Node]
    steps: tuple[Step, ...]
