"""Derive values that a merged spec leaves open: resource limits, sizes of claims and directories."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from speccompile.compiler.ceilings import beside_memory
from speccompile.compiler.container_resources import SCRATCH_DISK, amount, quantity_text
from speccompile.compiler.policy import volumes_in
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, over_setting
from speccompile.model.quantity import QuantityError, parse_quantity, ratio, remaining, scaled_up
from speccompile.model.spec import Merged
from speccompile.schema.volume_types import CLAIM

Derivation: TypeAlias = Callable[[Merged], Node]


def derive(merged: Merged) -> Merged:
    """Apply every derivation, in the order of the table."""
    for derivation in DERIVATIONS:
        spec = derivation(merged)
        if spec is not merged.spec:
            merged = merged._replace(spec=spec)
    return merged


class DerivedLimit(NamedTuple):
    """A resource whose limit the platform can derive: the settings for it, and its smallest unit."""

    resource: str
    factor: str
    ceiling: str
    unit: str


_MEMORY = DerivedLimit("memory", "memory_limit_factor", "mem", "")
_CPU = DerivedLimit("cpu", "cpu_limit_factor", "cpu", "m")


def _limit(merged: Merged, derived: DerivedLimit) -> Node:
    """Add a missing limit: the request times the platform's factor, at most the platform's limit for runs."""
    spec, settings, resource = merged.spec, merged.platform.settings, derived.resource
    factor, most = settings.fields.get(derived.factor), settings.at(("ceilings", derived.ceiling))
    resources = spec.fields.get("resources")
    request = resources.at(("requests", resource)) if resources else None
    if factor is None or resources is None or request is None or resources.at(("limits", resource)):
        return spec
    try:
        scaled = scaled_up(amount(request), ratio(str(factor.value)), derived.unit)
    except QuantityError as error:
        raise CompileError([_too_large(request, factor, error)]) from None
    limit = request.but(
        value=scaled,
        derived=f"the {resource} request × {factor.value}",
        derived_from=(request, factor),
        overridden=(),
        weak=True,
    )
    others = beside_memory(resources, volumes_in(spec)) if derived is _MEMORY else []
    room = remaining(amount(most), map(amount, others)) if most else None
    if most and room and amount(request) <= room < parse_quantity(scaled):
        limit = limit.but(
            value=room.text if others else quantity_text(most).value,
            derived=f"the {resource} request × {factor.value}, at most the platform's limit",
            derived_from=(request, factor, most, *others),
        )
    limits = resources.fields.get("limits", Node({}, request.span))
    grown = limits.with_fields(dict(sorted({**limits.fields, resource: limit}.items())))
    return _with(spec, "resources", resources.with_fields({**resources.fields, "limits": grown}))


def _memory_limit(merged: Merged) -> Node:
    return _limit(merged, _MEMORY)


def _cpu_limit(merged: Merged) -> Node:
    return _limit(merged, _CPU)


def _too_large(request: Node, factor: Node, error: QuantityError) -> Diagnostic:
    return Diagnostic(
        code="policy/limit-too-large",
        message=f"no limit can be derived from this request: {error.message}",
        span=request.span,
        path=("resources", "requests"),
        notes=(Note(f"the limit is the request × {factor.value}", factor.span),),
        help="request less, or set the limit",
    )


def _scratch_volume(merged: Merged) -> Node:
    """Turn `disk` into an ephemeral volume, where the platform sets `disk.as: volume`."""
    spec, disk = merged.spec, merged.platform.settings.fields["disk"].fields
    resources = spec.fields.get("resources")
    size = resources.at(("requests", SCRATCH_DISK)) if resources else None
    if resources is None or size is None:
        return spec
    how = "made from `disk`"
    volume = Node(
        {
            "volume_type": size.but(value="ephemeral", derived=how, overridden=()),
            "name": size.but(value=disk["name"].value, derived=how, derived_from=(disk["name"],), overridden=()),
            "mount_path": disk["mount_path"],
            "spec": Node({"size": size}, size.span, derived=how),
        },
        size.span,
        size.key,
        derived=how,
    )
    volumes = spec.fields.get("volumes", Node((), size.span))
    without_disk = {
        side: amounts.with_fields({name: node for name, node in amounts.fields.items() if name != SCRATCH_DISK})
        for side, amounts in resources.fields.items()
    }
    grown = _with(spec, "volumes", volumes.but(value=(*volumes.items, volume)))
    return _with(grown, "resources", resources.with_fields(without_disk))


def _directory_sizes(merged: Merged) -> Node:
    """Set the platform's size limit on every `empty_dir` without one."""
    spec, size = merged.spec, merged.platform.settings.at(("volumes", "empty_dir_size"))
    volumes = spec.fields.get("volumes")
    if volumes is None or size is None:
        return spec
    limit = quantity_text(size)

    def complete(volume: Node) -> Node:
        if volume.fields["volume_type"].value != "empty_dir":
            return volume
        inner = volume.fields["spec"]
        fields = {key: over_setting(node, limit if key == "size_limit" else None) for key, node in inner.fields.items()}
        return volume.with_fields({**volume.fields, "spec": inner.with_fields({"size_limit": limit, **fields})})

    return _with(spec, "volumes", volumes.mapped(complete))


