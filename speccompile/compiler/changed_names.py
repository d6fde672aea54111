"""Warn about objects that cannot have the name of their run."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from speccompile.compiler.compiled import CreatedObject
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.node import Node
from speccompile.model.object_names import LABEL, is_hashed, object_name

_NEARLY_FULL = 48
"""Characters of a hashed name that was cut: a CronJob's has at most 52."""


def changed_names(name: Node, objects: Sequence[CreatedObject]) -> Iterator[Diagnostic]:
    """The warning about a run whose objects cannot have its name."""
    # One slice each: nearly all runs end here.
    changed = [created for created in objects if created.name[-12:-10] == "-x" and is_hashed(created.name)]
    if changed:
        # The workload before its claims, which have longer names.
        first, *others = sorted(changed, key=lambda created: (created.place != name.span, len(created.name)))
        reason, advice = _reason(str(name.value), first)
        yield Diagnostic(
            code="run/changed-name",
            message=f"{reason}, so the {first.kind} is named {quote(first.name, LABEL)}",
            span=name.span,
            path=("name",),
            severity=Severity.WARNING,
            notes=tuple(Note(f"the {other.kind} is named {quote(other.name, LABEL)}") for other in others),
            help=advice,
        )


def _reason(name: str, created: CreatedObject) -> tuple[str, str]:
    """Why the object has another name, and how to avoid that."""
    if len(name) > LABEL:
        return f"the name has {len(name)} characters, and a Kubernetes name at most {LABEL}", "choose a shorter name"
    if is_hashed(name):
        return "names that end in `-x` and ten hexadecimal digits are reserved", "choose another ending"
    if object_name(name) != name:
        usable = re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")
        advice = f"name the run `{usable}`" if usable and object_name(usable) == usable else None
        return f"{quote(name)} is not a Kubernetes name", advice or "use lower-case letters, digits and `-`"
    if not name[0].isalpha() and created.name.startswith("s-"):
        return f"{quote(name)} does not begin with a letter", "begin the run's name with a letter"
    if len(created.name) > _NEARLY_FULL:
        return f"the name is too long for a {created.kind}", "choose a shorter name"
    return f"another run could get a {created.kind} of the same name", "use no `-` in the names of run and project"
