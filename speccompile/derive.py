"""Takes a merged spec, gives it with what nobody had to write: the DERIVATIONS table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TypeAlias

from speccompile.canon import DISK, quantity_text
from speccompile.diagnostics import CompileError, Diagnostic, Note
from speccompile.model import Merged, Node
from speccompile.quantity import QuantityError, parse_quantity, scaled_up

SCRATCH = "scratch"
"""The name of the volume that `disk` becomes where the platform wants one."""

Derivation: TypeAlias = Callable[[Merged], Node]


def derive(merged: Merged) -> Merged:
    """The merged spec after every derivation, in the table's order."""
    for derivation in DERIVATIONS:
        merged = replace(merged, spec=derivation(merged))
    return merged


def _memory_limit(merged: Merged) -> Node:
    spec, factor = merged.spec, merged.platform.settings.fields.get("memory_limit_factor")
    resources = spec.fields.get("resources")
    request = resources.at(("requests", "memory")) if resources else None
    if factor is None or resources is None or request is None or resources.at(("limits", "memory")):
        return spec
    try:
        scaled = scaled_up(parse_quantity(str(request.value)), Fraction(Decimal(str(factor.value))))
    except QuantityError as error:
        raise CompileError([_too_large(request, factor, error)]) from None
    limit = replace(
        request,
        value=scaled,
        derived=f"the memory request × {factor.value}",
        lost=(),
    )
    limits = resources.fields.get("limits", Node({}, request.span))
    grown = limits.with_fields(dict(sorted({**limits.fields, "memory": limit}.items())))
    return _with(spec, "resources", resources.with_fields({**resources.fields, "limits": grown}))


def _too_large(request: Node, factor: Node, error: QuantityError) -> Diagnostic:
    return Diagnostic(
        code="policy/limit-too-large",
        message=f"no memory limit can be made from this request: {error.message}",
        span=request.span,
        path=("resources", "requests", "memory"),
        notes=(Note(f"the limit is the request × {factor.value}", factor.span),),
        help="request less memory, or give its limit",
    )


def _scratch_volume(merged: Merged) -> Node:
    """Disk as an ephemeral volume, where the platform says so; the container then asks for no storage."""
    spec, disk = merged.spec, merged.platform.settings.fields["disk"].fields
    resources = spec.fields.get("resources")
    size = (resources.at(("limits", DISK)) or resources.at(("requests", DISK))) if resources else None
    if disk["as"].value != "volume" or resources is None or size is None:
        return spec
    made = "made from `disk`"
    volume = Node(
        {
            "volume_type": replace(size, value="ephemeral", derived=made),
            "name": replace(size, value=SCRATCH, derived=made),
            "mount_path": disk["mount_path"],
            "spec": Node({"size": size}, size.span, derived=made),
        },
        size.span,
        size.key,
        derived=made,
    )
    volumes = spec.fields.get("volumes", Node((), size.span))
    kept = {
        side: amounts.with_fields({name: node for name, node in amounts.fields.items() if name != DISK})
        for side, amounts in resources.fields.items()
    }
    grown = _with(spec, "volumes", replace(volumes, value=(*volumes.items, volume)))
    return _with(grown, "resources", resources.with_fields(kept))


_CLAIMED = ("persistent_volume_claim", "ephemeral")


def _claim_defaults(merged: Merged) -> Node:
    """Size, access mode and storage class of every claim, the platform's where nobody says."""
    spec = merged.spec
    volumes = spec.fields.get("volumes")
    if volumes is None:
        return spec

    def complete(volume: Node) -> Node:
        if volume.fields["volume_type"].value not in _CLAIMED:
            return volume
        inner = volume.fields["spec"]
        filled = {**merged.platform.settings.fields["pvc"].fields, **inner.fields}
        filled["size"] = quantity_text(filled["size"])
        return volume.with_fields({**volume.fields, "spec": inner.with_fields(filled)})

    return _with(spec, "volumes", volumes.mapped(complete))


def _with(spec: Node, name: str, node: Node) -> Node:
    return spec.with_fields({**spec.fields, name: node})


DERIVATIONS: tuple[Derivation, ...] = (_memory_limit, _scratch_volume, _claim_defaults)
