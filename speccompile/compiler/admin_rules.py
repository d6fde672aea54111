"""Rules and bans that admins write, checked against specs and runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeAlias

from speccompile.compiler.container_resources import DISK, amount, is_device, same_quantity
from speccompile.compiler.normalize import COMPLETED
from speccompile.model.diagnostic import Diagnostic, Note, quote
from speccompile.model.documents import Ban, Rule
from speccompile.model.key_path import KeyPath, format_path
from speccompile.model.node import Node
from speccompile.model.quantity import QuantityError
from speccompile.model.source import Layer, Span
from speccompile.schema.field_path import SIDES, Place, by_key, called_by_admins, concrete, is_short, node_at, place_of
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.formats.safe_regex import matches, pattern_fault
from speccompile.schema.formats.text_format import Fault
from speccompile.schema.library import Library, Schema

_COUNTED = frozenset({"number", "integer"})
_MANY = frozenset({"object", "array"})


def read_rules(written: Node | None, library: Library) -> tuple[tuple[Rule, ...], tuple[Diagnostic, ...]]:
    """The rules whose field exists and whose constraint can be kept, and what is wrong with the others."""
    rules: list[Rule] = []
    findings: list[Diagnostic] = []
    for text, constraint in written.fields.items() if written else ():
        place = place_of(text, library)
        if isinstance(place, Fault):
            findings.append(_unknown(text, place, constraint.key or constraint.span))
            continue
        faults = tuple(_faults(text, place, constraint, library))
        findings += faults
        if not faults:
            rules.append(Rule(place.path, constraint, _counts(place, library)))
    return tuple(rules), tuple(findings)


def read_bans(written: Node | None, library: Library) -> tuple[tuple[Ban, ...], tuple[Diagnostic, ...]]:
    """The fields that runs may not say; a short form such as `resources.mem` means request and limit."""
    bans: list[Ban] = []
    findings: list[Diagnostic] = []
    for item in written.items if written else ():
        place = place_of(str(item.value), library)
        if isinstance(place, Fault):
            findings.append(_unknown(str(item.value), place, item.span))
        elif is_short(place):
            bans += [Ban((place.path[0], side, place.path[-1]), item) for side in SIDES]
        else:
            bans.append(Ban(place.path, item))
    return tuple(bans), tuple(findings)


def _unknown(text: str, fault: Fault, span: Span) -> Diagnostic:
    return Diagnostic(
        code="rule/unknown-field",
        message=f"no field stands at {quote(text)}: {fault.message}",
        span=span,
        help=fault.help,
    )


def _faults(text: str, place: Place, constraint: Node, library: Library) -> Iterator[Diagnostic]:
    told = constraint.fields
    if ("min" in told or "max" in told) and not _counts(place, library):
        node = told.get("min") or told["max"]
        cure = "use `options` or `pattern`" if _types(place, library) else _BELOW
        yield _unfit(text, node, "has no size, so `min` and `max` mean nothing to it", cure)
    if ("options" in told or "pattern" in told) and not _types(place, library):
        yield _unfit(text, told.get("options") or told["pattern"], "is no single value, nor a list of them", _BELOW)
    if "min" in told and "max" in told and amount(told["min"]) > amount(told["max"]):
        yield Diagnostic(
            code="rule/contradiction",
            message=f"`{text}`: the minimum {quote(told['min'].value)} is above the maximum {quote(told['max'].value)}",
            span=told["max"].span,
            notes=(Note("the minimum stands here", told["min"].span),),
            help="lower the minimum or raise the maximum",
        )
    if "pattern" in told and (fault := pattern_fault(str(told["pattern"].value))):
        yield Diagnostic(
            code="rule/pattern-syntax",
            message=f"{quote(told['pattern'].value)} {fault.message}",
            span=told["pattern"].span,
            help=fault.help,
        )


def _counts(place: Place, library: Library) -> bool:
    return library.resolve(place.schema).get("format") in QUANTITIES or not _COUNTED.isdisjoint(_types(place, library))


def _types(place: Place, library: Library) -> frozenset[str]:
    """What a single value at the place, or an item of the list there, can be; nothing if it is neither."""
    schema = library.resolve(place.schema)
    if "x-resource" not in schema and not _MANY.isdisjoint(_told_types(schema)):
        schema = library.resolve(schema.get("items", {}))
    return _told_types(schema) - _MANY


def _told_types(schema: Schema) -> frozenset[str]:
    types = schema.get("type", ())
    return frozenset((types,) if isinstance(types, str) else types)


_BELOW = "use `required`, or a rule on a field below it"


def _unfit(text: str, node: Node, why: str, cure: str) -> Diagnostic:
    return Diagnostic(
        code="rule/unfit",
        message=f"`{text}` {why}",
        span=node.key or node.span,
        help=cure,
    )


ResourceNames: TypeAlias = Mapping[str, Iterable[str]]
"""The resource names that `gpu` and `disk` stand for under one profile and platform."""


def broken_rules(
    rules: Iterable[Rule], specs: tuple[Node, ...], symbols: ResourceNames, here: Node, library: Library
) -> Iterator[Diagnostic]:
    """What the specs say against the rules, the first that has the field; `here` is where a missing one is told."""
    secrets = _secrets(specs[0])
    specs = tuple(by_key(spec, library) for spec in specs)
    for rule in rules:
        told = _told(concrete(rule.path, symbols), specs, library)
        required = rule.constraint.fields.get("required")
        if not told and required and required.value:
            yield _broken("required", rule, next(concrete(rule.path, symbols)), here)
        others = _told(_other_names(rule.path, specs[0]), specs, library) if "max" in rule.constraint.fields else {}
        for path, node in {**others, **told}.items():
            for keyword in (keyword for keyword in CONSTRAINTS if keyword in rule.constraint.fields):
                for item in node.items if isinstance(node.value, tuple) else (node,):
                    if (path in told or keyword == "max") and not CONSTRAINTS[keyword](item, rule):
                        yield _broken(keyword, rule, path, item)
        secret = _as_secret(rule.path, secrets)
        is_checked = not CONSTRAINTS.keys().isdisjoint(rule.constraint.fields)
        if secret and secret.span.source.layer is Layer.RUN and is_checked:
            yield _hidden(rule, secret)


def _told(paths: Iterable[KeyPath], specs: tuple[Node, ...], library: Library) -> dict[KeyPath, Node]:
    """What is said at each path; a request that nobody makes is the limit, as it is to Kubernetes."""

    def first(path: KeyPath) -> Node | None:
        return next((node for spec in specs if _says(node := node_at(spec, path, library))), None)

    told: dict[KeyPath, Node] = {}
    for path in paths:
        if node := first(path):
            told[path] = node
        elif path[:-1] == _REQUESTS and (limit := first((*_LIMITS, path[-1]))):
            told[path] = limit.but(derived="where nothing is requested, the limit is the request")
    return told


_REQUESTS, _LIMITS = (("resources", side) for side in SIDES)


def _other_names(path: KeyPath, spec: Node) -> Iterator[KeyPath]:
    """Where the run asks for `gpu` or `disk` in words that profile and platform do not use for it."""
    if path[:-1] not in (_REQUESTS, _LIMITS) or path[-1] not in _MEANT:
        return
    sides = (node for side in (_REQUESTS, _LIMITS) if (node := spec.at(side)))
    said = {name for side in sides for name, node in side.fields.items() if node.span.source.layer is Layer.RUN}
    yield from ((*path[:-1], name) for name in sorted(said) if _MEANT[str(path[-1])](name))


_MEANT: Mapping[str, Callable[[str], bool]] = {"gpu": is_device, "disk": lambda name: name == DISK}
"""Every resource name by which a run can come to what these two are about."""


def _secrets(spec: Node) -> Mapping[str, Node]:
    secrets = spec.fields.get("secrets")
    return {str(item.value): item for item in secrets.items} if secrets else {}


def _as_secret(path: KeyPath, secrets: Mapping[str, Node]) -> Node | None:
    """The secret that becomes the variable of the path."""
    return secrets.get(str(path[1])) if path[0] == "envs" and len(path) > 1 else None


def _hidden(rule: Rule, secret: Node) -> Diagnostic:
    who, because = _told_by(rule.constraint, rule)
    return Diagnostic(
        code="rule/forbidden",
        message=f"{quote(secret.value)} may not be a secret here: a rule looks at its value",
        span=secret.span,
        path=("secrets",),
        notes=(Note(f"the {who}'s rule{because}", rule.constraint.place),),
        help="set it under `envs`, or leave it out",
    )


def _told_by(bound: Node, rule: Rule) -> tuple[str, str]:
    """Whose rule it is, and the reason they give."""
    reason = rule.constraint.fields.get("reason")
    who = "platform" if bound.span.source.layer is Layer.PLATFORM else "profile"
    return who, f": {reason.value}" if reason else ""


def _says(node: Node | None) -> bool:
    """Whether anything is said: an empty list or map says nothing."""
    return node is not None and node.value not in ((), {})


def _broken(keyword: str, rule: Rule, path: KeyPath, node: Node) -> Diagnostic:
    bound = rule.constraint.fields[keyword]
    who, because = _told_by(bound, rule)
    fault, cure = _WORDS[keyword]
    asked = _options(bound) if keyword == "options" else quote(bound.value)
    called = called_by_admins(path)
    told = {"path": f"`{format_path(called)}`", "found": quote(node.value), "asked": asked}
    made = (Note(f"{quote(node.value)}: {node.derived}"),) if node.derived and keyword != "required" else ()
    return Diagnostic(
        code=f"rule/{keyword}",
        message=fault.format_map(told),
        span=node.span,
        path=called,
        notes=(*made, Note(f"the {who}'s rule{because}", bound.span)),
        help=cure.format_map(told),
    )


def broken_bans(bans: Iterable[Ban], fields: Node, symbols: ResourceNames, library: Library) -> Iterator[Diagnostic]:
    """What a run says though it may not; an empty list says something too, where it clears a default."""
    told: set[int] = set()
    secrets, fields = _secrets(fields), by_key(fields, library)
    for ban in bans:
        paths = (*concrete(ban.path, symbols), *_other_names(ban.path, fields))
        places = (*(node_at(fields, path, library) for path in paths), _as_secret(ban.path, secrets))
        node = next((node for node in places if node and node.derived not in COMPLETED), None)
        if node is not None and id(ban.written) not in told:
            told.add(id(ban.written))
            yield _forbidden(ban, node)


def _forbidden(ban: Ban, node: Node) -> Diagnostic:
    who = "platform" if ban.written.span.source.layer is Layer.PLATFORM else "profile"
    return Diagnostic(
        code="rule/forbidden",
        message=f"a run may not say `{ban.written.value}` here",
        span=node.key or node.span,
        path=ban.path,
        notes=(Note(f"the {who} forbids it", ban.written.span),),
        help="leave it out",
    )


def _at_least(node: Node, rule: Rule) -> bool:
    return _sized(node) and amount(node) >= amount(rule.constraint.fields["min"])


def _at_most(node: Node, rule: Rule) -> bool:
    return _sized(node) and amount(node) <= amount(rule.constraint.fields["max"])


def _sized(node: Node) -> bool:
    """Whether it is an amount: a field of a target may be a number or a word, and a word is within no bounds."""
    try:
        amount(node)
    except QuantityError:
        return False
    return True


def _among(node: Node, rule: Rule) -> bool:
    return any(_equal(node, option, rule) for option in rule.constraint.fields["options"].items)


def _equal(node: Node, option: Node, rule: Rule) -> bool:
    return same_quantity(node, option) if rule.counts else json.dumps(node.value) == json.dumps(option.value)


def _matches(node: Node, rule: Rule) -> bool:
    return matches(str(rule.constraint.fields["pattern"].value), str(node.value))


def _options(options: Node) -> str:
    *others, last = (quote(option.value) for option in options.items)
    return f"{', '.join(others)} or {last}" if others else last


CONSTRAINTS: Mapping[str, Callable[[Node, Rule], bool]] = {
    "min": _at_least,
    "max": _at_most,
    "options": _among,
    "pattern": _matches,
}
_WORDS: Mapping[str, tuple[str, str]] = {
    "min": ("{path}: {found} is below the minimum {asked}", "write {asked} or more"),
    "max": ("{path}: {found} is above the maximum {asked}", "write {asked} or less"),
    "options": ("{path}: {found} is not {asked}", "write {asked}"),
    "pattern": ("{path}: {found} does not match {asked}", "write a value that {asked} matches as a whole"),
    "required": ("{path} is required", "add {path}"),
}
"""What is wrong, and what would cure it."""
