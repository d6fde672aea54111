"""Rules and bans of admins: read from profiles and the platform file, and checked against specs and runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.container_resources import DISK, amount, is_device, same_quantity
from speccompile.compiler.normalize import COMPLETED
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Ban, Profile, Rule
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.node import Node
from speccompile.model.quantity import QuantityError
from speccompile.model.source import USER_LAYERS, Layer, Span
from speccompile.model.spec import Merged
from speccompile.schema.field_path import (
    SIDES,
    FieldLocation,
    called_by_admins,
    concrete,
    is_prefix,
    is_short,
    keyed_lists_as_maps,
    locate_field,
    node_at,
    with_keys,
)
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.formats.safe_regex import matches_whole, pattern_fault
from speccompile.schema.formats.text_format import ValueFault
from speccompile.schema.library import Library, Schema

_COUNTED = frozenset({"number", "integer"})
_MANY = frozenset({"object", "array"})


def read_rules(written: Node | None, library: Library) -> tuple[tuple[Rule, ...], tuple[Diagnostic, ...]]:
    """The rules whose field exists and whose constraint can be satisfied, and the faults of the others."""
    rules: list[Rule] = []
    findings: list[Diagnostic] = []
    for text, constraint in written.fields.items() if written else ():
        place = locate_field(text, library)
        if isinstance(place, ValueFault):
            findings.append(_unknown_field(text, place, constraint.key or constraint.span))
            continue
        faults = tuple(_faults(text, place, constraint, library))
        findings += faults
        if not faults:
            rules.append(Rule(place.path, constraint, _counts(place, library)))
    return tuple(rules), tuple(findings)


def read_bans(written: Node | None, library: Library) -> tuple[tuple[Ban, ...], tuple[Diagnostic, ...]]:
    """The fields that runs may not set; a short form such as `resources.mem` means request and limit."""
    bans: list[Ban] = []
    findings: list[Diagnostic] = []
    for item in written.items if written else ():
        place = locate_field(str(item.value), library)
        if isinstance(place, ValueFault):
            findings.append(_unknown_field(str(item.value), place, item.span))
        elif is_short(place):
            bans += [Ban((place.path[0], side, place.path[-1]), item) for side in SIDES]
        else:
            bans.append(Ban(place.path, item))
    return tuple(bans), tuple(findings)


def _unknown_field(text: str, fault: ValueFault, span: Span) -> Diagnostic:
    is_named = quote(text) in fault.message
    return Diagnostic(
        code="rule/unknown-field",
        message=fault.message if is_named else f"no field {quote(text)}: {fault.message}",
        span=span,
        help=fault.help,
    )


def _faults(text: str, place: FieldLocation, constraint: Node, library: Library) -> Iterator[Diagnostic]:
    fields = constraint.fields
    if ("min" in fields or "max" in fields) and not _counts(place, library):
        node = fields.get("min") or fields["max"]
        advice = "use `options` or `pattern`" if _types(place, library) else _BELOW
        yield _unfit(text, node, "is not a number or quantity, so `min` and `max` do not apply", advice)
    if ("options" in fields or "pattern" in fields) and not _types(place, library):
        node = fields.get("options") or fields["pattern"]
        yield _unfit(text, node, "is neither a single value nor a list of them", _BELOW)
    if "min" in fields and "max" in fields and amount(fields["min"]) > amount(fields["max"]):
        least, most = quote(fields["min"].value), quote(fields["max"].value)
        yield Diagnostic(
            code="rule/contradiction",
            message=f"`{text}`: the minimum {least} is above the maximum {most}",
            span=fields["max"].span,
            notes=(Note("minimum set here", fields["min"].span),),
            help="lower the minimum or raise the maximum",
        )
    if "pattern" in fields and (fault := pattern_fault(str(fields["pattern"].value))):
        yield Diagnostic(
            code="rule/pattern-syntax",
            message=f"{quote(fields['pattern'].value)} {fault.message}",
            span=fields["pattern"].span,
            help=fault.help,
        )


def _counts(place: FieldLocation, library: Library) -> bool:
    return library.resolve(place.schema).get("format") in QUANTITIES or not _COUNTED.isdisjoint(_types(place, library))


def _types(place: FieldLocation, library: Library) -> frozenset[str]:
    """The types of a single value at the place, or of an item of a list there; empty if it is neither."""
    schema = library.resolve(place.schema)
    if "x-resource" not in schema and not _MANY.isdisjoint(_declared_types(schema)):
        schema = library.resolve(schema.get("items", {}))
    return _declared_types(schema) - _MANY


def _declared_types(schema: Schema) -> frozenset[str]:
    types = schema.get("type", ())
    return frozenset((types,) if isinstance(types, str) else types)


_BELOW = "use `required`, or a rule on a field below it"


def _unfit(text: str, node: Node, why: str, advice: str) -> Diagnostic:
    return Diagnostic(
        code="rule/unfit",
        message=f"`{text}` {why}",
        span=node.key or node.span,
        help=advice,
    )


ResourceNames: TypeAlias = Mapping[str, Iterable[str]]
"""The resource names that `gpu` and `disk` mean under one profile and platform."""


def broken_rules(  # noqa: PLR0913  what is checked, by what, and for whom
    rules: Iterable[Rule],
    specs: tuple[Node, ...],
    resources: ResourceNames,
    here: Node,
    library: Library,
    *,
    users: Collection[Layer] = USER_LAYERS,
) -> Iterator[Diagnostic]:
    """Violations of the rules by the first spec that sets each field; missing fields are reported at `here`.

    Values of the layers `users` cannot bypass a rule under another name, or as a secret.
    """
    secrets = _secrets(specs[0])
    specs = tuple(keyed_lists_as_maps(spec, library) for spec in specs)
    for rule in rules:
        paths = (one for path in concrete(rule.path, resources) for one in with_keys(path, specs))
        values = _values(paths, specs, library)
        required = rule.constraint.fields.get("required")
        if not values and required and required.value:
            yield _broken("required", rule, next(concrete(rule.path, resources)), here)
        is_limit = "max" in rule.constraint.fields
        others = _values(_other_names(rule.path, specs[0], users), specs, library) if is_limit else {}
        for path, node in {**others, **values}.items():
            for keyword in (keyword for keyword in CONSTRAINTS if keyword in rule.constraint.fields):
                for item in node.items if isinstance(node.value, tuple) else (node,):
                    if (path in values or keyword == "max") and not CONSTRAINTS[keyword](item, rule):
                        yield _broken(keyword, rule, path, item)
        secret = _as_secret(rule.path, secrets)
        is_checked = not CONSTRAINTS.keys().isdisjoint(rule.constraint.fields)
        if secret and secret.span.source.layer in users and is_checked:
            yield _uncheckable(rule, secret)


def _values(paths: Iterable[KeyPath], specs: tuple[Node, ...], library: Library) -> dict[KeyPath, Node]:
    """The value at each path that has one; as in Kubernetes, a missing request equals the limit."""

    def first(path: KeyPath) -> Node | None:
        return next((node for spec in specs if _is_set(node := node_at(spec, path, library))), None)

    values: dict[KeyPath, Node] = {}
    for path in paths:
        if node := first(path):
            values[path] = node
        elif path[:-1] == _REQUESTS and (limit := first((*_LIMITS, path[-1]))):
            values[path] = limit.but(derived="without a request, the limit is the request")
    return values


_REQUESTS, _LIMITS = (("resources", side) for side in SIDES)


def _other_names(path: KeyPath, spec: Node, layers: Collection[Layer]) -> Iterator[KeyPath]:
    """Paths at which a layer sets `gpu` or `disk` under a resource name that the admin does not use for it."""
    if path[:-1] not in (_REQUESTS, _LIMITS) or path[-1] not in _MEANT:
        return
    sides = (node for side in (_REQUESTS, _LIMITS) if (node := spec.at(side)))
    names = {name for side in sides for name, node in side.fields.items() if node.span.source.layer in layers}
    yield from ((*path[:-1], name) for name in sorted(names) if _MEANT[str(path[-1])](name))


_MEANT: Mapping[str, Callable[[str], bool]] = {"gpu": is_device, "disk": lambda name: name == DISK}
"""Whether a resource name is another way to request a GPU or disk."""


def _secrets(spec: Node) -> Mapping[str, Node]:
    secrets = spec.fields.get("secrets")
    return {str(item.value): item for item in secrets.items} if secrets else {}


def _as_secret(path: KeyPath, secrets: Mapping[str, Node]) -> Node | None:
    """The secret that becomes the variable at the path."""
    return secrets.get(str(path[1])) if path[0] == "envs" and len(path) > 1 else None


def _uncheckable(rule: Rule, secret: Node) -> Diagnostic:
    owner, reason = _owner_and_reason(rule.constraint, rule)
    return Diagnostic(
        code="rule/forbidden",
        message=f"{quote(secret.value)} cannot be a secret: a rule of the {owner} checks its value",
        span=secret.span,
        path=("secrets",),
        notes=(Note(f"the {owner}'s rule{reason}", rule.constraint.place),),
        help="set it under `envs`, or remove it",
    )


def _owner_and_reason(bound: Node, rule: Rule) -> tuple[str, str]:
    """`platform` or `profile`, and the rule's reason after a colon."""
    reason = rule.constraint.fields.get("reason")
    owner = "platform" if bound.span.source.layer is Layer.PLATFORM else "profile"
    return owner, f": {reason.value}" if reason else ""


