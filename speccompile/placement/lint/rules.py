"""Run the tables of lint rules over a scene of objects and pools."""

from __future__ import annotations

from collections.abc import Iterable

from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import in_order
from speccompile.placement.lint.affinity import AFFINITY
from speccompile.placement.lint.amounts import AMOUNTS
from speccompile.placement.lint.pools import POOLS
from speccompile.placement.lint.scene import InObject, Rule, Scene
from speccompile.placement.lint.seldon_fields import FIELDS
from speccompile.placement.lint.seldon_models import MODELS
from speccompile.placement.lint.seldon_runtime import RUNTIME
from speccompile.placement.lint.seldon_servers import SERVERS
from speccompile.placement.lint.tolerations import TOLERATIONS
from speccompile.placement.lint.volumes import VOLUMES

KUBERNETES: tuple[Rule, ...] = (*TOLERATIONS, *AFFINITY, *POOLS, *AMOUNTS, *VOLUMES)
"""Rules about pods and pools, whatever kind of object creates the pods."""
SELDON: tuple[Rule, ...] = (*FIELDS, *SERVERS, *MODELS, *RUNTIME)
"""Rules about Seldon's Servers and Models."""
RULES: tuple[Rule, ...] = (*KUBERNETES, *SELDON)

_NAMED = 3
"""Objects that one finding names."""


def lint(scene: Scene) -> tuple[Diagnostic, ...]:
    """All that any rule finds, in source order; what is found alike in many objects is told once."""
    return in_order(_told_once(found for rule in RULES for found in rule(scene)))


def _told_once(findings: Iterable[Diagnostic]) -> Iterable[Diagnostic]:
    alike: dict[Diagnostic, list[InObject]] = {}
    for finding in findings:
        others = tuple(note for note in finding.notes if not isinstance(note, InObject))
        about = [note for note in finding.notes if isinstance(note, InObject)]
        alike.setdefault(finding._replace(notes=others), []).extend(about)
    for finding, about in alike.items():
        names = [*dict.fromkeys(note.message for note in about)]
        shown = [InObject(name) for name in names[:_NAMED]]
        rest = len(names) - len(shown)
        more = [InObject(f"and in {rest} more" if rest > 1 else "and in one more")] if rest else []
        yield finding._replace(notes=(*finding.notes, *shown, *more))
