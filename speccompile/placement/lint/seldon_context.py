"""Seldon objects of a lint context, computed once for all rules."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintWording, PlacementContext, finding_at
from speccompile.placement.lint.pod_facts import gpu_request
from speccompile.placement.lint.reachable_pools import match_pools
from speccompile.placement.seldon.model_match import ModelMatch, match_models
from speccompile.placement.seldon.objects import non_null_at, of_kind
from speccompile.placement.seldon.server_pods import ServerHost, is_stock, server_hosts


class SeldonState(NamedTuple):
    """Servers and Models as Seldon sees them."""

    hosts: tuple[ServerHost, ...]
    matches: tuple[ModelMatch, ...]


@by_identity(most=1)
def seldon_state(context: PlacementContext) -> SeldonState:
    return SeldonState(server_hosts(context.objects), match_models(context.objects))


def linted_of_kind(context: PlacementContext, kind: str) -> Iterator[Node]:
    """The objects of a Seldon kind to lint."""
    return (tree for tree in of_kind(context.objects, kind) if id(tree) in context.linted)


def linted_hosts(context: PlacementContext) -> Iterator[ServerHost]:
    return (host for host in seldon_state(context).hosts if id(host.server) in context.linted)


def linted_matches(context: PlacementContext) -> Iterator[ModelMatch]:
    return (match for match in seldon_state(context).matches if id(match.model) in context.linted)


def has_known_config(host: ServerHost) -> bool:
    """Whether the ServerConfig of the Server is among the objects."""
    return host.config is not None and not is_stock(host.config)


def scarcity(context: PlacementContext, host: ServerHost) -> str:
    """The scarce resource that the pods of a Server use, GPUs or an exclusive pool; empty if none."""
    if gpu_request(host.pod) is not None:
        return "has GPUs"
    usable = [match.pool for match in match_pools(host.pod, context.pools) if match.is_usable]
    # If it can use other pools as well, `placement/leaks-onto-pool` reports it.
    is_exclusive = bool(usable) and all(pool.exclusive for pool in usable)
    return f"runs in the exclusive pool {quote(usable[0].name)}" if is_exclusive else ""


def error(code: str, message: str, fix: str) -> LintWording:
    return LintWording(code, message, fix, Severity.ERROR)


def warning(code: str, message: str, fix: str) -> LintWording:
    return LintWording(code, message, fix, Severity.WARNING)


def notice(code: str, message: str, fix: str) -> LintWording:
    return LintWording(code, message, fix, Severity.NOTICE)


def finding_at_path(
    context: PlacementContext, wording: LintWording, owner: Node, *paths: KeyPath, notes: tuple[Note, ...] = ()
) -> Diagnostic:
    """A finding at the first of the paths that exists in the object, else at the object."""
    nodes = (non_null_at(owner, path) for path in paths)
    return finding_at(context, wording, owner, next((node for node in nodes if node is not None), owner), *notes)
