"""The workload and the manifests that a target produces from a merged spec."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from speccompile.compiler.bundled_library import bundled_library
from speccompile.compiler.documents.targets import DEFAULT_TARGET, targets_of
from speccompile.model.documents import Profile, Runtime
from speccompile.model.identity_cache import by_identity
from speccompile.model.node import Node
from speccompile.model.spec import ManifestRule, Merged, Step, Target, WorkloadRule
from speccompile.schema.library import Library


def target_of(profile: Profile | None, library: Library, runtime: Runtime | None = None) -> Target:
    """The target of runs under the profile, or else of the runtime."""
    name = (profile.target if profile else None) or (runtime.target if runtime else None)
    targets = targets_of(library)
    # An unknown target is an error of the profile, and nothing is compiled under it.
    target = targets.get(str(name.value)) if name else None
    # The same is true of a custom default target that has errors.
    return target or targets.get(DEFAULT_TARGET) or targets_of(bundled_library())[DEFAULT_TARGET]


@by_identity(64)
def applicable_fields(target: Target, library: Library) -> frozenset[str]:
    """The fields that apply to the target: its custom fields, and those common fields that it uses."""
    return frozenset(
        name
        for name, schema in library.fields.items()
        if (target.name in schema["x-targets"] if "x-targets" in schema else not target.fields or name in target.fields)
    )


@by_identity(16)
def actions_of(target: Target) -> frozenset[str]:
    """The actions that the target supports."""
    return frozenset(action for workload in target.workloads for action in workload.actions)


def workload_in(merged: Merged) -> WorkloadRule | None:
    """The first workload of the target for the run's action whose conditions are satisfied."""
    action = str(merged.run.action.value)
    return next((one for one in merged.target.workloads if action in one.actions and one.applies(merged)), None)


def workload_of(merged: Merged) -> WorkloadRule:
    """The workload of an approved run."""
    assert merged.workload is not None
    return merged.workload


def steps_of(merged: Merged) -> Iterator[Step]:
    """The manifests to render."""
    return (Step(rule.template, item) for rule in _manifest_rules(merged) for item in rule.items(merged))


def kinds_of(merged: Merged) -> frozenset[str]:
    """The kinds of the run's manifests."""
    return frozenset(rule.kind for rule in _manifest_rules(merged))


def bases_of(merged: Merged) -> Mapping[str, Node]:
    """The base documents of the profile that apply to the run's manifests, by kind."""
    if merged.profile is None or not merged.profile.bases:
        return {}
    used = {(rule.kind, rule.api_version) for rule in _manifest_rules(merged) if rule.api_version}
    # The base of a Job also applies to the Jobs of a CronJob.
    if any(kind == "CronJob" for kind, _ in used):
        used |= {("Job", version) for version in merged.target.bases.get("Job", ())}
    return {
        kind: base for kind, base in merged.profile.bases.items() if (kind, base.fields["apiVersion"].value) in used
    }


def _manifest_rules(merged: Merged) -> Iterator[ManifestRule]:
    workload = workload_of(merged).name
    for rule in merged.target.manifests:
        if (rule.workloads is None or workload in rule.workloads) and rule.applies(merged):
            yield rule


def container_of(merged: Merged) -> Node | None:
    """The name of the main container, if a field of the target sets it."""
    return next((node for path in merged.target.container if (node := merged.spec.at(path))), None)
