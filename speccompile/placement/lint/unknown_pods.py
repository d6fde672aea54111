"""Lint rule about objects that no other rule can check, because their pods are unknown."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.model.diagnostic import Diagnostic, Severity, quote
from speccompile.model.node import Node
from speccompile.placement.lint.context import LintRule, ObjectNote, PlacementContext, object_title
from speccompile.placement.object_identity import group_of, kind_of
from speccompile.placement.pod_sets import ObjectKind

UNKNOWN_PODS = "placement/unknown-pods"


def _check_pods_known(context: PlacementContext) -> Iterator[Diagnostic]:
    """Report each kind once, at its first object, because all objects of a kind usually have the same reason."""
    by_kind: dict[ObjectKind, list[Node]] = {}
    for tree in context.unknown:
        if id(tree) in context.linted:
            by_kind.setdefault((group_of(tree), kind_of(tree)), []).append(tree)
    for (_, kind), trees in by_kind.items():
        yield Diagnostic(
            code=UNKNOWN_PODS,
            message=f"the pods of {quote(kind) if kind else 'this object'} are unknown, so they are not checked",
            span=context.linted[id(trees[0])],
            severity=Severity.NOTICE,
            notes=tuple(ObjectNote(f"in {object_title(tree)}") for tree in trees),
            help="check them where they are created; a target can declare them with `pod` in `target.yaml`",
        )


UNKNOWN_POD_RULES: tuple[LintRule, ...] = (_check_pods_known,)
