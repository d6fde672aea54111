"""Merge defaults, run, profile and platform into one spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.compiler.choose_manifests import applicable_fields
from speccompile.compiler.container_resources import (
    DISK,
    SCRATCH_DISK,
    fixed_gpu,
    is_extended,
    named_devices,
    resolve_gpu,
    same_quantity,
    without_devices,
)
from speccompile.compiler.keyed_order import merged_order
from speccompile.compiler.merge_affinity import merge_affinities, unite
from speccompile.compiler.own_envs import has_own_envs, own_envs
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform, Profile, Run, Runtime
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.origin import Override, OverrideKind
from speccompile.model.redaction import is_hidden
from speccompile.model.source import BUILT_IN, USER_LAYERS, Layer
from speccompile.model.spec import Merged, Target
from speccompile.schema.library import Library, Schema

if TYPE_CHECKING:
    from deepmerge import Merger

MergeValues: TypeAlias = Callable[["Merger", list[Any], Node, Node, Library], Node]
"""Merges the values of a weaker and a stronger layer at a path."""
_REPLACE, _MAP = "replace", "map"


def merge(
    run: Run, profile: Profile | None, target: Target, platform: Platform, library: Library
) -> tuple[Merged, tuple[Diagnostic, ...]]:
    """Merge a run with its profile and platform; every node of the spec carries the values it overrode."""
    platform, namespaces = _with_namespace(platform, run)
    action = str(run.action.value)
    admin = admin_layers(profile, platform, target, action, run.runtime, library)
    defaults, fixed, enforced = admin.defaults, admin.fixed, admin.enforced
    # Weakest first.
    layers = [
        _applied_defaults(defaults, run, library),
        run.fields,
        _no_other_devices(run, admin),
        fixed,
        enforced,
        own_envs(run, profile, platform),
    ]
    spec = merge_layers([layer for layer in layers if layer is run.fields or layer.fields], library)
    spec = _with_skipped_defaults(spec, defaults, run, library)
    projects = (Override(("project",), written, run.project) for written in run.project.overridden)
    contested = {
        name
        for name, node in run.fields.fields.items()
        if name in admin.fields or node.overridden or name == target.entity_field
    }
    replaced = (*projects, *namespaces, *run.replaced, *replacements(spec, library, admin.contested | contested))
    added = _extensions(run.fields, (fixed, enforced), library)
    overrides = (*(one for one in replaced if _is_reported(one)), *added)
    merged = Merged(run, profile, platform, target, spec, replaced, overrides)
    return merged, (*admin.notices, *(_finding(override, merged) for override in overrides))


def _is_reported(override: Override) -> bool:
    """Whether it is a value of a user that has no effect; a run that overrides its task is meant to."""
    return (
        override.overridden.span.source.layer in USER_LAYERS and override.overriding.span.source.layer is not Layer.RUN
    )


def _with_namespace(platform: Platform, run: Run) -> tuple[Platform, tuple[Override, ...]]:
    """The platform with the run's namespace, unless it sets one itself."""
    requested, fixed = run.facts.get("namespace"), platform.settings.fields.get("namespace")
    if requested is None:
        return platform, ()
    namespace = fixed.overriding(requested) if fixed else requested
    settings = platform.settings.with_fields({**platform.settings.fields, "namespace": namespace})
    is_overridden = requested in namespace.overridden
    overridden = (Override(("metadata", "namespace"), requested, namespace),) if is_overridden else ()
    return platform._replace(settings=settings), overridden


class AdminLayers(NamedTuple):
    """The admin's layers for all runs of one action under one profile."""

    defaults: Node
    fixed: Node
    enforced: Node
    fields: frozenset[str]
    """The fields that any of them sets."""
    contested: frozenset[str]
    """Fields that two of them set, or that override a parent of the profile."""
    notices: tuple[Diagnostic, ...]
    gpu: Node | None
    """The amount of GPUs that they fix."""
    devices: frozenset[str]
    """The devices that they name; with a fixed `gpu`, runs get no others."""


