"""Documents as people write them, in canonical form: runs, profiles and the platform."""

from __future__ import annotations

from collections.abc import Mapping

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.source import Source


class Document(NamedTuple):
    """One document of a source, as it was written."""

    source: Source
    root: Node


class Run(NamedTuple):
    """A run in canonical spelling and shape, whatever form it was written in."""

    source: Source
    name: Node
    project: Node
    action: Node
    profile: Node | None
    facts: Mapping[str, Node]
    """What else its form tells of it: `id`, `user`, `function`, `runtime`, for names and labels; its `namespace`."""
    fields: Node


class Rule(NamedTuple):
    """A constraint of the admin's on one field of the merged spec."""

    path: KeyPath
    constraint: Node
    counts: bool
    """Whether the field is a number or a quantity, so that `1Gi` is `1024Mi`."""


class Ban(NamedTuple):
    """A field that a run may not say."""

    path: KeyPath
    written: Node


class Profile(NamedTuple):
    """A profile in canonical spelling and shape, with all that its parents bring."""

    source: Source
    id: Node
    about: Mapping[str, Node]
    """Its `name` and `description`, for people."""
    parents: tuple[Node, ...]
    target: Node | None
    """The name of the family of templates; None for the usual one."""
    gpu_key: Node | None
    fields: Node
    defaults: Node
    rules: tuple[Rule, ...]
    bans: tuple[Ban, ...]
    bases: Mapping[str, Node]
    """Base documents by kind."""


class Platform(NamedTuple):
    """The platform: its settings complete (what its file does not say has the built-in value), and what it demands."""

    settings: Node
    defaults: Node
    enforced: Node
    rules: tuple[Rule, ...] = ()
    bans: tuple[Ban, ...] = ()