def _is_set(node: Node | None) -> bool:
    """Whether there is a value; an empty list or map is none."""
    return node is not None and node.value not in ((), {})


def _broken(keyword: str, rule: Rule, path: KeyPath, node: Node) -> Diagnostic:
    bound = rule.constraint.fields[keyword]
    owner, reason = _owner_and_reason(bound, rule)
    fault, advice = _WORDING[keyword]
    allowed = _options(bound) if keyword == "options" else quote(bound.value)
    admin_path = called_by_admins(path)
    words = {"path": f"`{format_path(admin_path)}`", "value": quote(node.value), "allowed": allowed}
    derived = (Note(f"{quote(node.value)}: {node.derived}"),) if node.derived and keyword != "required" else ()
    return Diagnostic(
        code=f"rule/{keyword}",
        message=fault.format_map(words),
        span=node.span,
        path=admin_path,
        notes=(*derived, Note(f"the {owner}'s rule{reason}", bound.span)),
        help=advice.format_map(words),
    )


def broken_bans(
    bans: Iterable[Ban], merged: Merged, resources: ResourceNames, library: Library
) -> Iterator[Diagnostic]:
    """Fields that the run sets although they are forbidden; an empty list that clears a default counts.

    What the platform forbids, a profile that is not the admin's may not set either.
    """
    profile = merged.profile
    of_profile = (profile.fields, profile.defaults) if profile and not profile.is_trusted else ()
    for layer in (merged.run.fields, *of_profile):
        reported: set[int] = set()
        secrets, fields = _secrets(layer), keyed_lists_as_maps(layer, library)
        for ban in bans:
            if layer is not merged.run.fields and ban.written.span.source.layer is Layer.PROFILE:
                continue
            named = (one for path in concrete(ban.path, resources) for one in with_keys(path, (fields,)))
            paths = (*named, *_other_names(ban.path, fields, merged.user_layers))
            places = (*(node_at(fields, path, library) for path in paths), _as_secret(ban.path, secrets))
            nodes = [node for node in places if node and node.derived not in COMPLETED]
            if nodes and id(ban.written) not in reported:
                reported.add(id(ban.written))
                yield from (_forbidden(ban, node, profile) for node in (nodes if is_prefix(ban.path) else nodes[:1]))