@by_identity(64)
def admin_layers(  # noqa: PLR0913, PLR0917  compared by identity, which keywords would hide
    profile: Profile | None,
    platform: Platform,
    target: Target,
    action: str,
    runtime: Runtime | None,
    library: Library,
) -> AdminLayers:
    """The admin's layers for runs of an action under a profile."""
    names = _fields_for(target, action, library)
    fixed, notices = _fixed_fields(profile, action, target, library)
    # What the platform sets for a runtime overrides what it sets for all runs.
    sides = zip(*((one.defaults, one.enforced) for one in (platform, runtime) if one is not None), strict=True)
    common, enforced = (
        merge_layers([_only(names, resolve_gpu(layer, platform, profile)) for layer in layers], library)
        for layers in sides
    )
    defaults = merge_layers([common, *([_only(names, profile.defaults)] if profile else [])], library)
    layers = (defaults, fixed, enforced)
    set_fields = [name for layer in layers for name in layer.fields]
    repeated = {name for name in set_fields if set_fields.count(name) > 1}
    overriding = {str(path[0]) for layer in layers for path, node in layer.walk() if node.overridden}
    envs = {"envs"} if has_own_envs(platform) else set()
    fields, contested = frozenset({*set_fields, *envs}), frozenset({*repeated, *overriding, *envs})
    gpu = fixed_gpu((enforced, fixed), platform, profile)
    return AdminLayers(defaults, fixed, enforced, fields, contested, notices, gpu, named_devices(layers, profile))


def _no_other_devices(run: Run, admin: AdminLayers) -> Node:
    """A layer that sets the run's other devices to 0, if an admin fixes `gpu`."""
    resources = run.fields.fields.get("resources")
    if admin.gpu is None or resources is None:
        return Node({}, BUILT_IN)
    return Node({"resources": without_devices(resources, admin.gpu, admin.devices)}, admin.gpu.span)


def _only(names: frozenset[str], layer: Node) -> Node:
    """The layer with these fields only."""
    return layer.with_fields({name: node for name, node in layer.fields.items() if name in names})


def _fields_for(target: Target, action: str, library: Library) -> frozenset[str]:
    """The fields that apply to the target and the action."""
    names = applicable_fields(target, library)
    return frozenset(name for name in names if action in library.fields[name].get("x-actions", (action,)))


def _applied_defaults(defaults: Node, run: Run, library: Library) -> Node:
    """The defaults that apply: of a field that adds up, only if the run does not set it."""
    return defaults.with_fields(
        {
            name: node
            for name, node in defaults.fields.items()
            if name not in run.fields.fields or name not in _adding(library)
        }
    )


def _with_skipped_defaults(spec: Node, defaults: Node, run: Run, library: Library) -> Node:
    """The spec with the defaults that `_applied_defaults` left out among the overridden values."""
    fields = run.fields.fields
    changed = {
        # The field's position is the run's, whatever other layers add to it.
        name: spec.fields[name].over(node).but(span=fields[name].span, key=fields[name].key, part=fields[name].part)
        for name, node in defaults.fields.items()
        if name in fields and name in _adding(library)
    }
    return spec.with_fields({**spec.fields, **changed}) if changed else spec


@by_identity(8)
def _adding(library: Library) -> frozenset[str]:
    """The fields in which the values of several layers add up."""
    return frozenset(name for name, schema in library.fields.items() if STRATEGIES[_strategy_name(schema)].adds)


def _strategy_name(field: Schema) -> str:
    name: str = field.get("x-merge", _REPLACE)
    return name


def merge_layers(layers: Sequence[Node], library: Library) -> Node:
    """Merge layers, weakest first, each field by its strategy."""
    merger = _merger(library)
    # From the strongest down: each layer is compared with the final value, so that a value equal to the layer above
    # it is also recorded as overridden when both are.
    spec = reduce(lambda stronger, weaker: merger.merge(weaker, stronger), reversed(layers))
    fields = spec.fields
    return spec.with_fields({name: fields[name] for name in library.fields if name in fields})


