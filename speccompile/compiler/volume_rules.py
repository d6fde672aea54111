"""The VOLUME_CHECKS table: what the volumes of a merged spec may not be, by what their types mount."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.choose_manifests import bases_of
from speccompile.compiler.pod_structure import volumes_of
from speccompile.compiler.policy import store_name, volumes_in
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.node import Node
from speccompile.model.source import Layer
from speccompile.model.spec import Merged
from speccompile.schema.volume_types import CREATED, EXISTING, SECRET, VolumeType

VolumeTypes: TypeAlias = Mapping[str, VolumeType]
VolumeCheck: TypeAlias = Callable[[Merged, VolumeTypes], Iterator[Diagnostic]]


def _claims_have_one_pod(merged: Merged, types: VolumeTypes) -> Iterator[Diagnostic]:
    many = next(
        (
            merged.spec.fields[name]
            for name in ("replicas", "parallelism")
            if name in merged.spec.fields and int(str(merged.spec.fields[name].value)) > 1
        ),
        None,
    )
    if many is None:
        return
    for volume in volumes_in(merged.spec):
        mode = volume.fields["spec"].fields.get("access_mode")
        if mode and _mounts(volume, types) == CREATED and mode.value in ("ReadWriteOnce", "ReadWriteOncePod"):
            name = quote(volume.fields["name"].value)
            yield Diagnostic(
                code="policy/shared-claim",
                message=f"volume {name} is {mode.value}, and {many.value} pods would share it",
                span=volume.fields["name"].span,
                path=("volumes",),
                notes=(Note("the number of pods stands here", many.span),),
                help="use `access_mode: ReadWriteMany`, a volume of type `ephemeral` (one for each pod), or one pod",
            )


def _existing_is_allowed(merged: Merged, types: VolumeTypes) -> Iterator[Diagnostic]:
    """A run may mount existing storage only where the platform allows it."""
    settings = merged.platform.settings.fields
    allowed = bool(settings["volumes"].fields["allow_existing"].value)
    foreign = bool(settings["secrets"].fields["allow_foreign"].value)
    store, asked = store_name(merged), "ask the platform's admin to allow existing volumes"
    for volume in _volumes_of_the_run(merged):
        kind, spec = volume.fields["volume_type"], volume.fields["spec"].fields
        kind_of, mounted = types[str(kind.value)], _mounts(volume, types)
        named = spec.get(kind_of.object_key) or volume.fields["name"]
        if mounted == SECRET and named.value != store and not foreign:
            yield Diagnostic(
                code="policy/foreign-secret",
                message=f"Secret {quote(named.value)} is not the project's own store",
                span=named.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=_settings_note(settings["secrets"].fields["allow_foreign"]),
                help="name secrets under `secrets`, or ask the platform's admin to allow foreign secrets",
            )
        elif not allowed and (mounted == EXISTING or (mounted == SECRET and not foreign)):
            instead = "leave out `claim_name`" if kind.derived else kind_of.instead
            yield Diagnostic(
                code="policy/existing-volume",
                message=f"this mounts {quote(named.value)}, and what exists already may not be mounted here",
                span=named.span if kind.derived else kind.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=_settings_note(settings["volumes"].fields["allow_existing"]),
                help=f"{instead}, or {asked}" if instead else asked,
            )


def _settings_note(setting: Node) -> tuple[Note, ...]:
    """Where the platform's file says so; the built-in platform has no line to show."""
    return (Note("the platform says so here", setting.span),) if setting.span.line else ()


def _volume_types_are_allowed(merged: Merged, _: VolumeTypes) -> Iterator[Diagnostic]:
    allowed = merged.platform.settings.at(("volumes", "allowed_types"))
    if allowed is None:
        return
    known = [item.value for item in allowed.items]
    for volume in _volumes_of_the_run(merged):
        kind = volume.fields["volume_type"]
        # The volume that `disk` becomes is the platform's own choice.
        if kind.value not in known and not volume.derived:
            made = (Note(f"`{kind.value}`: {kind.derived}"),) if kind.derived else ()
            yield Diagnostic(
                code="policy/volume-type",
                message=f"volumes of type `{kind.value}` are not allowed here",
                span=kind.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=(*made, Note("the platform allows these", allowed.place)),
                help=f"use {' or '.join(f'`{name}`' for name in known)}" if known else "use no volume",
            )


def _mounts(volume: Node, types: VolumeTypes) -> str:
    return types[str(volume.fields["volume_type"].value)].mounts(volume.fields["spec"].fields)


def _volumes_of_the_run(merged: Merged) -> Iterator[Node]:
    return (volume for volume in volumes_in(merged.spec) if volume.span.source.layer is Layer.RUN)


def _volumes_stay_clear_of_the_base(merged: Merged, _: VolumeTypes) -> Iterator[Diagnostic]:
    """A run's volume under the name of the base's would slip beneath whatever sidecar mounts that."""
    pods = merged.target.pods
    known = {name: node for base in bases_of(merged).values() for name, node in volumes_of(base, pods).items()}
    for volume in _volumes_of_the_run(merged):
        name = volume.fields["name"]
        if name.value in known:
            yield Diagnostic(
                code="policy/base-volume",
                message=f"the profile's base document has a volume {quote(name.value)} already",
                span=name.span,
                path=("volumes", str(volume.fields["name"].value)),
                notes=(Note("it stands here", known[str(name.value)].span),),
                help="give yours another name",
            )


VOLUME_CHECKS: tuple[VolumeCheck, ...] = (
    _claims_have_one_pod,
    _existing_is_allowed,
    _volume_types_are_allowed,
    _volumes_stay_clear_of_the_base,
)
