"""Normalize validated fields to one canonical shape each, by the table NORMALIZERS."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.container_resources import (
    DISK,
    GPU,
    SCRATCH_DISK,
    disk_name,
    gpu_kinds,
    is_extended,
    quantity_text,
    same_quantity,
)
from speccompile.compiler.likely_mistakes import likely_mistakes
from speccompile.compiler.merge_affinity import unite
from speccompile.compiler.policy import LAYER_CHECKS
from speccompile.model.diagnostic import Diagnostic, Note
from speccompile.model.documents import Platform
from speccompile.model.key_path import KeyPath
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.schema.field_path import SIDES
from speccompile.schema.library import Library
from speccompile.schema.suggestions import unknown_key

SAME_PORT, NO_SPEC = "the same as `port`", "no `spec` is set"
COMPLETED = frozenset({SAME_PORT, NO_SPEC})
"""The `derived` of values that the normalizer adds and no author set."""


class NormalizeContext(NamedTuple):
    """What normalizers need besides the field, and the list they add findings to."""

    library: Library
    platform: Platform
    gpu_key: str
    findings: list[Diagnostic]


Normalizer: TypeAlias = Callable[[Node, NormalizeContext], Node]


def normalize(
    fields: Node, platform: Platform, library: Library, gpu_key: str | None = None
) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The fields in the order of the schema, each in its canonical shape; idempotent.

    `gpu` becomes the resource `gpu_key` of the profile, else that of the platform.
    """
    context = NormalizeContext(library, platform, gpu_key or str(platform.settings.fields["gpu_key"].value), [])
    written = fields.fields
    canonical = {
        name: NORMALIZERS[name](written[name], context) if name in NORMALIZERS else written[name]
        for name in library.fields
        if name in written
    }
    tree = fields.with_fields(canonical)
    violations = (finding for check in LAYER_CHECKS for finding in check(tree, platform))
    return tree, (*context.findings, *violations, *likely_mistakes(tree, platform, library))


def _executable(node: Node, _: NormalizeContext) -> Node:
    if isinstance(node.value, str):
        item = node.but(derived="a string is one executable")
        return node.but(value=(item,))
    return node


def _env_list(node: Node, _: NormalizeContext) -> Node:
    if not isinstance(node.value, Mapping):
        return node
    items = (
        Node({"name": Node(name, child.key or child.span), "value": child}, child.span, child.key)
        for name, child in node.fields.items()
    )
    return node.but(value=tuple(items))


def _map_by(key: str) -> Normalizer:
    def pairs_to_map(node: Node, _: NormalizeContext) -> Node:
        if not isinstance(node.value, tuple):
            return node
        pairs = {
            str(item.fields[key].value): item.fields["value"].but(key=item.fields[key].span) for item in node.items
        }
        return node.with_fields(dict(sorted(pairs.items())))

    return pairs_to_map


def _distinct_tolerations(node: Node, context: NormalizeContext) -> Node:
    """The tolerations, equal ones once."""
    return unite(node.but(value=()), node, context.library.item_defaults("tolerations"))


def _number(node: Node, _: NormalizeContext) -> Node:
    return node.but(value=int(str(node.value)))


def _ports(node: Node, _: NormalizeContext) -> Node:
    def complete(item: Node) -> Node:
        port = item.fields["port"]
        target = item.fields.get("target_port") or port.but(derived=SAME_PORT)
        return item.with_fields({"port": port, "target_port": target})

    return node.mapped(complete)


_VOLUME_QUANTITIES = frozenset({"size", "size_limit"})


def _volumes(node: Node, context: NormalizeContext) -> Node:
    return node.mapped(lambda item: _volume(item, context))