@by_identity(8)
def _merger(library: Library) -> Merger:
    from deepmerge import Merger  # imported with the first merge only

    for name, schema in library.fields.items():
        strategy = _strategy_name(schema)
        if strategy not in STRATEGIES:
            raise ValueError(f"`x-merge` of field `{name}` is {strategy!r}, not one of {', '.join(STRATEGIES)}")

    def merge_nodes(merger: Merger, path: list[Any], weaker: Node, stronger: Node) -> Node:
        strategy = _strategy_name(library.fields[path[0]]) if path else _MAP
        return STRATEGIES[strategy].merge(merger, path, weaker, stronger, library)

    return Merger([(Node, merge_nodes)], [], [])


def replacements(spec: Node, library: Library, contested: Collection[str] | None = None) -> Iterator[Override]:
    """Every overridden value, once: `gpu` is one value although it is both request and limit.

    Only in the contested fields, if given.
    """
    seen: set[tuple[object, ...]] = set()
    overriding: list[tuple[KeyPath, Node]] = []
    for name, field in spec.fields.items():
        if contested is None or name in contested:
            _gather_overriding(field, (name,), overriding)
    for path, node in overriding:
        for overridden in node.overridden:
            # The normalizer writes these resources to both sides.
            one_value = path[0] == "resources" and (path[-1] in (DISK, SCRATCH_DISK) or is_extended(str(path[-1])))
            key = (
                path[-1] if one_value else path,
                overridden.span,
                repr(overridden.value) if one_value else id(overridden),
            )
            if key not in seen:
                seen.add(key)
                yield Override(_reported_path(path, node, library), overridden, node)


def _gather_overriding(node: Node, path: KeyPath, overriding: list[tuple[KeyPath, Node]]) -> None:
    """Append every node that overrides another, in order."""
    if node.overridden:
        overriding.append((path, node))
    value = node.value
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
    for step, child in pairs:
        if child.overridden or not child.is_scalar:
            _gather_overriding(child, (*path, step), overriding)


def _extensions(fields: Node, layers: Sequence[Node], library: Library) -> Iterator[Override]:
    """Every field of the run to which a stronger layer adds something."""
    for name, node in fields.fields.items():
        for layer in layers if name in _adding(library) else ():
            if name in layer.fields:
                both = merge_layers(
                    [Node({name: node}, fields.span), Node({name: layer.fields[name]}, fields.span)], library
                )
                if not both.fields[name].is_like(node):
                    yield Override((name,), node, layer.fields[name], OverrideKind.EXTENDED)


def _reported_path(path: KeyPath, node: Node, library: Library) -> KeyPath:
    """The path with the key of a list item for its index: `envs.HF_HOME` rather than `envs[0]`."""
    key = str(library.fields[str(path[0])].get("x-key"))
    return (path[0], str(node.fields[key].value)) if key in node.fields else path


def _fixed_fields(
    profile: Profile | None, action: str, target: Target, library: Library
) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The profile's fields that apply, and a notice for each other one: a profile serves several actions."""
    if profile is None:
        return Node({}, BUILT_IN), ()
    names, of_target = _fields_for(target, action, library), applicable_fields(target, library)
    notices = tuple(
        Diagnostic(
            code="profile/foreign-field",
            message=f"`{name}` of profile {quote(profile.id.value)} does not apply to "
            + (f"action `{action}`" if name in of_target else f"target `{target.name}`"),
            span=node.key or node.span,
            path=(name,),
            severity=Severity.NOTICE,
        )
        for name, node in profile.fields.fields.items()
        if name not in names
    )
    return _only(names, profile.fields), notices


