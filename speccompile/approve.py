"""Takes a merged spec, gives it complete and found good by every rule, and the warnings."""

from __future__ import annotations

from speccompile.derive import derive
from speccompile.diagnostics import Diagnostic, stop_if_any
from speccompile.model import Approved, Merged
from speccompile.policy import RULES, RULES_OF_A_LAYER


def approve(merged: Merged) -> tuple[Approved, tuple[Diagnostic, ...]]:
    """The spec with everything derived; raises all violations of the rules together."""
    complete = derive(merged)
    warnings = stop_if_any(
        (
            *(finding for rule in RULES for finding in rule(complete)),
            *(finding for layer_rule in RULES_OF_A_LAYER for finding in layer_rule(complete.spec)),
        )
    )
    return Approved(complete), warnings
