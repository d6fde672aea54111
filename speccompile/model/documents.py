"""Runs, profiles and platforms in canonical form."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Override
from speccompile.model.source import Source


class Document(NamedTuple):
    """One document of a source, as written."""

    source: Source
    root: Node


class Runtime(NamedTuple):
    """How the platform compiles exported runs of one runtime."""

    target: Node
    defaults: Node
    enforced: Node


class Run(NamedTuple):
    """A run in canonical spelling and shape, whatever form it was written in."""

    source: Source
    name: Node
    project: Node
    action: Node
    profile: Node | None
    facts: Mapping[str, Node]
    """Values of its envelope that are not fields: `namespace`, `id`, `user`, `function` and `runtime`."""
    fields: Node
    """Its fields, with those of the function and the task that it names."""
    runtime: Runtime | None = None
    """The runtime of an exported run."""
    replaced: tuple[Override, ...] = ()
    """Lists and maps of its task, or its own, that a stronger one of run and function replaced as a whole."""


class Rule(NamedTuple):
    """An admin's constraint on one field of the merged spec."""

    path: KeyPath
    constraint: Node
    counts: bool
    """Whether the field is a number or a quantity, so that `1Gi` equals `1024Mi`."""


class Ban(NamedTuple):
    """A field that runs must not set."""

    path: KeyPath
    written: Node


class Profile(NamedTuple):
    """A profile in canonical spelling and shape, merged with its parents."""

    source: Source
    id: Node
    about: Mapping[str, Node]
    """Its `name` and `description`."""
    parents: tuple[Node, ...]
    target: Node | None
    """None for the default target."""
    gpu_key: Node | None
    fields: Node
    defaults: Node
    rules: tuple[Rule, ...]
    bans: tuple[Ban, ...]
    bases: Mapping[str, Node]
    """Base documents by kind."""
    is_trusted: bool = True
    """Whether it is the admin's; the platform restricts other profiles as it does runs."""


class Platform(NamedTuple):
    """The platform: all settings, with built-in values for those that the file does not set, and its constraints."""

    settings: Node
    defaults: Node
    enforced: Node
    rules: tuple[Rule, ...] = ()
    bans: tuple[Ban, ...] = ()
    runtimes: Mapping[str, Runtime] = MappingProxyType({})
    """The runtimes of exported runs that are compiled, by name."""
