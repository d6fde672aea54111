"""Checks of the volumes of a merged spec: the tables VOLUME_CHECKS and DECLARED_VOLUME_CHECKS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.choose_manifests import bases_of
from speccompile.compiler.pod_structure import volumes_of
from speccompile.compiler.policy import SpecCheck, store_name, volumes_in
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.node import Node
from speccompile.model.spec import Merged
from speccompile.schema.volume_types import CLAIM, CREATED, EXISTING, SECRET, VolumeType

VolumeTypes: TypeAlias = Mapping[str, VolumeType]
VolumeCheck: TypeAlias = Callable[[Merged, VolumeTypes], Iterator[Diagnostic]]


def _claims_have_one_pod(merged: Merged, types: VolumeTypes) -> Iterator[Diagnostic]:
    pods = next(
        (
            merged.spec.fields[name]
            for name in ("replicas", "parallelism")
            if name in merged.spec.fields and int(str(merged.spec.fields[name].value)) > 1
        ),
        None,
    )
    if pods is None:
        return
    for volume in volumes_in(merged.spec):
        mode = volume.fields["spec"].fields.get("access_mode")
        if mode and _mounts(volume, types) == CREATED and mode.value in ("ReadWriteOnce", "ReadWriteOncePod"):
            name = quote(volume.fields["name"].value)
            yield Diagnostic(
                code="policy/shared-claim",
                message=f"volume {name} is {mode.value}, and {pods.value} pods would share it",
                span=volume.fields["name"].span,
                path=("volumes",),
                notes=(Note("number of pods set here", pods.span),),
                help="use `access_mode: ReadWriteMany`, a volume of type `ephemeral` (one for each pod), or one pod",
            )


def _existing_is_allowed(merged: Merged, types: VolumeTypes) -> Iterator[Diagnostic]:
    """A run may mount existing storage only where the platform allows it."""
    settings = merged.platform.settings.fields
    allowed = bool(settings["volumes"].fields["allow_existing"].value)
    foreign = bool(settings["secrets"].fields["allow_foreign"].value)
    store, ask_admin = store_name(merged), "ask the platform's admin to allow existing volumes"
    for volume in _volumes_of_users(merged):
        kind, spec = volume.fields["volume_type"], volume.fields["spec"].fields
        volume_type, mounted = types[str(kind.value)], _mounts(volume, types)
        name = spec.get(volume_type.object_key) or volume.fields["name"]
        if mounted == SECRET and name.value != store and not foreign:
            yield Diagnostic(
                code="policy/foreign-secret",
                message=f"Secret {quote(name.value)} is not the project's secret store",
                span=name.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=_settings_note(settings["secrets"].fields["allow_foreign"]),
                help="list secrets under `secrets`, or ask the platform's admin to allow foreign secrets",
            )
        elif not allowed and (mounted == EXISTING or (mounted == SECRET and not foreign)):
            instead = "remove `claim_name`" if kind.derived else volume_type.instead
            yield Diagnostic(
                code="policy/existing-volume",
                message=f"existing volumes are not allowed, and this mounts {quote(name.value)}",
                span=name.span if kind.derived else kind.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=_settings_note(settings["volumes"].fields["allow_existing"]),
                help=f"{instead}, or {ask_admin}" if instead else ask_admin,
            )


def _settings_note(setting: Node) -> tuple[Note, ...]:
    """The line of the setting in the platform file, if it is there."""
    return (Note("set here by the platform", setting.span),) if setting.span.line else ()


def _volume_types_are_allowed(merged: Merged) -> Iterator[Diagnostic]:
    allowed = merged.platform.settings.at(("volumes", "allowed_types"))
    if allowed is None:
        return
    names = [item.value for item in allowed.items]
    for volume in _volumes_of_users(merged):
        kind = volume.fields["volume_type"]
        if kind.value not in names:
            derived = (Note(f"`{kind.value}`: {kind.derived}"),) if kind.derived else ()
            yield Diagnostic(
                code="policy/volume-type",
                message=f"the platform does not allow volumes of type `{kind.value}`",
                span=kind.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=(*derived, Note("allowed types defined here", allowed.place)),
                help=f"use {' or '.join(f'`{name}`' for name in names)}" if names else "use no volume",
            )


def _claims_outlive_their_pods(merged: Merged) -> Iterator[Diagnostic]:
    """Report claims that the platform turns into ephemeral volumes: their data is deleted with the pod."""
    setting = merged.platform.settings.fields["pvc"].fields["as"]
    for volume in _volumes_of_users(merged) if setting.value != CLAIM else ():
        kind, name = volume.fields["volume_type"], volume.fields["name"]
        if kind.value == CLAIM:
            yield Diagnostic(
                code="policy/ephemeral-claim",
                message=f"volume {quote(name.value)} becomes ephemeral: each pod gets its own, deleted with the pod",
                span=kind.span,
                path=("volumes", str(name.value)),
                severity=Severity.NOTICE,
                notes=_settings_note(setting),
                help="store what must outlive the pod elsewhere",
            )


def _mounts(volume: Node, types: VolumeTypes) -> str:
    return types[str(volume.fields["volume_type"].value)].mounts(volume.fields["spec"].fields)


def _volumes_of_users(merged: Merged) -> Iterator[Node]:
    """The volumes of the run, and of a profile that is not the admin's."""
    return (volume for volume in volumes_in(merged.spec) if volume.span.source.layer in merged.user_layers)


def _volumes_stay_clear_of_the_base(merged: Merged, _: VolumeTypes) -> Iterator[Diagnostic]:
    """No volume of the run has the name of one of a base document, which sidecars may mount."""
    pods = merged.target.pods
    of_bases = {name: node for base in bases_of(merged).values() for name, node in volumes_of(base, pods).items()}
    for volume in _volumes_of_users(merged):
        name = volume.fields["name"]
        if name.value in of_bases:
            yield Diagnostic(
                code="policy/base-volume",
                message=f"the profile's base document already has a volume {quote(name.value)}",
                span=name.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=(Note("defined here", of_bases[str(name.value)].span),),
                help="rename the run's volume",
            )


VOLUME_CHECKS: tuple[VolumeCheck, ...] = (
    _claims_have_one_pod,
    _existing_is_allowed,
    _volumes_stay_clear_of_the_base,
)
DECLARED_VOLUME_CHECKS: tuple[SpecCheck, ...] = (_volume_types_are_allowed, _claims_outlive_their_pods)
"""Checks of the volumes as declared, before the platform turns `disk` into a volume or changes the type of claims."""