def _ephemeral_claims(merged: Merged) -> Node:
    """Turn every claim that would be created into an ephemeral volume, where the platform sets `pvc.as: ephemeral`."""
    spec, setting = merged.spec, merged.platform.settings.fields["pvc"].fields["as"]
    volumes = spec.fields.get("volumes")
    if volumes is None or setting.value == CLAIM:
        return spec

    def convert(volume: Node) -> Node:
        # Existing claims have the type `shared_volume` since they were normalized.
        kind = volume.fields["volume_type"]
        if kind.value != CLAIM:
            return volume
        how = "`pvc.as` turns claims into ephemeral volumes"
        # The type is not part of a manifest, so the name carries the explanation.
        name = volume.fields["name"].but(derived=how, derived_from=(kind, setting))
        ephemeral = kind.but(value=setting.value, derived=how, derived_from=(kind, setting))
        return volume.with_fields({**volume.fields, "volume_type": ephemeral, "name": name})

    # Overridden volumes too: only volumes of one type are compared key by key.
    return _with(
        spec,
        "volumes",
        volumes.mapped(lambda volume: convert(volume).but(overridden=tuple(map(convert, volume.overridden)))),
    )


_CLAIM_KEYS = ("size", "storage_class", "access_mode")


def _claim_defaults(merged: Merged) -> Node:
    """Complete every claim with the platform's size, access mode and storage class."""
    spec = merged.spec
    volumes = spec.fields.get("volumes")
    if volumes is None:
        return spec
    settings = merged.platform.settings.fields["pvc"].fields
    claim = {key: settings[key] for key in _CLAIM_KEYS if key in settings}
    ephemeral_class = settings.get("ephemeral_storage_class")
    defaults_by_type = {
        CLAIM: claim,
        "ephemeral": {**claim, "storage_class": ephemeral_class} if ephemeral_class else claim,
    }

    def complete(volume: Node) -> Node:
        if volume.fields["volume_type"].value not in defaults_by_type:
            return volume
        inner = volume.fields["spec"]
        defaults = defaults_by_type[str(volume.fields["volume_type"].value)]
        fields = {**defaults, **{key: over_setting(node, defaults.get(key)) for key, node in inner.fields.items()}}
        fields["size"] = quantity_text(fields["size"])
        return volume.with_fields({**volume.fields, "spec": inner.with_fields(fields)})

    return _with(spec, "volumes", volumes.mapped(complete))


def _with(spec: Node, name: str, node: Node) -> Node:
    return spec.with_fields({**spec.fields, name: node})


# Sizes of directories first: those in memory leave less for the limit of memory.
# Types of claims before their defaults: ephemeral volumes have another storage class.
DERIVATIONS: tuple[Derivation, ...] = (
    _directory_sizes,
    _memory_limit,
    _cpu_limit,
    _scratch_volume,
    _ephemeral_claims,
    _claim_defaults,
)
