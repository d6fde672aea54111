"""Seldon's part of a scene, worked out once for all rules."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintContext, LintWording, finding_at
from speccompile.placement.lint.pod_facts import gpu_request
from speccompile.placement.lint.reachable_pools import match_pools
from speccompile.placement.seldon.model_match import ModelMatch, match_models
from speccompile.placement.seldon.objects import node_at, of_kind
from speccompile.placement.seldon.server_pods import ServerHost, is_stock, server_hosts


class SeldonState(NamedTuple):
    """Servers and Models of a scene, as Seldon sees them."""

    hosts: tuple[ServerHost, ...]
    matches: tuple[ModelMatch, ...]


@by_identity(most=1)
def seldon_state(context: LintContext) -> SeldonState:
    return SeldonState(server_hosts(context.objects), match_models(context.objects))


def linted_of_kind(context: LintContext, kind: str) -> Iterator[Node]:
    """The objects of one of Seldon's kinds that findings may be about."""
    return (tree for tree in of_kind(context.objects, kind) if id(tree) in context.linted)


def linted_hosts(context: LintContext) -> Iterator[ServerHost]:
    return (host for host in seldon_state(context).hosts if id(host.server) in context.linted)


def linted_matches(context: LintContext) -> Iterator[ModelMatch]:
    return (match for match in seldon_state(context).matches if id(match.model) in context.linted)


def has_known_config(host: ServerHost) -> bool:
    """Whether the Server's ServerConfig is one of the objects, so that all of it is known."""
    return host.config is not None and not is_stock(host.config)


def scarcity(context: LintContext, host: ServerHost) -> str:
    """What the Server's pods use that is not for everybody, GPUs or a pool declared exclusive; empty if nothing."""
    if gpu_request(host.pod) is not None:
        return "has GPUs"
    open_to = [reach.pool for reach in match_pools(host.pod, context.pools) if reach.is_usable]
    # One that may run elsewhere too is told of as a pod that leaks.
    is_kept = bool(open_to) and all(pool.exclusive for pool in open_to)
    return f"runs in the exclusive pool {quote(open_to[0].name)}" if is_kept else ""


def error(code: str, message: str, fix: str) -> LintWording:
    return LintWording(code, message, fix, Severity.ERROR)


def warning(code: str, message: str, fix: str) -> LintWording:
    return LintWording(code, message, fix, Severity.WARNING)


def notice(code: str, message: str, fix: str) -> LintWording:
    return LintWording(code, message, fix, Severity.NOTICE)


def at(
    context: LintContext, told: LintWording, owner: Node, *paths: KeyPath, notes: tuple[Note, ...] = ()
) -> Diagnostic:
    """A finding at the first of the paths that leads somewhere in the object, else at the object as a whole."""
    nodes = (node_at(owner, path) for path in paths)
    return finding_at(context, told, owner, next((node for node in nodes if node is not None), owner), *notes)
