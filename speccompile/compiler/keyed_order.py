"""The order of two lists that are merged by key."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import TypeVar

from speccompile.model.node import Node
from speccompile.model.source import USER_LAYERS, Layer

Key = TypeVar("Key", bound=Hashable)
_REFERENCE = r"\$\$|\$\(([^)]*)\)"
"""A variable in a value, as Kubernetes reads it; `$$` is an escaped dollar sign."""


def merged_order(weaker: Mapping[Key, Node], stronger: Mapping[Key, Node]) -> list[Key]:
    """The keys of the weaker list in place, then those that only the stronger has.

    Items move only to keep the order of the run's own items, and to follow the variables that their values refer to as
    `$(NAME)`, because Kubernetes resolves a reference only to an earlier variable. References that are resolved in the
    list of their author are always resolved. One of the stronger list to a variable that only the weaker has is
    resolved unless that variable refers back.
    """
    order = list({**weaker, **stronger})
    only_weaker = {key: item for key, item in weaker.items() if key not in stronger}
    required = {
        *_run_order(only_weaker),
        *_run_order(stronger),
        *_own_references(only_weaker, weaker),
        *_own_references(stronger, stronger),
    }
    wanted = {*_references(stronger, _by_name(only_weaker))}
    index = {key: position for position, key in enumerate(order)}
    if all(index[first] < index[second] for first, second in (*required, *wanted)):
        return order
    return _sorted(order, required, wanted)


def _run_order(items: Mapping[Key, Node]) -> Iterator[tuple[Key, Key]]:
    """The pairs of successive items that the run sets."""
    of_run = [key for key, item in items.items() if _layer(item) in USER_LAYERS]
    return pairwise(of_run)


def _layer(item: Node) -> Layer:
    # A rendered item is part of its template, and its first value is what identifies it.
    first = next(iter(item.fields.values()), item)
    return first.span.source.layer


def _by_name(items: Mapping[Key, Node]) -> dict[object, Key]:
    return {item.fields["name"].value: key for key, item in items.items() if "name" in item.fields}


def _own_references(items: Mapping[Key, Node], own_list: Mapping[Key, Node]) -> Iterator[tuple[Key, Key]]:
    """The references of the items that are resolved in their own list: the variable, and the item that follows it."""
    place = {key: position for position, key in enumerate(own_list)}
    return ((name, key) for name, key in _references(items, _by_name(own_list)) if place[name] < place[key])


def _references(items: Mapping[Key, Node], by_name: Mapping[object, Key]) -> Iterator[tuple[Key, Key]]:
    for key, item in items.items():
        value = item.fields.get("value")
        text = value.value if value else None
        if isinstance(text, str) and "$(" in text:
            # Without the end, in which nothing is closed, the search takes linear time.
            for name in re.findall(_REFERENCE, text[: text.rfind(")") + 1]):
                if name in by_name:
                    yield by_name[name], key


def _sorted(order: list[Key], required: set[tuple[Key, Key]], wanted: set[tuple[Key, Key]]) -> list[Key]:
    """The keys with the first of each pair before the second, else in order; wanted pairs give way to required ones."""
    index = {key: position for position, key in enumerate(order)}
    missing = {key: [0, 0] for key in order}
    following: dict[Key, list[tuple[Key, int]]] = {key: [] for key in order}
    for kind, pairs in enumerate((required, wanted - required)):
        for first, second in pairs:
            missing[second][kind] += 1
            following[first].append((second, kind))
    ready = [index[key] for key in order if missing[key] == [0, 0]]
    # Required pairs have no cycle, so one of these is left whenever nothing is ready.
    allowed = [index[key] for key in order if missing[key][0] == 0]
    heapify(ready)
    heapify(allowed)
    result: dict[Key, None] = {}
    while len(result) < len(order):
        key = order[heappop(ready or allowed)]
        if key in result:
            continue
        result[key] = None
        for second, kind in following[key]:
            missing[second][kind] -= 1
            if missing[second] == [0, 0]:
                heappush(ready, index[second])
            if missing[second][0] == 0:
                heappush(allowed, index[second])
    return list(result)
