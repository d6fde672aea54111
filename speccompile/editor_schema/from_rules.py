"""Schemas of the fields that rules of profile and platform restrict or forbid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from speccompile.compiler.admin_rules import CONSTRAINTS
from speccompile.compiler.container_resources import amount
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.field_locations import implied, is_inside, placed, places
from speccompile.editor_schema.format_patterns import Bounds, is_portable, whole, whole_numbers_within
from speccompile.editor_schema.intersect import meet
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, explained
from speccompile.editor_schema.resources import RESOURCES, equal_to, number, within
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Rule
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.quantity import QuantityError
from speccompile.model.source import BUILT_IN
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.formats.safe_regex import LONGEST
from speccompile.schema.library import Library, Schema


def banned_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """Fields that are forbidden; those below `resources` are left to `resource_demands.py`."""
    for ban in view.bans:
        if ban.path[0] == RESOURCES and len(ban.path) > 1:
            continue
        reason = explained(f"{view.who(ban.written)} forbids it")
        yield from (view.placed(path, partial(_unsaid, reason=reason)) for path in places(ban.path))
        yield from _secrets(ban.path, reason)


def _unsaid(schema: Schema, reason: EditorSchema) -> EditorSchema:
    return {"not": {}, **reason} if is_inside(schema) else {"enum": [None], **reason}


def _secrets(path: KeyPath, reason: EditorSchema) -> Iterator[FieldSchema]:
    """A variable that is forbidden, or whose value is looked at, is no secret either."""
    if path[0] == "envs" and len(path) > 1:
        yield "secrets", {"items": {"allOf": [{"not": {"const": path[1]}, **reason}]}}


def ruled_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """Fields that rules restrict; those below `resources` are left to `resource_demands.py`."""
    for rule in rules_on_values(view):
        if rule.path[0] != RESOURCES:
            reason = explained(reason_of(rule, view))
            yield from _ruled_field(rule, reason, view)
            yield from _secrets(rule.path, reason)


def _ruled_field(rule: Rule, reason: EditorSchema, view: ProfileView) -> Iterator[FieldSchema]:
    checked = partial(_checked, rule=rule, reason=reason, library=view.library)
    follows = implied(rule.path)
    if follows is None:
        yield from (view.placed(path, checked) for path in places(rule.path))
        return
    value = Node(follows.value, BUILT_IN)
    is_good = all(check(value, rule) for keyword, check in CONSTRAINTS.items() if keyword in rule.constraint.fields)
    # No item is null, and editors tell the reason for a type.
    then = {} if is_good else {"type": "null", **reason}

    def item(schema: Schema) -> EditorSchema:
        return {"if": follows.condition, "then": then, "else": placed(schema, rule.path[2:], checked, view.library)}

    yield view.placed(rule.path[:2], item)


def rules_on_values(view: ProfileView) -> Iterator[Rule]:
    """The rules that ask more than that a field is there."""
    return (rule for rule in view.rules if not CONSTRAINTS.keys().isdisjoint(rule.constraint.fields))


def reason_of(rule: Rule, view: ProfileView) -> str:
    """The rule in words, with its author and location."""
    told = rule.constraint.fields
    words = (_WORDS[keyword](told[keyword].plain()) for keyword in CONSTRAINTS if keyword in told)
    because = f", because {told['reason'].value}" if "reason" in told else ""
    return f"{view.who(rule.constraint)} wants {' and '.join(words)}{because}"


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "min": lambda least: f"at least {quote(least)}",
    "max": lambda most: f"at most {quote(most)}",
    "options": lambda options: " or ".join(map(quote, options)),
    "pattern": lambda pattern: f"what {quote(pattern)} matches",
}


def _checked(schema: Schema, rule: Rule, reason: EditorSchema, library: Library) -> EditorSchema:
    """What a rule asks of a value, or of each item of a list."""
    if "array" not in schema.get("type", ()):
        return {**_checked_value(schema, rule), **reason}
    one = {**_checked_value(library.resolve(schema["items"]), rule), **reason}
    if "string" not in schema["type"]:
        return {"items": one}
    return {"anyOf": [{"type": ["array", "null"], "items": one}, {"type": "string", **one}], **reason}


def _checked_value(schema: Schema, rule: Rule) -> EditorSchema:
    told, types, bounds = rule.constraint.fields, schema.get("type", ()), bounds_of(rule)
    is_quantity = schema.get("format") in QUANTITIES
    parts: list[EditorSchema] = []
    if "options" in told and is_quantity:
        parts.append({"anyOf": [{"type": "null"}, *equal_to(options_of(rule))]})
    elif "options" in told and rule.counts:
        numbers = [number(value) for value in options_of(rule)]
        parts.append({"enum": [*numbers, *(map(str, numbers) if "string" in types else ()), None]})
    elif "options" in told:
        parts.append({"enum": [*told["options"].plain(), None]})
    if bounds != Bounds():
        texts = {"pattern": whole_numbers_within(bounds)} if "string" in types else {}
        parts.append(within(bounds) | ({} if is_quantity else texts))
    parts.append(pattern_of(rule))
    return reduce(meet, parts, {})


def pattern_of(rule: Rule) -> EditorSchema:
    """What a rule's pattern asks of text, if editors read it alike."""
    pattern = rule.constraint.fields.get("pattern")
    is_read = pattern is not None and is_portable(str(pattern.value))
    return {"pattern": whole(str(pattern.value)), "maxLength": LONGEST} if pattern and is_read else {}


def bounds_of(rule: Rule) -> Bounds:
    """The rule's `min` and `max`."""
    told = rule.constraint.fields
    return Bounds(*(amount(told[keyword]).value if keyword in told else None for keyword in ("min", "max")))


def options_of(rule: Rule) -> list[Fraction]:
    """The options that are quantities; any other equals none."""
    values = []
    for option in rule.constraint.fields["options"].items:
        try:
            values.append(amount(option).value)
        except QuantityError:
            continue
    return values
