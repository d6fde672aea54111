"""Seldon's part of a scene, worked out once for all rules."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.pod_questions import gpu_asked
from speccompile.placement.lint.reachable_pools import reaches
from speccompile.placement.lint.scene import Scene, Told, finding_at
from speccompile.placement.seldon.model_match import Match, matches
from speccompile.placement.seldon.objects import of_kind, said
from speccompile.placement.seldon.server_pods import Host, hosts, is_stock


class Seen(NamedTuple):
    """Servers and Models of a scene, as Seldon sees them."""

    hosts: tuple[Host, ...]
    matches: tuple[Match, ...]


@by_identity(most=1)
def seen(scene: Scene) -> Seen:
    return Seen(hosts(scene.objects), matches(scene.objects))


def own(scene: Scene, kind: str) -> Iterator[Node]:
    """The objects of one of Seldon's kinds that findings may be about."""
    return (tree for tree in of_kind(scene.objects, kind) if id(tree) in scene.ours)


def own_hosts(scene: Scene) -> Iterator[Host]:
    return (host for host in seen(scene).hosts if id(host.server) in scene.ours)


def own_matches(scene: Scene) -> Iterator[Match]:
    return (match for match in seen(scene).matches if id(match.model) in scene.ours)


def is_at_hand(host: Host) -> bool:
    """Whether the Server's ServerConfig is one of the objects, so that all of it is known."""
    return host.config is not None and not is_stock(host.config)


def scarcity(scene: Scene, host: Host) -> str:
    """What the Server's pods use that is not for everybody, GPUs or a pool declared exclusive; empty if nothing."""
    if gpu_asked(host.pod) is not None:
        return "has GPUs"
    open_to = [reach.pool for reach in reaches(host.pod, scene.pools) if reach.is_open]
    # One that may run elsewhere too is told of as a pod that leaks.
    is_kept = bool(open_to) and all(pool.exclusive for pool in open_to)
    return f"runs in the exclusive pool {quote(open_to[0].name)}" if is_kept else ""


def error(code: str, message: str, cure: str) -> Told:
    return Told(code, message, cure, Severity.ERROR)


def warning(code: str, message: str, cure: str) -> Told:
    return Told(code, message, cure, Severity.WARNING)


def notice(code: str, message: str, cure: str) -> Told:
    return Told(code, message, cure, Severity.NOTICE)


def at(scene: Scene, told: Told, owner: Node, *paths: KeyPath, notes: tuple[Note, ...] = ()) -> Diagnostic:
    """A finding at the first of the paths that leads somewhere in the object, else at the object as a whole."""
    nodes = (said(owner, path) for path in paths)
    return finding_at(scene, told, owner, next((node for node in nodes if node is not None), owner), *notes)
