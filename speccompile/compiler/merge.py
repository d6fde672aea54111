"""Merge defaults, run, profile and platform into one spec."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

from speccompile.compiler.choose_manifests import applicable_fields
from speccompile.compiler.container_resources import DISK, SCRATCH_DISK, is_extended, resolve_gpu, same_quantity
from speccompile.compiler.merge_affinity import merge_affinities, unite
from speccompile.compiler.name_placeholders import facts_of
from speccompile.model.diagnostic import Diagnostic, Note, Severity, quote
from speccompile.model.documents import Platform, Profile, Run
from speccompile.model.identity_cache import by_identity
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.light_namedtuple import NamedTuple
from speccompile.model.node import Node
from speccompile.model.object_names import PLACEHOLDERS, filled, placeholders
from speccompile.model.origin import Change, Override
from speccompile.model.redaction import is_hidden
from speccompile.model.source import BUILT_IN, Layer
from speccompile.model.spec import Merged, Target
from speccompile.schema.library import Library, Schema

if TYPE_CHECKING:
    from deepmerge import Merger

Meet: TypeAlias = Callable[["Merger", list[Any], Node, Node, Library], Node]
"""Merges the value of a weaker layer and that of a stronger one at a path."""
_REPLACE, _MAP = "replace", "map"


def merge(
    run: Run, profile: Profile | None, target: Target, platform: Platform, library: Library
) -> tuple[Merged, tuple[Diagnostic, ...]]:
    """The spec of the run under profile and platform; nothing given is altered, and what lost hangs on what won."""
    platform, displaced = _with_namespace(platform, run)
    action = str(run.action.value)
    default, fixed, enforced, admins, disputed, notices = _layers(profile, platform, target, action, library)
    # Weakest first.
    layers = [_open(default, run, library), run.fields, fixed, enforced, _own_envs(run, profile, platform)]
    spec = merge_layers([layer for layer in layers if layer is run.fields or layer.fields], library)
    spec = _with_closed(spec, default, run, library)
    replaced = (*displaced, *replacements(spec, library, disputed | (run.fields.fields.keys() & admins)))
    added = _extensions(run.fields, (fixed, enforced), library)
    changes = (*(one for one in replaced if one.overridden.span.source.layer is Layer.RUN), *added)
    merged = Merged(run, profile, platform, target, spec, replaced, changes)
    return merged, (*notices, *(_told(override, merged) for override in changes))


def _with_namespace(platform: Platform, run: Run) -> tuple[Platform, tuple[Override, ...]]:
    """The platform as the run finds it: where it names no namespace, that is for the run to choose."""
    said, own = run.facts.get("namespace"), platform.settings.fields.get("namespace")
    if said is None:
        return platform, ()
    namespace = own.overriding(said) if own else said
    settings = platform.settings.with_fields({**platform.settings.fields, "namespace": namespace})
    overridden = (Override(("metadata", "namespace"), said, namespace),) if said in namespace.overridden else ()
    return platform._replace(settings=settings), overridden


class _Layers(NamedTuple):
    """What the admin says to all runs of one action under one profile."""

    default: Node
    fixed: Node
    enforced: Node
    fields: frozenset[str]
    """What they speak of."""
    disputed: frozenset[str]
    """Fields of which they say two things, or of which parents of the profile said another."""
    notices: tuple[Diagnostic, ...]


@by_identity(64)
def _layers(profile: Profile | None, platform: Platform, target: Target, action: str, library: Library) -> _Layers:
    known = _applying(target, action, library)
    fixed, notices = _applicable(profile, action, target, library)
    common, enforced = (
        _fitting(resolve_gpu(layer, platform, profile), known) for layer in (platform.defaults, platform.enforced)
    )
    defaults = [common, *([_fitting(profile.defaults, known)] if profile else [])]
    default = merge_layers(defaults, library)
    said = [name for layer in (default, fixed, enforced) for name in layer.fields]
    disputed = {name for name in said if said.count(name) > 1}
    overridden = {
        str(path[0]) for layer in (default, fixed, enforced) for path, node in layer.walk() if node.overridden
    }
    own = {"envs"} if _has_own_envs(platform) else set()
    return _Layers(
        default, fixed, enforced, frozenset({*said, *own}), frozenset({*disputed, *overridden, *own}), notices
    )


def _fitting(layer: Node, known: frozenset[str]) -> Node:
    """The layer without fields foreign to action and target."""
    return layer.with_fields({name: node for name, node in layer.fields.items() if name in known})


def _applying(target: Target, action: str, library: Library) -> frozenset[str]:
    """The fields that are foreign to neither."""
    own = applicable_fields(target, library)
    return frozenset(name for name in own if action in library.fields[name].get("x-actions", (action,)))


def _open(default: Node, run: Run, library: Library) -> Node:
    """The defaults without fields that add up where the run says anything: a default holds where it says nothing."""
    return default.with_fields(
        {
            name: node
            for name, node in default.fields.items()
            if name not in run.fields.fields or not _adds_up(name, library)
        }
    )


def _with_closed(spec: Node, default: Node, run: Run, library: Library) -> Node:
    """The spec in which the defaults that `_open` leaves out are told among what lost."""
    said = run.fields.fields
    closed = {
        # It was the run that said something, whoever else adds to it.
        name: spec.fields[name].over(node).but(span=said[name].span, key=said[name].key, part=said[name].part)
        for name, node in default.fields.items()
        if name in said and _adds_up(name, library)
    }
    return spec.with_fields({**spec.fields, **closed}) if closed else spec


def _adds_up(field: str, library: Library) -> bool:
    return field in _adding(library)


@by_identity(8)
def _adding(library: Library) -> frozenset[str]:
    return frozenset(name for name, schema in library.fields.items() if STRATEGIES[_word(schema)].adds)


def _word(field: Schema) -> str:
    """The strategy of a field, by its name in STRATEGIES."""
    word: str = field.get("x-merge", _REPLACE)
    return word


def _has_own_envs(platform: Platform) -> bool:
    own = platform.settings.fields.get("own_envs")
    return own is not None and bool(own.fields)


def _own_envs(run: Run, profile: Profile | None, platform: Platform) -> Node:
    """The variables the platform sets in every run, which nobody can replace."""
    own = platform.settings.fields.get("own_envs")
    if own is None or not _has_own_envs(platform):
        return Node({}, run.name.span)
    # Kubernetes reads `$(NAME)` in a value as another variable, and a run's name is no place to refer to one.
    known = facts_of(run, profile, platform)
    facts = {name: str(node.value).replace("$", "$$") for name, node in known.items()}
    facts = {**dict.fromkeys(PLACEHOLDERS, ""), **facts}
    items = (
        Node(
            {
                "name": Node(name, pattern.key or pattern.span, part=pattern.part),
                "value": _filled(pattern, facts, known),
            },
            pattern.span,
            pattern.key,
            part=pattern.part,
        )
        for name, pattern in own.fields.items()
    )
    return Node({"envs": Node(tuple(items), own.span, own.key)}, own.span)


def _filled(pattern: Node, facts: Mapping[str, str], known: Mapping[str, Node]) -> Node:
    """What the pattern comes to; its origin is the pattern, and what fills it stands beside."""
    used = tuple(known[name] for name in placeholders(str(pattern.value)) if name in known)
    text = filled(str(pattern.value), facts)
    how = "the platform's pattern, filled" if used else None
    return Node(text, pattern.span, derived=how, derived_from=used, part=pattern.part, overridden=pattern.overridden)


def merge_layers(layers: Sequence[Node], library: Library) -> Node:
    """The fields of all layers, weakest first, by each field's own strategy."""
    merger = _merger(library)
    # From the strongest down, so that each layer meets what holds in the end: a value that agrees with the layer above
    # it, and gives way with it, has lost as well.
    spec = reduce(lambda stronger, weaker: merger.merge(weaker, stronger), reversed(layers))
    said = spec.fields
    return spec.with_fields({name: said[name] for name in library.fields if name in said})