def _volume(item: Node, context: NormalizeContext) -> Node:
    """The volume with `sub_path` outside `spec`, quantities as text, and a `spec` in any case."""
    spec = dict(item.fields["spec"].fields) if "spec" in item.fields else {}
    fields = dict(item.fields)
    inner = spec.pop("sub_path", None)
    if inner is not None and "sub_path" in fields:
        context.findings.append(_twice("`sub_path`", ("volumes",), fields["sub_path"], inner))
    elif inner is not None:
        fields["sub_path"] = inner
    canonical = {key: quantity_text(child) if key in _VOLUME_QUANTITIES else child for key, child in spec.items()}
    if "claim_name" in canonical:
        # An existing claim is a shared volume, however it is written.
        fields["volume_type"] = fields["volume_type"].but(value="shared_volume", derived="it names a claim")
    written = item.fields.get("spec") or item.but(derived=NO_SPEC)
    return item.with_fields({**fields, "spec": written.with_fields(canonical)})


def _resources(node: Node, context: NormalizeContext) -> Node:
    """Requests and limits by full resource name; devices and huge pages get the same amount on both sides."""
    sides: dict[str, dict[str, Node]] = {"requests": {}, "limits": {}}
    for side, name, quantity in _amounts(node, context):
        if earlier := sides[side].get(name):
            context.findings.append(
                _twice(f"the {side[:-1]} of `{name}`", ("resources", side, name), quantity, earlier)
            )
        sides[side][name] = quantity
    _mirror(sides["requests"], sides["limits"], context)
    return node.with_fields(
        {side: Node(dict(sorted(amounts.items())), node.span, node.key) for side, amounts in sides.items() if amounts}
    )


def _amounts(node: Node, context: NormalizeContext) -> Iterator[tuple[str, str, Node]]:
    """Side, full resource name and quantity of every amount, in whatever shape it is written."""
    meanings = {"gpu": context.gpu_key, DISK: disk_name(context.platform)}
    for key, child in node.fields.items():
        if key in SIDES:
            yield from ((key, name, quantity_text(quantity)) for name, quantity in child.fields.items())
            continue
        resource = context.library.fields["resources"]["properties"][key]["x-resource"]
        name = meanings.get(resource, resource)
        if not child.is_scalar:
            yield from _pairs(key, name, child, context)
            continue
        quantity = quantity_text(child)
        yield "requests", name, quantity
        if key == "disk":
            yield "limits", name, quantity


def _pairs(key: str, name: str, node: Node, context: NormalizeContext) -> Iterator[tuple[str, str, Node]]:
    """The sides of one resource; for `gpu` also amounts by kind, whose names the schema does not check."""
    kinds = gpu_kinds(context.platform)
    for side, quantity in node.fields.items():
        if side in SIDES:
            yield side, name, quantity_text(quantity)
        elif side in kinds:
            yield "requests", str(kinds[side].value), quantity_text(quantity)
        else:
            context.findings.append(
                unknown_key(side, quantity.key or quantity.span, ("resources", key, side), (*SIDES, *kinds))
            )


def _mirror(requests: dict[str, Node], limits: dict[str, Node], context: NormalizeContext) -> None:
    for name in sorted({*requests, *limits}):
        if not is_extended(name) and name not in (SCRATCH_DISK, GPU):
            continue
        request, limit = requests.get(name), limits.get(name)
        if request and limit and not same_quantity(request, limit):
            context.findings.append(
                Diagnostic(
                    code="schema/unequal-sides",
                    message=f"request and limit of `{name}` differ, and Kubernetes requires them to be equal",
                    span=limit.span,
                    path=("resources", "limits", name),
                    notes=(Note("request set here", request.span),),
                    help="set one of the two; the other follows",
                )
            )
        quantity = request or limit
        assert quantity is not None
        requests.setdefault(name, quantity)
        limits.setdefault(name, quantity)


def _twice(what: str, path: KeyPath, node: Node, earlier: Node) -> Diagnostic:
    return Diagnostic(
        code="schema/duplicate-spelling",
        message=f"{what} is set twice",
        span=node.key or node.span,
        path=path,
        notes=(Note("also here", earlier.key or earlier.span),),
        help="remove one of the two",
    )


NORMALIZERS: Mapping[str, Normalizer] = {
    "command": _executable,
    "envs": _env_list,
    "fs_group": _number,
    "labels": _map_by("name"),
    "node_selector": _map_by("key"),
    "resources": _resources,
    "run_as_group": _number,
    "run_as_user": _number,
    "service_ports": _ports,
    "tolerations": _distinct_tolerations,
    "volumes": _volumes,
}
