"""Mutate an input as a tree, so that most mutants still are documents of their kind."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from fuzz.targets import ROOT, TARGETS, as_input, dump, from_input, load, seeds_of

MARKER = "pa55 phrase/+="
"""A secret: it is only put below a key `secrets`, and must never be printed."""
_TREES = 0.85
"""The share of mutants that are changed as a tree; the others are changed as text."""
_MOST_CHANGES = 4
_JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 1.5, 2**31, 2**63 - 1, 2**63, 10**40),
    *("", "x", "X", "1", "1e3", "1Gi", "0.5", "9Pi", "-1", "yes", "null", "a b", "a\nb", "a: b", "*", "/", "../x"),
    *("{name}", "{{ name }}", "$(A)", "nvidia.com/gpu", "kubernetes", "Ä", "\u202e", "\u2028", "😀", "a" * 64),
    *("a" * 300, "(a+)+b", "^(?:a|a)*$", "* * * * *", "2026-01-01", "10.0.0.1", "ghcr.io/a/b:1", "a@sha256:0"),
    *([], {}, [[]], [None], [{}], {"": ""}, {"name": "x"}, [{"name": "x", "value": "y"}]),
)
_TOKENS = (
    *("\n", "\t", "  ", "- ", ": ", "---\n", "...\n", "%YAML 1.2\n", "{", "}", "[", "]", ",", "'", '"', "|\n", ">\n"),
    *("&a ", "*a", "<<: *a\n", "!x ", "!!binary ", "? ", "# ", "\\", "\r\n", "\x00", "\ufeff", "\x85", "{{ ", " }}"),
    *("{% if a %}", "{% endif %}", "{% for x in run %}", "{% endfor %}", "{{ run.name }}", "| tojson", "{# ", " #}"),
)


@cache
def words() -> tuple[str, ...]:
    """Keys, enumerated values and examples of all schemas."""
    found: dict[str, None] = {}

    def walk(schema: Any) -> None:
        if isinstance(schema, dict):
            found.update(dict.fromkeys(map(str, schema.get("properties", {}))))
            values = (*schema.get("enum", ()), *schema.get("examples", ()))
            found.update(dict.fromkeys(value for value in values if isinstance(value, str)))
            schema = list(schema.values())
        if isinstance(schema, list):
            for inner in schema:
                walk(inner)

    for path in sorted((ROOT / "schemas").glob("*.schema.json")):
        walk(json.loads(path.read_text("utf-8")))
    return tuple(found)


def mutate(target: str, data: bytes, most: int, number: int) -> bytes:
    """Another input near this one, chosen by the number."""
    chance = random.Random(number)
    seed, text = from_input(target, data)
    if chance.random() < 0.1:
        seed = chance.choice(list(seeds_of(target).values()))
        text = seed.text
    new = _tree_mutant(target, text, chance) if TARGETS[target].is_yaml and chance.random() < _TREES else None
    mutant = as_input(seed, _text_mutant(text, chance) if new is None else new)
    return mutant if len(mutant) <= most else as_input(seed, seed.text)[:most]


def _text_mutant(text: str, chance: random.Random) -> str:
    """The text with tokens inserted, or spans removed, repeated or moved."""
    for _ in range(chance.randint(1, 2)):
        start = chance.randint(0, len(text))
        end = min(len(text), start + chance.randint(0, 20))
        part = text[start:end]
        choice = chance.randrange(4)
        new = (chance.choice(_TOKENS), "", part * chance.choice((2, 3, 50)), chance.choice(words()))[choice]
        text = text[:start] + new + text[end if choice else start :]
    return text


def _tree_mutant(target: str, text: str, chance: random.Random) -> str | None:
    """The text with changed values, keys and items; None if it is not YAML, or cannot be written."""
    documents = load(text)
    if not documents:
        return None
    for _ in range(chance.randint(1, _MOST_CHANGES)):
        _change(documents, target, chance)
    try:
        return dump(documents)
    except UnicodeEncodeError:
        # An escape in the text was half of a surrogate pair.
        return None


def _slots(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every container below a value, with each of its keys or indexes."""
    stack = [tree]
    while stack:
        container = stack.pop()
        pairs = container.items() if isinstance(container, dict) else enumerate(container)
        for key, value in list(pairs):
            yield container, key
            if isinstance(value, (dict, list)):
                stack.append(value)


def _change(documents: list[Any], target: str, chance: random.Random) -> None:
    slots = list(_slots(documents))
    if not slots:
        documents.append(_value(target, chance))
        return
    container, key = chance.choice(slots)
    chance.choice(_CHANGES)(container, key, target, chance)


def _replace(container: Any, key: Any, target: str, chance: random.Random) -> None:
    container[key] = _value(target, chance)


def _remove(container: Any, key: Any, _: str, __: random.Random) -> None:
    del container[key]


def _repeat(container: Any, key: Any, _: str, chance: random.Random) -> None:
    if isinstance(container, list):
        container[key:key] = [copy.deepcopy(container[key]) for _ in range(chance.choice((1, 1, 2, 100)))]
    else:
        container[f"{key}2"] = copy.deepcopy(container[key])


def _rename(container: Any, key: Any, _: str, chance: random.Random) -> None:
    if isinstance(container, dict):
        container[chance.choice(words())] = container.pop(key)


def _add(container: Any, _: Any, target: str, chance: random.Random) -> None:
    if isinstance(container, list):
        container.append(_value(target, chance))
    else:
        container[chance.choice(words())] = _value(target, chance)


def _hide(container: Any, _: Any, __: str, chance: random.Random) -> None:
    if isinstance(container, dict):
        container["secrets"] = chance.choice(([MARKER], {"TOKEN": MARKER}, MARKER, [{"TOKEN": MARKER}]))


def _wrap(container: Any, key: Any, _: str, chance: random.Random) -> None:
    container[key] = [container[key]] if chance.random() < 0.5 else {chance.choice(words()): container[key]}


def _graft(container: Any, key: Any, target: str, chance: random.Random) -> None:
    """Put a part of another seed here, with its key."""
    other = load(chance.choice(list(seeds_of(target).values())).text)
    slots = list(_slots(other))
    if slots:
        source, name = chance.choice(slots)
        is_pair = isinstance(container, dict) and isinstance(source, dict)
        container[name if is_pair else key] = source[name]


_CHANGES: tuple[Callable[[Any, Any, str, random.Random], None], ...] = (
    *(_replace, _replace, _remove, _repeat, _rename, _add, _add, _wrap, _graft, _graft, _graft, _hide),
)


def _value(target: str, chance: random.Random) -> Any:
    choice = chance.random()
    if choice < 0.6:
        return copy.deepcopy(chance.choice(_JUNK))
    if choice < 0.8:
        return chance.choice(words())
    holder: list[Any] = [None]
    _graft(holder, 0, target, chance)
    return holder[0]