@by_identity(8)
def _merger(library: Library) -> Merger:
    from deepmerge import Merger  # imported with the first merge only

    for name, schema in library.fields.items():
        if _word(schema) not in STRATEGIES:
            raise ValueError(f"`x-merge` of field `{name}` is {_word(schema)!r}, not one of {', '.join(STRATEGIES)}")

    def meet(merger: Merger, path: list[Any], weaker: Node, stronger: Node) -> Node:
        word = _word(library.fields[path[0]]) if path else _MAP
        return STRATEGIES[word].meet(merger, path, weaker, stronger, library)

    return Merger([(Node, meet)], [], [])


def replacements(spec: Node, library: Library, contested: Collection[str] | None = None) -> Iterator[Override]:
    """Everything that lost, once: a GPU is one value, though it stands among requests and limits.

    Only in the fields that are contested, if it is known which these are.
    """
    told: set[tuple[object, ...]] = set()
    winners: list[tuple[KeyPath, Node]] = []
    for name, field in spec.fields.items():
        if contested is None or name in contested:
            _gather_winners(field, (name,), winners)
    for path, node in winners:
        for overridden in node.overridden:
            # Only what canon.py writes to both sides stands here twice without being said twice.
            one_value = path[0] == "resources" and _has_one_value(path)
            once = (
                path[-1] if one_value else path,
                overridden.span,
                repr(overridden.value) if one_value else id(overridden),
            )
            if once not in told:
                told.add(once)
                yield Override(_called(path, node, library), overridden, node)


