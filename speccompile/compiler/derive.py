"""Values derived from a merged spec: limits, claims and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from speccompile.compiler.container_resources import SCRATCH_DISK, amount, quantity_text
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.findings import CompileError
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node, over_setting
from speccompile.model.quantity import QuantityError, parse_quantity, ratio, scaled_up
from speccompile.model.spec import Merged

Derivation: TypeAlias = Callable[[Merged], Node]


def derive(merged: Merged) -> Merged:
    """The merged spec after every derivation, in the table's order."""
    for derivation in DERIVATIONS:
        spec = derivation(merged)
        if spec is not merged.spec:
            merged = merged._replace(spec=spec)
    return merged


class Limited(NamedTuple):
    """A resource whose limit the platform can derive: the settings that say so, and what it is counted in."""

    resource: str
    factor: str
    ceiling: str
    unit: str


_MEMORY = Limited("memory", "memory_limit_factor", "mem", "")
_CPU = Limited("cpu", "cpu_limit_factor", "cpu", "m")


def _limit(merged: Merged, limited: Limited) -> Node:
    """The limit of a resource nobody limits: its request times the platform's factor, at most the ceiling."""
    spec, settings, resource = merged.spec, merged.platform.settings, limited.resource
    factor, most = settings.fields.get(limited.factor), settings.at(("ceilings", limited.ceiling))
    resources = spec.fields.get("resources")
    request = resources.at(("requests", resource)) if resources else None
    if factor is None or resources is None or request is None or resources.at(("limits", resource)):
        return spec
    try:
        scaled = scaled_up(amount(request), ratio(str(factor.value)), limited.unit)
    except QuantityError as error:
        raise CompileError([_too_large(request, factor, error)]) from None
    limit = request.but(
        value=scaled,
        derived=f"the {resource} request × {factor.value}",
        derived_from=(request, factor),
        overridden=(),
        weak=True,
    )
    if most and amount(request) <= amount(most) < parse_quantity(scaled):
        limit = limit.but(
            value=quantity_text(most).value,
            derived=f"the {resource} request × {factor.value}, at most the ceiling",
            derived_from=(request, factor, most),
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
        message=f"no limit can be made from this request: {error.message}",
        span=request.span,
        path=("resources", "requests"),
        notes=(Note(f"the limit is the request × {factor.value}", factor.span),),
        help="request less, or give its limit",
    )


def _scratch_volume(merged: Merged) -> Node:
    """Disk as an ephemeral volume, where the platform says so; the container then asks for no storage."""
    spec, disk = merged.spec, merged.platform.settings.fields["disk"].fields
    resources = spec.fields.get("resources")
    size = resources.at(("requests", SCRATCH_DISK)) if resources else None
    if resources is None or size is None:
        return spec
    made = "made from `disk`"
    volume = Node(
        {
            "volume_type": size.but(value="ephemeral", derived=made, overridden=()),
            "name": size.but(value=disk["name"].value, derived=made, derived_from=(disk["name"],), overridden=()),
            "mount_path": disk["mount_path"],
            "spec": Node({"size": size}, size.span, derived=made),
        },
        size.span,
        size.key,
        derived=made,
    )
    volumes = spec.fields.get("volumes", Node((), size.span))
    kept = {
        side: amounts.with_fields({name: node for name, node in amounts.fields.items() if name != SCRATCH_DISK})
        for side, amounts in resources.fields.items()
    }
    grown = _with(spec, "volumes", volumes.but(value=(*volumes.items, volume)))
    return _with(grown, "resources", resources.with_fields(kept))


def _directory_sizes(merged: Merged) -> Node:
    """The platform's size limit for every `empty_dir` of which nobody says one."""
    spec, size = merged.spec, merged.platform.settings.at(("volumes", "empty_dir_size"))
    volumes = spec.fields.get("volumes")
    if volumes is None or size is None:
        return spec
    limit = quantity_text(size)

    def complete(volume: Node) -> Node:
        if volume.fields["volume_type"].value != "empty_dir":
            return volume
        inner = volume.fields["spec"]
        told = {key: over_setting(node, limit if key == "size_limit" else None) for key, node in inner.fields.items()}
        return volume.with_fields({**volume.fields, "spec": inner.with_fields({"size_limit": limit, **told})})

    return _with(spec, "volumes", volumes.mapped(complete))


_CLAIM_KEYS = ("size", "storage_class", "access_mode")


def _claim_defaults(merged: Merged) -> Node:
    """Size, access mode and storage class of every claim, the platform's where nobody says."""
    spec = merged.spec
    volumes = spec.fields.get("volumes")
    if volumes is None:
        return spec
    settings = merged.platform.settings.fields["pvc"].fields
    claim = {key: settings[key] for key in _CLAIM_KEYS if key in settings}
    own_class = settings.get("ephemeral_storage_class")
    given = {
        "persistent_volume_claim": claim,
        "ephemeral": {**claim, "storage_class": own_class} if own_class else claim,
    }

    def complete(volume: Node) -> Node:
        if volume.fields["volume_type"].value not in given:
            return volume
        inner = volume.fields["spec"]
        settings_of_it = given[str(volume.fields["volume_type"].value)]
        filled = {
            **settings_of_it,
            **{key: over_setting(node, settings_of_it.get(key)) for key, node in inner.fields.items()},
        }
        filled["size"] = quantity_text(filled["size"])
        return volume.with_fields({**volume.fields, "spec": inner.with_fields(filled)})

    return _with(spec, "volumes", volumes.mapped(complete))


def _with(spec: Node, name: str, node: Node) -> Node:
    return spec.with_fields({**spec.fields, name: node})


DERIVATIONS: tuple[Derivation, ...] = (_memory_limit, _cpu_limit, _scratch_volume, _directory_sizes, _claim_defaults)
