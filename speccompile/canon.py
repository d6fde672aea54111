"""Takes a field in any shape its schema allows, gives it in the one that later stages know: the NORMALIZERS table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from speccompile.affinity import united
from speccompile.diagnostics import Diagnostic, Note
from speccompile.library import Library
from speccompile.model import KeyPath, Node, Platform
from speccompile.quantity import QuantityError, parse_quantity

DISK = "ephemeral-storage"


class Context(NamedTuple):
    """What a normalizer may look at beside the field, and where it reports what no single value shows."""

    library: Library
    platform: Platform
    findings: list[Diagnostic]


Normalizer: TypeAlias = Callable[[Node, Context], Node]


def is_extended(resource: str) -> bool:
    """Whether Kubernetes hands the resource out whole: request and limit must then be equal."""
    domain, slash, _ = resource.partition("/")
    return resource.startswith("hugepages-") or (bool(slash) and domain != "kubernetes.io")


def quantity_text(node: Node) -> Node:
    """A number as the text Kubernetes reads; text stays as its author spelled it."""
    if isinstance(node.value, (int, float)) and not isinstance(node.value, bool):
        return replace(node, value=parse_quantity(node.value).text)
    return node


def _executable(node: Node, _: Context) -> Node:
    if isinstance(node.value, str):
        item = replace(node, derived="a string is one executable")
        return replace(node, value=(item,))
    return node


def _env_list(node: Node, _: Context) -> Node:
    if not isinstance(node.value, Mapping):
        return node
    items = (
        Node({"name": _key_node(name, child), "value": child}, child.span, child.key)
        for name, child in node.fields.items()
    )
    return replace(node, value=tuple(items))


def _key_node(name: str, child: Node) -> Node:
    return Node(name, child.key or child.span)


def _selector_map(node: Node, _: Context) -> Node:
    if not isinstance(node.value, tuple):
        return node
    pairs = {str(item.fields["key"].value): item.fields["value"] for item in node.items}
    return node.with_fields(dict(sorted(pairs.items())))


def _distinct_tolerations(node: Node, context: Context) -> Node:
    """The tolerations, equal ones once: what stands in a list twice means nothing more."""
    return united(replace(node, value=()), node, context.library.item_defaults("tolerations"))


def _number(node: Node, _: Context) -> Node:
    return replace(node, value=int(str(node.value)))


def _ports(node: Node, _: Context) -> Node:
    def complete(item: Node) -> Node:
        port = item.fields["port"]
        target = item.fields.get("target_port") or replace(port, derived="the same as `port`")
        return item.with_fields({"port": port, "target_port": target})

    return node.mapped(complete)


_VOLUME_QUANTITIES = frozenset({"size", "size_limit"})


def _volumes(node: Node, context: Context) -> Node:
    return node.mapped(lambda item: _volume(item, context))


def _volume(item: Node, context: Context) -> Node:
    """The volume with `sub_path` on the item, quantities as text, and a `spec` in any case."""
    spec = dict(item.fields["spec"].fields) if "spec" in item.fields else {}
    fields = dict(item.fields)
    inner = spec.pop("sub_path", None)
    if inner is not None and "sub_path" in fields:
        context.findings.append(_twice("`sub_path`", ("volumes",), fields["sub_path"], inner))
    elif inner is not None:
        fields["sub_path"] = inner
    canonical = {key: quantity_text(child) if key in _VOLUME_QUANTITIES else child for key, child in spec.items()}
    origin = item.fields.get("spec", item)
    return item.with_fields({**fields, "spec": origin.with_fields(canonical)})


def _resources(node: Node, context: Context) -> Node:
    """Requests and limits by full resource name; whatever is handed out whole has the same on both sides."""
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


def _amounts(node: Node, context: Context) -> Iterator[tuple[str, str, Node]]:
    """Side, full resource name and quantity for everything the author wrote, in whatever shape."""
    gpu = str(context.platform.settings.fields["gpu_key"].value)
    for key, child in node.fields.items():
        if key in ("requests", "limits"):
            yield from ((key, name, quantity_text(quantity)) for name, quantity in child.fields.items())
            continue
        written = context.library.fields["resources"]["properties"][key]["x-resource"]
        name = gpu if written == "gpu" else written
        if not child.is_scalar:
            yield from ((side, name, quantity_text(quantity)) for side, quantity in child.fields.items())
            continue
        quantity = quantity_text(child)
        yield "requests", name, quantity
        if name == DISK:
            yield "limits", name, quantity


def _mirror(requests: dict[str, Node], limits: dict[str, Node], context: Context) -> None:
    whole_disk = context.platform.settings.fields["disk"].fields["as"].value == "volume"
    for name in sorted({*requests, *limits}):
        if not is_extended(name) and not (whole_disk and name == DISK):
            continue
        request, limit = requests.get(name), limits.get(name)
        if request and limit and not same_quantity(request, limit):
            context.findings.append(
                Diagnostic(
                    code="schema/unequal-sides",
                    message=f"request and limit of `{name}` differ, and it has one value only",
                    span=limit.span,
                    path=("resources", "limits", name),
                    notes=(Note("the request stands here", request.span),),
                    help="give one of the two; the other follows",
                )
            )
        given = request or limit
        assert given is not None
        requests.setdefault(name, given)
        limits.setdefault(name, given)


def same_quantity(one: Node, other: Node) -> bool:
    """Whether two quantities are equal in value; text that is no quantity equals nothing."""
    try:
        return parse_quantity(str(one.value)) == parse_quantity(str(other.value))
    except QuantityError:
        return False


def _twice(what: str, path: KeyPath, node: Node, earlier: Node) -> Diagnostic:
    return Diagnostic(
        code="schema/duplicate-spelling",
        message=f"{what} is said twice",
        span=node.key or node.span,
        path=path,
        notes=(Note("also here", earlier.key or earlier.span),),
        help="keep one of the two",
    )


NORMALIZERS: Mapping[str, Normalizer] = {
    "command": _executable,
    "envs": _env_list,
    "fs_group": _number,
    "node_selector": _selector_map,
    "resources": _resources,
    "run_as_group": _number,
    "run_as_user": _number,
    "service_ports": _ports,
    "tolerations": _distinct_tolerations,
    "volumes": _volumes,
}