def _gather_winners(node: Node, path: KeyPath, winners: list[tuple[KeyPath, Node]]) -> None:
    """Adds every node that something lost to, in order; most of a spec has nothing to tell."""
    if node.overridden:
        winners.append((path, node))
    value = node.value
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, tuple) else ()
    for step, child in pairs:
        if child.overridden or not child.is_scalar:
            _gather_winners(child, (*path, step), winners)


def _extensions(said: Node, layers: Sequence[Node], library: Library) -> Iterator[Override]:
    """Every field of the run that holds together with what a stronger layer adds to it."""
    for name, node in said.fields.items():
        for layer in layers if _adds_up(name, library) else ():
            if name in layer.fields:
                both = merge_layers(
                    [Node({name: node}, said.span), Node({name: layer.fields[name]}, said.span)], library
                )
                if not both.fields[name].is_like(node):
                    yield Override((name,), node, layer.fields[name], Change.EXTENDED)


def _has_one_value(path: KeyPath) -> bool:
    return path[-1] in (DISK, SCRATCH_DISK) or is_extended(str(path[-1]))


def _called(path: KeyPath, node: Node, library: Library) -> KeyPath:
    """The path with an item of a keyed list called by its key: `envs.HF_HOME` rather than `envs[0]`."""
    key = str(library.fields[str(path[0])].get("x-key"))
    return (path[0], str(node.fields[key].value)) if key in node.fields else path


def _applicable(
    profile: Profile | None, action: str, target: Target, library: Library
) -> tuple[Node, tuple[Diagnostic, ...]]:
    """The profile's fields without those foreign to the action: a profile serves many actions."""
    if profile is None:
        return Node({}, BUILT_IN), ()
    known, own = _applying(target, action, library), applicable_fields(target, library)
    notices = tuple(
        Diagnostic(
            code="profile/foreign-field",
            message=f"`{name}` of profile {quote(profile.id.value)} does not apply to "
            + (f"action `{action}`" if name in own else f"target `{target.name}`"),
            span=node.key or node.span,
            path=(name,),
            severity=Severity.NOTICE,
        )
        for name, node in profile.fields.fields.items()
        if name not in known
    )
    return _fitting(profile.fields, known), notices


