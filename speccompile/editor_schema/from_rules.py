"""Schemas of the fields that rules of profile and platform restrict or forbid."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial, reduce
from typing import Any

from speccompile.compiler.admin_rules import CONSTRAINTS
from speccompile.compiler.container_resources import amount
from speccompile.editor_schema.convert import EditorSchema
from speccompile.editor_schema.field_locations import constrained, implied, is_inside, written_paths
from speccompile.editor_schema.format_patterns import Bounds, anchored, is_portable, whole_numbers_within
from speccompile.editor_schema.intersect import intersect
from speccompile.editor_schema.profile_view import FieldSchema, ProfileView, with_reason
from speccompile.editor_schema.resources import RESOURCES, equal_to, json_number, within
from speccompile.model.diagnostic import quote
from speccompile.model.documents import Rule
from speccompile.model.key_path import KeyPath
from speccompile.model.node import Node
from speccompile.model.quantity import QuantityError
from speccompile.model.source import BUILT_IN
from speccompile.schema.formats.by_name import QUANTITIES
from speccompile.schema.library import Library, Schema


def banned_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """Forbidden fields, except those below `resources`: see `resource_constraints.py`."""
    for ban in view.bans:
        if ban.path[0] == RESOURCES and len(ban.path) > 1:
            continue
        reason = with_reason(f"{view.author_of(ban.written)} forbids this field")
        yield from (view.constrained(path, partial(_unset, reason=reason)) for path in written_paths(ban.path))
        yield from _exclude_secrets(ban.path, reason)


def _unset(schema: Schema, reason: EditorSchema) -> EditorSchema:
    return {"not": {}, **reason} if is_inside(schema) else {"enum": [None], **reason}


def _exclude_secrets(path: KeyPath, reason: EditorSchema) -> Iterator[FieldSchema]:
    """Exclude a secret with the name of a variable that is forbidden or has a rule."""
    if path[0] == "envs" and len(path) > 1:
        yield "secrets", {"items": {"allOf": [{"not": {"const": path[1]}, **reason}]}}


def ruled_fields(view: ProfileView) -> Iterator[FieldSchema]:
    """Fields with rules, except those below `resources`: see `resource_constraints.py`."""
    for rule in rules_on_values(view):
        if rule.path[0] != RESOURCES:
            reason = with_reason(reason_of(rule, view))
            yield from _ruled_field(rule, reason, view)
            yield from _exclude_secrets(rule.path, reason)


def _ruled_field(rule: Rule, reason: EditorSchema, view: ProfileView) -> Iterator[FieldSchema]:
    checked = partial(_apply_rule, rule=rule, reason=reason, library=view.library)
    follows = implied(rule.path)
    if follows is None:
        yield from (view.constrained(path, checked) for path in written_paths(rule.path))
        return
    value = Node(follows.value, BUILT_IN)
    is_good = all(check(value, rule) for keyword, check in CONSTRAINTS.items() if keyword in rule.constraint.fields)
    # An item is never null; editors show the message of a `type`.
    then = {} if is_good else {"type": "null", **reason}

    def item(schema: Schema) -> EditorSchema:
        return {
            "if": follows.condition,
            "then": then,
            "else": constrained(schema, rule.path[2:], checked, view.library),
        }

    yield view.constrained(rule.path[:2], item)


def rules_on_values(view: ProfileView) -> Iterator[Rule]:
    """The rules that check more than `required`."""
    return (rule for rule in view.rules if not CONSTRAINTS.keys().isdisjoint(rule.constraint.fields))


def reason_of(rule: Rule, view: ProfileView) -> str:
    """The rule in words, with its author and location."""
    keywords = rule.constraint.fields
    words = (_WORDS[keyword](keywords[keyword].plain()) for keyword in CONSTRAINTS if keyword in keywords)
    because = f" ({keywords['reason'].value})" if "reason" in keywords else ""
    return f"{view.author_of(rule.constraint)} requires {' and '.join(words)}{because}"


_WORDS: Mapping[str, Callable[[Any], str]] = {
    "min": lambda least: f"at least {quote(least)}",
    "max": lambda most: f"at most {quote(most)}",
    "options": lambda options: " or ".join(map(quote, options)),
    "pattern": lambda pattern: f"a match for {quote(pattern)}",
}


def _apply_rule(schema: Schema, rule: Rule, reason: EditorSchema, library: Library) -> EditorSchema:
    """The constraint of a rule on a value, or on each item of a list."""
    if "array" not in schema.get("type", ()):
        return {**_apply_rule_to_value(schema, rule), **reason}
    one = {**_apply_rule_to_value(library.resolve(schema["items"]), rule), **reason}
    if "string" not in schema["type"]:
        return {"items": one}
    return {"anyOf": [{"type": ["array", "null"], "items": one}, {"type": "string", **one}], **reason}


def _apply_rule_to_value(schema: Schema, rule: Rule) -> EditorSchema:
    keywords, types, bounds = rule.constraint.fields, schema.get("type", ()), bounds_of(rule)
    is_quantity = schema.get("format") in QUANTITIES
    parts: list[EditorSchema] = []
    if "options" in keywords and is_quantity:
        parts.append({"anyOf": [{"type": "null"}, *equal_to(options_of(rule))]})
    elif "options" in keywords and rule.counts:
        numbers = [json_number(value) for value in options_of(rule)]
        parts.append({"enum": [*numbers, *(map(str, numbers) if "string" in types else ()), None]})
    elif "options" in keywords:
        parts.append({"enum": [*keywords["options"].plain(), None]})
    if bounds != Bounds():
        texts = {"pattern": whole_numbers_within(bounds)} if "string" in types else {}
        parts.append(within(bounds) | ({} if is_quantity else texts))
    parts.append(pattern_of(rule))
    return reduce(intersect, parts, {})


def pattern_of(rule: Rule) -> EditorSchema:
    """The constraint of a rule's pattern on text, if it is portable."""
    pattern = rule.constraint.fields.get("pattern")
    if pattern is None or not is_portable(str(pattern.value)):
        return {}
    return {"pattern": anchored(str(pattern.value))}


def bounds_of(rule: Rule) -> Bounds:
    """The rule's `min` and `max`."""
    keywords = rule.constraint.fields
    return Bounds(*(amount(keywords[keyword]).value if keyword in keywords else None for keyword in ("min", "max")))


def options_of(rule: Rule) -> list[Fraction]:
    """The options that are quantities."""
    values = []
    for option in rule.constraint.fields["options"].items:
        try:
            values.append(amount(option).value)
        except QuantityError:
            continue
    return values