def _finding(override: Override, merged: Merged) -> Diagnostic:
    layer = override.overriding.span.source.layer
    by = f"the {layer}" if layer in USER_LAYERS else "the platform"
    if merged.profile and layer is Layer.PROFILE:
        by = f"profile {quote(merged.profile.id.value)}"
    if override.change is OverrideKind.EXTENDED:
        return Diagnostic(
            code="merge/extended",
            message=f"`{format_path(override.path)}`: {by} adds to the run's value, and both apply",
            span=override.overridden.place,
            path=override.path,
            severity=Severity.NOTICE,
            notes=(Note(f"added here by {by}", override.overriding.place),),
            help="remove it from the run if what is added is enough",
        )
    return Diagnostic(
        code="merge/overridden",
        message=f"`{format_path(override.path)}`: {by} overrides {_values(override)}",
        span=override.overridden.place,
        path=override.path,
        severity=Severity(str(merged.platform.settings.fields["overrides"].value)),
        notes=(Note(f"set here by {by}", override.overriding.place),),
        help=f"remove it from the {override.overridden.span.source.layer}: it has no effect",
    )


def _values(override: Override) -> str:
    overridden, overriding = override.overridden, override.overriding
    if overridden.is_scalar and overriding.is_scalar and not is_hidden(overriding):
        return f"{_quoted(overridden)} with {_quoted(overriding)}"
    return "the run's value"


def _quoted(node: Node) -> str:
    return quote(node.value if isinstance(node.value, str) else json.dumps(node.value))


def _replaced(_: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    quantities = library.fields[path[0]].get("x-compare") == "quantity"

    def is_same(node: Node) -> bool:
        return same_quantity(node, stronger) if quantities else node.is_like(stronger)

    return stronger.over(*(node for node in (weaker, *weaker.overridden) if not is_same(node)))


def _by_key(merger: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    weaker_fields, stronger_fields = weaker.value, stronger.value
    if not (isinstance(weaker_fields, dict) and isinstance(stronger_fields, dict)):
        return _replaced(merger, path, weaker, stronger, library)
    both = {**weaker_fields, **stronger_fields}
    for key in weaker_fields.keys() & stronger_fields.keys():
        both[key] = merger.value_strategy([*path, key], weaker_fields[key], stronger_fields[key])
    # `merge_layers` orders the top level.
    return stronger.with_value(dict(sorted(both.items())) if path else both)


def _by_item(merger: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    key = library.fields[path[0]]["x-key"]
    weaker_items, stronger_items = [
        {str(item.fields[key].value): item for item in one.items} for one in (weaker, stronger)
    ]
    items = {**weaker_items, **stronger_items}
    for name in weaker_items.keys() & stronger_items.keys():
        items[name] = _replaced(merger, [*path, name], weaker_items[name], stronger_items[name], library)
    return stronger.but(value=tuple([items[name] for name in merged_order(weaker_items, stronger_items)]))


def _union(_: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    return unite(weaker, stronger, library.item_defaults(path[0]))


def _affinity(_: Merger, __: list[Any], weaker: Node, stronger: Node, ___: Library) -> Node:
    return merge_affinities(weaker, stronger)


class Strategy(NamedTuple):
    """How the values of two layers are merged."""

    merge: MergeValues
    means: str
    """Its description in the reference; `{key}` is the field's `x-key`."""
    adds: bool = False
    """Whether the values of both layers apply."""


STRATEGIES: Mapping[str, Strategy] = {
    _REPLACE: Strategy(_replaced, "the profile's value replaces the run's"),
    _MAP: Strategy(_by_key, "by key, the profile's value replaces the run's"),
    "keyed": Strategy(_by_item, "by `{key}`, the profile's whole item replaces the run's, in its place"),
    "union": Strategy(_union, "items of run and profile are combined, equal ones once", adds=True),
    "affinity": Strategy(_affinity, "both apply", adds=True),
}
"""The strategies, by the `x-merge` of a field."""
