"""Tables of lint rules."""

from __future__ import annotations

from collections.abc import Iterable

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import in_order
from speccompile.placement.lint.affinity import AFFINITY_RULES
from speccompile.placement.lint.amounts import AMOUNT_RULES
from speccompile.placement.lint.context import LintRule, ObjectNote, PlacementContext
from speccompile.placement.lint.pools import POOL_RULES
from speccompile.placement.lint.seldon_fields import SELDON_FIELD_RULES
from speccompile.placement.lint.seldon_models import SELDON_MODEL_RULES
from speccompile.placement.lint.seldon_runtime import SELDON_RUNTIME_RULES
from speccompile.placement.lint.seldon_servers import SELDON_SERVER_RULES
from speccompile.placement.lint.tolerations import TOLERATION_RULES
from speccompile.placement.lint.unknown_pods import UNKNOWN_POD_RULES
from speccompile.placement.lint.volumes import VOLUME_LINT_RULES

KUBERNETES_RULES: tuple[LintRule, ...] = (
    *TOLERATION_RULES,
    *AFFINITY_RULES,
    *POOL_RULES,
    *AMOUNT_RULES,
    *VOLUME_LINT_RULES,
    *UNKNOWN_POD_RULES,
)
"""Rules about pods and pools, for all kinds of objects that create pods."""
SELDON_RULES: tuple[LintRule, ...] = (
    *SELDON_FIELD_RULES,
    *SELDON_SERVER_RULES,
    *SELDON_MODEL_RULES,
    *SELDON_RUNTIME_RULES,
)
"""Rules about Seldon objects."""
LINT_RULES: tuple[LintRule, ...] = (*KUBERNETES_RULES, *SELDON_RULES)

_MAX_NAMED = 3
"""Objects that one finding names at most."""


def lint_placement(context: PlacementContext) -> tuple[Diagnostic, ...]:
    """Run all rules; findings come in source order, and one that applies to many objects is reported once."""
    return in_order(_merge_alike(finding for rule in LINT_RULES for finding in rule(context)))


def _merge_alike(findings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    grouped: dict[Diagnostic, list[ObjectNote]] = {}
    for finding in findings:
        others = tuple(note for note in finding.notes if not isinstance(note, ObjectNote))
        objects = [note for note in finding.notes if isinstance(note, ObjectNote)]
        grouped.setdefault(finding._replace(notes=others), []).extend(objects)
    for finding, objects in grouped.items():
        names = [*dict.fromkeys(note.message for note in objects)]
        named_objects = [ObjectNote(name) for name in names[:_MAX_NAMED]]
        rest = len(names) - len(named_objects)
        more = [ObjectNote(f"and in {rest} more" if rest > 1 else "and in 1 more")] if rest else []
        yield finding._replace(notes=(*finding.notes, *named_objects, *more))