def _forbidden(ban: Ban, node: Node, profile: Profile | None) -> Diagnostic:
    by_profile = ban.written.span.source.layer is Layer.PROFILE
    owner = f"profile {quote(profile.id.value)}" if profile and by_profile else "the platform"
    return Diagnostic(
        code="rule/forbidden",
        message=f"{owner} forbids `{ban.written.value}`",
        span=node.key or node.span,
        path=ban.path,
        notes=(Note("forbidden here", ban.written.span),),
        help=f"remove it from the {node.span.source.layer}",
    )


def _at_least(node: Node, rule: Rule) -> bool:
    return _sized(node) and amount(node) >= amount(rule.constraint.fields["min"])


def _at_most(node: Node, rule: Rule) -> bool:
    return _sized(node) and amount(node) <= amount(rule.constraint.fields["max"])


def _sized(node: Node) -> bool:
    """Whether it is an amount; a field of a target may be a number or a word."""
    try:
        amount(node)
    except QuantityError:
        return False
    return True


def _among(node: Node, rule: Rule) -> bool:
    options = rule.constraint.fields["options"].items
    if rule.counts:
        return any(same_quantity(node, option) for option in options)
    return any(json.dumps(node.value) == json.dumps(option.value) for option in options)


def _matches(node: Node, rule: Rule) -> bool:
    return matches_whole(str(rule.constraint.fields["pattern"].value), str(node.value))


def _options(options: Node) -> str:
    *others, last = (quote(option.value) for option in options.items)
    return f"{', '.join(others)} or {last}" if others else last


CONSTRAINTS: Mapping[str, Callable[[Node, Rule], bool]] = {
    "min": _at_least,
    "max": _at_most,
    "options": _among,
    "pattern": _matches,
}
"""Whether a value satisfies the keyword of a rule."""
_WORDING: Mapping[str, tuple[str, str]] = {
    "min": ("{path}: {value} is below the minimum {allowed}", "write {allowed} or more"),
    "max": ("{path}: {value} is above the maximum {allowed}", "write {allowed} or less"),
    "options": ("{path}: {value} is not {allowed}", "write {allowed}"),
    "pattern": ("{path}: {value} does not match {allowed}", "write a value that {allowed} matches as a whole"),
    "required": ("{path} is required", "add {path}"),
}
"""Message and help of a violation, by keyword."""