def _told(override: Override, merged: Merged) -> Diagnostic:
    by = "the platform"
    if merged.profile and override.overriding.span.source.layer is Layer.PROFILE:
        by = f"profile {quote(merged.profile.id.value)}"
    if override.change is Change.EXTENDED:
        return Diagnostic(
            code="merge/extended",
            message=f"`{format_path(override.path)}`: {by} adds to what the run says, and both hold",
            span=override.overridden.place,
            path=override.path,
            severity=Severity.NOTICE,
            notes=(Note(f"added here by {by}", override.overriding.place),),
            help="leave it out of the run, if what is added is enough",
        )
    return Diagnostic(
        code="merge/overridden",
        message=f"`{format_path(override.path)}`: {_compared(override)} of {by}",
        span=override.overridden.place,
        path=override.path,
        severity=Severity(str(merged.platform.settings.fields["overrides"].value)),
        notes=(Note(f"set here by {by}", override.overriding.place),),
        help="leave it out of the run: it has no effect",
    )


def _compared(override: Override) -> str:
    overridden, overriding = override.overridden, override.overriding
    if overridden.is_scalar and overriding.is_scalar and not is_hidden(overriding):
        return f"{_brief(overridden)} gives way to {_brief(overriding)}"
    return "the run's value gives way to that"


def _brief(node: Node) -> str:
    return quote(node.value if isinstance(node.value, str) else json.dumps(node.value))


def _replaced(_: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    quantities = library.fields[path[0]].get("x-compare") == "quantity"

    def is_same(node: Node) -> bool:
        return same_quantity(node, stronger) if quantities else node.is_like(stronger)

    return stronger.over(*(node for node in (weaker, *weaker.overridden) if not is_same(node)))


def _by_key(merger: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    ours, theirs = weaker.value, stronger.value
    if not (isinstance(ours, dict) and isinstance(theirs, dict)):
        return _replaced(merger, path, weaker, stronger, library)
    both = {**ours, **theirs}
    for key in ours.keys() & theirs.keys():
        both[key] = merger.value_strategy([*path, key], ours[key], theirs[key])
    # The fields themselves get their order in the end.
    return stronger.with_value(dict(sorted(both.items())) if path else both)


def _by_item(merger: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    key = library.fields[path[0]]["x-key"]
    items = {item.fields[key].value: item for item in weaker.items}
    for item in stronger.items:
        name = item.fields[key].value
        # The profile's items keep the profile's order: one environment variable may refer to another before it.
        known = items.pop(name, None)
        items[name] = _replaced(merger, [*path, name], known, item, library) if known else item
    return stronger.but(value=tuple(items.values()))


def _union(_: Merger, path: list[Any], weaker: Node, stronger: Node, library: Library) -> Node:
    return unite(weaker, stronger, library.item_defaults(path[0]))


def _affinity(_: Merger, __: list[Any], weaker: Node, stronger: Node, ___: Library) -> Node:
    return merge_affinities(weaker, stronger)


class Strategy(NamedTuple):
    """How the values of two layers become one."""

    meet: Meet
    means: str
    """What happens to the run's value, in words for the reference; `{key}` is the field's `x-key`."""
    adds: bool = False
    """Whether the weaker layer's value remains in effect beside the stronger one's."""


STRATEGIES: Mapping[str, Strategy] = {
    _REPLACE: Strategy(_replaced, "the profile's value replaces the run's"),
    _MAP: Strategy(_by_key, "by key, the profile's value wins"),
    "keyed": Strategy(_by_item, "by `{key}`, the profile's whole item wins"),
    "union": Strategy(_union, "run and profile add up, equal items once", adds=True),
    "affinity": Strategy(_affinity, "both hold", adds=True),
}
"""The strategies, by the word that a field has as `x-merge`."""
