"""Complete a merged spec and check it against every rule."""

from __future__ import annotations

from collections.abc import Iterator

from speccompile.compiler.admin_rules import broken_bans, broken_rules
from speccompile.compiler.ceilings import above_ceilings
from speccompile.compiler.choose_manifests import workload_in
from speccompile.compiler.container_resources import disk_name, gpu_names
from speccompile.compiler.derive import derive
from speccompile.compiler.policy import LAYER_CHECKS, SPEC_CHECKS, missing_workload
from speccompile.compiler.volume_rules import DECLARED_VOLUME_CHECKS, VOLUME_CHECKS
from speccompile.model.diagnostic import Diagnostic
from speccompile.model.findings import stop_if_any
from speccompile.model.spec import Approved, Merged
from speccompile.schema.library import Library

_IMAGE = ("image",)


def approve(merged: Merged, library: Library) -> tuple[Approved, tuple[Diagnostic, ...]]:
    """Derive what the spec leaves open and check it; raises all violations together, returns the warnings."""
    complete = derive(merged)
    complete = complete._replace(workload=workload_in(complete))
    stop_if_any(tuple(missing_workload(complete)))
    warnings = stop_if_any(
        (
            *(finding for check in SPEC_CHECKS for finding in check(complete)),
            *(finding for volume_check in VOLUME_CHECKS for finding in volume_check(complete, library.volume_types)),
            *(finding for declared_check in DECLARED_VOLUME_CHECKS for finding in declared_check(merged)),
            *(finding for layer_check in LAYER_CHECKS for finding in layer_check(complete.spec, merged.platform)),
            *above_ceilings(merged.spec, complete),
            *_against_admin_rules(merged, complete, library),
        )
    )
    return Approved(complete), warnings


def _against_admin_rules(merged: Merged, complete: Merged, library: Library) -> Iterator[Diagnostic]:
    """Violations of the rules and bans of the profile and the platform."""
    platform, profile = merged.platform, merged.profile
    resources = {"gpu": gpu_names(platform, profile), "disk": (disk_name(platform),)}
    rules = (*platform.rules, *(profile.rules if profile else ()))
    bans = (*platform.bans, *(profile.bans if profile else ()))
    # What is set in place of the image must satisfy the constraints of the image.
    others = [path for path in merged.target.images if path != _IMAGE and merged.spec.at(path)]
    rules += tuple(rule._replace(path=path) for rule in rules if rule.path == _IMAGE for path in others)
    bans += tuple(ban._replace(path=path) for ban in bans if ban.path == _IMAGE for path in others)
    # Both index the spec first, which costs time and most runs do not need.
    if rules:
        specs, here = (merged.spec, complete.spec), merged.run.name
        yield from broken_rules(rules, specs, resources, here, library, users=merged.user_layers)
    if bans:
        yield from broken_bans(bans, merged, resources, library)
